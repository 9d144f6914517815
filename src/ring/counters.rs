//! What a ring has counted of its own doings; any that should be 0 and is not becomes a reason of the verdict.
//!
//! It must not judge: analysis does.

/// Counts since the ring was made.
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug)]
pub struct Counters {
    /// Calls of `io_uring_enter`; on epoll, of `epoll_wait` and of the sleeps before it.
    pub enters: u64,
    /// Reads handed to the handler.
    pub reads: u64,
    /// Reads whose class promised a stamp and that had none.
    pub stamps_lost: u64,
    /// Reads stamped by the network card.
    pub stamped_by_card: u64,
    /// Reads stamped by the kernel.
    pub stamped_by_kernel: u64,
    /// Reads stamped before the harvest that should have brought them: their interval falls back to the stream's own.
    pub overtaken: u64,
    /// Multishot receives that ended for want of a buffer; none on epoll, which reads no more in one turn than it has room for.
    pub enobufs: u64,
    /// Multishot receives and accepts armed again.
    pub rearmed: u64,
    /// Times that completions had to wait in the kernel because the completion queue was full; none is lost by it.
    pub cq_overflows: u64,
    /// Completions that the kernel lost.
    pub cq_lost: u64,
    /// Accepts that failed, for want of files or memory.
    pub accepts_failed: u64,
    /// Sends given to the kernel.
    pub sends: u64,
    /// Bytes given to the kernel to send.
    pub bytes_sent: u64,
    /// Completions of connections closed meanwhile, dropped.
    pub stale: u64,
    /// Connections open now.
    pub open: u64,
}
