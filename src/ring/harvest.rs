//! One harvest: what the completions mean, reads in the order of their stamps, ends after reads.
//!
//! It must not call the kernel nor the handler.

use super::{Conn, End};
use crate::time::{Arrival, Instant, StampClass};
use rustix::io::Errno;

/// A completion that is neither a read nor an end.
#[derive(Debug)]
pub(super) enum Other {
    Accepted(Conn),
    Connected(Conn, Result<(), Errno>),
    /// The send of this index is over.
    Sent(u32, Result<(), Errno>),
}

/// One read, in a buffer that is ours until it is lent again; not to be copied, for there is one such buffer.
#[derive(Debug)]
pub(super) struct ReadBack {
    pub(super) conn: Conn,
    pub(super) buffer: u16,
    /// Bytes behind the header.
    pub(super) bytes: u32,
    pub(super) arrival: Arrival,
    /// The stamp, but never before one of the same stream: bytes stay in order even when a stamp is missing.
    pub(super) order: Instant,
}

/// What one harvest brought; its room is used again by the next.
#[derive(Debug, Default)]
pub(super) struct Harvest {
    pub(super) others: Vec<Other>,
    pub(super) reads: Vec<ReadBack>,
    pub(super) ends: Vec<(Conn, End)>,
}

impl Harvest {
    /// Sorts the reads by stamp; those of one stream keep their order.
    pub(super) fn sort(&mut self) {
        // Stable, and without an allocation when little is out of place: completions come nearly sorted.
        if !self.reads.is_sorted_by_key(|read| read.order) {
            insertion_sort(&mut self.reads);
        }
    }
}

/// Sorts by insertion: stable, in place, and quick for a few dozen nearly sorted reads.
fn insertion_sort(reads: &mut [ReadBack]) {
    for at in 1..reads.len() {
        let order = reads[at].order;
        let place = reads[..at].partition_point(|read| read.order <= order);
        reads[place..=at].rotate_right(1);
    }
}

/// What the reads of a stream so far tell of the next.
#[derive(Copy, Clone, Debug)]
pub(super) struct Past {
    /// The latest stamp.
    pub(super) order: Instant,
    /// Nothing that is still to be read arrived before.
    pub(super) floor: Instant,
}

impl Default for Past {
    fn default() -> Self {
        Self { order: Instant::ZERO, floor: Instant::ZERO }
    }
}

/// The place of one read among what is known of its stream and of the harvests.
#[derive(Copy, Clone, Debug)]
pub(super) struct Placed {
    pub(super) arrival: Arrival,
    pub(super) order: Instant,
    /// Stamped before the harvest that should have brought it.
    pub(super) overtaken: bool,
}

impl Placed {
    /// What is known behind this read. One that filled its buffer may have ended inside a segment, or inside several that
    /// waited as one and kept the newest stamp only: what is left of them may have arrived as early as what was read.
    pub(super) fn past(&self, is_full: bool) -> Past {
        Past { order: self.order, floor: if is_full { self.arrival.earliest } else { self.order } }
    }
}

/// Bounds a stamped read: `docs/METHOD.md`, "Instants of one request".
pub(super) fn place(stamp: Instant, past: Past, swept: Instant, class: StampClass) -> Placed {
    // A segment can be stamped, and reach its socket only after the harvest that followed: then that harvest says
    // nothing of what came before it in the same read.
    let overtaken = stamp < swept;
    let floor = if overtaken { past.floor } else { past.floor.max(swept) };
    let arrival = Arrival { stamp, earliest: floor.min(stamp), class };
    Placed { arrival, order: stamp.max(past.order), overtaken }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ns(n: u64) -> Instant {
        Instant::from_ns(n)
    }

    fn placed(stamp: u64, previous: u64, swept: u64) -> (u64, u64, bool) {
        let past = Past { order: ns(previous), floor: ns(previous) };
        let placed = place(ns(stamp), past, ns(swept), StampClass::Software);
        assert_eq!(placed.arrival.stamp, ns(stamp));
        (placed.arrival.earliest.as_ns(), placed.order.as_ns(), placed.overtaken)
    }

    #[test]
    fn nothing_in_a_read_arrived_before_its_streams_last_stamp_nor_before_the_last_full_harvest() {
        assert_eq!(placed(100, 40, 70), (70, 100, false));
        assert_eq!(placed(100, 80, 70), (80, 100, false));
    }

    #[test]
    fn a_read_stamped_before_the_last_harvest_falls_back_to_its_stream() {
        assert_eq!(placed(60, 40, 70), (40, 60, true));
    }

    #[test]
    fn a_stamp_before_the_streams_last_keeps_its_bytes_in_order_and_its_bounds_straight() {
        assert_eq!(placed(35, 40, 10), (35, 40, false));
    }

    #[test]
    fn what_a_full_buffer_left_unread_may_have_come_as_early_as_what_it_took() {
        // Segments of 100, 200 and 300 wait as one stamped 300; the buffer takes the first of them, and the next read the rest
        // and one of 400. The segment of 200 must lie in the second read's interval.
        let past = |floor| Past { order: ns(floor), floor: ns(floor) };
        let first = place(ns(300), past(50), ns(80), StampClass::Software);
        let second = place(ns(400), first.past(true), ns(80), StampClass::Software);
        assert_eq!((second.arrival.earliest, second.arrival.stamp, second.order), (ns(80), ns(400), ns(400)));
        let third = place(ns(350), second.past(true), ns(80), StampClass::Software);
        assert_eq!((third.arrival.earliest, third.order), (ns(80), ns(400)), "order is kept all the same");
        // A read that left room has taken all there was.
        let next = place(ns(400), first.past(false), ns(80), StampClass::Software);
        assert_eq!(next.arrival.earliest, ns(300));
    }

    fn read(slot: u32, order: u64) -> ReadBack {
        let conn = Conn { slot, generation: 0 };
        let arrival = Arrival { stamp: ns(order), earliest: ns(order), class: StampClass::Software };
        ReadBack { conn, buffer: 0, bytes: 0, arrival, order: ns(order) }
    }

    proptest! {
        #[test]
        fn reads_are_sorted_by_stamp_and_keep_the_order_of_completion_among_equals(orders in prop::collection::vec(0_u64..20, 0..80)) {
            let numbered = orders.iter().zip(0..).map(|(order, n)| ReadBack { bytes: n, ..read(0, *order) });
            let mut harvest = Harvest { reads: numbered.collect(), ..Harvest::default() };
            let mut expected: Vec<(Instant, u32)> = harvest.reads.iter().map(|r| (r.order, r.bytes)).collect();
            expected.sort();
            harvest.sort();
            prop_assert_eq!(harvest.reads.iter().map(|r| (r.order, r.bytes)).collect::<Vec<_>>(), expected);
        }
    }
}
