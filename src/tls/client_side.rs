//! The client's side: whom it trusts, who it is, and the sessions it begins.

use super::TlsFault;
use super::identity::Identity;
use super::session::Session;
use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, ClientConnection, DigitallySignedStruct, RootCertStore, SignatureScheme};
use std::sync::Arc;

/// Servers whose tickets are kept: more than a run has. rustls keeps eight of each.
const KNOWN_SERVERS: usize = 64;

/// Who is believed to be the server.
#[derive(Clone, Debug)]
pub enum Trust {
    /// Whoever one of these certificates vouches for, under the name that was asked for.
    Roots(Vec<CertificateDer<'static>>),
    /// Whoever answers (`--insecure`): bytes are encrypted, the server is not known.
    Anyone,
}

/// The name a server must prove to be; sent to it in the clear (SNI) where it is no address.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PeerName(ServerName<'static>);

impl PeerName {
    /// A DNS name or an IP address, without brackets.
    ///
    /// # Errors
    /// It is neither.
    pub fn new(name: &str) -> Result<Self, TlsFault> {
        let parsed = ServerName::try_from(name.to_owned());
        parsed
            .map(Self)
            .map_err(|_| TlsFault::new(format!("{name:?} is no name that a certificate could be for")))
    }
}

/// What all sessions of a run share: trust, identity, and the tickets by which later ones resume earlier ones.
#[derive(Clone, Debug)]
pub struct ClientSide(Arc<ClientConfig>);

impl ClientSide {
    /// A side that speaks TLS 1.2 and 1.3 and wants HTTP/1.1 (ALPN).
    ///
    /// # Errors
    /// A root or the identity cannot be used.
    pub fn new(trust: Trust, identity: Option<Identity>) -> Result<Self, TlsFault> {
        let provider = Arc::new(ring::default_provider());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .expect("the provider has suites for TLS 1.2 and 1.3");
        let builder = match trust {
            Trust::Roots(certificates) => builder.with_root_certificates(store(certificates)?),
            Trust::Anyone => {
                builder.dangerous().with_custom_certificate_verifier(Arc::new(BelievesAnyone(provider)))
            }
        };
        let mut config = match identity {
            None => builder.with_no_client_auth(),
            Some(Identity { chain, key }) => builder.with_client_auth_cert(chain, key).map_err(|error| {
                TlsFault::new(format!("the client's certificate cannot be used: {error}"))
            })?,
        };
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self(Arc::new(config)))
    }

    /// The same side with a store of tickets of its own, empty at first.
    #[must_use]
    pub fn with_own_tickets(&self) -> Self {
        let mut config = ClientConfig::clone(&self.0);
        config.resumption = Resumption::in_memory_sessions(KNOWN_SERVERS);
        Self(Arc::new(config))
    }

    /// A new session with the server of that name: its first words wait in [`Session::output`].
    pub fn session(&self, name: &PeerName) -> Session {
        let connection = ClientConnection::new(Arc::clone(&self.0), name.0.clone())
            .expect("a side that could be set up can begin sessions");
        Session::new(connection.into())
    }
}

fn store(certificates: Vec<CertificateDer<'static>>) -> Result<RootCertStore, TlsFault> {
    let mut store = RootCertStore::empty();
    // Systems' stores hold a few that no verifier can read: what is left must be something.
    let (added, _) = store.add_parsable_certificates(certificates);
    if added == 0 {
        return Err(TlsFault::new(
            "there is no certificate authority to trust: install ca-certificates, name one with --ca-cert FILE, \
             or do without proof with --insecure",
        ));
    }
    Ok(store)
}

/// Takes every certificate, and still checks that its owner holds the key: the handshake stays a handshake.
#[derive(Debug)]
struct BelievesAnyone(Arc<CryptoProvider>);

impl ServerCertVerifier for BelievesAnyone {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
