//! How large a ring is and what its sockets are asked for.
//!
//! It must not ask the kernel: [`super::Ring::new`] does.

use super::{Engine, RingError};

/// Whether the kernel is asked for receive stamps.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Stamps {
    /// `SO_TIMESTAMPING` in software: a read without its stamp counts as lost.
    Software,
    /// The same, and the network card's own stamp wherever it makes one: a read without that counts as lost, and has the
    /// kernel's.
    Hardware,
    /// None: reads are stamped by us, when they are processed.
    Off,
}

/// Whether other sockets may listen on the same port.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum PortUse {
    /// This listener alone.
    Own,
    /// `SO_REUSEPORT`: the kernel spreads connections over all that share it, one per shard.
    Shared,
}

/// The size of a [`super::Ring`].
#[derive(Clone, Debug)]
pub struct RingConfig {
    /// By which system calls its sockets are driven.
    pub engine: Engine,
    /// Submission entries, rounded up to a power of two by the kernel; the ring flushes when they run out.
    pub entries: u32,
    /// Receive buffers, a power of two, shared by all connections.
    pub buffers: u16,
    /// Bytes of one buffer: the longest read is [`RingConfig::HEADER_BYTES`] less.
    pub buffer_bytes: u32,
    /// Sends handed to the kernel in one enter, at least 1: each departure is uncertain by the time of that enter.
    pub sends_per_enter: u32,
    /// Receive stamps of every TCP socket of this ring.
    pub stamps: Stamps,
    /// Whether TCP is asked what it knows of each connection when that is closed.
    pub survey: bool,
}

impl RingConfig {
    /// What the kernel puts before the bytes of each read: its header (16) and the stamp's control message (64).
    pub const HEADER_BYTES: u32 = 80;
    /// The most that all buffers of a ring may take: preflight adds the rings up, and a shard must fit in small hosts.
    pub const MOST_BUFFER_BYTES: usize = 4 << 20;

    pub(super) fn check(&self) -> Result<(), RingError> {
        let wrong = |what: &'static str| Err(RingError::Config(what));
        if !(1..=4096).contains(&self.entries) {
            return wrong("entries: 1 to 4096");
        }
        if !self.buffers.is_power_of_two() || self.buffers > 1 << 15 {
            return wrong("buffers: a power of two up to 32768");
        }
        if self.buffer_bytes < 2 * Self::HEADER_BYTES {
            return wrong("buffer_bytes: at least 160");
        }
        if self.total_buffer_bytes() > Self::MOST_BUFFER_BYTES {
            return wrong("buffers x buffer_bytes: at most 4 MiB");
        }
        if self.sends_per_enter == 0 {
            return wrong("sends_per_enter: at least 1");
        }
        Ok(())
    }

    pub(super) fn total_buffer_bytes(&self) -> usize {
        usize::from(self.buffers) * usize::try_from(self.buffer_bytes).expect("a 64-bit host")
    }
}

impl Default for RingConfig {
    /// 512 buffers hold the harvest of a millisecond at 500,000 reads/s; 4 KiB hold sixteen usual events.
    /// Four sends an enter cost a twentieth more CPU than forty, and keep departures certain to some 20 us.
    fn default() -> Self {
        Self {
            engine: Engine::Uring,
            entries: 256,
            buffers: 512,
            buffer_bytes: 4096,
            sends_per_enter: 4,
            stamps: Stamps::Software,
            survey: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_is_allowed() {
        assert!(RingConfig::default().check().is_ok());
    }

    #[test]
    fn sizes_out_of_range_are_refused_by_name() {
        let refused = |config: RingConfig, name: &str| {
            let error = config.check().expect_err(name).to_string();
            assert!(error.contains(name), "{error}");
        };
        let usual = RingConfig::default();
        refused(RingConfig { entries: 0, ..usual.clone() }, "entries");
        refused(RingConfig { buffers: 100, ..usual.clone() }, "buffers");
        refused(RingConfig { buffer_bytes: 100, ..usual.clone() }, "buffer_bytes");
        refused(RingConfig { buffers: 4096, buffer_bytes: 4096, ..usual.clone() }, "4 MiB");
        refused(RingConfig { sends_per_enter: 0, ..usual }, "sends_per_enter");
    }
}
