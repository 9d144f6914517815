//! Service levels against a naive count over every request: failures are misses, our own are not, and shards agree.

use crate::made::{START, asked, at_ms, crowd, reply, usual};
use lowrho::analysis::{Facts, Findings, Made, Slo, StageFacts, Tail, TermState, Thresholds};
use lowrho::record::{Audit, Finished, Metric, Metrics, Recorder, Timeline, Window};
use lowrho::time::Span;
use lowrho::wire::ErrorClass;

fn window() -> Window {
    Window::of_time(START, START + Span::from_s(60))
}

fn judge(slo: &str, requests: &[Finished]) -> lowrho::analysis::SloFindings {
    let slo: Slo = slo.parse().unwrap();
    let mut shards = [0, 1, 2].map(|_| Recorder::judging(&[window()], &slo.bounds()));
    for finished in requests {
        shards[usize::from(finished.record().shard)].finish(finished);
    }
    let facts = Facts {
        stages: vec![StageFacts { requested_rate: Some(1.0), due: None, is_ramp: false, stolen: None }],
        slo,
        ..Facts::default()
    };
    let audits = [0, 1, 2].map(|_| Audit::new(&[window()]));
    Findings::of(&shards, &audits, &facts, &Thresholds::default()).total.slo.unwrap()
}

/// The metric of each request that the target can answer for: its value, infinite where it failed.
fn values(requests: &[Finished], metric: Metric) -> Vec<f64> {
    let value = |finished: &Finished| {
        let record = finished.record();
        match record.error {
            None => Metrics::of(record).get(metric).map(Span::as_s_f64),
            Some(ErrorClass::Cancelled) => None,
            Some(_) => Some(f64::INFINITY),
        }
    };
    let mut values: Vec<f64> = requests.iter().filter_map(value).collect();
    values.sort_unstable_by(f64::total_cmp);
    values
}

#[test]
fn a_term_is_crossed_exactly_when_the_quantile_with_failures_is_over_it() {
    let requests = crowd(6_000, 60);
    let ttft = values(&requests, Metric::Ttft);
    for (level, q) in
        [("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p97", 0.97), ("p97.9", 0.979), ("p99", 0.99)]
    {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "a rank"
        )]
        let rank = (q * ttft.len() as f64).ceil() as usize;
        let exact = ttft[rank - 1];
        for bound_us in [10_000_i64, 30_000, 60_000, 80_000, 120_000] {
            let bound = Span::from_us(bound_us).as_s_f64();
            let found = judge(&format!("ttft_{level}<{bound_us}us"), &requests);
            let term = &found.terms[0];
            let crossed = exact >= bound;
            assert_eq!(
                term.state == TermState::Crossed,
                crossed,
                "{level} is {exact}, bound {bound}: {term:?}"
            );
            match term.made {
                Made::Latency(Tail::Infinite) => assert!(exact.is_infinite()),
                Made::Latency(Tail::Finite(value)) => {
                    assert!((value.as_s_f64() - exact).abs() <= exact / 900.0, "{value:?} is {exact}");
                }
                made => panic!("{made:?}"),
            }
        }
    }
}

#[test]
fn goodput_holds_each_request_to_every_bound_whatever_the_quantile() {
    let requests = crowd(6_000, 60);
    let found =
        judge("ttft_p50<30ms,tpot_mean<=6ms,ntpot_p99<=12ms,stall_p99<=20ms,error_rate<1%", &requests);
    let good = requests.iter().filter(|finished| {
        let metrics = Metrics::of(finished.record());
        let within = |metric, most| metrics.get(metric).is_none_or(|span| span <= most);
        finished.record().error.is_none()
            && within(Metric::Ttft, Span::from_ns(29_999_999))
            && within(Metric::Tpot, Span::from_ms(6))
            && within(Metric::Ntpot, Span::from_ms(12))
            && within(Metric::Stall, Span::from_ms(20))
    });
    let good = good.count() as u64;
    assert!((1_000..5_000).contains(&good), "the bounds leave some and take some: {good}");
    assert_eq!(found.good, good);
    #[expect(clippy::cast_precision_loss, reason = "a rate")]
    let per_s = good as f64 / 60.0;
    assert!((found.goodput_per_s.unwrap() - per_s).abs() < 1e-9);
    // One in fifty failed.
    assert_eq!(found.terms[4].state, TermState::Crossed);
    assert_eq!(found.terms[4].is_sure, Some(true));
}

#[test]
fn every_gap_is_held_to_a_bound_of_itl() {
    let requests = crowd(2_000, 60);
    let found = judge("itl_p90<=8ms", &requests);
    let successes = requests.iter().filter(|finished| finished.record().error.is_none());
    let (mut gaps, mut over) = (0, 0);
    for finished in successes {
        gaps += finished.gaps().count() as u64;
        over += finished.gaps().filter(|gap| gap.span > Span::from_ms(8)).count() as u64;
    }
    let failed = requests.iter().filter(|f| f.record().error == Some(ErrorClass::Http5xx)).count() as u64;
    let trials = found.terms[0].trials.unwrap();
    assert_eq!((trials.of, trials.missed), (gaps + failed, over + failed));
    assert!(trials.n_eff <= 2_000.0, "gaps are worth no more than their requests: {trials:?}");
}

#[test]
fn a_mean_is_infinite_where_a_request_failed_and_has_an_interval_where_none_did() {
    let mut requests = crowd(2_000, 60);
    assert_eq!(judge("e2e_mean<1h", &requests).terms[0].made, Made::Latency(Tail::Infinite));
    requests.retain(|finished| finished.record().error.is_none());
    let e2e = values(&requests, Metric::E2e);
    #[expect(clippy::cast_precision_loss, reason = "a mean")]
    let exact = e2e.iter().sum::<f64>() / e2e.len() as f64;
    let found = judge("e2e_mean<61ms", &requests);
    let term = &found.terms[0];
    let [low, high] = term.interval.unwrap().map(Span::as_s_f64);
    assert!(low < exact && exact < high && high - low < exact / 10.0, "{low} {exact} {high}");
    let Made::Latency(Tail::Finite(mean)) = term.made else { panic!("{term:?}") };
    assert!((mean.as_s_f64() - exact).abs() < 1e-8);
}

#[test]
fn our_own_failures_say_nothing_and_a_cancelled_one_only_what_is_certain() {
    let mut requests = vec![usual(asked(0, at_ms(0)), Span::ZERO, Span::from_ms(5), &[], None)];
    let begun = |index, error, age: i64, ours| {
        let mut timeline = Timeline::new(asked(index, at_ms(100)), Vec::new());
        timeline.begun(at_ms(100));
        timeline.departed(at_ms(100), at_ms(100));
        if ours {
            timeline.ours();
        }
        timeline.finish(reply(0, Some(error)), at_ms(100 + age))
    };
    requests.push(begun(1, ErrorClass::Connect, 1, true));
    let found = judge("ttft_p50<50ms,error_rate<1%", &requests);
    assert_eq!((found.good, found.judged), (1, 1));
    assert_eq!(found.terms.iter().map(|term| term.state).collect::<Vec<_>>(), [TermState::Held; 2]);
    // Cancelled young, nobody knows; cancelled over the bound, everybody does.
    requests.push(begun(2, ErrorClass::Cancelled, 20, false));
    assert_eq!(judge("ttft_p50<50ms", &requests).judged, 1);
    requests.push(begun(3, ErrorClass::Cancelled, 60, false));
    let found = judge("ttft_p90<50ms", &requests);
    assert_eq!((found.good, found.judged), (1, 2));
    assert_eq!(found.terms[0].state, TermState::Crossed);
}

#[test]
fn what_was_not_measured_is_neither_held_nor_crossed() {
    let found = judge("tpot_p99<50ms,error_rate<1%,input_tokens_per_s>1", &[]);
    assert!(found.terms.iter().all(|term| term.state == TermState::Untold), "{found:?}");
    assert!(found.held() && found.goodput_per_s == Some(0.0));
}
