//! The profile: what was found against the load that was offered, of the stages of a run or the trials of a sweep.
//!
//! It must not know which of the two it draws.

use super::axis::{Axis, number_label, time_label};
use super::chart::{Colour, Drawn, Point};
use super::figure::Figure;
use crate::report::GpuCost;

/// A profile.
pub(super) struct Profile {
    /// What it is called beside others; empty where it is alone.
    pub(super) name: String,
    /// What the load is counted in.
    pub(super) unit: &'static str,
    /// In the order of their loads.
    pub(super) points: Vec<Load>,
    /// The limits found, as marks.
    pub(super) limits: Vec<Drawn>,
    /// What was said of the servers' GPUs.
    pub(super) gpus: Option<GpuCost>,
}

/// What was found at one load.
pub(super) struct Load {
    /// What was offered.
    pub(super) at: f64,
    /// Whether the profile's line goes through it: a trial of the search beside the profile is a point only.
    pub(super) joined: bool,
    /// Whether our own side could not be trusted.
    pub(super) invalid: bool,
    /// Requests done per second, with their interval.
    pub(super) done: Option<Value>,
    /// Requests done within the service levels, per second.
    pub(super) good: Option<f64>,
    /// Output tokens per second.
    pub(super) tokens_per_s: Option<f64>,
    /// Median and 0.99 quantile, in nanoseconds, of TTFT, TPOT, NTPOT and E2E.
    pub(super) latencies: [[Option<Value>; 2]; 4],
    /// Means of NTPOT, of its waiting and of its decoding, in nanoseconds.
    pub(super) ntpot: [Option<f64>; 3],
}

/// A value and how well it is known.
#[derive(Copy, Clone)]
pub(super) struct Value {
    pub(super) value: f64,
    pub(super) interval: Option<(f64, f64)>,
}

const LATENCIES: [(&str, &str); 4] =
    [("TTFT", "ttft-profile"), ("TPOT", "tpot-profile"), ("NTPOT", "ntpot-profile"), ("E2E", "e2e-profile")];

const QUANTILES: [&str; 2] = ["p50", "p99"];

/// Loads further apart than this are read on a logarithmic axis.
const WIDE: f64 = 16.0;

/// Every figure of these profiles over each other.
pub(super) fn figures(profiles: &[Profile]) -> Vec<Figure> {
    let loads: Vec<f64> = profiles.iter().flat_map(|one| &one.points).map(|load| load.at).collect();
    if loads.len() < 2 {
        return Vec::new();
    }
    // The limits are on the axis, however far beyond the loads.
    let alone = profiles.len() == 1;
    let limits =
        profiles.iter().filter(|_| alone).flat_map(|one| &one.limits).filter_map(|limit| match limit {
            Drawn::Mark { between, .. } => Some(between.1),
            _ => None,
        });
    let places: Vec<f64> = loads.iter().copied().chain(limits).collect();
    let x = axis(profiles[0].unit, &places);
    let mut found = vec![throughput(profiles, &x)];
    found.extend((0..LATENCIES.len()).filter_map(|nth| latency(profiles, &x, nth)));
    found.extend(parts(profiles, &x));
    found.extend(per_user(profiles));
    found.extend(price(profiles));
    found
}

fn axis(unit: &str, loads: &[f64]) -> Axis {
    let (low, high) = loads.iter().fold((f64::INFINITY, 0.0_f64), |(l, h), at| (l.min(*at), h.max(*at)));
    if low > 0.0 && high > low * WIDE {
        Axis::logarithmic(unit, loads.iter().copied(), number_label)
    } else {
        Axis::linear(unit, loads.iter().copied(), number_label)
    }
}

fn throughput(profiles: &[Profile], x: &Axis) -> Figure {
    let alone = profiles.len() == 1;
    let mut drawn: Vec<Drawn> = if alone { profiles[0].limits.clone() } else { Vec::new() };
    let open = profiles[0].unit.contains("requests/s");
    if open {
        // Whoever keeps up does what is offered. Straight on a linear axis, and a curve on another.
        let (low, high) = (x.value(x.ends.0), x.value(x.ends.1));
        let most = profiles
            .iter()
            .flat_map(|one| &one.points)
            .filter_map(|load| load.done)
            .map(top)
            .fold(0.0, f64::max);
        let steps = (0..=64)
            .map(|n| low + (high - low) * f64::from(n) / 64.0)
            .filter(|at| *at <= most.max(low) * 1.02);
        let points = steps.map(|at| (at, at)).collect();
        drawn.push(Drawn::Line { name: "offered".into(), colour: Colour::Soft, dashed: true, points });
    }
    for (nth, profile) in profiles.iter().enumerate() {
        let done = series(profile, |load| load.done);
        let (colour, name) = if alone { (1, "done".to_owned()) } else { (nth, profile.name.clone()) };
        push(&mut drawn, &name, colour, false, done);
        let good = series(profile, |load| Some(Value { value: load.good?, interval: None }));
        // Where all is good the one hides the other.
        let (colour, name) = if alone {
            (2, "within the service levels".into())
        } else {
            (nth, format!("{}, good", profile.name))
        };
        if !good.is_empty() {
            push(&mut drawn, &name, colour, true, good);
        }
    }
    let y = Axis::linear("requests/s", values(&drawn), number_label);
    let note = note(profiles, &drawn, "");
    Figure::new("throughput-profile", "Throughput against load", &note, x, &y, &drawn)
}

fn latency(profiles: &[Profile], x: &Axis, nth: usize) -> Option<Figure> {
    let (title, name) = LATENCIES[nth];
    let alone = profiles.len() == 1;
    let (mut drawn, mut gaps) = (Vec::new(), false);
    for (number, profile) in profiles.iter().enumerate() {
        for (quantile, words) in QUANTILES.iter().enumerate() {
            let found = series(profile, |load| load.latencies[nth][quantile]);
            gaps |= found.has_gaps();
            if found.is_empty() {
                continue;
            }
            let (colour, label) = if alone {
                (quantile * 2, (*words).to_owned())
            } else {
                (number, format!("{} {words}", profile.name))
            };
            push(&mut drawn, &label, colour, !alone && quantile == 1, found);
        }
    }
    if drawn.is_empty() {
        return None;
    }
    let y = Axis::logarithmic(title, values(&drawn), time_label);
    let left_out = if gaps { "What too few requests tell is left out." } else { "" };
    let note = note(profiles, &drawn, left_out);
    if alone {
        drawn.splice(0..0, profiles[0].limits.clone());
    }
    Some(Figure::new(name, &format!("{title} against load"), &note, x, &y, &drawn))
}

/// NTPOT and what it is made of.
fn parts(profiles: &[Profile], x: &Axis) -> Option<Figure> {
    let [profile] = profiles else { return None };
    let mut drawn = Vec::new();
    for (nth, name) in ["NTPOT", "waiting for the first token", "decoding"].into_iter().enumerate() {
        let found = series(profile, |load| Some(Value { value: load.ntpot[nth]?, interval: None }));
        if !found.is_empty() {
            push(&mut drawn, name, [4, 2, 0][nth], nth == 0, found);
        }
    }
    if drawn.len() < 6 {
        return None;
    }
    let y = Axis::linear("mean per output token", values(&drawn), time_label);
    let note = "Means over successes. Waiting, from due to the first token, is what load adds; the two add up to NTPOT.";
    drawn.splice(0..0, profile.limits.clone());
    Some(Figure::new("ntpot-parts", "What NTPOT is made of", note, x, &y, &drawn))
}

/// What each user sees against what each GPU yields.
fn per_user(profiles: &[Profile]) -> Option<Figure> {
    let by_gpu = profiles.iter().all(|profile| profile.gpus.is_some());
    let flow = |profile: &Profile, load: &Load| {
        let gpus = profile.gpus.filter(|_| by_gpu).map_or(1.0, |gpus| f64::from(gpus.count.max(1)));
        Some(load.tokens_per_s.filter(|flow| *flow > 0.0)? / gpus)
    };
    let unit = if by_gpu { "output tokens/s per GPU" } else { "output tokens/s of all servers" };
    let note = if by_gpu {
        "Up and to the right is better. Per user: 1 / median TPOT."
    } else {
        "Up and to the right is better. Per user: 1 / median TPOT. --gpus N makes it per GPU."
    };
    let title = if by_gpu {
        "Tokens per user against tokens per GPU"
    } else {
        "Tokens per user against tokens in all"
    };
    against_user(profiles, "tokens-per-user", title, note, unit, flow)
}

/// What a million tokens cost against what each user sees.
fn price(profiles: &[Profile]) -> Option<Figure> {
    let paid = |profile: &Profile| profile.gpus.is_some_and(|gpus| gpus.price_per_hour.is_some());
    if !profiles.iter().all(paid) {
        return None;
    }
    let price = |profile: &Profile, load: &Load| {
        profile.gpus?.figures(load.tokens_per_s, None).price_per_million_output_tokens
    };
    let note = "Down and to the right is better.";
    against_user(
        profiles,
        "price",
        "Price against tokens per user",
        note,
        "$ per million output tokens",
        price,
    )
}

fn against_user(
    profiles: &[Profile],
    name: &str,
    title: &str,
    note: &str,
    unit: &str,
    of: impl Fn(&Profile, &Load) -> Option<f64>,
) -> Option<Figure> {
    let (mut drawn, mut users, mut flows) = (Vec::new(), Vec::new(), Vec::new());
    for (nth, profile) in profiles.iter().enumerate() {
        let seen = |load: &Load| {
            let [median, _] = load.latencies[1];
            let x = median.filter(|tpot| tpot.value > 0.0).map(|tpot| 1e9 / tpot.value)?;
            let point = Point { x, y: of(profile, load)?, interval: None, hollow: load.invalid };
            Some(Seen { at: load.at, joined: load.joined && !load.invalid, point: Some(point) })
        };
        let found = Series(profile.points.iter().filter_map(seen).collect());
        let points = || found.0.iter().filter_map(|seen| seen.point);
        users.extend(points().map(|point| point.x));
        flows.extend(points().map(|point| point.y));
        push(&mut drawn, &profile.name, nth, false, found);
    }
    if users.is_empty() {
        return None;
    }
    let x = Axis::linear("output tokens/s per user", users, number_label);
    let y = Axis::linear(unit, flows, number_label);
    Some(Figure::new(name, title, note, &x, &y, &drawn))
}

/// One quantity at every load.
struct Series(Vec<Seen>);

/// What it is at one load.
struct Seen {
    at: f64,
    joined: bool,
    point: Option<Point>,
}

impl Series {
    fn is_empty(&self) -> bool {
        self.0.iter().all(|seen| seen.point.is_none())
    }

    fn has_gaps(&self) -> bool {
        self.0.iter().any(|seen| seen.point.is_none())
    }
}

fn series(profile: &Profile, of: impl Fn(&Load) -> Option<Value>) -> Series {
    let seen = |load: &Load| {
        let point = of(load).map(|Value { value, interval }| Point {
            x: load.at,
            y: value,
            interval,
            hollow: load.invalid,
        });
        Seen { at: load.at, joined: load.joined && !load.invalid, point }
    };
    Series(profile.points.iter().map(seen).collect())
}

/// A line through what can be trusted, with a gap where a load tells nothing, and every point.
fn push(drawn: &mut Vec<Drawn>, name: &str, colour: usize, dashed: bool, Series(series): Series) {
    let colour = Colour::Series(colour);
    let on_line = series.iter().filter(|seen| seen.joined);
    let line = on_line.map(|seen| seen.point.map_or((seen.at, f64::NAN), |point| (point.x, point.y)));
    drawn.push(Drawn::Line { name: name.into(), colour, dashed, points: line.collect() });
    let points = series.into_iter().filter_map(|seen| seen.point).collect();
    drawn.push(Drawn::Points { name: String::new(), colour, points });
}

/// What the y axis must show.
fn values(drawn: &[Drawn]) -> Vec<f64> {
    let of = |one: &Drawn| match one {
        Drawn::Line { points, .. } => points.iter().map(|(_, y)| *y).collect(),
        Drawn::Points { points, .. } => points
            .iter()
            .flat_map(|point| [Some(point.y), point.interval.map(|i| i.0), point.interval.map(|i| i.1)])
            .flatten()
            .collect(),
        Drawn::Cell { .. } | Drawn::Mark { .. } => Vec::new(),
    };
    drawn.iter().flat_map(of).collect()
}

/// What is to be known of the marks that are drawn, and of those that are not.
fn note(profiles: &[Profile], drawn: &[Drawn], left_out: &str) -> String {
    let rings = profiles.iter().flat_map(|one| &one.points).any(|load| load.invalid);
    let rings = if rings { "Rings: INVALID, our own side cannot be trusted there." } else { "" };
    let parts = [whiskers(drawn), left_out, rings].into_iter().filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join(" ")
}

/// What whiskers are, where some are drawn.
pub(super) fn whiskers(drawn: &[Drawn]) -> &'static str {
    let has_some = |one: &Drawn| match one {
        Drawn::Points { points, .. } => points.iter().any(|point| point.interval.is_some()),
        _ => false,
    };
    if drawn.iter().any(has_some) { "Whiskers: 95 % intervals." } else { "" }
}

fn top(value: Value) -> f64 {
    value.interval.map_or(value.value, |(_, high)| high.max(value.value))
}
