//! By which system calls a ring drives its sockets.
//!
//! It must not choose: whoever makes a ring has been told.

/// The two edges between sockets and the pump. Both make the same trace.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum Engine {
    /// io_uring: multishot receives into provided buffers. The cheaper one, and the usual one.
    #[default]
    Uring,
    /// epoll and recvmsg: for hosts that forbid io_uring.
    Epoll,
}
