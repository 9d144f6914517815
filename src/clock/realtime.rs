//! Reads the realtime clock, bracketed by the monotonic one.
//!
//! It must not judge the reading: that is [`super::RealtimeOffset`]'s affair.

use super::{ClockReading, now, whole_ns};
use rustix::time::{ClockId, clock_gettime};

/// Reads MONO, REALTIME, MONO.
#[must_use]
pub fn read_realtime() -> ClockReading {
    let before = now();
    let realtime_ns = unix_ns();
    let after = now();
    ClockReading { before, realtime_ns, after }
}

/// Nanoseconds since 1970: for names and headers, never for a span.
#[must_use]
pub fn unix_ns() -> u64 {
    whole_ns(clock_gettime(ClockId::Realtime))
}
