//! A sweep on the terminal: the profile as a table with a small chart, the limits, the one sentence.

use super::client;
use super::page::{Look, Page, Style};
use super::table::Table;
use crate::report::figures::{UNDEFINED, maybe_time, percent, rate, whole_rate};
use crate::report::{Sweep, SweepTrial, Verdict, per_user};
use crate::search::{Offer, Purpose, Trust};
use std::fmt;

/// Columns of the chart's longest bar.
const BAR: f64 = 16.0;

/// The report of a sweep as one text.
///
/// # Panics
/// Never: a text takes everything.
#[must_use]
pub fn sweep(sweep: &Sweep, style: &Style) -> String {
    let mut text = String::new();
    let mut page = Page::new(&mut text, style);
    write(sweep, style.verbose, &mut page).expect("a text takes everything");
    text
}

fn write(sweep: &Sweep, verbose: bool, page: &mut Page<'_>) -> fmt::Result {
    page.line(Look::Heading, &format!("lowrho {}  {}  {}", sweep.version, sweep.url, sweep.model))?;
    let mut shown: Vec<&SweepTrial> =
        sweep.trials.iter().filter(|trial| verbose || trial.trial.ask.purpose == Purpose::Profile).collect();
    if shown.is_empty() {
        shown = sweep.trials.iter().collect();
    }
    if !verbose {
        shown.sort_by(|a, b| load(a).total_cmp(&load(b)));
    }
    profile(&shown, sweep, page)?;
    page.blank()?;
    let sentence = sweep.sentence();
    if !sentence.is_empty() {
        page.paragraph(Look::Heading, "", &sentence)?;
    }
    if let Some(usl) = &sweep.found.usl {
        page.paragraph(
            Look::Plain,
            "",
            &format!(
                "The closed loops follow the Universal Scalability Law within {:.1} %: contention {:.3}, coherency {:.2e}.",
                usl.worst_miss * 100.0,
                usl.sigma,
                usl.kappa
            ),
        )?;
    }
    if let Some(words) = sweep.mlperf_words() {
        page.paragraph(Look::Plain, "", &words)?;
    }
    let (verdict, words) = sweep.ending();
    let look = match verdict {
        Verdict::Valid => Look::Plain,
        Verdict::Suspect => Look::Doubtful,
        Verdict::Invalid => Look::Bad,
    };
    if !words.is_empty() {
        page.paragraph(look, "", &words)?;
    }
    if let Some(trial) = sweep.untrusted() {
        page.line(Look::Plain, &format!("{}:", trial.dir))?;
        client::reasons(&trial.reasons, page)?;
    }
    Ok(())
}

fn load(trial: &SweepTrial) -> f64 {
    match trial.trial.ask.offer {
        Offer::Rate(rate) => rate,
        Offer::Slots(slots) => slots.into(),
    }
}

fn profile(shown: &[&SweepTrial], sweep: &Sweep, page: &mut Page<'_>) -> fmt::Result {
    let most = shown.iter().map(|trial| trial.trial.outcome.completed_per_s()).fold(0.0, f64::max);
    // Who says what GPUs there are wants to see them.
    let (tokens, ranks) = match sweep.gpus {
        Some(gpus) if gpus.price_per_hour.is_some() => ("tok/s/GPU", [2, 2, 2]),
        Some(_) => ("tok/s/GPU", [2, 2, 11]),
        None => ("tokens/s", [9, 10, 11]),
    };
    // Where none failed, who wants to be told so?
    let failed = if shown.iter().any(|trial| trial.trial.outcome.failed > 0) { 0 } else { 12 };
    let mut table = Table::new(&[
        ("Offered", 0),
        ("done/s", 0),
        ("failed", failed),
        ("good/s", 6),
        ("TTFT p50", 4),
        ("TTFT p99", 0),
        ("TPOT p99", 3),
        ("NTPOT p99", 5),
        ("E2E mean", 7),
        ("in flight", 8),
        (tokens, ranks[0]),
        ("per user", ranks[1]),
        ("$/M tok", ranks[2]),
        ("", 0),
        ("throughput", 1),
    ]);
    for trial in shown {
        table.row(row(trial, most, sweep));
    }
    page.blank()?;
    page.table(&table)
}

fn row(trial: &SweepTrial, most: f64, sweep: &Sweep) -> Vec<String> {
    let (ask, outcome) = (&trial.trial.ask, &trial.trial.outcome);
    let p99 = |metric: &str| maybe_time(outcome.shown(metric).and_then(|shown| shown.p99_ns));
    let tpot = outcome.shown("tpot").and_then(|shown| shown.p50_ns);
    let each = sweep.gpus.map(|gpus| gpus.figures(outcome.output_tokens_per_s, tpot));
    let state = match (outcome.client, trial.judgement.as_deref()) {
        (Trust::Invalid, _) => "INVALID",
        (_, Some(judgement)) => judgement,
        _ if outcome.grew => "fell behind",
        _ => "",
    };
    vec![
        match ask.offer {
            Offer::Rate(offered) => format!("{}/s", rate(Some(offered))),
            Offer::Slots(slots) => format!("{slots} at once"),
        },
        rate(Some(outcome.completed_per_s())),
        percent(Some(outcome.failed_share())),
        rate(outcome.goodput_per_s),
        maybe_time(outcome.shown("ttft").and_then(|shown| shown.p50_ns)),
        p99("ttft"),
        p99("tpot"),
        p99("ntpot"),
        maybe_time(outcome.shown("e2e").and_then(|shown| shown.mean_ns)),
        outcome.mean_in_flight().map_or(UNDEFINED.into(), |mean| rate(Some(mean))),
        whole_rate(each.map_or(outcome.output_tokens_per_s, |found| found.output_tokens_per_s_per_gpu)),
        rate(per_user(tpot)),
        each.and_then(|found| found.price_per_million_output_tokens)
            .map_or(UNDEFINED.into(), |price| rate(Some(price))),
        state.into(),
        bar(outcome.completed_per_s(), most),
    ]
}

/// Throughput as a bar; a table's cells keep to the right, so it is filled up with blanks.
fn bar(value: f64, most: f64) -> String {
    let share = if most > 0.0 { (value / most).clamp(0.0, 1.0) } else { 0.0 };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to 16")]
    let full = libm::round(share * BAR) as usize;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "16")]
    let width = BAR as usize;
    format!("{:<width$}", "#".repeat(full))
}
