//! Imagined clients against closed forms, against a naive model of the same queues, and against ourselves.

use crate::made::{START, asked, exactly, reply, stream, token};
use lowrho::analysis::{Facts, Findings, Level, ShardFacts, StageFacts, Thresholds};
use lowrho::record::{
    Audit, Histogram, Imagined, Merge, Metric, PROCESSES, Recorder, Reported, SERVICES, Seen, Sighting,
    Timeline, Traffic, Turn, Window, Work, WorkClass,
};
use lowrho::time::{Instant, Span};
use lowrho::wire::Heard;
use proptest::prelude::*;

const SERVICE_US: [f64; 4] = [20.0, 100.0, 300.0, 1_000.0];

fn all_time() -> [Window; 1] {
    [Window::of_time(Instant::ZERO, Instant::NEVER)]
}

fn sent(at: Instant, slot: u32, index: u64) -> Sighting {
    Sighting { at, slot, seen: Seen::Sent { index, since: at, measured: true, single: true } }
}

#[expect(clippy::cast_precision_loss, reason = "a mean of a few digits")]
fn mean_us(values: &Histogram) -> f64 {
    values.sum() as f64 / values.count() as f64 / 1e3
}

fn us(us: f64) -> Span {
    Span::from_s_f64(us * 1e-6)
}

fn near(got: f64, want: f64, share: f64) -> bool {
    (got - want).abs() <= share * want
}

/// Poisson sends, `batch` at once, each to a process by chance.
fn sends(rate_per_us: f64, batch: u32, count: u32) -> Imagined {
    let mut stream = stream("imagined sends", batch.into());
    let mut imagined = Imagined::new(&all_time(), 1);
    let mut at = START;
    for _ in 0..count / batch {
        at += us(stream.exponential() * f64::from(batch) / rate_per_us);
        let process = stream.below(PROCESSES.into());
        (0..batch).for_each(|_| imagined.see(0, &sent(at, 0, process)));
    }
    imagined
}

#[test]
fn a_process_of_constant_service_is_an_m_d_1_queue_and_of_several_each_has_its_share() {
    // 4,800 sends a second: rho is 0.096 and 0.48 on one process, up to 0.6 on each of eight.
    let rate_per_us = 0.0048;
    let imagined = sends(rate_per_us, 1, 1_500_000);
    let wait = |rho: f64, service: f64| rho * service / (2.0 * (1.0 - rho));
    for (service, us) in SERVICE_US.into_iter().enumerate() {
        let (alone, shared) = (rate_per_us * us, rate_per_us * us / f64::from(PROCESSES));
        if alone < 1.0 {
            let got = mean_us(&imagined.on_one(service).send_wait);
            assert!(near(got, wait(alone, us), 0.05), "{us} us on one: {got}, not {}", wait(alone, us));
        }
        let got = mean_us(&imagined.on_several(service).send_wait);
        assert!(near(got, wait(shared, us), 0.05), "{us} us on several: {got}, not {}", wait(shared, us));
    }
}

#[test]
fn bursts_wait_as_the_batch_formula_says() {
    // M^X/D/1 with 32 at once: rho 0.5 at 100 us an event.
    let (rate_per_us, batch) = (0.005, 32);
    let imagined = sends(rate_per_us, batch, 3_200_000);
    let (rho, size) = (0.5, f64::from(batch));
    let want = rho * 100.0 / (2.0 * (1.0 - rho)) + (size - 1.0) * 100.0 / (2.0 * (1.0 - rho));
    let got = mean_us(&imagined.on_one(1).send_wait);
    assert!(near(got, want, 0.05), "{got}, not {want}");
}

#[test]
fn a_client_that_saturates_is_later_with_every_event_and_by_as_much_as_it_lacks() {
    let mut imagined = Imagined::new(&all_time(), 1);
    for n in 0..10_000 {
        imagined.see(0, &sent(START + Span::from_us(100) * n, 0, n.unsigned_abs()));
    }
    let longest = |reported: &Reported| reported.send_wait.max();
    // 300 us of work every 100 us: 200 us more with each; at 100 us it just keeps up.
    assert_eq!(longest(imagined.on_one(2)), Some(9_999 * 200_000));
    assert_eq!(longest(imagined.on_one(1)), Some(0));
    // Eight processes get one in eight: 1,000 us of work every 800 us.
    assert_eq!(longest(imagined.on_several(3)), Some((10_000 / 8 - 1) * 200_000));
    assert_eq!(longest(imagined.on_several(2)), Some(0));
}

/// One request of a made-up traffic: when it was sent and when each event came.
struct Made {
    shard: usize,
    sent: Instant,
    events: Vec<Instant>,
}

fn made(count: u64) -> Vec<Made> {
    let mut stream = stream("imagined traffic", 0);
    let mut at = START;
    let make = |index: u64| {
        at += us(stream.exponential() * 2_000.0);
        let mut event = at + us(3_000.0 + stream.exponential() * 5_000.0);
        let tokens = 1 + stream.below(12);
        let events = (0..tokens).map(|_| {
            // Some come together, in one read.
            if stream.below(4) > 0 {
                event += us(stream.exponential() * 4_000.0);
            }
            event
        });
        let events = events.collect();
        Made { shard: usize::try_from(index % 3).unwrap(), sent: at, events }
    };
    (0..count).map(make).collect()
}

/// Everything that happened, in order: (when, request, event), where event 0 is the send.
fn jobs(made: &[Made]) -> Vec<(Instant, usize, usize)> {
    let of_one = |(request, made): (usize, &Made)| {
        let all = std::iter::once(made.sent).chain(made.events.iter().copied()).enumerate();
        all.map(|(event, at)| (at, request, event)).collect::<Vec<_>>()
    };
    let mut jobs: Vec<_> = made.iter().enumerate().flat_map(of_one).collect();
    jobs.sort_unstable();
    jobs
}

/// The traffic as three shards hand it over, in pieces, put together again and played.
fn played(made: &[Made]) -> Imagined {
    let mut imagined = Imagined::new(&all_time(), 3);
    let mut merge = Merge::new(3);
    let mut traffic: [Traffic; 3] = std::array::from_fn(|_| Traffic::default());
    let mut timelines: Vec<Option<Timeline>> = made.iter().map(|_| None).collect();
    let mut handed_over_at = START;
    for (at, request, event) in jobs(made) {
        if at - handed_over_at > Span::from_ms(10) {
            handed_over_at = at;
            for (shard, traffic) in traffic.iter_mut().enumerate() {
                traffic.turn(&turn(at, at, at));
                merge.give(shard, traffic);
                traffic.clear();
            }
            merge.take(|shard, sighting| imagined.see(shard, sighting));
        }
        let Made { shard, events, .. } = &made[request];
        let traffic = &mut traffic[*shard];
        let slot = request / 3;
        if event == 0 {
            let mut timeline = Timeline::new(asked(request as u64, at), Vec::new());
            timeline.begun(at);
            timeline.departed(at, at);
            traffic.sent(slot, &timeline, at);
            timelines[request] = Some(timeline);
            continue;
        }
        let timeline = timelines[request].as_mut().unwrap();
        timeline.read(exactly(at), 250);
        timeline.hear(&token(0, true, 1));
        traffic.read(slot, timeline, at);
        if event == events.len() {
            let over = timelines[request].take().unwrap().finish(reply(events.len() as u64, None), at);
            traffic.over(slot, &over);
        }
    }
    for (shard, traffic) in traffic.iter_mut().enumerate() {
        traffic.close();
        merge.give(shard, traffic);
    }
    merge.finish(|shard, sighting| imagined.see(shard, sighting));
    imagined
}

fn turn(entered: Instant, planned_wake: Instant, harvested: Instant) -> Turn {
    let (kernel, cpu) = (Span::ZERO, Span::ZERO);
    Turn {
        entered,
        planned_wake,
        latest_wake: planned_wake,
        harvested,
        ended: harvested,
        kernel,
        cpu,
        interrupted: None,
        polled: false,
    }
}

/// The sojourn of each job in a queue of constant service, by the longest busy period that can end with it: no recursion.
fn sojourns(arrivals: &[Instant], service: Span) -> Vec<Span> {
    let sojourn = |job: usize| {
        let first_of_busy_period = |first: usize| {
            let before = i64::try_from(job - first).unwrap();
            service * before - (arrivals[job] - arrivals[first])
        };
        (0..=job).map(first_of_busy_period).max().unwrap() + service
    };
    (0..arrivals.len()).map(sojourn).collect()
}

/// What a client of this service on so many processes reports, from first principles.
fn naive(made: &[Made], service: Span, processes: usize) -> Reported {
    let mut stamps: Vec<Vec<Instant>> =
        made.iter().map(|made| vec![Instant::ZERO; made.events.len() + 1]).collect();
    let mut send_wait = Histogram::published();
    for process in 0..processes {
        let jobs: Vec<_> =
            jobs(made).into_iter().filter(|(_, request, _)| request % 8 % processes == process).collect();
        let arrivals: Vec<Instant> = jobs.iter().map(|(at, ..)| *at).collect();
        for ((at, request, event), sojourn) in jobs.iter().zip(sojourns(&arrivals, service)) {
            stamps[*request][*event] = *at + sojourn;
            if *event == 0 {
                send_wait.record((sojourn - service).as_ns().unsigned_abs());
            }
        }
    }
    let mut reported = Reported { send_wait, ..Reported::default() };
    let ns = |span: Span| u64::try_from(span.as_ns()).unwrap();
    for (made, stamps) in made.iter().zip(&stamps) {
        let (first, last) = (stamps[1], *stamps.last().unwrap());
        reported.ttft.record(ns(first - made.sent));
        reported.e2e.record(ns(last - made.sent));
        stamps[1..].windows(2).for_each(|pair| reported.itl.record(ns(pair[1] - pair[0])));
        if let Some(gaps) = u64::try_from(stamps.len() - 2).ok().filter(|gaps| *gaps > 0) {
            reported.tpot.record((ns(last - first) + gaps / 2) / gaps);
        }
    }
    reported
}

#[test]
fn every_imagined_client_reports_what_a_naive_model_of_its_queue_does() {
    let made = made(400);
    let imagined = played(&made);
    for (service, of) in SERVICES.into_iter().enumerate() {
        assert!(*imagined.on_one(service) == naive(&made, of, 1), "{of:?} on one process");
        let several = naive(&made, of, PROCESSES.into());
        assert!(*imagined.on_several(service) == several, "{of:?} on several processes");
    }
    // The traffic is such that the slowest saturates and the fastest waits too.
    assert!(mean_us(&imagined.on_one(3).ttft) > 100_000.0);
    assert!(mean_us(&imagined.on_one(0).send_wait) > 0.0);
}

fn published(made: &[Made]) -> Findings {
    let end = made.last().unwrap().sent + Span::from_ns(1);
    let window = Window::of_time(START, end);
    let mut recorder = Recorder::new(&[window]);
    for (index, made) in made.iter().enumerate() {
        let mut timeline = Timeline::new(asked(index as u64, made.sent), Vec::new());
        timeline.begun(made.sent);
        timeline.departed(made.sent, made.sent);
        for at in &made.events {
            timeline.read(exactly(*at), 250);
            timeline.hear(&token(0, true, 1));
        }
        timeline.hear(&Heard::End);
        let over = *made.events.last().unwrap();
        recorder.finish(&timeline.finish(reply(made.events.len() as u64, None), over));
    }
    let facts = Facts {
        stages: vec![StageFacts::default()],
        shards: vec![ShardFacts::default()],
        ..Facts::default()
    };
    Findings::of(&[recorder], &[Audit::new(&[window])], &facts, &Thresholds::default())
}

#[test]
fn stamped_when_processed_at_once_a_run_reports_what_it_publishes() {
    let made = made(5_000);
    let findings = published(&made).beside(&played(&made));
    let others = findings.others.as_ref().unwrap();
    let processed = &others.as_processed;
    for (metric, told) in [
        (Metric::Ttft, processed.ttft),
        (Metric::Itl, processed.itl),
        (Metric::Tpot, processed.tpot),
        (Metric::E2e, processed.e2e),
    ] {
        let want = Level::ALL.map(|level| findings.total.latency(metric).quantile(level).map(|q| q.value));
        assert_eq!(told, want, "{metric:?}");
        assert!(told[Level::P99.index()].is_some(), "{metric:?}: enough requests for a p99");
    }
}

#[test]
fn clients_that_need_more_time_than_there_is_are_named() {
    let made = made(5_000);
    let findings = published(&made).beside(&played(&made));
    let clients = findings.others.unwrap().clients;
    assert_eq!(clients.len(), 8);
    // 500 requests/s of a send and 6.5 events on average.
    for client in &clients {
        let want = 500.0 * 7.5 * client.service.as_s_f64() / f64::from(client.processes);
        assert!(near(client.rho.unwrap(), want, 0.05), "{client:?}");
        assert_eq!(client.saturated, want >= 1.0, "{client:?}");
    }
    assert_eq!(clients.iter().filter(|client| client.saturated).count(), 2);
    let p99 = |nth: usize| clients[nth].latency.ttft[Level::P99.index()].unwrap();
    assert!(p99(3) > Span::from_s(10), "1 ms on one process: rho 3.75 for 10 s");
    assert!(p99(0) < Span::from_ms(40));
}

#[test]
fn what_waited_for_us_is_stamped_late_and_what_we_held_is_not() {
    let at = |us: i64| START + Span::from_us(us);
    let mut traffic = Traffic::default();
    let mut timeline = Timeline::new(asked(0, at(0)), Vec::new());
    timeline.departed(at(0), at(0));
    traffic.sent(0, &timeline, at(0));
    traffic.turn(&turn(at(0), at(0), at(0)));
    let mut read = |traffic: &mut Traffic, stamp: i64, begun: i64| {
        timeline.read(exactly(at(stamp)), 250);
        timeline.hear(&token(0, true, 1));
        traffic.read(0, &timeline, at(stamp));
        let (arrival, begun, ended) = (at(stamp), at(begun), at(begun + 2));
        traffic.job(&Work { class: WorkClass::Receive, arrival, begun, ended, bytes: 250 });
    };
    // Slept from 100 to 300 on purpose and woke at 310: the first came before the sleep, the second in it.
    read(&mut traffic, 90, 310);
    read(&mut traffic, 200, 312);
    traffic.turn(&turn(at(100), at(300), at(310)));
    // Woken by the arrival before the sleep was over: nothing was held.
    read(&mut traffic, 400, 420);
    traffic.turn(&turn(at(314), at(900), at(420)));
    let wait = |sighting: &Sighting| match sighting.seen {
        Seen::Events { count: 1, wait } => Some(wait.as_ns() / 1_000),
        _ => None,
    };
    let waits: Vec<i64> = traffic.sightings().iter().filter_map(wait).collect();
    assert_eq!(waits, [20, 12, 20]);
}

proptest! {
    #[test]
    fn events_of_one_read_come_to_the_same_as_one_by_one(
        reads in prop::collection::vec((0_i64..400, 0_u32..3, 0_u16..9, any::<bool>(), any::<bool>()), 1..60)
    ) {
        let (mut together, mut apart) = (Imagined::new(&all_time(), 1), Imagined::new(&all_time(), 1));
        let mut at = START;
        for (nth, (gap, slot, count, measured, single)) in (0..).zip(reads) {
            at += Span::from_us(gap);
            // Now and then a request begins, or ends, between two reads.
            let seen = match count {
                0 => Seen::Sent { index: nth, since: at, measured, single },
                8 => Seen::Over { success: single, after_first: 3 },
                count => Seen::Events { count, wait: Span::from_us(gap / 2) },
            };
            together.see(0, &Sighting { at, slot, seen });
            match seen {
                Seen::Events { count, wait } => (0..count)
                    .for_each(|_| apart.see(0, &Sighting { at, slot, seen: Seen::Events { count: 1, wait } })),
                other => apart.see(0, &Sighting { at, slot, seen: other }),
            }
        }
        prop_assert_eq!(together.jobs(), apart.jobs());
        prop_assert_eq!(together.as_processed(), apart.as_processed());
        for service in 0..SERVICES.len() {
            prop_assert_eq!(together.on_one(service), apart.on_one(service));
            prop_assert_eq!(together.on_several(service), apart.on_several(service));
        }
    }
}
