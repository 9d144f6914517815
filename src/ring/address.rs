//! Where a connection goes and where a listener stands: an internet address, or the path of a Unix socket.
//!
//! It must not resolve a name, nor open anything.

use rustix::io::Errno;
use rustix::net::{SocketAddrAny, SocketAddrUnix};
use std::fmt;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

/// An address of either kind. Cheap to clone.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Address {
    /// TCP over IPv4 or IPv6.
    Tcp(SocketAddr),
    /// A Unix stream socket. The kernel stamps none of its bytes: its reads are stamped when they are processed.
    Unix(Arc<Path>),
}

impl Address {
    /// The internet address, of a TCP address.
    #[must_use]
    pub const fn tcp(&self) -> Option<SocketAddr> {
        match self {
            Self::Tcp(address) => Some(*address),
            Self::Unix(_) => None,
        }
    }

    /// The path, of a Unix socket.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Tcp(_) => None,
            Self::Unix(path) => Some(path),
        }
    }

    /// As a URL is given on the command line.
    #[must_use]
    pub fn url(&self) -> String {
        match self {
            Self::Tcp(address) => format!("http://{address}"),
            Self::Unix(_) => self.to_string(),
        }
    }

    /// In the kernel's form.
    pub(super) fn raw(&self) -> Result<SocketAddrAny, Errno> {
        match self {
            Self::Tcp(address) => Ok(SocketAddrAny::from(*address)),
            Self::Unix(path) => Ok(SocketAddrAny::from(SocketAddrUnix::new(&**path)?)),
        }
    }
}

impl From<SocketAddr> for Address {
    fn from(address: SocketAddr) -> Self {
        Self::Tcp(address)
    }
}

impl From<&Self> for Address {
    fn from(address: &Self) -> Self {
        address.clone()
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => write!(f, "{address}"),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}
