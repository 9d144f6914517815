//! Certificates, and the two sides of TLS that use them.

use lowrho::tls::{ClientSide, Identity, Peer, SelfMade, Trust, certificates, self_made};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use std::sync::Arc;

/// The name that certificates here are for.
pub const NAME: &str = "localhost";

/// A server's certificate, and the sides that go with it.
pub struct Secure {
    pub made: SelfMade,
    server: Arc<ServerConfig>,
    client: ClientSide,
}

impl Secure {
    pub fn new() -> Self {
        Self::of(self_made(&[NAME]).unwrap(), None)
    }

    /// A server that wants a certificate of its clients, which only `clients` vouches for.
    pub fn wanting(clients: &SelfMade) -> Self {
        Self::of(self_made(&[NAME]).unwrap(), Some(clients))
    }

    pub fn of(made: SelfMade, clients: Option<&SelfMade>) -> Self {
        let server = Arc::new(server(&made, clients));
        let client = ClientSide::new(roots(&made), None).unwrap();
        Self { made, server, client }
    }

    pub fn server(&self) -> Arc<ServerConfig> {
        self.server.clone()
    }

    /// The server as a client that trusts its certificate knows it.
    pub fn peer(&self) -> Peer {
        Peer::new(self.client.clone(), NAME).unwrap()
    }

    /// The same, for a client that shows who it is.
    pub fn peer_of(&self, who: &SelfMade) -> Peer {
        let identity: Identity = who.identity().unwrap();
        Peer::new(ClientSide::new(roots(&self.made), Some(identity)).unwrap(), NAME).unwrap()
    }
}

fn roots(made: &SelfMade) -> Trust {
    Trust::Roots(certificates(made.certificate.as_bytes()).unwrap())
}

fn server(made: &SelfMade, clients: Option<&SelfMade>) -> ServerConfig {
    let provider = Arc::new(ring::default_provider());
    let builder =
        ServerConfig::builder_with_provider(provider.clone()).with_safe_default_protocol_versions().unwrap();
    let builder = match clients {
        None => builder.with_no_client_auth(),
        Some(clients) => {
            let mut store = rustls::RootCertStore::empty();
            store.add(CertificateDer::from_pem_slice(clients.certificate.as_bytes()).unwrap()).unwrap();
            let verifier =
                WebPkiClientVerifier::builder_with_provider(Arc::new(store), provider).build().unwrap();
            builder.with_client_cert_verifier(verifier)
        }
    };
    let chain = vec![CertificateDer::from_pem_slice(made.certificate.as_bytes()).unwrap()];
    let key = PrivateKeyDer::from_pem_slice(made.key.as_bytes()).unwrap();
    builder.with_single_cert(chain, key).unwrap()
}
