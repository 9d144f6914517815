//! What the run says to its shards and what they say back while they work: a few words of shared memory, no lock.
//!
//! No number of the report passes through here.

use crate::time::Instant;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};

/// What the shards are to do.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Order {
    /// Open connections, and send what is due once the run has started.
    Send,
    /// Begin nothing more; finish what is in flight.
    Drain,
    /// Cancel what is in flight and end.
    Abandon,
}

/// Orders from the run to all its shards.
#[derive(Debug)]
pub struct Control {
    start_ns: AtomicU64,
    cut_ns: AtomicU64,
    order: AtomicU8,
}

impl Default for Control {
    fn default() -> Self {
        let never = || AtomicU64::new(Instant::NEVER.as_ns());
        Self { start_ns: never(), cut_ns: never(), order: AtomicU8::new(0) }
    }
}

impl Control {
    /// Sets the instant of the run's zero: every due instant counts from here.
    pub fn start_at(&self, start: Instant) {
        self.start_ns.store(start.as_ns(), Ordering::Release);
    }

    /// The run's zero, once it is set.
    #[must_use]
    pub fn start(&self) -> Option<Instant> {
        set(&self.start_ns)
    }

    /// Cuts the run short: windows end at `at` and the next order holds from then on. A little ahead of now, so that every
    /// shard knows of it before it comes, and all of them cut at the same instant. The first cut stands.
    pub fn cut_at(&self, at: Instant) {
        let never = Instant::NEVER.as_ns();
        // The error says that it was cut before, at another instant.
        let _ = self.cut_ns.compare_exchange(never, at.as_ns(), Ordering::AcqRel, Ordering::Acquire);
    }

    /// Where the run is cut short, if it is.
    #[must_use]
    pub fn cut(&self) -> Option<Instant> {
        set(&self.cut_ns)
    }

    /// Gives an order. Orders only get stronger.
    pub fn give(&self, order: Order) {
        self.order.fetch_max(order as u8, Ordering::Release);
    }

    /// The order in force.
    #[must_use]
    pub fn order(&self) -> Order {
        match self.order.load(Ordering::Acquire) {
            0 => Order::Send,
            1 => Order::Drain,
            _ => Order::Abandon,
        }
    }
}

fn set(ns: &AtomicU64) -> Option<Instant> {
    let at = Instant::from_ns(ns.load(Ordering::Acquire));
    (at != Instant::NEVER).then_some(at)
}

/// What one shard tells of itself while it works.
#[derive(Debug, Default)]
pub struct Standing {
    ready: AtomicBool,
    measured_over: AtomicBool,
}

impl Standing {
    /// The shard has its connections and can start.
    pub fn set_ready(&self) {
        self.ready.store(true, Ordering::Release);
    }

    /// Whether the shard can start.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.ready.load(Ordering::Acquire)
    }

    /// No measured request is open, and none will be due.
    pub fn set_measured_over(&self) {
        self.measured_over.store(true, Ordering::Release);
    }

    /// Whether every measured request of the shard is finished.
    #[must_use]
    pub fn is_measured_over(&self) -> bool {
        self.measured_over.load(Ordering::Acquire)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_never_taken_back() {
        let control = Control::default();
        assert_eq!(control.order(), Order::Send);
        control.give(Order::Abandon);
        control.give(Order::Drain);
        assert_eq!(control.order(), Order::Abandon);
    }

    #[test]
    fn the_first_cut_stands() {
        let control = Control::default();
        assert_eq!(control.cut(), None);
        control.cut_at(Instant::from_ns(7));
        control.cut_at(Instant::from_ns(5));
        assert_eq!(control.cut(), Some(Instant::from_ns(7)));
    }

    #[test]
    fn a_run_has_no_zero_until_it_is_given_one() {
        let control = Control::default();
        assert_eq!(control.start(), None);
        control.start_at(Instant::from_ns(7));
        assert_eq!(control.start(), Some(Instant::from_ns(7)));
    }
}
