//! The limit of open files, and its raising to what is allowed anyway; opens none.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// A limit that says "unlimited" is one that nothing reaches.
pub(super) const UNLIMITED: u64 = u64::MAX;

/// Soft and hard limit of open files.
pub(super) fn limits() -> (u64, u64) {
    let limit = getrlimit(Resource::Nofile);
    (limit.current.unwrap_or(UNLIMITED), limit.maximum.unwrap_or(UNLIMITED))
}

/// Raises the soft limit of open files to the hard one, which needs no privilege; what holds afterwards.
///
/// # Errors
/// What the kernel says, which it does only where a sandbox forbids even this.
pub fn raise_files() -> rustix::io::Result<u64> {
    let limit = getrlimit(Resource::Nofile);
    if limit.current != limit.maximum {
        setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum })?;
    }
    Ok(limits().0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_soft_limit_becomes_the_hard_one() {
        let (_, hard) = limits();
        assert_eq!(raise_files(), Ok(hard));
        assert_eq!(limits(), (hard, hard));
    }
}
