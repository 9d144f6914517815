//! Why there is no ring, or no listener: the thing and its remedy.
//!
//! It must not hold what happens to a connection: that is an outcome, told to the handler.

use super::Address;
use rustix::io::Errno;
use std::fmt;

/// The first kernel with all that the ring needs: `IORING_SETUP_DEFER_TASKRUN` came last.
const KERNEL_NEEDED: &str = "6.1";

/// Why a ring or a listener could not be had.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RingError {
    /// The kernel or the container forbids io_uring (EPERM, EACCES).
    Forbidden,
    /// The kernel has no io_uring, or a sandbox hides it (ENOSYS).
    Missing,
    /// The locked-memory limit does not allow the ring (ENOMEM).
    Memlock {
        /// The soft limit, in bytes; `None` = no limit.
        limit_bytes: Option<u64>,
    },
    /// Too many files are open (EMFILE, ENFILE).
    Files(Errno),
    /// The kernel does not know what the ring needs of it (EINVAL).
    KernelTooOld {
        /// Its version, as `uname -r` says.
        found: String,
    },
    /// A size out of range: our caller's defect.
    Config(&'static str),
    /// An address cannot be listened on.
    Listen(Address, Errno),
    /// Anything else the kernel says, and to what.
    Kernel(&'static str, Errno),
}

impl RingError {
    /// What a failed `io_uring_setup` or `io_uring_register` means.
    pub(super) fn of_setup(what: &'static str, errno: Errno) -> Self {
        match errno {
            Errno::PERM | Errno::ACCESS => Self::Forbidden,
            Errno::NOSYS => Self::Missing,
            Errno::NOMEM => Self::Memlock {
                limit_bytes: rustix::process::getrlimit(rustix::process::Resource::Memlock).current,
            },
            Errno::MFILE | Errno::NFILE => Self::Files(errno),
            Errno::INVAL => {
                Self::KernelTooOld { found: rustix::system::uname().release().to_string_lossy().into_owned() }
            }
            _ => Self::Kernel(what, errno),
        }
    }

    /// What a failed `epoll_create` means.
    pub(super) fn of_epoll(what: &'static str, errno: Errno) -> Self {
        match errno {
            Errno::MFILE | Errno::NFILE => Self::Files(errno),
            _ => Self::Kernel(what, errno),
        }
    }

    pub(super) fn of_io(what: &'static str, error: &std::io::Error) -> Self {
        Self::of_setup(what, Errno::from_io_error(error).unwrap_or(Errno::IO))
    }
}

impl fmt::Display for RingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Forbidden => f.write_str(
                "io_uring is forbidden here: set sysctl kernel.io_uring_disabled=0, and in a container allow the \
                 io_uring_setup, io_uring_enter and io_uring_register system calls \
                 (docker and podman: --security-opt seccomp=unconfined, or a profile that lists them)",
            ),
            Self::Missing => f.write_str(
                "this kernel has no io_uring (CONFIG_IO_URING), or a sandbox such as gVisor hides it: run on a \
                 Linux kernel with io_uring",
            ),
            Self::Memlock { limit_bytes: Some(limit) } => write!(
                f,
                "the kernel refuses the ring's memory (ENOMEM): the locked-memory limit is {} KiB, for all of this \
                 user's rings together; raise it (ulimit -l, LimitMEMLOCK=, docker --ulimit memlock=-1) or use \
                 fewer shards",
                limit / 1024
            ),
            Self::Memlock { limit_bytes: None } => {
                f.write_str("the kernel refuses the ring's memory (ENOMEM) without a limit on locked memory: the host is out of memory")
            }
            Self::Files(errno) => write!(f, "no file descriptor is left for the ring ({errno}): raise ulimit -n"),
            Self::KernelTooOld { found } => {
                write!(f, "kernel {found} does not know what the ring needs: {KERNEL_NEEDED} or later does")
            }
            Self::Config(what) => write!(f, "ring size out of range: {what}"),
            Self::Listen(address, errno) => match *errno {
                Errno::ADDRINUSE if address.path().is_some() => {
                    write!(f, "{address} is in use: choose another path, or stop who listens there")
                }
                Errno::ADDRINUSE => write!(f, "{address} is in use: choose another port, or stop who listens there"),
                Errno::ADDRNOTAVAIL => write!(f, "{address} is not an address of this host"),
                Errno::ACCESS if address.path().is_some() => {
                    write!(f, "{address} cannot be made: its folder is not ours to write in")
                }
                Errno::ACCESS => write!(f, "{address} needs privileges: choose a port of 1024 or above"),
                _ => write!(f, "cannot listen on {address}: {errno}"),
            },
            Self::Kernel(what, errno) => write!(f, "{what} failed: {errno}"),
        }
    }
}

impl std::error::Error for RingError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_refuses_is_said_with_its_remedy() {
        for (errno, remedy) in [
            (Errno::PERM, "kernel.io_uring_disabled=0"),
            (Errno::ACCESS, "seccomp"),
            (Errno::NOSYS, "CONFIG_IO_URING"),
            (Errno::NOMEM, "memory"),
            (Errno::MFILE, "ulimit -n"),
            (Errno::INVAL, "6.1 or later"),
            (Errno::IO, "io_uring_setup failed"),
        ] {
            let said = RingError::of_setup("io_uring_setup", errno).to_string();
            assert!(said.contains(remedy), "{errno}: {said}");
        }
    }

    #[test]
    fn a_memory_limit_is_named_with_its_value() {
        let said = RingError::Memlock { limit_bytes: Some(8 << 20) }.to_string();
        assert!(said.contains("8192 KiB") && said.contains("fewer shards"), "{said}");
    }
}
