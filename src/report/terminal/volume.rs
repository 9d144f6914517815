//! How much: load asked, scheduled, sent and done; failures by class; throughput; tokens.

use super::page::{Look, Page};
use super::table::Table;
use crate::report::figures::{UNDEFINED, byte_rate, count, maybe_count, percent, plain, rate, whole_rate};
use crate::report::{PerGpu, Section, Summary};
use std::fmt;

pub(super) fn write_load(summary: &Summary, page: &mut Page<'_>) -> fmt::Result {
    let load = &summary.total.load;
    let label = if summary.stages.len() > 1 { "All stages" } else { "Load" };
    let mut table = Table::new(&[
        (label, 0),
        ("asked", 0),
        ("scheduled", 1),
        ("sent", 0),
        ("done", 0),
        ("failed", 0),
        ("cancelled", 2),
    ]);
    let asked = match (load.requested_rate, load.requested_concurrency) {
        (None, Some(slots)) => format!("{} at once", count(slots)),
        (asked, _) => rate(asked),
    };
    table.row(vec![
        "requests/s".into(),
        asked,
        rate(load.scheduled_rate),
        rate(load.sent_rate),
        rate(load.achieved_rate),
        String::new(),
        String::new(),
    ]);
    table.row(vec![
        "requests".into(),
        String::new(),
        count(load.due),
        count(load.begun),
        count(load.completed),
        count(load.failed),
        count(load.cancelled),
    ]);
    page.blank()?;
    page.table(&table)?;
    if load.retried > 0 {
        let again = format!(
            "{} requests: timed from their first attempt, or from the fresh connection where the first was dead",
            count(load.retried)
        );
        page.paragraph(Look::Plain, "sent again: ", &again)?;
    }
    for (look, label, counts) in [
        (Look::Bad, "failed by class: ", &summary.total.errors),
        (Look::Dim, "tolerated: ", &summary.total.tolerated),
    ] {
        let mut counts: Vec<_> = counts.iter().filter(|(_, n)| **n > 0).collect();
        counts.sort_by(|(a, m), (b, n)| n.cmp(m).then(a.cmp(b)));
        if !counts.is_empty() {
            let counts: Vec<String> =
                counts.iter().map(|(name, n)| format!("{} {name}", count(**n))).collect();
            page.paragraph(look, label, &counts.join(", "))?;
        }
    }
    Ok(())
}

pub(super) fn write_throughput(section: &Section, gpus: Option<&PerGpu>, page: &mut Page<'_>) -> fmt::Result {
    let (throughput, tokens) = (&section.throughput, &section.tokens);
    page.blank()?;
    page.paragraph(
        Look::Plain,
        "Throughput  ",
        &format!(
            "{} requests/s, {} output tokens/s, {} input tokens/s, {}",
            rate(throughput.requests_per_s),
            whole_rate(throughput.output_tokens_per_s),
            whole_rate(throughput.input_tokens_per_s),
            byte_rate(throughput.bytes_per_s),
        ),
    )?;
    if let Some(gpus) = gpus {
        let price = match (gpus.cost.price_per_hour, gpus.price_per_million_output_tokens) {
            (Some(price), Some(million)) => {
                format!("; at ${price} a GPU hour a million output tokens cost ${}", rate(Some(million)))
            }
            _ => String::new(),
        };
        page.paragraph(
            Look::Plain,
            "            ",
            &format!(
                "{} output tokens/s for each of {} GPUs, {} for each user while an answer runs (1 / median TPOT){price}",
                whole_rate(gpus.output_tokens_per_s_per_gpu),
                count(gpus.cost.count.into()),
                rate(gpus.output_tokens_per_s_per_user),
            ),
        )?;
    }
    let sources = &tokens.sources;
    let known = [
        ("usage", sources.usage),
        ("token ids", sources.token_ids),
        ("logprobs", sources.logprobs),
        ("events (an estimate)", sources.events),
    ];
    let known: Vec<&str> = known.iter().filter(|(_, n)| *n > 0).map(|(name, _)| *name).collect();
    let delivered = match tokens.asked_output {
        Some(asked) => format!(
            "output: {} asked, {} delivered ({})",
            count(asked),
            count(tokens.output),
            percent(tokens.delivered_share)
        ),
        None => format!("output: {} delivered, none asked", count(tokens.output)),
    };
    let cached = match tokens.cached_input {
        Some(cached) if cached > 0 => format!(", {} of them cached", count(cached)),
        _ => String::new(),
    };
    page.paragraph(
        Look::Plain,
        "Tokens      ",
        &format!(
            "{delivered}; {} per event, counted by {}; input: {}{cached}",
            plain(tokens.per_event),
            if known.is_empty() { UNDEFINED.into() } else { known.join(", ") },
            maybe_count(tokens.input),
        ),
    )
}
