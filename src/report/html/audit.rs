//! The client's audit as a picture: each shard's mean wait by four methods, and what its time went to.

use super::told::Told;
use crate::report::figures::{maybe_time, percent, plain, rate, time};
use crate::report::{Check, Good, Reason, ShardAudit, Unit, Verdict, Wait};
use maud::{Markup, html};

pub(super) fn markup(told: &Told) -> Markup {
    let client = &told.summary.client;
    html! {
        section.audit {
            h2 { "The client " span class=(client.verdict.name()) { (client.verdict.name()) } }
            (reasons(&client.reasons))
            @for caveat in &client.caveats { p.note { (caveat) } }
            div.scroll { table {
                thead { tr { th { "check" } th { "found" } th { "valid" } th { "invalid" } th {} } }
                tbody { @for check in &client.checks { (row(check)) } }
            } }
            h3 { "Each shard as a queue" }
            @for shard in &client.shards { (queue(shard)) }
        }
    }
}

/// Each reason with what to do about it.
pub(super) fn reasons(reasons: &[Reason]) -> Markup {
    html! {
        @for reason in reasons {
            p { strong class=(reason.verdict.name()) { (reason.verdict.name()) ": " } (reason.words) " " em { (reason.remedy) } }
        }
    }
}

fn row(check: &Check) -> Markup {
    let said = |value: Option<f64>| match (value, check.unit) {
        (Some(ns), Unit::Ns) => time(whole(ns)),
        (value, Unit::Ratio) => percent(value),
        (value, Unit::PerS) => format!("{}/s", rate(value)),
        (None, _) => "-".into(),
    };
    let sign = match check.good {
        Good::AtMost => "\u{2264} ",
        Good::AtLeast => "\u{2265} ",
    };
    html! {
        tr {
            td { (check.name) }
            td.number { (said(check.value)) }
            td.number { @if check.valid.is_some() { (sign) (said(check.valid)) } }
            td.number { @if check.invalid.is_some() { "beyond " (said(check.invalid)) } }
            td { span class=(check.verdict.name()) { (mark(check.verdict)) } }
        }
    }
}

const fn mark(verdict: Verdict) -> &'static str {
    verdict.name()
}

#[expect(clippy::cast_possible_truncation, reason = "nanoseconds of a check: far below 2^53")]
fn whole(ns: f64) -> i64 {
    libm::round(ns) as i64
}

/// One shard: a bar for each method, all on the scale of the longest.
fn queue(shard: &ShardAudit) -> Markup {
    let waits = &shard.waits;
    let formula = |wait: &Wait| (wait.mean_ns, if wait.holds == Some(false) { "does not hold" } else { "" });
    let bars = [
        ("observed", (waits.observed_ns, "")),
        ("of it our own hold", (waits.hold_ns, "deliberate: stamps are the kernel's")),
        ("queueing by Lindley", (waits.lindley_ns, "the reference")),
        ("Pollaczek-Khinchine", formula(&waits.pollaczek_khinchine)),
        ("batch", formula(&waits.batch)),
    ];
    let longest = bars.iter().filter_map(|(_, (ns, _))| *ns).max().unwrap_or(1).max(1);
    let width = |ns: i64| format!("width: {}%", (i128::from(ns.max(0)) * 100) / i128::from(longest));
    html! {
        div.shard {
            p {
                strong { "shard " (shard.shard) }
                @if let Some(cpu) = shard.cpu { ", cpu " (cpu) }
                ": rho " (plain(shard.rho_busy)) ", "
                "E[S] " (maybe_time(shard.service_mean_ns)) ", "
                "lateness p99 " (maybe_time(shard.lateness_ns.p99)) ", "
                "coalesced reads " (shard.coalesced_reads) " of " (shard.reads)
            }
            div.bars {
                @for (name, (ns, note)) in bars {
                    span { (name) }
                    span.track { span.bar style=(width(ns.unwrap_or(0))) {} }
                    span.number { (maybe_time(ns)) }
                    span.note { (note) }
                }
            }
        }
    }
}
