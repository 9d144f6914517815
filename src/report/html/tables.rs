//! The tables of the page: load, latencies, failures, the slowest requests, the configuration.

use super::told::Told;
use crate::report::figures::{
    UNDEFINED, count, interval, maybe_count, maybe_time, percent, rate, time, whole_rate,
};
use crate::report::{Distribution, Section};
use maud::{Markup, html};

/// The head of the page for one run: who drove whom, and the figures to take home.
pub(super) fn headline(told: &Told) -> Markup {
    let total = &told.summary.total;
    let mut tiles = vec![
        (
            "requests/s done",
            rate(total.load.achieved_rate),
            format!("of {} scheduled", rate(total.load.scheduled_rate)),
        ),
        ("output tokens/s", whole_rate(total.throughput.output_tokens_per_s), String::new()),
        (
            "TTFT p50",
            maybe_time(total.latency.ttft_ns.p50),
            format!("p99 {}", maybe_time(total.latency.ttft_ns.p99)),
        ),
        (
            "TPOT p50",
            maybe_time(total.latency.tpot_ns.p50),
            format!("p99 {}", maybe_time(total.latency.tpot_ns.p99)),
        ),
        (
            "NTPOT p50",
            maybe_time(total.latency.ntpot_ns.p50),
            format!("p99 {}", maybe_time(total.latency.ntpot_ns.p99)),
        ),
        ("failed", count(total.load.failed), format!("of {}", count(total.load.begun))),
    ];
    if let Some(gpus) = &told.summary.gpus {
        let each = whole_rate(gpus.output_tokens_per_s_per_gpu);
        tiles.push(("output tokens/s per GPU", each, format!("of {}", count(gpus.cost.count.into()))));
        let user = rate(gpus.output_tokens_per_s_per_user);
        tiles.push(("output tokens/s per user", user, "1 / median TPOT".into()));
        if let Some(price) = gpus.cost.price_per_hour {
            let million = rate(gpus.price_per_million_output_tokens);
            tiles.push(("$ per million output tokens", million, format!("at ${price} a GPU hour")));
        }
    }
    html! {
        div.tiles {
            @for (what, figure, more) in &tiles {
                div.tile { span.what { (what) } span.figure { (figure) } span.more { (more) } }
            }
        }
    }
}

/// Load asked, scheduled, sent, done.
pub(super) fn load(section: &Section) -> Markup {
    let load = &section.load;
    html! {
        h2 { "Load" }
        div.scroll { table {
            thead { tr { th {} th { "asked" } th { "scheduled" } th { "sent" } th { "done" } th { "failed" } th { "cancelled" } } }
            tbody {
                tr {
                    td { "requests/s" }
                    @for value in [load.requested_rate, load.scheduled_rate, load.sent_rate, load.achieved_rate] {
                        td.number { (rate(value)) }
                    }
                    td {} td {}
                }
                tr {
                    td { "requests" } td {}
                    @for value in [load.due, load.begun, load.completed, load.failed, load.cancelled] {
                        td.number { (count(value)) }
                    }
                }
            }
        } }
        p.note {
            "Tokens: " (maybe_count(section.tokens.asked_output)) " asked, " (count(section.tokens.output)) " delivered ("
            (percent(section.tokens.delivered_share)) ")."
            @if let Some(input) = section.throughput.input_tokens_per_s { " Input: " (whole_rate(Some(input))) " tokens/s." }
        }
    }
}

/// Every latency that has values.
pub(super) fn latencies(section: &Section) -> Markup {
    let latency = &section.latency;
    let rows: [(&str, &Distribution); 15] = [
        ("TTFT", &latency.ttft_ns),
        ("TTFT from due", &latency.ttft_due_ns),
        ("ITL", &latency.itl_ns),
        ("longest ITL", &latency.stall_ns),
        ("TPOT", &latency.tpot_ns),
        ("NTPOT", &latency.ntpot_ns),
        ("of it waiting", &latency.ntpot_waiting_ns),
        ("of it decoding", &latency.ntpot_decoding_ns),
        ("E2E", &latency.e2e_ns),
        ("E2E from due", &latency.e2e_due_ns),
        ("response head", &latency.head_ns),
        ("connect", &latency.connect_ns),
        ("TLS handshake", &latency.handshake_ns),
        ("pool wait", &latency.pool_wait_ns),
        ("lateness", &section.load.lateness_ns),
    ];
    html! {
        h2 { "Latency" }
        div.scroll { table {
            thead { tr {
                th {} th { "mean" } th { "p50" } th { "p90" } th { "p95" } th { "p99" } th { "p99.9" } th { "max" }
                th { "95 % of p99" } th { "count" }
            } }
            tbody { @for (name, found) in rows { @if found.count > 0 { tr {
                td { (name) }
                @for value in [found.mean, found.p50, found.p90, found.p95, found.p99, found.p99_9, found.max] {
                    td.number { (maybe_time(value)) }
                }
                td.number { (found.p99_ci.map_or(UNDEFINED.into(), |[low, high]| interval(low, high))) }
                td.number { (count(found.count)) }
            } } } }
        } }
        p.note { "Successes only; - = too few independent observations for that quantile." }
    }
}

/// Failures by class.
pub(super) fn failures(section: &Section) -> Markup {
    html! {
        @if !section.errors.is_empty() {
            h2 { "Failures" }
            div.scroll { table {
                thead { tr { th { "class" } th { "requests" } } }
                tbody { @for (class, requests) in &section.errors {
                    tr { td { (class) } td.number { (count(*requests)) } }
                } }
            } }
        }
    }
}

/// The slowest requests and where their time went.
pub(super) fn slowest(told: &Told) -> Markup {
    html! {
        @if !told.summary.slowest.is_empty() {
            h2 { "Slowest requests" }
            div.scroll { table {
                thead { tr {
                    th { "request" } th { "due at" } th { "E2E from due" } th { "to send" } th { "to first token" }
                    th { "decoding" } th { "longest ITL" } th { "tokens" }
                } }
                tbody { @for slow in &told.summary.slowest { tr {
                    td { "#" (slow.index) }
                    td.number { (time(slow.due_ns)) }
                    td.number { (time(slow.e2e_due_ns)) }
                    td.number { (time(slow.before_sent_ns)) }
                    @for value in [slow.ttft_ns, slow.decode_ns, slow.stall_ns] { td.number { (maybe_time(value)) } }
                    td.number { (maybe_count(slow.output_tokens)) }
                } } }
            } }
        }
    }
}

/// What was asked for, and the machine.
pub(super) fn configuration(told: &Told) -> Markup {
    let summary = &told.summary;
    let config = serde_json::to_string_pretty(&summary.config).unwrap_or_default();
    let host = &summary.host;
    html! {
        details {
            summary { "Configuration and machine" }
            p {
                "lowrho " (summary.run.version) ", seed " (summary.run.seed) ", " (summary.run.id) "; kernel " (host.kernel)
                @if let Some(model) = &host.cpu_model { ", " (model) }
                ", cpus " (host.cpu_list)
            }
            pre { (config) }
        }
    }
}
