//! Certificates and keys as PEM text has them.

use super::TlsFault;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// Who one side is: its certificate, those that vouch for it, and its key.
#[derive(Debug)]
pub struct Identity {
    pub(super) chain: Vec<CertificateDer<'static>>,
    pub(super) key: PrivateKeyDer<'static>,
}

impl Identity {
    /// Reads a chain (own certificate first) and its key (PKCS #8, PKCS #1 or SEC1), both PEM.
    ///
    /// # Errors
    /// One of the two holds nothing of its kind, or is damaged.
    pub fn from_pem(chain: &[u8], key: &[u8]) -> Result<Self, TlsFault> {
        let key = PrivateKeyDer::from_pem_slice(key).map_err(|error| {
            TlsFault::new(format!(
                "no private key was found ({error}): it must be PEM, unencrypted, with BEGIN PRIVATE KEY"
            ))
        })?;
        Ok(Self { chain: certificates(chain)?, key })
    }
}

impl Clone for Identity {
    fn clone(&self) -> Self {
        Self { chain: self.chain.clone(), key: self.key.clone_key() }
    }
}

/// Reads the certificates of a PEM text.
///
/// # Errors
/// There is none, or one is damaged.
pub fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, TlsFault> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    match found {
        Ok(found) if found.is_empty() => {
            Err(TlsFault::new("no certificate was found: it must be PEM, with BEGIN CERTIFICATE"))
        }
        Ok(found) => Ok(found),
        Err(error) => Err(TlsFault::new(format!("a certificate is damaged ({error})"))),
    }
}
