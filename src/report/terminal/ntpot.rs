//! What NTPOT is made of: waiting as queue and prefill, and NTPOT by length of the answer where lengths differ.

use super::page::{Look, Page};
use super::table::Table;
use crate::report::figures::{count, interval, maybe_time, time};
use crate::report::{LengthClass, Ntpot};
use std::fmt;

pub(super) fn write(ntpot: &Ntpot, verbose: bool, page: &mut Page<'_>) -> fmt::Result {
    if let (Some(queue), Some(prefill)) = (&ntpot.queue_ns, &ntpot.prefill_ns) {
        let per_token = ntpot.prefill_per_input_token_ns.as_ref();
        let per_token =
            per_token.map_or(String::new(), |of| format!(" ({} an uncached input token)", time(of.mean)));
        page.paragraph(
            Look::Plain,
            "NTPOT's waiting  ",
            &format!(
                "queue + network + fixed cost {} (95 %: {}), prefill {} (95 %: {}){per_token}",
                time(queue.mean),
                interval(queue.ci[0], queue.ci[1]),
                time(prefill.mean),
                interval(prefill.ci[0], prefill.ci[1]),
            ),
        )?;
    } else if let Some(why) = &ntpot.unsplit_because {
        page.paragraph(
            Look::Dim,
            "NTPOT's waiting  ",
            &format!("queue and prefill cannot be told apart: {why}"),
        )?;
    }
    if ntpot.by_output_tokens.len() > 1 || (verbose && !ntpot.by_output_tokens.is_empty()) {
        let mut table = Table::new(&[
            ("NTPOT by output tokens", 0),
            ("answers", 2),
            ("mean", 1),
            ("p50", 0),
            ("p90", 4),
            ("p95", 3),
            ("p99", 0),
            ("p99.9", 5),
        ]);
        for class in &ntpot.by_output_tokens {
            table.row(row(class));
        }
        page.table(&table)?;
    }
    Ok(())
}

fn row(class: &LengthClass) -> Vec<String> {
    let length = match class.to {
        Some(to) => format!("  {}-{}", count(class.from), count(to)),
        None => format!("  {} and more", count(class.from)),
    };
    let times = [class.mean_ns, class.p50_ns, class.p90_ns, class.p95_ns, class.p99_ns, class.p99_9_ns];
    [length, count(class.count)].into_iter().chain(times.map(maybe_time)).collect()
}
