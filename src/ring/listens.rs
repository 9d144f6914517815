//! One listening socket, and the file of a Unix one, which goes with it.
//!
//! It must not accept: the ring does.

use rustix::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;

/// Who accepts.
#[derive(Debug)]
pub(super) struct Listens {
    pub(super) fd: OwnedFd,
    /// The file of a Unix socket, which goes with its listener.
    pub(super) path: Option<Arc<Path>>,
}

impl Drop for Listens {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            // Whoever has taken it away already has done what is to be done.
            let _ = std::fs::remove_file(path);
        }
    }
}
