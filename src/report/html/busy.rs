//! How busy each shard was when, beside what a run keeps to and what its verdict allows.

use super::axis::{Axis, number_label};
use super::chart::{Colour, Drawn, SERIES};
use super::figure::Figure;
use super::told::Told;
use crate::plan::EASY_RHO;
use crate::report::ShardAudit;
use crate::report::figures::time;

/// More lines than there are colours no legend tells apart.
const NAMED: usize = SERIES;

/// Where the longest line ends, in seconds from the run's start; `None` where there is none.
pub(super) fn end(told: &Told) -> Option<f64> {
    let ends = shards(told).map(|shard| seconds(shard, shard.over_time.rho_busy.len()));
    ends.reduce(f64::max)
}

/// A line for each shard, on the axis of time that all figures of a run share.
pub(super) fn figure(told: &Told, x: &Axis) -> Option<Figure> {
    let (count, step) = (shards(told).count(), shards(told).map(|shard| shard.over_time.step_ns).max()?);
    let mut drawn = guides(told, x);
    drawn.extend(shards(told).enumerate().map(|(nth, shard)| Drawn::Line {
        name: if count <= NAMED { format!("shard {}", shard.shard) } else { String::new() },
        colour: Colour::Series(nth),
        dashed: false,
        points: points(shard).collect(),
    }));
    // A stretch can have a little more than its whole, where the kernel's time was estimated.
    let told_rho = shards(told).flat_map(|shard| shard.over_time.rho_busy.iter().copied());
    let y = Axis::linear("rho_busy", told_rho.chain([1.0]), number_label);
    let all = if count > NAMED { format!(" One line for each of {count} shards.") } else { String::new() };
    let note = format!(
        "The share of its time that a shard did not wait, in stretches of {}; the verdict is on the whole of each window.{all}",
        time(step)
    );
    Some(Figure::new("rho-course", "How busy each shard was over time", &note, x, &y, &drawn))
}

/// Shards with a line to draw.
fn shards(told: &Told) -> impl Iterator<Item = &ShardAudit> {
    let shards = told.summary.client.shards.iter();
    shards.filter(|shard| shard.over_time.step_ns > 0 && shard.over_time.rho_busy.len() > 1)
}

fn points(shard: &ShardAudit) -> impl Iterator<Item = (f64, f64)> {
    let middle = |nth| (seconds(shard, nth) + seconds(shard, nth + 1)) / 2.0;
    shard.over_time.rho_busy.iter().enumerate().map(move |(nth, rho)| (middle(nth), *rho))
}

/// What a run keeps to, and what its verdict held the shards to.
fn guides(told: &Told, x: &Axis) -> Vec<Drawn> {
    let check = told.summary.client.checks.iter().find(|check| check.name == "rho_busy");
    let guides = [
        (Some(EASY_RHO), "what --shards auto keeps to", Colour::Soft),
        (check.and_then(|check| check.valid), "valid up to here", Colour::Ink),
        (check.and_then(|check| check.invalid), "invalid above", Colour::Bad),
    ];
    let across = [x.value(x.ends.0), x.value(x.ends.1)];
    let line = |(at, words, colour): (Option<f64>, &str, Colour)| {
        let at = at?;
        let points = across.map(|x| (x, at)).into();
        Some(Drawn::Line { name: format!("{}: {words}", number_label(at)), colour, dashed: true, points })
    };
    guides.into_iter().filter_map(line).collect()
}

#[expect(clippy::cast_precision_loss, reason = "times for the eye")]
fn seconds(shard: &ShardAudit, stretches: usize) -> f64 {
    shard.over_time.step_ns as f64 * stretches as f64 / 1e9
}
