//! Several servers beside each other; all else on the page is of all of them together.

use super::told::Told;
use crate::report::figures::{UNDEFINED, count, maybe_time, rate, whole_rate};
use crate::report::{Server, TargetSection, Verdict};
use maud::{Markup, html};

pub(super) fn markup(told: &Told) -> Markup {
    let targets = &told.summary.targets;
    html! {
        @if targets.len() > 1 {
            h2 { "Servers" }
            div.scroll { table {
                thead { tr {
                    th { "server" } th { "weight" } th { "sent/s" } th { "done" } th { "failed" } th { "TTFT p50" }
                    th { "TTFT p99" } th { "ITL p99" } th { "E2E p99" } th { "tokens/s" } th {}
                } }
                tbody { @for target in targets { (row(target)) } }
            } }
        }
    }
}

fn row(target: &TargetSection) -> Markup {
    let (load, latency) = (&target.section.load, &target.section.latency);
    let (look, word) = state(&target.server);
    html! {
        tr {
            td { (target.target.url) }
            td.number { (target.target.weight) }
            td.number { (rate(load.sent_rate)) }
            td.number { (count(load.completed)) }
            td.number { (count(load.failed)) }
            @for value in [latency.ttft_ns.p50, latency.ttft_ns.p99, latency.itl_ns.p99, latency.e2e_ns.p99] {
                td.number { (maybe_time(value)) }
            }
            td.number { (whole_rate(target.section.throughput.output_tokens_per_s)) }
            td { span class=(look) { (word) } }
        }
    }
}

fn state(server: &Server) -> (&'static str, &'static str) {
    match server.kept_up {
        _ if server.went_away.is_some() => (Verdict::Invalid.name(), "went away"),
        Some(true) => (Verdict::Valid.name(), "kept up"),
        Some(false) => (Verdict::Invalid.name(), "fell behind"),
        None => ("unknown", UNDEFINED),
    }
}
