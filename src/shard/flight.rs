//! One request on its connection: its timeline, the reading of its response, and the timers that hold for it.
//!
//! It must not touch the ring: what to do with the connection is the client's to decide.

use crate::clock;
use crate::plan::Timeouts;
use crate::record::{Asked, Timeline};
use crate::ring::{Departure, Read};
use crate::time::{Arrival, Instant, Span, StampClass};
use crate::tls::Failure;
use crate::wire::{Closed, ErrorClass, Expect, Progress, Reply, Response};

/// How long a body may stay open after `[DONE]`: servers send the zero chunk within microseconds, and a connection
/// that is not drained cannot be reused.
pub const DRAIN: Span = Span::from_ms(50);

/// How long a body may stay open behind the head of a refusal: its class is known, its words are in the first KiBs, and a
/// connection that waits for the rest holds a place of the pool.
const REFUSAL: Span = Span::from_s(1);

/// What the log of a request's events may take before it counts as kept: 200,000 events, more than any honest answer has.
const USUAL_LOG: usize = 1 << 20;

/// One request in flight.
#[derive(Debug)]
pub struct Flight {
    /// What was heard and when.
    pub timeline: Timeline,
    response: Response,
    begun: Instant,
    /// When this try began: the first, the one on a fresh connection, or one after a refusal.
    tried: Instant,
    /// When this try's first byte left.
    left: Option<Instant>,
    /// The kernel has all of this try.
    is_sent: bool,
    /// Tries that were refused.
    refusals: u8,
    /// The terminal event came: nothing but the body's end is waited for.
    draining: Option<Instant>,
    slot: u32,
    /// Bytes of memory that its response was last counted to keep.
    counted: usize,
    reused: bool,
    sent_again: bool,
    /// Ways that had no port left.
    vain_ways: u16,
    /// What the connection itself says of its failure.
    why: Option<Box<str>>,
}

impl Flight {
    /// A request that begins at `begun`, for `slot` of a closed loop.
    pub fn new(timeline: Timeline, expect: Expect, slot: u32, begun: Instant) -> Self {
        let response = Response::new(expect);
        Self {
            timeline,
            response,
            begun,
            tried: begun,
            left: None,
            is_sent: false,
            refusals: 0,
            draining: None,
            slot,
            counted: 0,
            reused: expect.reused,
            sent_again: false,
            vain_ways: 0,
            why: None,
        }
    }

    /// The same request again, on a fresh connection: the one it was sent on turned out to be dead.
    pub fn again(mut self, expect: Expect, now: Instant) -> Self {
        if self.refusals == 0 {
            self.timeline.retry();
        } else {
            self.timeline.refused();
        }
        let (refusals, tried) = (self.refusals, now);
        Self { sent_again: true, tried, refusals, ..Self::new(self.timeline, expect, self.slot, self.begun) }
    }

    /// It was refused, and will be tried again: what was heard is forgotten, what was timed stays.
    pub fn put_off(&mut self, expect: Expect) {
        self.timeline.refused();
        self.response = Response::new(expect);
        (self.draining, self.left, self.is_sent, self.counted, self.why) = (None, None, false, 0, None);
        self.refusals = self.refusals.saturating_add(1);
    }

    /// The next try after a refusal begins.
    pub fn tries(&mut self, expect: Expect, now: Instant) {
        self.response = Response::new(expect);
        (self.reused, self.sent_again, self.vain_ways, self.tried) = (expect.reused, false, 0, now);
    }

    /// How often it was refused.
    pub const fn attempts(&self) -> u8 {
        self.refusals
    }

    /// When it is over at the latest.
    pub fn ends_at(&self, timeouts: &Timeouts) -> Instant {
        self.begun + timeouts.total
    }

    /// Its connection is up: what counts is the first try's.
    pub fn connected(&mut self, now: Instant) {
        if self.refusals == 0 {
            self.timeline.connected(now);
        }
    }

    /// TCP was up at `since`, and its TLS is at `now`: what counts is the first try's.
    pub fn secured(&mut self, since: Instant, now: Instant) {
        if self.refusals == 0 {
            self.timeline.secured(since, now);
        }
    }

    /// TLS failed, so it did.
    pub fn insecure(&mut self, failure: &Failure, now: Instant) {
        self.because(&failure.to_string());
        self.closed(Closed::Insecure, now);
    }

    /// What is to be said of its failure, where the response says nothing.
    pub fn because(&mut self, why: &str) {
        self.why = Some(why.into());
    }

    /// What was asked.
    pub fn asked(&self) -> &Asked {
        self.timeline.asked()
    }

    /// The first byte has left.
    pub fn departed(&mut self, departure: Departure) {
        self.timeline.departed(departure.before, departure.after);
        self.left.get_or_insert(departure.before);
    }

    /// When this try's first byte left, if it did.
    pub const fn left(&self) -> Option<Instant> {
        self.left
    }

    /// The kernel has all of it.
    pub fn sent(&mut self) {
        self.is_sent = true;
    }

    /// Whether the kernel has all of it.
    pub const fn is_sent(&self) -> bool {
        self.is_sent
    }

    /// How it ended, once it did; and for how many seconds the server keeps an idle connection.
    pub fn reply(&self) -> (Reply, Option<u32>) {
        let mut reply = self.response.reply();
        if matches!(reply.error, Some(ErrorClass::Tls | ErrorClass::TimeoutConnect)) && reply.detail.is_none()
        {
            reply.detail.clone_from(&self.why);
        }
        if let Some(at) = reply.retry_at_unix_s.take() {
            // The server did not tell its own time: ours, to the second.
            let now = clock::unix_ns() / 1_000_000_000;
            reply.retry_after_s = Some(u32::try_from(u64::from(at).saturating_sub(now)).unwrap_or(u32::MAX));
        }
        (reply, self.response.keep_alive_s())
    }

    /// Takes one read, behind the bytes of which something `trails` that they are none of; answers whether the response is over, and how many tokens it brought.
    pub fn read(&mut self, read: Read<'_>, trails: bool) -> (Progress, u32) {
        let timeline = &mut self.timeline;
        timeline.read(read.arrival, read.bytes.len());
        let mut tokens = 0;
        let progress = self.response.read(read.bytes, &mut |heard| tokens += timeline.hear(&heard));
        if trails || self.response.trails() {
            timeline.trailed();
        }
        if progress == Progress::Draining && self.draining.is_none() {
            self.draining = Some(read.arrival.stamp);
        }
        (progress, tokens)
    }

    /// Takes the connection's end, or ours, at `now`.
    pub fn closed(&mut self, how: Closed, now: Instant) {
        let timeline = &mut self.timeline;
        timeline.closed(now);
        self.response.closed(how, &mut |heard| {
            timeline.hear(&heard);
        });
    }

    /// Whether it went out on a connection that had carried others.
    pub const fn was_reused(&self) -> bool {
        self.reused
    }

    /// Whether these first bytes arrived, by the kernel's stamp, before the request had left.
    pub fn is_unasked(&self, arrival: Arrival) -> bool {
        let early = self.left.is_none_or(|left| arrival.stamp < left);
        self.is_unanswered() && early && arrival.class != StampClass::User
    }

    /// One way had no port left: whether another of so many is to be tried.
    pub fn may_take_another_way(&mut self, ways: usize) -> bool {
        self.vain_ways = self.vain_ways.saturating_add(1);
        usize::from(self.vain_ways) < ways
    }

    /// Whether not a byte has come back.
    pub const fn is_unanswered(&self) -> bool {
        self.response.bytes() == 0
    }

    /// Whether it is the second try.
    pub const fn was_sent_again(&self) -> bool {
        self.sent_again
    }

    /// The timer that fires next, and the class of the failure if it does. Computed from stamps, so that a client that
    /// was stopped for a while does not take its own absence for the server's.
    pub fn deadline(&self, timeouts: &Timeouts) -> (Instant, ErrorClass) {
        if let Some(done) = self.draining {
            return (done + DRAIN, ErrorClass::TimeoutIdle);
        }
        let mut deadline = (self.begun + timeouts.total, ErrorClass::TimeoutTotal);
        let mut offer = |at: Instant, class| {
            if at < deadline.0 {
                deadline = (at, class);
            }
        };
        let Some(sent) = self.left else {
            offer(self.tried + timeouts.connect, ErrorClass::TimeoutConnect);
            return deadline;
        };
        if let Some(head) = self.refused() {
            // The class of its status stands, whatever the timer.
            offer(head + REFUSAL, ErrorClass::TimeoutIdle);
        }
        let latest = self.timeline.latest_read();
        if let (Some(limit), None) = (timeouts.first_byte, latest) {
            offer(sent + limit, ErrorClass::TimeoutFirstByte);
        }
        if let (Some(limit), false) = (timeouts.first_token, self.timeline.has_events()) {
            offer(sent + limit, ErrorClass::TimeoutFirstToken);
        }
        if let Some(limit) = timeouts.idle {
            offer(latest.unwrap_or(sent) + limit, ErrorClass::TimeoutIdle);
        }
        deadline
    }

    /// When the head of a refusal came, if one did.
    pub fn refused(&self) -> Option<Instant> {
        self.timeline.head().filter(|_| self.response.is_refused())
    }

    /// Bytes of memory that it was counted to keep between reads, and those it keeps now, which it is counted for from now on:
    /// what of its response is not whole yet, and an event log beyond the usual.
    pub fn recount(&mut self) -> (usize, usize) {
        let now = self.response.kept() + self.timeline.kept().saturating_sub(USUAL_LOG);
        (std::mem::replace(&mut self.counted, now), now)
    }

    /// The bytes it was last counted for.
    pub const fn counted(&self) -> usize {
        self.counted
    }

    /// Ends it: the timeline and the reading of the response.
    pub fn into_parts(self) -> (Timeline, Response, u32) {
        (self.timeline, self.response, self.slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Phase;
    use crate::wire::Api;

    const START: Instant = Instant::from_ns(1_000_000_000_000);

    fn at_ms(ms: i64) -> Instant {
        START + Span::from_ms(ms)
    }

    fn flight() -> Flight {
        let asked = Asked {
            index: 0,
            shard: 0,
            target: 0,
            stage: 0,
            phase: Phase::Measured,
            due: START,
            asked_output_tokens: None,
            choices: 1,
        };
        let expect = Expect { api: Api::Chat, choices: 1, reused: false };
        let mut flight = Flight::new(Timeline::new(asked, Vec::new()), expect, 0, START);
        flight.timeline.begun(START);
        flight.departed(Departure { before: START, after: START });
        flight
    }

    fn timeouts() -> Timeouts {
        let total = Span::from_s(600);
        Timeouts { total, connect: Span::from_s(10), first_byte: None, first_token: None, idle: None }
    }

    fn read(flight: &mut Flight, bytes: &[u8], stamp: Instant, earliest: Instant) -> Progress {
        let arrival = Arrival { stamp, earliest, class: StampClass::Software };
        flight.read(Read { bytes, arrival }, false).0
    }

    const EVENT: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"A\"}}]}\n\n";

    #[test]
    fn the_body_of_a_refusal_is_waited_for_one_second_and_its_class_stands() {
        for (status, class) in [("500 Oops", ErrorClass::Http5xx), ("307 There", ErrorClass::HttpRedirect)] {
            let mut flight = flight();
            assert_eq!(flight.deadline(&timeouts()).0, START + Span::from_s(600));
            let head = format!("HTTP/1.1 {status}\r\nLocation: /\r\nContent-Length: 99\r\n\r\nout of");
            assert_eq!(read(&mut flight, head.as_bytes(), at_ms(30), at_ms(20)), Progress::More);
            let (at, timer) = flight.deadline(&timeouts());
            assert_eq!(at, at_ms(1_030));
            // More of the body gains no more time.
            read(&mut flight, b" memory", at_ms(900), at_ms(890));
            assert_eq!(flight.deadline(&timeouts()).0, at_ms(1_030));
            flight.closed(Closed::TimedOut(timer), at_ms(1_030));
            let reply = flight.into_parts().1.reply();
            assert_eq!((reply.error, reply.reusable), (Some(class), false));
            if class == ErrorClass::Http5xx {
                assert_eq!(reply.detail.as_deref(), Some("out of memory"));
            }
        }
    }

    #[test]
    fn a_stream_without_end_is_counted_once_its_log_is_longer_than_any_answers() {
        let mut flight = flight();
        read(
            &mut flight,
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n",
            at_ms(30),
            at_ms(20),
        );
        let thousand = EVENT.repeat(1_000);
        for nth in 0..150 {
            read(&mut flight, thousand.as_bytes(), at_ms(30 + nth), at_ms(30 + nth));
        }
        assert_eq!(flight.recount(), (0, 0));
        for nth in 150..500 {
            read(&mut flight, thousand.as_bytes(), at_ms(30 + nth), at_ms(30 + nth));
        }
        let (_, now) = flight.recount();
        assert!(now > 100_000, "{now}");
        assert_eq!(flight.recount(), (now, now));
    }

    #[test]
    fn a_stream_is_not_hurried_by_its_status() {
        let mut flight = flight();
        read(
            &mut flight,
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n",
            at_ms(30),
            at_ms(20),
        );
        assert_eq!(flight.deadline(&timeouts()).0, START + Span::from_s(600));
    }

    /// The uncertainty of the first token-bearing event when the body comes in these reads, 10 ms apart, each of which may
    /// have begun to arrive 2 ms before its stamp.
    fn uncertainty(reads: &[&str]) -> Span {
        let mut flight = flight();
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
        read(&mut flight, head.as_bytes(), at_ms(10), at_ms(8));
        for (nth, bytes) in (2..).zip(reads) {
            read(&mut flight, bytes.as_bytes(), at_ms(10 * nth), at_ms(10 * nth - 2));
        }
        flight.closed(Closed::Fin, at_ms(500));
        let (timeline, response, _) = flight.into_parts();
        timeline.finish(response.reply(), at_ms(500)).first_uncertainty()
    }

    #[test]
    fn an_event_is_exact_only_where_nothing_later_came_in_its_read() {
        let chunk = |text: &str| format!("{:x}\r\n{text}\r\n", text.len());
        let (event, comment) = (chunk(EVENT), chunk(": ping\n\n"));
        let exact = Span::ZERO;
        let wide = Span::from_ms(2);
        assert_eq!(uncertainty(&[&event]), exact);
        assert_eq!(uncertainty(&[&event, &event]), exact, "the second came in a read of its own");
        assert_eq!(uncertainty(&[&format!("{event}{event}")]), wide);
        assert_eq!(uncertainty(&[&format!("{event}{comment}")]), wide);
        // Every cut inside the second event or its framing leaves something of it in the first one's read.
        for cut in 1..event.len() {
            let (begun, rest) = event.split_at(cut);
            assert_eq!(uncertainty(&[&format!("{event}{begun}"), rest]), wide, "cut at {cut}");
        }
        // An event cut over two reads has come with the second of them.
        for cut in 1..event.len() - 2 {
            let (begun, rest) = event.split_at(cut);
            assert_eq!(uncertainty(&[begun, rest]), exact, "cut at {cut}");
            assert_eq!(uncertainty(&[begun, &format!("{rest}{}", &event[..9])]), wide, "cut at {cut}");
        }
        // The line end of its chunk is the event's own, whenever it comes.
        let (most, line_end) = event.split_at(event.len() - 2);
        assert_eq!(uncertainty(&[most, line_end]), exact);
    }

    #[test]
    fn an_event_behind_which_a_record_was_begun_in_its_read_is_not_exact() {
        for (trails, expected) in [(false, Span::ZERO), (true, Span::from_ms(2))] {
            let mut flight = flight();
            let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
            read(&mut flight, head.as_bytes(), at_ms(10), at_ms(8));
            let arrival = Arrival { stamp: at_ms(20), earliest: at_ms(18), class: StampClass::Software };
            flight.read(Read { bytes: EVENT.as_bytes(), arrival }, trails);
            flight.closed(Closed::Fin, at_ms(40));
            let (timeline, response, _) = flight.into_parts();
            assert_eq!(timeline.finish(response.reply(), at_ms(40)).first_uncertainty(), expected);
        }
    }

    #[test]
    fn a_refusal_that_names_an_instant_and_no_time_of_its_own_is_set_against_ours() {
        let waits = |date: &str| {
            let mut flight = flight();
            let head = format!("HTTP/1.1 503 Busy\r\nRetry-After: {date}\r\nContent-Length: 0\r\n\r\n");
            assert_eq!(read(&mut flight, head.as_bytes(), at_ms(30), at_ms(20)), Progress::Over);
            flight.reply().0.retry_after_s
        };
        assert_eq!(waits("Sun, 06 Nov 1994 08:49:37 GMT"), Some(0), "it is over");
        let far = waits("Fri, 01 Jan 2100 00:00:00 GMT").unwrap();
        assert!(far > 86_400, "{far}");
        assert_eq!(waits("soon"), None);
    }

    #[test]
    fn what_tls_says_of_a_failure_is_its_detail_and_a_whole_answer_stays_one() {
        let failure = crate::tls::Failure::ended("was closed");
        let mut early = flight();
        early.insecure(&failure, at_ms(5));
        let reply = early.reply().0;
        assert_eq!(
            (reply.error, reply.detail.as_deref()),
            (Some(ErrorClass::Tls), Some(failure.to_string().as_str()))
        );
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
        let done = "data: {\"choices\":[{\"delta\":{\"content\":\"A\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
        for (body, error) in [(EVENT, Some(ErrorClass::Tls)), (done, None)] {
            let mut late = flight();
            read(&mut late, format!("{head}{body}").as_bytes(), at_ms(10), at_ms(8));
            late.insecure(&failure, at_ms(20));
            let reply = late.reply().0;
            assert_eq!((reply.error, reply.detail.is_some()), (error, error.is_some()));
            assert_eq!((reply.output_tokens, reply.reusable), (Some(1), false));
        }
    }

    #[test]
    fn an_event_that_a_full_buffer_left_under_one_stamp_with_later_bytes_is_not_exact() {
        let mut flight = flight();
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
        read(&mut flight, format!("{head}{EVENT}").as_bytes(), at_ms(30), at_ms(20));
        // The rest of what waited with it: its interval begins where the first one's does.
        read(&mut flight, EVENT.as_bytes(), at_ms(30), at_ms(20));
        flight.closed(Closed::Fin, at_ms(40));
        let (timeline, response, _) = flight.into_parts();
        let finished = timeline.finish(response.reply(), at_ms(40));
        let uncertain: Vec<_> = finished.token_events().map(|event| event.uncertainty).collect();
        assert_eq!(uncertain, [Span::from_ms(10), Span::ZERO]);
        assert_eq!(finished.record().coalesced, 1);
    }
}
