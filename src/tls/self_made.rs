//! A certificate of our own making, for the simulator: it vouches for itself.

use super::TlsFault;
use super::identity::Identity;

/// A self-signed certificate and its key, both PEM.
#[derive(Clone, Debug)]
pub struct SelfMade {
    /// The certificate: for the server to show, and for clients to trust.
    pub certificate: String,
    /// Its private key.
    pub key: String,
}

impl SelfMade {
    /// The same as an identity.
    ///
    /// # Errors
    /// None that could be met: it was made by us.
    pub fn identity(&self) -> Result<Identity, TlsFault> {
        Identity::from_pem(self.certificate.as_bytes(), self.key.as_bytes())
    }
}

/// Makes one for these names and addresses.
///
/// # Errors
/// One of them is neither.
pub fn self_made(names: &[&str]) -> Result<SelfMade, TlsFault> {
    let names: Vec<String> = names.iter().map(ToString::to_string).collect();
    let made = rcgen::generate_simple_self_signed(names)
        .map_err(|error| TlsFault::new(format!("no certificate can be made: {error}")))?;
    Ok(SelfMade { certificate: made.cert.pem(), key: made.signing_key.serialize_pem() })
}
