//! A sweep as a profile of its trials, with the limits found.

use super::axis::{Axis, number_label};
use super::chart::{Colour, Drawn, Point};
use super::figure::Figure;
use super::profile::{Load, Profile, Value, whiskers};
use crate::report::{Sweep, SweepTrial};
use crate::search::{Ended, Limit, Offer, Purpose, Trust};

/// The profile of a sweep's trials; `name` beside others. A search that came no further than its closed loops has theirs.
pub(super) fn profile(sweep: &Sweep, name: &str) -> Profile {
    let purposes = || sweep.trials.iter().map(|trial| trial.trial.ask.purpose);
    let usual = [Purpose::Level, Purpose::Profile];
    let wanted =
        if purposes().any(|purpose| usual.contains(&purpose)) { &usual[..] } else { &[Purpose::Ladder] };
    let joined = if wanted.contains(&Purpose::Profile) { Purpose::Profile } else { Purpose::Ladder };
    let closed = sweep
        .trials
        .iter()
        .filter(|trial| trial.trial.ask.purpose == joined)
        .any(|trial| matches!(trial.trial.ask.offer, Offer::Slots(_)));
    // Beyond the limit latencies are those of a queue that grows: its throughput alone is told, as the limit.
    let drawn = |trial: &&SweepTrial| {
        let (ask, outcome) = (&trial.trial.ask, &trial.trial.outcome);
        matches!(ask.offer, Offer::Slots(_)) == closed
            && wanted.contains(&ask.purpose)
            && outcome.ended == Ended::Whole
    };
    let load = |trial| load(trial, joined);
    let mut points: Vec<Load> = sweep.trials.iter().filter(drawn).map(load).collect();
    points.sort_by(|a, b| a.at.total_cmp(&b.at));
    Profile {
        name: name.into(),
        unit: if closed { "requests in flight" } else { "offered requests/s" },
        limits: if closed { Vec::new() } else { limits(sweep) },
        points,
        gpus: sweep.gpus,
    }
}

fn limits(sweep: &Sweep) -> Vec<Drawn> {
    let mark = |name: &str, colour: Colour, limit: &Option<Limit>| {
        let limit = limit.as_ref()?;
        let (low, high) = (limit.low.or(limit.estimate)?, limit.high.or(limit.estimate)?);
        let at = limit.estimate.unwrap_or(low);
        Some(Drawn::Mark { name: name.into(), colour, at, between: (low, high) })
    };
    let capacity = format!("capacity under {}", sweep.slo.join(","));
    let marks = [
        mark(&capacity, Colour::Series(3), &sweep.found.slo_capacity),
        mark("stability limit", Colour::Bad, &sweep.found.stability_limit),
    ];
    marks.into_iter().flatten().collect()
}

fn load(trial: &SweepTrial, joined: Purpose) -> Load {
    let outcome = &trial.trial.outcome;
    let shown = |metric: &str| outcome.shown(metric);
    let quantiles = |metric: &str| {
        let value = |ns: Option<i64>, interval: Option<[i64; 2]>| {
            // With failures a quantile may lie beyond the interval of the successes: then that says nothing of it.
            let interval = interval.filter(|[low, high]| ns.is_some_and(|ns| (*low..=*high).contains(&ns)));
            Some(Value { value: float(ns?), interval: interval.map(|[low, high]| (float(low), float(high))) })
        };
        shown(metric)
            .map_or([None; 2], |found| [value(found.p50_ns, found.p50_ci), value(found.p99_ns, found.p99_ci)])
    };
    Load {
        at: offered(trial),
        joined: trial.trial.ask.purpose == joined,
        invalid: outcome.client == Trust::Invalid,
        done: Some(Value { value: outcome.completed_per_s(), interval: Some(outcome.completed_interval()) }),
        good: outcome.goodput_per_s,
        tokens_per_s: outcome.output_tokens_per_s,
        latencies: ["ttft", "tpot", "ntpot", "e2e"].map(quantiles),
        ntpot: ["ntpot", "ntpot_waiting", "ntpot_decoding"]
            .map(|metric| shown(metric).and_then(|found| found.mean_ns).map(float)),
    }
}

/// The closed loops of a search: throughput against requests in flight, and the law fitted to it.
pub(super) fn ladder(sweep: &Sweep) -> Option<Figure> {
    let rungs: Vec<Point> = sweep
        .trials
        .iter()
        .filter(|trial| trial.trial.ask.purpose == Purpose::Ladder)
        .map(|trial| {
            let outcome = &trial.trial.outcome;
            Point {
                x: offered(trial),
                y: outcome.completed_per_s(),
                interval: Some(outcome.completed_interval()),
                hollow: outcome.client == Trust::Invalid,
            }
        })
        .collect();
    // What came no further than its closed loops has them as its profile.
    let is_profile = profile(sweep, "").points.iter().map(|load| load.at).eq(rungs.iter().map(|rung| rung.x));
    if rungs.len() < 2 || (is_profile && sweep.found.usl.is_none()) {
        return None;
    }
    let x = Axis::logarithmic("requests in flight", rungs.iter().map(|rung| rung.x), number_label);
    let y = Axis::linear("requests/s done", rungs.iter().map(|rung| rung.y), number_label);
    let mut drawn = Vec::new();
    if let Some(usl) = &sweep.found.usl {
        let (low, high) = x.ends;
        let points = (0..=64).map(|n| x.value(low + (high - low) * f64::from(n) / 64.0));
        let law = |n: f64| usl.lambda_per_s * n / (1.0 + usl.sigma * (n - 1.0) + usl.kappa * n * (n - 1.0));
        let points = points.map(|n| (n, law(n))).collect();
        let name = "Universal Scalability Law".into();
        drawn.push(Drawn::Line { name, colour: Colour::Soft, dashed: true, points });
    }
    let points: Vec<Point> = rungs;
    let line = points.iter().filter(|point| !point.hollow).map(|point| (point.x, point.y)).collect();
    drawn.push(Drawn::Line { name: String::new(), colour: Colour::Series(0), dashed: false, points: line });
    drawn.push(Drawn::Points { name: String::new(), colour: Colour::Series(0), points });
    let note = ["What so many requests at once achieve.", whiskers(&drawn)].join(" ");
    Some(Figure::new("closed-loops", "Closed loops", note.trim_end(), &x, &y, &drawn))
}

fn offered(trial: &SweepTrial) -> f64 {
    match trial.trial.ask.offer {
        Offer::Rate(rate) => rate,
        Offer::Slots(slots) => slots.into(),
    }
}

#[expect(clippy::cast_precision_loss, reason = "nanoseconds for the eye")]
fn float(ns: i64) -> f64 {
    ns as f64
}
