//! The server's side, for the simulator.

use super::TlsFault;
use super::identity::Identity;
use super::session::Session;
use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection};
use std::sync::Arc;

/// What all sessions of a server share.
#[derive(Clone, Debug)]
pub struct ServerSide(Arc<ServerConfig>);

impl ServerSide {
    /// A server of that identity; with `clients`, only those that one of them vouches for may speak to it.
    ///
    /// # Errors
    /// The key does not fit the certificate, or a certificate cannot be used.
    pub fn new(identity: Identity, clients: Option<Vec<CertificateDer<'static>>>) -> Result<Self, TlsFault> {
        let provider = Arc::new(ring::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .expect("the provider has suites for TLS 1.2 and 1.3");
        let unusable = |what: &str, error: &dyn std::fmt::Display| {
            TlsFault::new(format!("the {what} certificate cannot be used: {error}"))
        };
        let builder = match clients {
            None => builder.with_no_client_auth(),
            Some(certificates) => {
                let mut roots = RootCertStore::empty();
                for certificate in certificates {
                    roots.add(certificate).map_err(|error| unusable("clients'", &error))?;
                }
                let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
                builder.with_client_cert_verifier(
                    verifier.build().map_err(|error| unusable("clients'", &error))?,
                )
            }
        };
        let Identity { chain, key } = identity;
        let mut config =
            builder.with_single_cert(chain, key).map_err(|error| unusable("server's", &error))?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self(Arc::new(config)))
    }

    /// A session with whoever has connected.
    pub fn session(&self) -> Session {
        let connection = ServerConnection::new(Arc::clone(&self.0))
            .expect("a side that could be set up can begin sessions");
        Session::new(connection.into())
    }
}
