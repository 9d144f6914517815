//! Why a session came to nothing or broke: in rustls' own words, with what can be done about it.
//!
//! It must not decide what becomes of the connection.

use rustls::{AlertDescription, CertificateError, Error, InvalidMessage};

/// Why a session is over before its time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    words: String,
    remedy: &'static str,
}

/// The server may be right, and we trust too few.
const TRUST: &str = "give the certificate of the authority that made the server's with --ca-cert FILE, or do without proof with --insecure";

impl Failure {
    /// What the peer did, as rustls says it; `is_greeted`: it has answered in TLS before.
    pub(super) fn of(error: &Error, is_greeted: bool) -> Self {
        use AlertDescription as Alert;
        let remedy = match error {
            // What is no TLS record at all, instead of an answer to our greeting.
            Error::InvalidMessage(
                InvalidMessage::InvalidContentType | InvalidMessage::UnknownProtocolVersion,
            ) if !is_greeted => {
                "it seems to speak plain HTTP there: write http://, or give the port that speaks TLS"
            }
            Error::InvalidCertificate(why) => match why {
                CertificateError::UnknownIssuer => TRUST,
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                    "ask by a name that the certificate is for, or do without proof with --insecure"
                }
                CertificateError::Expired
                | CertificateError::ExpiredContext { .. }
                | CertificateError::NotValidYet
                | CertificateError::NotValidYetContext { .. } => {
                    "look at this host's clock and at the server's certificate; --insecure does without proof"
                }
                _ => "have the server's certificate made anew, or do without proof with --insecure",
            },
            Error::AlertReceived(Alert::CertificateRequired) => {
                "the server wants to know its clients: give --client-cert FILE and --client-key FILE"
            }
            Error::AlertReceived(
                Alert::UnknownCA
                | Alert::BadCertificate
                | Alert::CertificateUnknown
                | Alert::CertificateExpired
                | Alert::AccessDenied
                | Alert::DecryptError
                | Alert::UnsupportedCertificate,
            ) => {
                "the server does not accept this client's certificate: look at --client-cert and --client-key"
            }
            Error::AlertReceived(Alert::HandshakeFailure) => {
                "the two have no way to speak in common, or the server wants a --client-cert: look at its log"
            }
            Error::AlertReceived(Alert::NoApplicationProtocol) | Error::NoApplicationProtocol => {
                "the server does not speak HTTP/1.1, which is what lowrho speaks: let it offer http/1.1 (ALPN)"
            }
            Error::AlertReceived(Alert::UnrecognisedName) => {
                "the server serves another name: ask by the one it knows"
            }
            Error::AlertReceived(Alert::ProtocolVersion) | Error::PeerIncompatible(_) => {
                "lowrho speaks TLS 1.2 and 1.3: let the server speak one of them"
            }
            _ => "look at the server's log",
        };
        Self { words: error.to_string(), remedy }
    }

    /// The connection ended while hands were being shaken.
    pub fn ended(how: &str) -> Self {
        let words = format!("the connection {how} in the middle of the TLS handshake");
        Self { words, remedy: "does it speak TLS on this port? look at the server's log" }
    }

    pub(super) fn words(words: String) -> Self {
        Self { words, remedy: "" }
    }

    /// What to do about it; may be empty.
    pub const fn remedy(&self) -> &'static str {
        self.remedy
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.words)
    }
}
