//! One shard as a queue: its load, its services, and its mean wait by four methods (docs/METHOD.md, "The client as a queue").
//!
//! It must not judge: the verdict does.

use crate::record::{Backwards, Jobs, Lost, Queue, Switches, WorkClass};
use crate::time::Span;

/// The batch formula is the one to read where the index of dispersion of arrivals in bins of 1 ms exceeds this.
const BATCHES_FROM: f64 = 2.0;
/// rho by formula and by time agree within this share, or within this difference.
const AGREE_SHARE: f64 = 0.10;
const AGREE_DIFFERENCE: f64 = 0.02;
/// A formula holds within this factor of Lindley's recursion.
const HOLDS_WITHIN: f64 = 2.0;

/// The first two moments of the service of some jobs.
#[derive(Copy, Clone, PartialEq, Debug)]
pub struct Service {
    /// `E[S]` in nanoseconds.
    pub mean_ns: f64,
    /// `E[S^2]` in squared nanoseconds.
    pub second_moment: f64,
    /// The longest.
    pub max: Span,
}

impl Service {
    /// `None` without jobs.
    #[must_use]
    pub fn of(jobs: &Jobs) -> Option<Self> {
        let count = unsigned(jobs.count.into());
        (jobs.count > 0).then(|| Self {
            mean_ns: signed(jobs.service_ns) / count,
            second_moment: unsigned(jobs.service_squares) / count,
            max: jobs.service_max,
        })
    }

    /// The standard deviation in nanoseconds.
    #[must_use]
    pub fn sd_ns(&self) -> f64 {
        libm::sqrt((self.second_moment - self.mean_ns * self.mean_ns).max(0.0))
    }

    /// c_s^2, the squared coefficient of variation.
    #[must_use]
    pub fn cv2(&self) -> f64 {
        (self.second_moment / (self.mean_ns * self.mean_ns) - 1.0).max(0.0)
    }
}

/// A mean wait by formula.
#[derive(Copy, Clone, PartialEq, Debug)]
pub struct FormulaWait {
    /// In nanoseconds; `None` where the formula has none (rho >= 1).
    pub mean_ns: Option<f64>,
    /// Whether it lies within a factor of 2 of Lindley's.
    pub holds: Option<bool>,
}

/// One class of jobs.
#[derive(Copy, Clone, PartialEq, Debug)]
pub struct ClassAudit {
    /// Which.
    pub class: WorkClass,
    /// How many.
    pub count: u64,
    /// `None` without jobs.
    pub service: Option<Service>,
    /// `E[W]`, holds included.
    pub wait_mean_ns: Option<f64>,
    /// Mean hold.
    pub hold_mean_ns: Option<f64>,
}

/// Turns of the pump that were cut in one way.
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug)]
pub struct LostTurns {
    /// How many.
    pub turns: u64,
    /// The time they lost.
    pub lost: Span,
    /// The most that one of them lost.
    pub longest: Span,
}

impl LostTurns {
    fn of(lost: &Lost) -> Self {
        Self { turns: lost.turns, lost: span(lost.ns), longest: lost.longest }
    }
}

/// One shard in a window.
#[derive(Clone, PartialEq, Debug)]
pub struct ShardQueue {
    /// Wall time audited.
    pub wall: Span,
    /// Jobs done, interruptions left out.
    pub jobs: u64,
    /// Arrivals per second.
    pub lambda_per_s: Option<f64>,
    /// All jobs' service.
    pub service: Option<Service>,
    /// By class, in the order of [`WorkClass::ALL`].
    pub classes: [ClassAudit; WorkClass::ALL.len()],
    /// `lambda E[S]`.
    pub rho_calc: Option<f64>,
    /// Share of wall time not waiting.
    pub rho_busy: Option<f64>,
    /// Of it: turns with jobs.
    pub share_jobs: Option<f64>,
    /// Of it: wakes that found nothing.
    pub share_empty: Option<f64>,
    /// Of it: between turns (records, glommio).
    pub share_rest: Option<f64>,
    /// Share of wall time that the jobs explain, those of interrupted turns too.
    pub share_explained: Option<f64>,
    /// Whether that agrees with the share spent on turns with jobs; if not, the audit misses work.
    pub rho_agree: Option<bool>,
    /// Index of dispersion of arrivals in bins of 0.1, 1 and 10 ms.
    pub dispersion: [Option<f64>; 3],
    /// Mean size of a burst.
    pub burst_mean: Option<f64>,
    /// Largest burst.
    pub burst_max: u64,
    /// Mean observed wait, in nanoseconds.
    pub observed_ns: Option<f64>,
    /// The part of it that is our own coalescing.
    pub hold_ns: Option<f64>,
    /// Mean wait by Lindley's recursion: the reference.
    pub lindley_ns: Option<f64>,
    /// By Pollaczek and Khinchine.
    pub pollaczek_khinchine: FormulaWait,
    /// By the batch formula.
    pub batch: FormulaWait,
    /// Whether the batch formula is the one to read.
    pub in_batches: Option<bool>,
    /// Observed - hold - Lindley: wake-up, preemption, steal.
    pub unexplained_ns: Option<f64>,
    /// The 0.99 quantile of the observed wait.
    pub wait_p99: Option<Span>,
    /// Jobs in interrupted turns.
    pub interruptions: u64,
    /// Turns cut because another had the CPU.
    pub preempted: LostTurns,
    /// Turns cut because the thread was neither running nor queued to run: stolen, stopped or blocked.
    pub off_cpu: LostTurns,
    /// Time runnable and not running; `None` = it was not read.
    pub run_delay: Option<Span>,
    /// How often the shard's thread gave up its CPU; `None` = it was not read.
    pub switches: Option<Switches>,
    /// Turns of the pump.
    pub turns: u64,
    /// Of them, those without a job.
    pub empty_turns: u64,
    /// CPU time of the turns.
    pub cpu: Span,
    /// Waits that ran backwards: our own defect.
    pub backward_waits: Backwards,
    /// Services that ran backwards: our own defect.
    pub backward_services: Backwards,
}

impl ShardQueue {
    /// Makes figures of a shard's sums.
    #[must_use]
    pub fn of(queue: &Queue) -> Self {
        let all = queue.all();
        let service = Service::of(&all);
        let wall_ns = signed(queue.spent.wall_ns);
        let of_wall = |ns: i128| (wall_ns > 0.0).then(|| signed(ns) / wall_ns);
        let count = unsigned(all.count.into());
        let of_jobs = |ns: i128| (all.count > 0).then(|| signed(ns) / count);
        let lambda_per_ns = (wall_ns > 0.0).then(|| count / wall_ns);
        let rho_calc = of_wall(all.service_ns);
        let rho_busy = of_wall(queue.spent.wall_ns - queue.spent.waiting_ns);
        let share_jobs = of_wall(queue.spent.jobs_ns);
        // An interrupted job is left out of E[S], but the time until it was done is in that of its turn.
        let share_explained = of_wall(all.service_ns + queue.interruptions.service_ns);
        let lindley_ns = of_jobs(all.queueing_ns);
        let (observed_ns, hold_ns) = (of_jobs(all.wait_ns), of_jobs(all.hold_ns));
        let by_formula = |mean_ns: Option<f64>| FormulaWait { mean_ns, holds: holds(mean_ns, lindley_ns) };
        let pollaczek_khinchine =
            service.zip(lambda_per_ns).and_then(|(service, lambda)| wait_m_g_1(lambda, &service));
        let (bursts, burst_jobs, burst_squares, burst_max) = queue.bursts.sums();
        let batch = service.zip(lambda_per_ns).filter(|_| bursts > 0).and_then(|(service, lambda)| {
            let (bursts, jobs) = (unsigned(bursts.into()), unsigned(burst_jobs.into()));
            wait_batch(lambda, &service, jobs / bursts, unsigned(burst_squares) / bursts)
        });
        let dispersion = queue.dispersion.map(|bins| index_of_dispersion(bins.sums()));
        Self {
            wall: span(queue.spent.wall_ns),
            jobs: all.count,
            lambda_per_s: lambda_per_ns.map(|lambda| lambda * 1e9),
            service,
            classes: WorkClass::ALL.map(|class| class_audit(class, queue.class(class))),
            rho_calc,
            rho_busy,
            share_jobs,
            share_empty: of_wall(queue.spent.empty_ns),
            share_rest: of_wall(queue.spent.rest_ns),
            share_explained,
            // Of the time at work on jobs: empty wakes and the executor have their own shares.
            rho_agree: share_explained.zip(share_jobs).map(|(calc, busy)| agree(calc, busy)),
            dispersion,
            burst_mean: (bursts > 0).then(|| unsigned(burst_jobs.into()) / unsigned(bursts.into())),
            burst_max,
            observed_ns,
            hold_ns,
            lindley_ns,
            pollaczek_khinchine: by_formula(pollaczek_khinchine),
            batch: by_formula(batch),
            in_batches: dispersion[1].map(|index| index > BATCHES_FROM),
            unexplained_ns: of_jobs(all.wait_ns - all.hold_ns - all.queueing_ns),
            wait_p99: queue.waits.quantile(0.99).map(|ns| span(ns.into())),
            interruptions: queue.interruptions.count,
            preempted: LostTurns::of(&queue.preempted),
            off_cpu: LostTurns::of(&queue.off_cpu),
            run_delay: queue.scheduling.run_delay,
            switches: queue.scheduling.switches,
            turns: queue.turns,
            empty_turns: queue.empty_turns,
            cpu: span(queue.spent.cpu_ns),
            backward_waits: queue.backward_waits,
            backward_services: queue.backward_services,
        }
    }
}

fn class_audit(class: WorkClass, jobs: &Jobs) -> ClassAudit {
    let mean = |ns: i128| (jobs.count > 0).then(|| signed(ns) / unsigned(jobs.count.into()));
    ClassAudit {
        class,
        count: jobs.count,
        service: Service::of(jobs),
        wait_mean_ns: mean(jobs.wait_ns),
        hold_mean_ns: mean(jobs.hold_ns),
    }
}

/// Pollaczek-Khinchine: `Wq = lambda E[S^2] / (2 (1 - rho))`; `None` from rho = 1 on.
#[must_use]
pub fn wait_m_g_1(lambda_per_ns: f64, service: &Service) -> Option<f64> {
    let rho = lambda_per_ns * service.mean_ns;
    (rho < 1.0).then(|| lambda_per_ns * service.second_moment / (2.0 * (1.0 - rho)))
}

/// M^X/G/1 (Gross and Harris, Fundamentals of Queueing Theory, 3.1): `Wq = lambda E[S^2] / (2 (1 - rho)) +
/// E[X (X - 1)] E[S] / (2 E[X] (1 - rho))`, where `lambda = lambda_b E[X]` counts jobs; `None` from rho = 1 on.
#[must_use]
pub fn wait_batch(
    lambda_per_ns: f64,
    service: &Service,
    batch_mean: f64,
    batch_second_moment: f64,
) -> Option<f64> {
    let rho = lambda_per_ns * service.mean_ns;
    let pairs = batch_second_moment - batch_mean;
    let within = pairs * service.mean_ns / (2.0 * batch_mean * (1.0 - rho));
    wait_m_g_1(lambda_per_ns, service).map(|between| between + within)
}

fn index_of_dispersion((bins, sum, squares): (u64, u64, u128)) -> Option<f64> {
    if bins < 2 || sum == 0 {
        return None;
    }
    let bins = unsigned(bins.into());
    let mean = unsigned(sum.into()) / bins;
    let variance = (unsigned(squares) - bins * mean * mean) / (bins - 1.0);
    Some(variance / mean)
}

fn holds(formula_ns: Option<f64>, lindley_ns: Option<f64>) -> Option<bool> {
    let lindley_ns = lindley_ns?;
    let Some(formula_ns) = formula_ns else { return Some(false) };
    Some(formula_ns <= lindley_ns * HOLDS_WITHIN && lindley_ns <= formula_ns * HOLDS_WITHIN)
}

fn agree(calc: f64, busy: f64) -> bool {
    let difference = (calc - busy).abs();
    difference <= AGREE_DIFFERENCE || difference <= AGREE_SHARE * busy
}

fn span(ns: i128) -> Span {
    Span::from_ns(i64::try_from(ns).expect("a run is shorter than 292 years"))
}

#[expect(clippy::cast_precision_loss, reason = "sums as figures of a few digits")]
fn signed(value: i128) -> f64 {
    value as f64
}

#[expect(clippy::cast_precision_loss, reason = "sums as figures of a few digits")]
fn unsigned(value: u128) -> f64 {
    value as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn service(mean_ns: f64, second_moment: f64) -> Service {
        Service { mean_ns, second_moment, max: Span::ZERO }
    }

    #[test]
    fn the_formulas_give_the_closed_forms_of_the_textbooks() {
        // M/M/1 at rho = 0.8: Wq = rho / (1 - rho) E[S]; M/D/1: half of that.
        let wait = |second_moment| wait_m_g_1(0.008, &service(100.0, second_moment)).unwrap();
        assert!((wait(20_000.0) - 400.0).abs() < 1e-9);
        assert!((wait(10_000.0) - 200.0).abs() < 1e-9);
        assert_eq!(wait_m_g_1(0.01, &service(100.0, 10_000.0)), None);
        // Batches of one are no batches.
        let single = wait_batch(0.008, &service(100.0, 20_000.0), 1.0, 1.0).unwrap();
        assert!((single - 400.0).abs() < 1e-9);
        // The last of a batch of 10 alone in an idle queue waits for 9 others: 4.5 services on average.
        let lonely = wait_batch(1e-12, &service(100.0, 10_000.0), 10.0, 100.0).unwrap();
        assert!((lonely - 450.0).abs() < 1e-6);
    }

    #[test]
    fn a_formula_holds_within_a_factor_of_two() {
        assert_eq!(holds(Some(100.0), Some(51.0)), Some(true));
        assert_eq!(holds(Some(100.0), Some(49.0)), Some(false));
        assert_eq!(holds(Some(100.0), Some(201.0)), Some(false));
        assert_eq!(holds(None, Some(201.0)), Some(false));
        assert_eq!(holds(Some(1.0), None), None);
    }

    #[test]
    fn both_rho_agree_within_a_tenth_or_two_hundredths() {
        assert!(agree(0.55, 0.6) && agree(0.01, 0.03));
        assert!(!agree(0.5, 0.6));
    }

    #[test]
    fn a_regular_stream_is_not_dispersed_and_a_bursty_one_is() {
        assert_eq!(index_of_dispersion((10, 50, 250)), Some(0.0));
        assert!(index_of_dispersion((10, 50, 2_500)).unwrap() > 40.0);
        assert_eq!(index_of_dispersion((1, 5, 25)), None);
    }

    #[test]
    fn a_shard_that_did_nothing_has_no_figures() {
        let idle = ShardQueue::of(&Queue::default());
        assert_eq!((idle.rho_busy, idle.rho_calc, idle.lindley_ns, idle.service), (None, None, None, None));
        assert_eq!(idle.pollaczek_khinchine, FormulaWait { mean_ns: None, holds: None });
    }
}
