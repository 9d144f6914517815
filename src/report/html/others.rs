//! What other clients would have said of the same traffic, and whose the tail of TTFT is.

use super::told::Told;
use crate::report::figures::{count, maybe_time, plain, time};
use crate::report::{ImaginedClient, Verdict};
use maud::{Markup, html};

pub(super) fn markup(told: &Told) -> Markup {
    let summary = &told.summary;
    let ours = &summary.total.latency;
    html! {
        @if let Some(blame) = &summary.blame { p { strong { "TTFT p99: " } (blame.sentence()) } }
        @if !summary.client.imagined.is_empty() {
            h3 { "What other clients would have said of this traffic" }
            div.scroll { table {
                thead { tr { th { "client" } th { "rho" } th { "TTFT p99" } th { "ITL p99" } th { "E2E p99" } th {} } }
                tbody {
                    tr {
                        td { strong { "lowrho, as published" } }
                        td {}
                        @for value in [ours.ttft_ns.p99, ours.itl_ns.p99, ours.e2e_ns.p99] { td.number { (maybe_time(value)) } }
                        td {}
                    }
                    @if let Some(processed) = &summary.client.bias_removed {
                        tr {
                            td { "lowrho, stamping when it processed" }
                            td {}
                            @for value in [processed.ttft_ns.p99, processed.itl_ns.p99, processed.e2e_ns.p99] {
                                td.number { (maybe_time(value)) }
                            }
                            td {}
                        }
                    }
                    @for client in &summary.client.imagined { (row(client)) }
                }
            } }
        }
    }
}

fn row(client: &ImaginedClient) -> Markup {
    let reported = &client.reported;
    let processes = if client.processes == 1 { "process" } else { "processes" };
    html! {
        tr {
            td { (time(client.service_ns)) " an event, " (count(client.processes)) " " (processes) }
            td.number { (plain(client.rho)) }
            @for value in [reported.ttft_ns.p99, reported.itl_ns.p99, reported.e2e_ns.p99] {
                td.number { (maybe_time(value)) }
            }
            td { @if client.saturated { span class=(Verdict::Invalid.name()) { "saturated" } } }
        }
    }
}
