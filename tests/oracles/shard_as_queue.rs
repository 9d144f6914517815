//! The audit against queues with closed forms, played in virtual time.

use crate::made::stream;
use lowrho::analysis::ShardQueue;
use lowrho::random::Stream;
use lowrho::record::{Audit, Cause, Interruption, Switches, ThreadCounts, Turn, Window, Work, WorkClass};
use lowrho::time::{Instant, Span};

const START: Instant = Instant::from_ns(1_000_000_000);
/// 1 us of service on average.
const MEAN_NS: f64 = 1_000.0;

fn audit() -> Audit {
    Audit::new(&[Window::of_time(Instant::ZERO, Instant::NEVER)])
}

fn found(audit: &Audit) -> ShardQueue {
    ShardQueue::of(&audit.queues()[0])
}

fn ns(span: f64) -> Span {
    Span::from_s_f64(span * 1e-9)
}

/// A pump that is woken by each completion and serves one job each turn, in order of arrival.
struct Pump {
    audit: Audit,
    free_at: Instant,
}

impl Pump {
    fn new() -> Self {
        Self { audit: audit(), free_at: START }
    }

    fn job(&mut self, arrival: Instant, service: Span, interrupted: Option<Interruption>) {
        let begun = self.free_at.max(arrival);
        let ended = begun + service;
        self.audit.work(Work { class: WorkClass::Receive, arrival, begun, ended, bytes: 250 });
        self.audit.turn(&Turn {
            entered: self.free_at,
            planned_wake: Instant::NEVER,
            latest_wake: Instant::NEVER,
            harvested: begun,
            ended,
            kernel: Span::ZERO,
            cpu: service,
            interrupted,
            polled: false,
        });
        self.free_at = ended;
    }
}

/// Poisson arrivals of batches at this load.
fn play(load: f64, batch: u32, jobs: u32, service: impl Fn(&mut Stream) -> f64) -> ShardQueue {
    let mut stream = stream("m/g/1", 0);
    let mut pump = Pump::new();
    let mut at = START;
    for _ in 0..jobs / batch {
        at += ns(stream.exponential() * MEAN_NS * f64::from(batch) / load);
        for _ in 0..batch {
            let service = ns(service(&mut stream));
            pump.job(at, service, None);
        }
    }
    found(&pump.audit)
}

fn near(got: Option<f64>, want: Option<f64>, share: f64) -> bool {
    let (got, want) = (got.unwrap(), want.unwrap());
    (got - want).abs() <= share * want
}

#[test]
fn pollaczek_khinchine_meets_lindley_on_every_m_g_1() {
    let exponential = |stream: &mut Stream| stream.exponential() * MEAN_NS;
    let constant = |_: &mut Stream| MEAN_NS;
    let two_kinds = |stream: &mut Stream| if stream.uniform() < 0.1 { 5.5 * MEAN_NS } else { 0.5 * MEAN_NS };
    for load in [0.3, 0.6, 0.8] {
        for queue in [
            play(load, 1, 1_000_000, exponential),
            play(load, 1, 1_000_000, constant),
            play(load, 1, 1_000_000, two_kinds),
        ] {
            assert!(near(queue.pollaczek_khinchine.mean_ns, queue.lindley_ns, 0.05), "{load}: {queue:?}");
            assert_eq!(queue.pollaczek_khinchine.holds, Some(true));
            assert!(near(queue.rho_calc, Some(load), 0.02) && queue.rho_agree == Some(true));
            assert!(near(queue.rho_busy, queue.rho_calc, 0.01));
            assert_eq!(queue.in_batches, Some(false), "Poisson arrivals come alone: {:?}", queue.dispersion);
        }
    }
}

#[test]
fn lindley_explains_every_nanosecond_of_a_wait_that_is_only_queueing() {
    let queue = play(0.8, 1, 200_000, |stream| stream.exponential() * MEAN_NS);
    assert_eq!((queue.unexplained_ns, queue.hold_ns), (Some(0.0), Some(0.0)));
    assert_eq!(queue.observed_ns, queue.lindley_ns);
    assert!(queue.lindley_ns.unwrap() > 3_000.0);
}

#[test]
fn regular_arrivals_wait_for_nothing_and_the_formula_for_poisson_ones_does_not_hold() {
    let mut pump = Pump::new();
    for n in 0..10_000 {
        pump.job(START + Span::from_ns(2_000) * n, Span::from_ns(1_000), None);
    }
    let queue = found(&pump.audit);
    assert_eq!((queue.lindley_ns, queue.observed_ns), (Some(0.0), Some(0.0)));
    assert!(queue.pollaczek_khinchine.mean_ns.unwrap() > 400.0);
    assert_eq!(queue.pollaczek_khinchine.holds, Some(false));
    assert_eq!(queue.dispersion[1], Some(0.0));
}

#[test]
fn tokens_in_batches_need_the_batch_formula() {
    // An engine's step gives a token to each of 64 sequences; few steps fall within a mean service of each other.
    let queue = play(0.5, 64, 2_000_000, |_| MEAN_NS);
    assert!(near(queue.batch.mean_ns, queue.lindley_ns, 0.05), "{queue:?}");
    assert_eq!((queue.batch.holds, queue.pollaczek_khinchine.holds), (Some(true), Some(false)));
    assert!(queue.lindley_ns.unwrap() > 10.0 * queue.pollaczek_khinchine.mean_ns.unwrap());
    assert_eq!(queue.in_batches, Some(true));
    assert!(queue.burst_max >= 64 && near(queue.burst_mean, Some(64.0), 0.05));
}

#[test]
fn batches_of_any_size_and_service_meet_the_batch_formula() {
    // Geometric sizes with a mean of 20: E[X (X - 1)] is 760; services are exponential.
    let mut stream = stream("m^x/g/1", 0);
    let mut pump = Pump::new();
    let mut at = START;
    for _ in 0..100_000 {
        at += ns(stream.exponential() * MEAN_NS * 20.0 / 0.5);
        while {
            pump.job(at, ns(stream.exponential() * MEAN_NS), None);
            stream.uniform() >= 1.0 / 20.0
        } {}
    }
    let queue = found(&pump.audit);
    let want = 0.5 * 2.0 * MEAN_NS / (2.0 * 0.5) + 760.0 * MEAN_NS / (2.0 * 20.0 * 0.5);
    assert!(near(queue.lindley_ns, Some(want), 0.05), "{queue:?}");
    assert!(near(queue.batch.mean_ns, queue.lindley_ns, 0.05), "{queue:?}");
    assert!(queue.lindley_ns.unwrap() > 10.0 * queue.pollaczek_khinchine.mean_ns.unwrap());
    assert_eq!((queue.batch.holds, queue.pollaczek_khinchine.holds), (Some(true), Some(false)));
}

#[test]
fn lindley_is_the_longest_busy_period_that_can_end_with_a_job() {
    // Turns of several jobs, handled in any order, the kernel's time among them: services are told by the audit's own rule.
    let mut stream = stream("lindley", 0);
    let mut audit = audit();
    let mut jobs: Vec<(Instant, Span)> = Vec::new();
    let mut at = START;
    for _ in 0..150 {
        let (mut turn, bytes) = (Vec::new(), 250);
        for _ in 0..=stream.below(4) {
            at += ns(stream.exponential() * 2_500.0);
            turn.push((at, ns(200.0 + stream.exponential() * 1_500.0).max(Span::from_ns(1))));
        }
        let kernel = Span::from_ns(300) * i64::try_from(turn.len()).unwrap();
        let woken = at + Span::from_us(1);
        let mut begun = woken;
        for (arrival, own) in turn.iter().rev() {
            let ended = begun + *own;
            audit.work(Work { class: WorkClass::Receive, arrival: *arrival, begun, ended, bytes });
            begun = ended;
        }
        audit.turn(&Turn {
            entered: woken,
            planned_wake: Instant::NEVER,
            latest_wake: Instant::NEVER,
            harvested: woken,
            ended: begun,
            kernel,
            cpu: kernel + (begun - woken),
            interrupted: None,
            polled: false,
        });
        jobs.extend(turn.iter().map(|(arrival, own)| (*arrival, *own + Span::from_ns(300))));
    }
    // No recursion: for every job, the work of all that can have been done before it, less the time there was for it.
    let mut sum = Span::ZERO;
    for (job, (arrival, _)) in jobs.iter().enumerate() {
        let wait = |first: usize| {
            jobs[first..job].iter().map(|(_, service)| *service).sum::<Span>() - (*arrival - jobs[first].0)
        };
        sum += (0..=job).map(wait).max().unwrap();
    }
    let queue = found(&audit);
    let mean_ns = sum.as_s_f64() * 1e9 / jobs.len() as f64;
    assert!(mean_ns > 500.0, "jobs wait for each other: {mean_ns}");
    assert!(near(queue.lindley_ns, Some(mean_ns), 1e-9), "{:?}, not {mean_ns}", queue.lindley_ns);
}

/// A shard that sleeps until each multiple of `window`, and oversleeps by `late`.
fn coalescing(window: Span, late: Span) -> ShardQueue {
    let mut stream = stream("coalescing", 0);
    let mut audit = audit();
    let (mut at, mut free_at) = (START, START);
    let mut jobs = Vec::new();
    for round in 1..5_000 {
        let planned_wake = START + window * round;
        let harvested = planned_wake + late;
        while at < harvested {
            jobs.push(at);
            at += ns(stream.exponential() * 20_000.0);
        }
        let entered = free_at;
        free_at = harvested;
        // The harvest hands them over in another order than they came in.
        for arrival in jobs.drain(..).rev() {
            let begun = free_at;
            free_at = begun + Span::from_ns(500);
            let bytes = 250;
            audit.work(Work { class: WorkClass::Receive, arrival, begun, ended: free_at, bytes });
        }
        let cpu = free_at - harvested;
        audit.turn(&Turn {
            entered,
            planned_wake,
            latest_wake: Instant::NEVER,
            harvested,
            ended: free_at,
            kernel: Span::ZERO,
            cpu,
            interrupted: None,
            polled: false,
        });
    }
    found(&audit)
}

#[test]
fn a_shard_that_polls_in_vain_waits_and_coming_round_to_poll_is_part_of_it() {
    let mut audit = audit();
    let us = |us| START + Span::from_us(us);
    for round in 0..1_000 {
        // 1 us between two polls of 1 us; each tenth finds a job of 1 us.
        let (entered, harvested) = (us(2 * round + 1), us(2 * round + 1));
        let ended = us(2 * round + 2);
        if round % 10 == 0 {
            audit.work(Work {
                class: WorkClass::Receive,
                arrival: entered,
                begun: harvested,
                ended,
                bytes: 250,
            });
        }
        audit.turn(&Turn {
            entered,
            planned_wake: entered,
            latest_wake: entered,
            harvested,
            ended,
            kernel: Span::ZERO,
            cpu: Span::ZERO,
            interrupted: None,
            polled: true,
        });
    }
    let queue = found(&audit);
    // Of every 20 us: the job, and the two ways between it and the polls beside it.
    assert!(queue.rho_busy.is_some_and(|rho| (rho - 0.15).abs() < 0.001), "{:?}", queue.rho_busy);
}

#[test]
fn our_own_coalescing_is_told_apart_from_queueing() {
    let window = Span::from_us(200);
    let queue = coalescing(window, Span::ZERO);
    // Arrivals are spread evenly over the window: they are held for half of it.
    assert!(near(queue.hold_ns, Some(100_000.0), 0.03), "{queue:?}");
    assert!(queue.unexplained_ns.unwrap().abs() < 1.0, "{queue:?}");
    assert!(near(queue.observed_ns, Some(queue.hold_ns.unwrap() + queue.lindley_ns.unwrap()), 1e-6));
    assert!(queue.rho_busy.unwrap() < 0.05);
}

#[test]
fn what_came_while_the_shard_was_busy_was_queueing_and_not_a_hold() {
    let us = |us: i64| START + Span::from_us(us);
    let turn = |audit: &mut Audit, arrival, entered, planned, harvested, ended| {
        let (begun, ended) = (us(harvested), us(ended));
        audit.work(Work { class: WorkClass::Receive, arrival: us(arrival), begun, ended, bytes: 1 });
        let (entered, planned_wake, cpu) = (us(entered), us(planned), ended - begun);
        audit.turn(&Turn {
            entered,
            planned_wake,
            latest_wake: Instant::NEVER,
            harvested: begun,
            ended,
            kernel: Span::ZERO,
            cpu,
            interrupted: None,
            polled: false,
        });
    };
    // Busy from 0 to 100; the second job comes at 40, the shard turns to it at 100, without a sleep.
    let mut awake = audit();
    turn(&mut awake, 0, 0, 0, 0, 100);
    turn(&mut awake, 40, 100, 100, 100, 110);
    let awake = found(&awake);
    assert_eq!(
        (awake.hold_ns, awake.lindley_ns, awake.unexplained_ns),
        (Some(0.0), Some(30_000.0), Some(0.0))
    );
    // The same, but it does something else until 130, and then sleeps until 200 on purpose.
    let mut asleep = audit();
    turn(&mut asleep, 0, 0, 0, 0, 100);
    turn(&mut asleep, 40, 130, 200, 200, 210);
    let asleep = found(&asleep);
    assert_eq!((asleep.hold_ns, asleep.lindley_ns), (Some(35_000.0), Some(30_000.0)));
    assert_eq!(asleep.unexplained_ns, Some(15_000.0));
}

#[test]
fn oversleeping_is_what_neither_hold_nor_queueing_explains() {
    let late = Span::from_us(50);
    let queue = coalescing(Span::from_us(200), late);
    // A fifth of the arrivals comes while it oversleeps, and waits for half of that on average.
    let unexplained = queue.unexplained_ns.unwrap();
    assert!((35_000.0..50_000.0).contains(&unexplained), "{unexplained}");
}

#[test]
fn an_interruption_is_shown_apart_and_left_out_of_the_moments() {
    let (mut calm, mut disturbed) = (Pump::new(), Pump::new());
    for n in 0..10_000_i64 {
        let at = START + Span::from_us(10) * n;
        calm.job(at, Span::from_ns(1_000), None);
        let stolen =
            (n % 1_000 == 999).then_some(Interruption { cause: Cause::Preempted, lost: Span::from_us(8) });
        let service = if stolen.is_some() { Span::from_us(9) } else { Span::from_ns(1_000) };
        disturbed.job(at, service, stolen);
    }
    let (calm, disturbed) = (found(&calm.audit), found(&disturbed.audit));
    assert_eq!((disturbed.interruptions, disturbed.jobs), (10, 9_990));
    assert_eq!(disturbed.service.unwrap().second_moment, calm.service.unwrap().second_moment);
    assert_eq!(
        (disturbed.preempted.lost, disturbed.preempted.longest),
        (Span::from_us(80), Span::from_us(8))
    );
    assert_eq!((disturbed.preempted.turns, disturbed.off_cpu.turns), (10, 0));
    assert!(disturbed.rho_busy > calm.rho_busy);
}

#[test]
fn a_shard_that_is_often_interrupted_misses_no_work() {
    let mut pump = Pump::new();
    for n in 0..10_000_i64 {
        let cut = (n % 10 == 9).then_some(Interruption { cause: Cause::Preempted, lost: Span::from_us(8) });
        let service = if cut.is_some() { Span::from_us(9) } else { Span::from_us(1) };
        pump.job(START + Span::from_us(10) * n, service, cut);
    }
    let queue = found(&pump.audit);
    assert!(near(queue.rho_calc, Some(0.09), 0.01), "E[S] has no interruption in it: {queue:?}");
    assert!(
        near(queue.share_explained, Some(0.18), 0.01) && near(queue.share_jobs, Some(0.18), 0.01),
        "{queue:?}"
    );
    assert_eq!(queue.rho_agree, Some(true));
}

/// What is planted into a turn.
#[derive(Copy, Clone, PartialEq)]
enum Planted {
    Nothing,
    /// Another thread has the CPU in the middle of the handling.
    Preempted,
    /// The process is stopped while it sleeps.
    Stopped,
    /// Its own work takes that long.
    Work,
}

/// A shard that wakes each millisecond for eight jobs of 10 us, its thread's counters read as a real shard reads them; for
/// each turn, `plant` says what happens to it for 3 ms. Every wake costs 20 us of run delay and as much again of nothing.
fn disturbed(turns: u32, plant: impl Fn(u32) -> Planted) -> ShardQueue {
    const LONG: Span = Span::from_ms(3);
    const JOB: Span = Span::from_us(10);
    let mut audit = audit();
    let mut counts = ThreadCounts { cpu: Span::ZERO, run_delay: Some(Span::ZERO) };
    let mut next_reading = Instant::ZERO;
    let mut now = START;
    for n in 0..turns {
        let planted = plant(n);
        let of = |kind| if planted == kind { LONG } else { Span::ZERO };
        let (entered, planned) = (now, now + Span::from_ms(1));
        let harvested = planned + Span::from_us(40) + of(Planted::Stopped);
        let mut end = harvested;
        for job in 0..8 {
            let begun = end;
            let taken = if job == 3 { of(Planted::Preempted) + of(Planted::Work) } else { Span::ZERO };
            end = begun + JOB + taken;
            let arrival = planned - Span::from_us(50);
            audit.work(Work { class: WorkClass::Receive, arrival, begun, ended: end, bytes: 250 });
        }
        counts.cpu += JOB * 8 + of(Planted::Work);
        counts.run_delay = counts.run_delay.map(|delay| delay + Span::from_us(20) + of(Planted::Preempted));
        let mut turn = Turn {
            entered,
            planned_wake: planned,
            latest_wake: planned,
            harvested,
            ended: end,
            kernel: Span::ZERO,
            cpu: JOB * 8,
            interrupted: None,
            polled: false,
        };
        let excess = audit.excess(&turn);
        if excess.is_long() {
            turn.interrupted = audit.judge(&turn, &excess, &counts);
        }
        audit.turn(&turn);
        if excess.is_long() || end >= next_reading {
            audit.counted(end, counts);
            next_reading = end + Span::from_ms(5);
        }
        now = end;
    }
    found(&audit)
}

#[test]
fn planted_interruptions_are_found_with_their_cause_and_length_and_nothing_else_is() {
    let queue = disturbed(10_000, |n| match n % 500 {
        100 => Planted::Preempted,
        200 => Planted::Stopped,
        300 => Planted::Work,
        _ => Planted::Nothing,
    });
    assert_eq!((queue.preempted.turns, queue.off_cpu.turns), (20, 20), "{queue:?}");
    assert_eq!(queue.interruptions, 40 * 8);
    for lost in [queue.preempted, queue.off_cpu] {
        assert!((2.9..3.1).contains(&(lost.longest.as_s_f64() * 1e3)), "{lost:?}");
        assert!((58.0..62.0).contains(&(lost.lost.as_s_f64() * 1e3)), "{lost:?}");
    }
    // The long work is a service like any other.
    assert_eq!(queue.service.unwrap().max, Span::from_us(3_010));
    let run_delay = queue.run_delay.unwrap().as_s_f64() * 1e3;
    assert!((255.0..261.0).contains(&run_delay), "20 us a wake and 20 times 3 ms: {run_delay} ms");
}

#[test]
fn a_stop_over_several_windows_is_told_in_each() {
    let at = |ms| START + Span::from_ms(ms);
    // Two stages, and a third after a warm-up.
    let windows = [(0, 1_000), (1_000, 2_000), (3_000, 4_000)]
        .map(|(from, until)| Window::of_time(at(from), at(until)));
    let mut audit = Audit::new(&windows);
    let mut turn = |entered, ended, lost_ms| {
        let lost = Span::from_ms(lost_ms);
        let interrupted = (lost_ms > 0).then_some(Interruption { cause: Cause::OffCpu, lost });
        audit.turn(&Turn {
            entered: at(entered),
            planned_wake: at(entered),
            latest_wake: at(entered + 10),
            harvested: at(ended),
            ended: at(ended),
            kernel: Span::ZERO,
            cpu: Span::ZERO,
            interrupted,
            polled: false,
        });
    };
    turn(0, 400, 0);
    // Over 0.6 s of the first window, all of the second and 0.2 s of the third; 10 ms were slept on purpose, here or there.
    turn(400, 3_200, 2_790);
    turn(3_200, 3_500, 0);
    // From the third window to long after it.
    turn(3_500, 9_000, 5_490);
    let told: Vec<_> = audit.queues().iter().map(ShardQueue::of).collect();
    let lost = |queue: &ShardQueue| (queue.off_cpu.turns, queue.off_cpu.lost);
    assert_eq!(
        told.iter().map(lost).collect::<Vec<_>>(),
        [(1, Span::from_ms(590)), (1, Span::from_ms(990)), (2, Span::from_ms(190 + 490))]
    );
    assert!(
        told.iter().all(|queue| queue.wall == Span::from_s(1) && queue.rho_busy == Some(0.0)),
        "{told:?}"
    );
}

#[test]
fn an_undisturbed_shard_was_never_interrupted() {
    let queue = disturbed(10_000, |_| Planted::Nothing);
    assert_eq!((queue.preempted.turns, queue.off_cpu.turns, queue.interruptions), (0, 0, 0));
}

#[test]
fn what_the_kernel_counts_belongs_to_the_window_in_which_it_rose() {
    let ms = |ms: i64| START + Span::from_ms(ms);
    let mut audit = Audit::new(&[Window::of_time(ms(10), ms(20)), Window::of_time(ms(30), ms(40))]);
    let counts = |delay_us| ThreadCounts { cpu: Span::ZERO, run_delay: Some(Span::from_us(delay_us)) };
    let switches = |involuntary| Switches { voluntary: 7 * involuntary, involuntary };
    for (at, delay, switched) in
        [(0, 5, 1), (10, 100, 20), (15, 110, 21), (20, 130, 24), (30, 900, 80), (41, 907, 81)]
    {
        audit.counted(ms(at), counts(delay));
        audit.switched(ms(at), switches(switched));
    }
    let [first, second] = [0, 1].map(|n| audit.queues()[n].scheduling);
    assert_eq!((first.run_delay, first.switches), (Some(Span::from_us(30)), Some(switches(4))));
    assert_eq!((second.run_delay, second.switches), (Some(Span::from_us(7)), Some(switches(1))));
    assert_eq!(audit.next_edge(ms(0)), ms(10));
    assert_eq!((audit.next_edge(ms(20)), audit.next_edge(ms(40))), (ms(30), Instant::NEVER));
}

#[test]
fn a_counter_that_cannot_be_read_is_not_zero() {
    let mut audit = audit();
    audit.counted(START, ThreadCounts::default());
    audit.counted(START + Span::from_ms(5), ThreadCounts::default());
    let queue = found(&audit);
    assert_eq!((queue.run_delay, queue.switches), (None, None));
}

#[test]
fn the_kernels_time_goes_to_jobs_by_their_bytes_and_wall_time_adds_up() {
    let mut audit = audit();
    let us = |us: i64| START + Span::from_us(us);
    let work = |class, begun, ended, bytes| Work {
        class,
        arrival: us(begun),
        begun: us(begun),
        ended: us(ended),
        bytes,
    };
    let turn = |entered, harvested, ended, kernel| Turn {
        entered: us(entered),
        planned_wake: us(harvested),
        latest_wake: Instant::NEVER,
        harvested: us(harvested),
        ended: us(ended),
        kernel: Span::from_us(kernel),
        cpu: Span::from_us(kernel + ended - harvested),
        interrupted: None,
        polled: false,
    };
    audit.work(work(WorkClass::Receive, 100, 104, 300));
    audit.work(work(WorkClass::Receive, 104, 106, 100));
    audit.work(work(WorkClass::Timer, 106, 107, 0));
    audit.turn(&turn(0, 100, 107, 8));
    // Between turns 3 us; then a wake that finds nothing and costs 2 us in the kernel and 1 us of ours.
    audit.turn(&turn(110, 210, 211, 2));
    let queue = found(&audit);
    let mean = |class: WorkClass| queue.classes[class as usize].service.map(|s| s.mean_ns);
    // (4 + 6) and (2 + 2) us; the timer none of the kernel's.
    assert_eq!(mean(WorkClass::Receive), Some(7_000.0));
    assert_eq!((mean(WorkClass::Timer), mean(WorkClass::Send)), (Some(1_000.0), None));
    assert_eq!(queue.wall, Span::from_us(211));
    let share = |ns: f64| Some(ns / 211_000.0);
    assert_eq!(
        (queue.share_jobs, queue.share_empty, queue.share_rest),
        (share(15_000.0), share(3_000.0), share(3_000.0))
    );
    assert!(near(queue.rho_busy, share(21_000.0), 1e-9));
}

#[test]
fn a_shard_that_polls_in_vain_is_waiting_not_busy() {
    let mut audit = audit();
    for n in 0..100 {
        let entered = START + Span::from_us(n);
        audit.turn(&Turn {
            entered,
            planned_wake: entered,
            latest_wake: Instant::NEVER,
            harvested: entered + Span::from_ns(600),
            ended: entered + Span::from_us(1),
            kernel: Span::from_ns(600),
            cpu: Span::from_us(1),
            interrupted: None,
            polled: true,
        });
    }
    assert_eq!(found(&audit).rho_busy, Some(0.0));
}

#[test]
fn jobs_of_other_windows_are_in_no_sum_but_keep_the_server_busy() {
    let window = Window::of_time(START + Span::from_us(100), START + Span::from_us(200));
    let mut audit = Audit::new(&[window]);
    let mut turn = |arrival_us: i64, begun_us: i64, ended_us: i64| {
        let us = |us: i64| START + Span::from_us(us);
        let (arrival, begun, ended) = (us(arrival_us), us(begun_us), us(ended_us));
        audit.work(Work { class: WorkClass::Receive, arrival, begun, ended, bytes: 1 });
        audit.turn(&Turn {
            entered: begun,
            planned_wake: Instant::NEVER,
            latest_wake: Instant::NEVER,
            harvested: begun,
            ended,
            kernel: Span::ZERO,
            cpu: ended - begun,
            interrupted: None,
            polled: false,
        });
    };
    turn(0, 0, 95);
    turn(90, 95, 150);
    turn(300, 300, 310);
    let queue = found(&audit);
    assert_eq!(queue.jobs, 1);
    assert_eq!(queue.lindley_ns, Some(5_000.0));
}
