//! The story of a sweep: look at the target once, make one trial after another, let the server come to rest between them.
//!
//! It decides no load: the search does, or the user did.

mod course;
mod gauges;
mod lengths;
mod outcome;
mod rest;
mod said;

pub use outcome::outcome;
use said::seconds;

use super::examination::preflight;
use super::target::Target;
use super::{Interrupts, Prepared, RunError, Scene, Screen, directory, measure, name, prepare, simulator};
use crate::clock;
use crate::host::Facts;
use crate::plan::{Endpoint, Goal, Level, SweepPlan};
use crate::report::{self, Reason, Sweep, SweepTrial, Verdict, html};
use crate::search::{Ask, End, Ended, Lengths, Next, Offer, Outcome, Purpose, lost_from};
use crate::store::Results;
use crate::time::{Instant, Span, format_span};
use course::Course;
use std::cell::RefCell;
use std::io::Write;
use std::path::{Path, PathBuf};

/// What a sweep leaves.
#[derive(Debug)]
pub struct Swept {
    /// What was found.
    pub sweep: Sweep,
    /// Where it was written.
    pub dir: PathBuf,
    /// What went wrong on our own side, in words.
    pub failures: Vec<String>,
}

/// Makes the sweep of `plan` on `host`, of which `facts` were read before any thread was pinned; `say` is told one line at a time how it goes.
///
/// # Errors
/// Nothing was measured: the target cannot be driven, or we cannot drive it.
pub fn sweep<W: Write + Send + 'static>(
    plan: &SweepPlan,
    prompts: Option<&str>,
    host: &report::Host,
    facts: &Facts,
    interrupts: &Interrupts,
    screen: impl Fn() -> Screen<W>,
    say: &mut dyn FnMut(&str),
) -> Result<Swept, RunError> {
    let begun = clock::now();
    let Prepared { plan: mut base, sim, known } = prepare(&plan.plan)?;
    let target = Target::look(&base, prompts, known.as_ref(), &name(clock::unix_ns()), interrupts)?;
    base.caveats.extend(preflight(facts, &base, target.first_tcp()));
    let mut plan = plan.clone();
    plan.plan = base;
    let (results, earlier) = match &plan.resume {
        None => (directory(&plan.plan.output, &target.model)?, None),
        Some(dir) => {
            let results = Results::open(Path::new(dir)).map_err(RunError::of_store)?;
            let earlier = results.read_sweep().map_err(RunError::of_store)?;
            (results, Some(earlier))
        }
    };
    let lengths::Chosen { lengths, because } = lengths::choose(&plan, &target, interrupts);
    let made = earlier.as_ref().map(Sweep::worth_keeping).unwrap_or_default();
    let course = Course::new(&plan, lengths, made.iter().map(|trial| trial.trial.clone()).collect());
    let max_trial = course.search().map(|search| search.settings().max_trial);
    let config = plan.effective_toml(lengths.warmup, lengths.window, max_trial);
    results.write_config(&config).map_err(RunError::of_store)?;
    let rest = rest::Rest::look(&plan.plan, &target, interrupts);
    let mut story = Story {
        rest,
        limited_by: earlier.as_ref().and_then(|sweep| sweep.limited_by.clone()),
        course,
        left: made
            .iter()
            .map(|trial| Left { dir: trial.dir.clone(), reasons: trial.reasons.clone() })
            .collect(),
        config: toml::from_str(&config).expect("what a plan writes is TOML"),
        because,
        crossed: None,
        begun,
        begun_unix_ns: clock::unix_ns(),
        plan,
        target,
        lengths,
        results,
        failures: Vec::new(),
    };
    story.say_plan(say);
    let end = loop {
        let ask = match story.course.next() {
            Next::Trial(ask) => ask,
            Next::End(end) => break (Some(end), story.why(end)),
        };
        if let Some(why) = story.out_of_time(&ask) {
            break (story.end_so_far(), Some(why));
        }
        match story.trial(&ask, prompts, host, interrupts, screen()) {
            Ok(outcome) if interrupts.count() == 0 => {
                story.course.take(ask, outcome);
                say(&story.line());
                story.write(None, None)?;
            }
            Ok(_) | Err(RunError::Interrupted) => break (None, Some("interrupted".to_owned())),
            Err(RunError::Target(why)) => break (Some(End::TargetFailed), Some(why)),
            Err(error) if story.course.trials().is_empty() => return Err(error),
            Err(error) => {
                story.failures.push(error.to_string());
                break (None, None);
            }
        }
        story.rest.wait(interrupts);
    };
    if let Some(sim) = sim {
        simulator::end(sim, &mut story.failures);
    }
    let sweep = story.write(end.0, end.1)?;
    let page =
        story.results.tell_sweep().and_then(|told| story.results.write_page(&html::sweep_page(&[told])));
    story.failures.extend(page.err().map(|error| error.to_string()));
    Ok(Swept { sweep, dir: story.results.dir().to_path_buf(), failures: story.failures })
}

/// What a trial leaves beside its outcome.
struct Left {
    /// Its directory, below that of the sweep.
    dir: String,
    /// Why our own side could not be trusted, if it could not.
    reasons: Vec<Reason>,
}

/// A sweep under way.
struct Story {
    plan: SweepPlan,
    target: Target,
    lengths: Lengths,
    course: Course,
    rest: rest::Rest,
    /// Where the lengths come from.
    because: String,
    /// The effective configuration.
    config: serde_json::Value,
    /// The limit of the user's that the latest trial crossed.
    crossed: Option<String>,
    /// What the server said of itself under overload.
    limited_by: Option<String>,
    /// What each trial left beside its outcome.
    left: Vec<Left>,
    results: Results,
    begun: Instant,
    begun_unix_ns: u64,
    failures: Vec<String>,
}

impl Story {
    /// Makes one trial.
    fn trial(
        &mut self,
        ask: &Ask,
        prompts: Option<&str>,
        host: &report::Host,
        interrupts: &Interrupts,
        screen: Screen<impl Write + Send + 'static>,
    ) -> Result<Outcome, RunError> {
        let nth = u32::try_from(self.left.len()).expect("few trials");
        let name_of = format!("trials/{nth:03}");
        let dir = self.results.dir().join(&name_of);
        let level = match ask.offer {
            Offer::Rate(rate) => Level::Rate(rate),
            Offer::Slots(slots) => Level::Slots(slots),
        };
        // Beyond the limit nothing is waited for: what is measured is what came within the window.
        let patience = if ask.purpose == Purpose::Overload { Span::ZERO } else { ask.window };
        let text = dir.to_string_lossy().into_owned();
        let plan = self.plan.trial(nth, level, ask.warmup, ask.window, patience, text);
        let id = name(clock::unix_ns());
        let target = self.target.for_run(&plan, &id, prompts)?;
        let results = Results::create_anew(&dir).map_err(RunError::of_store)?;
        let window_end = ask.warmup + ask.window;
        let lost = lost_from(ask, self.plan.slo());
        // Once, near the window's end: a look at the server's own gauges while it is at its limit.
        let limit = RefCell::new(None);
        let look_at = ask.warmup + ask.window * 9 / 10;
        let cut = |since: Span, missed: u64| {
            if ask.purpose == Purpose::Overload && since > look_at && limit.borrow().is_none() {
                limit.replace(Some(self.rest.limit(interrupts)));
            }
            since > window_end + patience || lost.is_some_and(|lost| missed >= lost && since < window_end)
        };
        let scene = Scene { plan: &plan, id, target: &target, host, results: &results };
        let done = measure(scene, None, interrupts, screen, &cut)?;
        self.limited_by = limit.into_inner().flatten().or(self.limited_by.take());
        let is_reason = |reason: &Reason| reason.verdict == Verdict::Invalid;
        let reasons = done.summary.client.reasons.iter().filter(|reason| is_reason(reason)).cloned();
        self.left.push(Left { dir: name_of, reasons: reasons.collect() });
        self.failures.extend(done.failures);
        self.crossed = done.findings.total.aborts.clone();
        let ended = if self.has_failed(&done.summary) {
            Ended::Failed
        } else if self.crossed.is_some() {
            Ended::Aborted
        } else if done.was_cut {
            Ended::Lost
        } else {
            Ended::Whole
        };
        Ok(outcome(&done.findings.total, ended))
    }

    /// Whether the target failed outright, or beyond what the user bears.
    fn has_failed(&self, summary: &report::Summary) -> bool {
        let load = &summary.total.load;
        let failed = load.failed - load.failed_by_us.min(load.failed);
        let share = report::share(failed, load.completed + failed).unwrap_or(0.0);
        (load.completed == 0 && failed > 0) || share > self.plan.plan.max_error_share
    }

    /// What there is to say of an end that a trial brought.
    fn why(&self, end: End) -> Option<String> {
        let (trial, Left { dir, .. }) = (self.course.trials().last()?, self.left.last()?);
        match end {
            End::TargetFailed => {
                let all = trial.outcome.failed + trial.outcome.succeeded;
                Some(format!("{} of {all} requests of {dir} failed", trial.outcome.failed))
            }
            End::Aborted => self.crossed.as_ref().map(|limit| format!("{dir} crossed {limit}")),
            _ => None,
        }
    }

    /// Why `ask` cannot be made any more within the budget.
    fn out_of_time(&self, ask: &Ask) -> Option<String> {
        let budget = self.plan.budget?;
        let used = clock::now() - self.begun;
        let needed = ask.warmup + ask.window;
        (used + needed > budget).then(|| {
            format!("the budget of {} leaves no time for a trial of {}", format_span(budget), seconds(needed))
        })
    }

    /// The end of a sweep that has no time left: what was looked for may be there already.
    fn end_so_far(&self) -> Option<End> {
        // What is left of a list is left.
        self.course.search()?;
        let found = self.course.findings();
        let wanted = if self.plan.slo().is_empty() { &found.stability_limit } else { &found.slo_capacity };
        let is_there = wanted.as_ref().is_some_and(|limit| limit.estimate.is_some());
        Some(if is_there { End::Found } else { End::Undecided })
    }

    /// Writes what is known by now.
    fn write(&self, end: Option<End>, why: Option<String>) -> Result<Sweep, RunError> {
        let judgements = self.course.judgements();
        let trials =
            self.course.trials().iter().zip(&self.left).enumerate().map(|(number, (trial, left))| {
                SweepTrial {
                    dir: left.dir.clone(),
                    reasons: left.reasons.clone(),
                    judgement: judgements
                        .iter()
                        .find(|(nth, _)| *nth == number)
                        .map(|(_, words)| (*words).to_owned()),
                    trial: trial.clone(),
                }
            });
        let urls: Vec<String> = self.plan.plan.target.endpoints.iter().map(Endpoint::url).collect();
        let mlperf = match &self.plan.goal {
            Goal::Limits { mlperf, .. } => mlperf.clone(),
            Goal::Profile(_) => None,
        };
        let sweep = Sweep {
            schema_version: report::SWEEP_VERSION,
            version: env!("CARGO_PKG_VERSION").into(),
            start_unix_ns: self.begun_unix_ns,
            url: urls.join(", "),
            model: self.target.model.clone(),
            slo: self.plan.slo().terms().iter().map(|term| term.text().to_owned()).collect(),
            warmup_ns: self.lengths.warmup.as_ns(),
            window_ns: self.lengths.window.as_ns(),
            mlperf,
            config: self.config.clone(),
            gpus: self.plan.plan.target.gpus.map(Into::into),
            end,
            why,
            found: self.course.findings(),
            limited_by: self.limited_by.clone(),
            trials: trials.collect(),
        };
        self.results.write_sweep(&sweep).map_err(RunError::of_store)?;
        Ok(sweep)
    }
}
