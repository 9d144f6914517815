//! The deltas of one response in about five bytes each: what each bears, when it arrived, and how sure that is.
//!
//! It must not interpret: whether undecided deltas count is known only at the end, so the log is replayed then.
//!
//! An entry is a header byte and variable-length numbers. `OPENS`: a delta that opens an event; nanoseconds since the event
//! before (the first: since the base). `JOINS`: a further choice of the same event. `MET`: the event before it met a later
//! one in its read, or is uncertain without that; nanoseconds by which it can have arrived earlier than its stamp.

use crate::time::{Instant, Span};

const KIND: u8 = 0b11;
const OPENS: u8 = 0;
const JOINS: u8 = 1;
const MET: u8 = 2;

const UNDECIDED: u8 = 1 << 2;
const ANSWER: u8 = 1 << 3;
const OTHER_CHOICE: u8 = 1 << 4;
/// Tokens: none of the two = unknown, ONE = 1, both = a number follows.
const ONE: u8 = 1 << 5;
const MANY: u8 = 1 << 6;
const BACKWARDS: u8 = 1 << 7;
/// Of a `MET` entry: the first in its read (the bits of a delta are free there).
const NEW_READ: u8 = 1 << 2;
/// Of a `MET` entry: it met none, and its stamp is uncertain all the same.
const ALONE: u8 = 1 << 3;

/// Grows by a quarter: 18,000 streams cannot afford the doubling of a vector.
const LEAST_GROWTH: usize = 48;
/// The longest entry: a header and three numbers of ten bytes.
const LONGEST_ENTRY: usize = 31;

/// One delta that bears a token, or may.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Entry {
    pub at: Instant,
    pub opens_event: bool,
    pub choice: u16,
    pub undecided: bool,
    pub answer: bool,
    /// 0 = unknown.
    pub tokens: u32,
}

/// An entry as replayed, with what became known after it was written.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Replayed {
    pub entry: Entry,
    /// How much earlier than `at` it can have arrived: zero unless a later event met it in its read, or the stamp is ours.
    pub uncertainty: Span,
    /// The coalesced read it came in, counted from 1; 0 when it was the last event of its read.
    pub coalesced_read: u32,
}

#[derive(Debug)]
pub(super) struct EventLog {
    bytes: Vec<u8>,
    previous: Instant,
}

impl EventLog {
    /// An empty log in the memory of `bytes`, whose first instant is written relative to `base`.
    pub fn new(mut bytes: Vec<u8>, base: Instant) -> Self {
        bytes.clear();
        Self { bytes, previous: base }
    }

    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub fn capacity(&self) -> usize {
        self.bytes.capacity()
    }

    pub fn delta(&mut self, entry: &Entry) {
        self.make_room();
        let mut header = if entry.opens_event { OPENS } else { JOINS };
        if entry.undecided {
            header |= UNDECIDED;
        }
        if entry.answer {
            header |= ANSWER;
        }
        if entry.choice != 0 {
            header |= OTHER_CHOICE;
        }
        header |= match entry.tokens {
            0 => 0,
            1 => ONE,
            _ => ONE | MANY,
        };
        if entry.at < self.previous {
            header |= BACKWARDS;
        }
        self.bytes.push(header);
        if entry.opens_event {
            self.number((entry.at - self.previous).as_ns().unsigned_abs());
            self.previous = entry.at;
        }
        if entry.choice != 0 {
            self.number(u64::from(entry.choice));
        }
        if entry.tokens > 1 {
            self.number(u64::from(entry.tokens));
        }
    }

    /// The event before met a later one in the same read.
    pub fn met(&mut self, uncertainty: Span, first_in_read: bool) {
        self.mark(if first_in_read { MET | NEW_READ } else { MET }, uncertainty);
    }

    /// The event before was the last of its read, and can have arrived earlier than its stamp all the same.
    pub fn alone(&mut self, uncertainty: Span) {
        self.mark(MET | ALONE, uncertainty);
    }

    fn mark(&mut self, header: u8, uncertainty: Span) {
        self.make_room();
        self.bytes.push(header);
        // Stamps that ran backwards leave no room to be early in.
        self.number(u64::try_from(uncertainty.as_ns()).unwrap_or(0));
    }

    fn make_room(&mut self) {
        if self.bytes.capacity() - self.bytes.len() < LONGEST_ENTRY {
            self.bytes.reserve_exact(LEAST_GROWTH.max(self.bytes.len() / 4));
        }
    }

    fn number(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(0x80 | low_seven(value));
            value >>= 7;
        }
        self.bytes.push(low_seven(value));
    }
}

const fn low_seven(value: u64) -> u8 {
    (value & 0x7f) as u8
}

/// Replays the bytes of a log that was written with the same `base`.
pub(super) struct Replay<'a> {
    rest: Cursor<'a>,
    at: Instant,
    uncertainty: Span,
    coalesced_read: u32,
    reads: u32,
}

impl<'a> Replay<'a> {
    pub const fn new(bytes: &'a [u8], base: Instant) -> Self {
        Self { rest: Cursor { bytes }, at: base, uncertainty: Span::ZERO, coalesced_read: 0, reads: 0 }
    }

    /// Looks past the joined choices of an event for the mark that says it met a later one.
    fn look_ahead(&mut self) {
        let mut ahead = self.rest;
        while let Some(header) = ahead.peek() {
            ahead.skip_header();
            match header & KIND {
                JOINS => {
                    ahead.choice(header);
                    ahead.tokens(header);
                }
                MET => {
                    self.uncertainty =
                        Span::from_ns(i64::try_from(ahead.number()).expect("written from a span"));
                    if header & NEW_READ != 0 {
                        self.reads += 1;
                    }
                    self.coalesced_read = if header & ALONE != 0 { 0 } else { self.reads };
                    return;
                }
                _ => break,
            }
        }
        self.uncertainty = Span::ZERO;
        self.coalesced_read = 0;
    }
}

impl Iterator for Replay<'_> {
    type Item = Replayed;

    fn next(&mut self) -> Option<Replayed> {
        let mut header = self.rest.peek()?;
        self.rest.skip_header();
        if header & KIND == MET {
            self.rest.number();
            header = self.rest.peek()?;
            self.rest.skip_header();
        }
        let opens_event = header & KIND == OPENS;
        if opens_event {
            let ns = i64::try_from(self.rest.number()).expect("written from a span");
            self.at += Span::from_ns(if header & BACKWARDS != 0 { -ns } else { ns });
        }
        let choice = self.rest.choice(header);
        let tokens = self.rest.tokens(header);
        if opens_event {
            self.look_ahead();
        }
        let entry = Entry {
            at: self.at,
            opens_event,
            choice,
            undecided: header & UNDECIDED != 0,
            answer: header & ANSWER != 0,
            tokens,
        };
        Some(Replayed { entry, uncertainty: self.uncertainty, coalesced_read: self.coalesced_read })
    }
}

#[derive(Copy, Clone)]
struct Cursor<'a> {
    bytes: &'a [u8],
}

impl Cursor<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.first().copied()
    }

    fn skip_header(&mut self) {
        self.bytes = &self.bytes[1..];
    }

    fn number(&mut self) -> u64 {
        let mut value = 0;
        for (n, byte) in self.bytes.iter().enumerate() {
            value |= u64::from(byte & 0x7f) << (7 * n);
            if byte & 0x80 == 0 {
                self.bytes = &self.bytes[n + 1..];
                return value;
            }
        }
        unreachable!("a log ends with a whole entry")
    }

    fn choice(&mut self, header: u8) -> u16 {
        if header & OTHER_CHOICE == 0 {
            return 0;
        }
        u16::try_from(self.number()).expect("written from a u16")
    }

    fn tokens(&mut self, header: u8) -> u32 {
        match header & (ONE | MANY) {
            0 => 0,
            ONE => 1,
            _ => u32::try_from(self.number()).expect("written from a u32"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const BASE: Instant = Instant::from_ns(1 << 40);

    fn entry() -> impl Strategy<Value = (Entry, Option<i64>)> {
        let gap = prop_oneof![Just(0), -1_000_000_i64..1_000_000, 0_i64..(1 << 39)];
        let tokens = prop_oneof![Just(0_u32), Just(1), any::<u32>()];
        let met = proptest::option::of(0_i64..10_000_000);
        let choice = prop_oneof![Just(0_u16), any::<u16>()];
        (gap, any::<[bool; 3]>(), choice, tokens, met).prop_map(
            |(gap, [opens_event, undecided, answer], choice, tokens, met)| {
                let at = Instant::ZERO + Span::from_ns(gap + (1 << 39));
                (Entry { at, opens_event, choice, undecided, answer, tokens }, met)
            },
        )
    }

    proptest! {
        #[test]
        fn what_is_logged_is_replayed(entries in proptest::collection::vec(entry(), 0..40)) {
            let mut log = EventLog::new(Vec::new(), BASE);
            let mut written: Vec<Replayed> = Vec::new();
            let mut event_begins = 0;
            for (n, (mut entry, met)) in entries.into_iter().enumerate() {
                entry.opens_event |= n == 0;
                if entry.opens_event {
                    event_begins = n;
                } else {
                    entry.at = written[n - 1].entry.at;
                }
                log.delta(&entry);
                written.push(Replayed { entry, uncertainty: Span::ZERO, coalesced_read: 0 });
                if let (Some(met), true) = (met, entry.opens_event) {
                    log.met(Span::from_ns(met), true);
                    let reads = written.iter().map(|w| w.coalesced_read).max().unwrap_or(0) + 1;
                    for event in &mut written[event_begins..] {
                        event.uncertainty = Span::from_ns(met);
                        event.coalesced_read = reads;
                    }
                }
            }
            // A mark closes its event: what joins after one in this made-up sequence belongs to no read that met.
            let closed: Vec<_> = Replay::new(log.bytes(), BASE).map(|r| r.entry).collect();
            let expected: Vec<_> = written.iter().map(|w| w.entry).collect();
            prop_assert_eq!(closed, expected);
            for (got, want) in Replay::new(log.bytes(), BASE).zip(&written).filter(|(_, w)| w.entry.opens_event) {
                prop_assert_eq!(got, *want);
            }
        }
    }

    #[test]
    fn a_mark_covers_every_choice_of_its_event_and_no_other() {
        let mut log = EventLog::new(Vec::new(), BASE);
        let delta = |opens_event, choice, ms| Entry {
            at: BASE + Span::from_ms(ms),
            opens_event,
            choice,
            undecided: false,
            answer: true,
            tokens: 0,
        };
        log.delta(&delta(true, 0, 1));
        log.delta(&delta(true, 0, 2));
        log.delta(&delta(false, 1, 2));
        log.met(Span::from_us(7), true);
        log.delta(&delta(true, 1, 2));
        log.met(Span::from_us(7), false);
        log.delta(&delta(true, 0, 2));
        log.alone(Span::from_us(3));
        let replayed: Vec<_> = Replay::new(log.bytes(), BASE)
            .map(|r| (r.entry.choice, r.uncertainty.as_ns(), r.coalesced_read))
            .collect();
        assert_eq!(replayed, [(0, 0, 0), (0, 7_000, 1), (1, 7_000, 1), (1, 7_000, 1), (0, 3_000, 0)]);
    }

    #[test]
    fn an_ordinary_event_takes_five_bytes() {
        let mut log = EventLog::new(Vec::new(), BASE);
        for n in 0..100 {
            let at = BASE + Span::from_ms(20) * n;
            log.delta(&Entry { at, opens_event: true, choice: 0, undecided: false, answer: true, tokens: 1 });
        }
        assert!(log.bytes().len() <= 500, "{}", log.bytes().len());
    }
}
