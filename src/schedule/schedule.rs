//! The schedule of a run: its stages placed in time, checked once, and what can be told of it before the run.
//! It must not change once made: lateness is the run's, never the schedule's.

use super::segment::{Length, Segment};
use super::stage::LONGEST;
use super::{Arrivals, Extent, Load, Ramp, ScheduleError, Stage, Timetable, Window};
use crate::time::{Instant, Phase, Span};
use std::sync::Arc;

/// The load of a run, fixed before it starts. Its instants begin at [`Instant::ZERO`] or where
/// [`Schedule::starting_at`] puts them. Cheap to clone but for its stages.
#[derive(Clone, Debug)]
pub struct Schedule {
    stages: Vec<Stage>,
    seed: u64,
    origin: Instant,
    timetable: Timetable,
    /// Empty for a closed loop.
    segments: Arc<[Segment]>,
}

/// More stages than anyone writes; they fit the `u16` of records.
const MOST_STAGES: usize = 10_000;

impl Schedule {
    /// Places `stages` one after another from [`Instant::ZERO`], and after the last, at its closing level, load for at
    /// most `cooldown` more (none after a stage of [`Extent::Requests`], which ends with its last request).
    ///
    /// Takes about 20 ns for each of the requests of [`Extent::Requests`]: the window's end is found by walking.
    ///
    /// # Errors
    /// A level, a length or a mixture out of bounds; the words say which, and what is accepted.
    pub fn new(stages: Vec<Stage>, cooldown: Span, seed: u64) -> Result<Self, ScheduleError> {
        check(&stages, cooldown)?;
        let mut windows = Vec::new();
        let mut segments = Vec::new();
        let mut at_ns = 0;
        for (stage, nth) in stages.iter().zip(0_u16..) {
            let start_ns = at_ns;
            let from_ns = start_ns + whole(stage.warmup);
            let mut measured = None;
            if let Load::Open { rate_per_s, process } = stage.load {
                let warmup = Segment {
                    stage: nth,
                    phase: Phase::Warmup,
                    start_ns,
                    length: Length::Ns(from_ns - start_ns),
                    rate_per_s: Ramp::Flat(rate_per_s.from()),
                    process,
                };
                let length = match stage.extent {
                    Extent::Duration(span) => Length::Ns(whole(span)),
                    Extent::Requests(n) => Length::Requests(n),
                };
                let window =
                    Segment { phase: Phase::Measured, start_ns: from_ns, length, rate_per_s, ..warmup };
                segments.extend([warmup, window]);
                measured = Some(window);
            }
            let until = match (stage.extent, measured) {
                (Extent::Duration(span), _) => Instant::from_ns(from_ns + whole(span)),
                (Extent::Requests(_), None) => Instant::NEVER,
                (Extent::Requests(_), Some(window)) => {
                    let mut walk = window.walk(seed);
                    let last = walk.by_ref().last().expect("a stage has a request");
                    // A burst's arrivals can share a nanosecond: the window holds the last of its own all the same.
                    let over =
                        walk.peek_ns().map(|over| over.max(last + 1)).filter(|ns| *ns <= whole(LONGEST));
                    let over = over
                        .ok_or_else(|| ScheduleError::new("requests: at this rate they take over a year"))?;
                    Instant::from_ns(from_ns + over)
                }
            };
            windows.push(Window {
                start: Instant::from_ns(start_ns),
                measured_from: Instant::from_ns(from_ns),
                measured_until: until,
            });
            at_ns = until.as_ns();
        }
        let last = stages.last().expect("a schedule is checked to have a stage");
        let mut load_until = Instant::from_ns(at_ns);
        if matches!(last.extent, Extent::Duration(_)) {
            load_until += cooldown;
            if let Some(window) = segments.last().copied() {
                segments.push(Segment {
                    phase: Phase::Cooldown,
                    start_ns: at_ns,
                    length: Length::Ns(whole(cooldown)),
                    rate_per_s: Ramp::Flat(window.rate_per_s.to()),
                    ..window
                });
            }
        }
        let timetable = Timetable::new(windows, load_until);
        Ok(Self { stages, seed, origin: Instant::ZERO, timetable, segments: segments.into() })
    }

    /// The same schedule, begun at `start` on the caller's clock.
    #[must_use]
    pub fn starting_at(&self, start: Instant) -> Self {
        let timetable = self.timetable.shifted(start - self.origin);
        Self { origin: start, timetable, ..self.clone() }
    }

    /// The instant at which the run begins.
    #[must_use]
    pub const fn start(&self) -> Instant {
        self.origin
    }

    /// The stages as asked for.
    #[must_use]
    pub fn stages(&self) -> &[Stage] {
        &self.stages
    }

    /// The seed of all that is drawn.
    #[must_use]
    pub const fn seed(&self) -> u64 {
        self.seed
    }

    /// Whether requests are due whatever the server does; else every stage is a closed loop.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.stages[0].is_open()
    }

    /// The windows of the stages.
    #[must_use]
    pub const fn timetable(&self) -> &Timetable {
        &self.timetable
    }

    /// The requests of one shard, in order. Over all shards each request of the run comes exactly once, and is the
    /// same however many shards there are. Empty for a closed loop.
    ///
    /// # Panics
    /// When there is no such shard.
    #[must_use]
    pub fn arrivals(&self, shard: u16, shards: u16) -> Arrivals {
        Arrivals::new(self.segments.clone(), self.seed, self.origin, u64::from(shard), u64::from(shards))
    }

    /// Where the `nth` arrival of the first window is, without walking there; for constant arrivals only.
    #[cfg(test)]
    pub(super) fn nth_ns(&self, nth: u64) -> Option<u64> {
        let window = self.segments.iter().find(|segment| segment.phase == Phase::Measured)?;
        window.walk(self.seed).skipped_to(nth).peek_ns()
    }

    /// How many requests are due in each stage's window before `until`, counted by walking.
    #[must_use]
    pub fn counts(&self, until: Instant) -> Vec<u64> {
        let mut counts = vec![0; self.stages.len()];
        let before = self.arrivals(0, 1).take_while(|due| due.due < until);
        for due in before.filter(|due| due.phase == Phase::Measured) {
            counts[usize::from(due.stage)] += 1;
        }
        counts
    }

    /// Requests expected in this phase of all stages together; `None` where the server decides.
    #[must_use]
    pub fn expected_requests(&self, phase: Phase) -> Option<f64> {
        match (self.is_open(), phase, self.stages[0].extent) {
            (true, ..) => Some(
                self.segments.iter().filter(|segment| segment.phase == phase).map(Segment::expected).sum(),
            ),
            (false, Phase::Measured, Extent::Requests(n)) => Some(super::segment::precise(n)),
            (false, ..) => None,
        }
    }

    /// The most slots of any stage; `None` for an open loop.
    #[must_use]
    pub fn peak_concurrency(&self) -> Option<u32> {
        let peaks = self.stages.iter().filter_map(|stage| match stage.load {
            Load::Open { .. } => None,
            Load::Closed { slots, .. } => Some(whole_slots(slots.peak())),
        });
        peaks.max()
    }
}

/// What one shard has to begin of `requests` in all, when each takes those with `index % shards == shard`.
#[must_use]
pub fn share(requests: u64, shard: u16, shards: u16) -> u64 {
    let (shard, shards) = (u64::from(shard), u64::from(shards));
    requests / shards + u64::from(shard < requests % shards)
}

fn check(stages: &[Stage], cooldown: Span) -> Result<(), ScheduleError> {
    if stages.is_empty() || stages.len() > MOST_STAGES {
        return Err(ScheduleError::new(format!(
            "stages: {}, but a run has 1 to {MOST_STAGES}",
            stages.len()
        )));
    }
    if cooldown.is_negative() || cooldown > LONGEST {
        return Err(ScheduleError::new("cooldown: must be 0s or more, and at most a year"));
    }
    for (stage, nth) in stages.iter().zip(1..) {
        let place = |error: ScheduleError| ScheduleError::new(format!("stage {nth}: {error}"));
        let checked = stage.check();
        if stages.len() == 1 {
            checked?
        } else {
            checked.map_err(place)?
        }
        if stage.is_open() != stages[0].is_open() {
            return Err(ScheduleError::new(format!(
                "stage {nth}: stages of a rate and stages of a concurrency do not mix; make two runs of it"
            )));
        }
        let steady = match stage.load {
            Load::Open { rate_per_s: level, .. } | Load::Closed { slots: level, .. } => level,
        };
        if matches!(stage.extent, Extent::Requests(_))
            && (stages.len() > 1 || !matches!(steady, Ramp::Flat(_)))
        {
            return Err(ScheduleError::new(
                "requests: only for a run of one stage without a ramp; give a duration instead",
            ));
        }
    }
    let total_s: f64 = stages.iter().map(|stage| stage.warmup.as_s_f64() + stage.duration_s()).sum();
    if total_s > LONGEST.as_s_f64() {
        return Err(ScheduleError::new("stages: together longer than a year"));
    }
    Ok(())
}

fn whole(span: Span) -> u64 {
    u64::try_from(span.as_ns()).expect("spans are checked not to be negative")
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "checked: whole and at most a million"
)]
fn whole_slots(level: f64) -> u32 {
    level as u32
}
