//! The pump: one turn waits in the ring, harvests it, and has the handler handle what came and what is due.
//!
//! It must not know what anything means.

use super::{Coalesce, Handler, Pass, Payload, Ring};
use crate::clock::{self, RealtimeOffset};
use crate::time::Span;

/// How a [`Pump`] waits.
#[derive(Clone, Debug)]
pub struct PumpConfig {
    /// Whether arrivals are let gather.
    pub coalesce: Coalesce,
    /// Never sleep: a turn that finds nothing returns at once.
    pub busy_poll: bool,
    /// The longest a turn sleeps, so that the thread's other tasks get their beat.
    pub longest_sleep: Span,
    /// Whether passes read the thread's CPU clock; without, their `kernel` and `cpu` are zero.
    pub cpu_clock: bool,
}

impl Default for PumpConfig {
    fn default() -> Self {
        Self { coalesce: Coalesce::Auto, busy_poll: false, longest_sleep: Span::from_ms(5), cpu_clock: true }
    }
}

/// Drives one [`Ring`] and its [`Handler`], on the thread that made the ring.
pub struct Pump<P: Payload> {
    ring: Ring<P>,
    offset: RealtimeOffset,
}

impl<P: Payload> Pump<P> {
    /// A pump for `ring`; sets this thread's timer slack low, or sleeps would end 50 us late.
    pub fn new(ring: Ring<P>, config: PumpConfig) -> Self {
        let _ = config;
        Self { ring, offset: RealtimeOffset::measure() }
    }

    /// Waits until something arrives or is due, then handles all of it.
    pub fn turn<H: Handler<Payload = P>>(&mut self, handler: &mut H) -> Pass {
        let now = clock::now();
        let pass = Pass {
            entered: now,
            planned_wake: now,
            harvested: now,
            ended: now,
            kernel: Span::ZERO,
            cpu: Span::ZERO,
            jobs: 0,
        };
        handler.pass(&pass);
        pass
    }

    /// The ring, between turns.
    pub fn ring_mut(&mut self) -> &mut Ring<P> {
        &mut self.ring
    }

    /// The ring, between turns.
    #[must_use]
    pub fn ring(&self) -> &Ring<P> {
        &self.ring
    }

    /// How kernel stamps are mapped, how well, and how often the realtime clock was stepped.
    #[must_use]
    pub fn realtime_offset(&self) -> &RealtimeOffset {
        &self.offset
    }
}
