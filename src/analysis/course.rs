//! The course of a run: what happened in each stretch of it, from its rows.
//!
//! For the eye: it judges nothing, and no published figure comes from here.

use crate::record::{Histogram, Record};
use crate::time::{Instant, Span};

/// A run cut into stretches of the same length.
#[derive(Clone, Debug)]
pub struct Course {
    start: Instant,
    step: Span,
    moments: Vec<Moment>,
    rows: u64,
}

/// One stretch.
#[derive(Clone, Debug)]
pub struct Moment {
    /// Requests due in it.
    pub due: u64,
    /// Successes that ended in it.
    pub done: u64,
    /// Failures that ended in it; those that we gave up are neither.
    pub failed: u64,
    /// Output tokens: each answer's are spread evenly from its first to its last.
    pub tokens: f64,
    /// Mean of the requests in flight.
    pub in_flight: f64,
    /// The longest begun - due of the requests due in it.
    pub lateness_max: Option<Span>,
    /// TTFT of the successes due in it, in nanoseconds.
    pub ttft: Histogram,
    /// E2E of the successes due in it, in nanoseconds.
    pub e2e: Histogram,
}

impl Default for Moment {
    fn default() -> Self {
        Self {
            due: 0,
            done: 0,
            failed: 0,
            tokens: 0.0,
            in_flight: 0.0,
            lateness_max: None,
            ttft: Histogram::coarse(),
            e2e: Histogram::coarse(),
        }
    }
}

/// Lengths of a stretch that a reader can divide by, in milliseconds.
const STEPS_MS: [i64; 13] =
    [100, 200, 500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000, 300_000, 600_000, 1_800_000, 3_600_000];

/// More stretches than this no plot can show.
const MOST: i64 = 150;

impl Course {
    /// Of a run that started at `start` and took `length`: in at most 150 stretches as long as it needs, or hours.
    #[must_use]
    pub fn new(start: Instant, length: Span) -> Self {
        let fits = |step: &Span| step.as_ns() * MOST >= length.as_ns();
        let step = STEPS_MS.map(Span::from_ms).into_iter().find(fits).unwrap_or(Span::from_s(3_600));
        Self { start, step, moments: Vec::new(), rows: 0 }
    }

    /// The length of a stretch.
    #[must_use]
    pub const fn step(&self) -> Span {
        self.step
    }

    /// The stretches in order, from the run's start.
    #[must_use]
    pub fn moments(&self) -> &[Moment] {
        &self.moments
    }

    /// Rows taken.
    #[must_use]
    pub const fn rows(&self) -> u64 {
        self.rows
    }

    /// Takes one row.
    pub fn add(&mut self, record: &Record) {
        self.rows += 1;
        let well = record.error.is_none();
        let due = self.at(record.due);
        due.due += 1;
        let late = record.begun.map(|begun| begun - record.due);
        due.lateness_max = due.lateness_max.max(late);
        if let (Some(sent), true) = (record.sent, well) {
            let since = |instant: Instant| u64::try_from((instant - sent).as_ns()).ok();
            record.first.and_then(since).into_iter().for_each(|ns| due.ttft.record(ns));
            record.last.and_then(since).into_iter().for_each(|ns| due.e2e.record(ns));
        }
        let over = self.at(record.over);
        over.done += u64::from(well);
        over.failed += u64::from(!well && !record.was_cancelled());
        if let Some(begun) = record.begun {
            let per_ns = 1.0 / nanoseconds(self.step);
            self.spread(begun, record.over, per_ns, |moment, share| moment.in_flight += share);
        }
        if let (Some(first), Some(last), Some(tokens)) = (record.first, record.last, record.output_tokens) {
            let tokens = u32::try_from(tokens).map_or(f64::from(u32::MAX), f64::from);
            let length = last - first;
            if length > Span::ZERO {
                let per_ns = tokens / nanoseconds(length);
                self.spread(first, last, per_ns, |moment, share| moment.tokens += share);
            } else {
                self.at(last).tokens += tokens;
            }
        }
    }

    /// Hands each stretch between two instants its share: the overlap in nanoseconds times `per_ns`.
    fn spread(&mut self, from: Instant, to: Instant, per_ns: f64, mut give: impl FnMut(&mut Moment, f64)) {
        let step = self.step.as_ns();
        let (from, to) = ((from - self.start).as_ns().max(0), (to - self.start).as_ns().max(0));
        let mut at = from;
        while at < to {
            let until = ((at / step) + 1) * step;
            let share = nanoseconds(Span::from_ns(until.min(to) - at)) * per_ns;
            give(self.at(self.start + Span::from_ns(at)), share);
            at = until;
        }
    }

    fn at(&mut self, instant: Instant) -> &mut Moment {
        let nth = (instant - self.start).as_ns().max(0) / self.step.as_ns();
        // What seems to have happened long after the run's end belongs to its last stretch.
        let nth = usize::try_from(nth.min(2 * MOST)).expect("it is not negative");
        if nth >= self.moments.len() {
            self.moments.resize_with(nth + 1, Moment::default);
        }
        &mut self.moments[nth]
    }
}

fn nanoseconds(span: Span) -> f64 {
    span.as_s_f64() * 1e9
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::read_line;

    fn row(due_ms: u64, first_ms: u64, last_ms: u64) -> Record {
        ended(due_ms, first_ms, last_ms, "null")
    }

    fn ended(due_ms: u64, first_ms: u64, last_ms: u64, error: &str) -> Record {
        let ms = |ms: u64| ms * 1_000_000;
        let line = format!(
            r#"{{"index":0,"shard":0,"stage":0,"phase":"measured","due_ns":{due},"begun_ns":{due},"connected_ns":null,
            "sent_ns":{due},"head_ns":{first},"event_ns":{first},"first_ns":{first},"answer_ns":{first},"last_ns":{last},
            "done_ns":{last},"end_ns":{last},"reused":true,"status":200,"ok":{ok},"error":{error},"detail":null,
            "finish_reason":"stop","input_tokens":1,"cached_tokens":null,"output_tokens":30,"reasoning_tokens":null,
            "asked_output_tokens":30,"token_source":"usage","events":30,"n_first":1,"bytes":1,"coalesced":0,
            "uncertainty_ns":0,"stall_ns":null,"retries":0,"stamp":"software","sent_uncertainty_ns":0}}"#,
            due = ms(due_ms),
            first = ms(first_ms),
            last = ms(last_ms),
            ok = error == "null",
        );
        read_line(line.as_bytes(), Instant::ZERO).unwrap()
    }

    #[test]
    fn a_run_is_cut_into_stretches_that_a_plot_can_show() {
        let step = |s| Course::new(Instant::ZERO, Span::from_s(s)).step();
        assert_eq!(step(10), Span::from_ms(100));
        assert_eq!(step(60), Span::from_ms(500));
        assert_eq!(step(3_600), Span::from_s(30));
        assert_eq!(step(10_000_000), Span::from_s(3_600));
    }

    #[test]
    fn an_answer_is_spread_over_the_stretches_it_was_open_in() {
        let mut course = Course::new(Instant::ZERO, Span::from_s(10));
        course.add(&row(150, 200, 500));
        let moments = course.moments();
        let in_flight: Vec<f64> = moments.iter().map(|m| (m.in_flight * 1e6).round() / 1e6).collect();
        assert_eq!(in_flight, [0.0, 0.5, 1.0, 1.0, 1.0, 0.0]);
        let tokens: Vec<f64> = moments.iter().map(|m| m.tokens.round()).collect();
        assert_eq!(tokens, [0.0, 0.0, 10.0, 10.0, 10.0, 0.0]);
        assert_eq!((moments[1].due, moments[5].done), (1, 1));
        assert_eq!(moments[1].ttft.max(), Some(50_000_000));
    }

    #[test]
    fn what_we_gave_up_is_neither_done_nor_failed() {
        let mut course = Course::new(Instant::ZERO, Span::from_s(10));
        let given_up = ended(0, 10, 20, r#""cancelled""#);
        let failed = ended(0, 10, 20, r#""reset""#);
        course.add(&given_up);
        course.add(&failed);
        assert_eq!((course.moments()[0].done, course.moments()[0].failed), (0, 1));
        assert_eq!(course.rows(), 2);
    }
}
