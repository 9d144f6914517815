//! The page of a sweep, or of several over each other: the one sentence, the limits, the profile, every trial.

use super::figure::Figure;
use super::page::{document, grid};
use super::told::ToldSweep;
use super::{audit, profile, trials};
use crate::report::figures::{self, UNDEFINED, count, maybe_time, percent, rate, whole_rate};
use crate::report::{Sweep, SweepTrial, per_user, share};
use crate::search::{Ended, Limit, Offer, Purpose, Trust};
use maud::{Markup, html};

/// All figures of one sweep, or of several over each other.
#[must_use]
pub fn sweep_figures(told: &[ToldSweep]) -> Vec<Figure> {
    let alone = told.len() == 1;
    let named = |one: &ToldSweep| trials::profile(&one.sweep, if alone { "" } else { &one.name });
    let profiles: Vec<_> = told.iter().map(named).collect();
    let mut found = Vec::new();
    // Rates and requests in flight have no axis in common.
    if profiles.windows(2).all(|pair| pair[0].unit == pair[1].unit) {
        found.extend(profile::figures(&profiles));
    }
    if let [one] = told {
        found.extend(trials::ladder(&one.sweep));
    }
    found
}

/// The page of one sweep, or of several over each other.
///
/// # Panics
/// When there is none.
#[must_use]
pub fn sweep_page(told: &[ToldSweep]) -> String {
    assert!(!told.is_empty(), "a page tells of a sweep");
    match told {
        [one] => {
            let title = format!("lowrho: sweep of {} at {}", one.sweep.model, one.sweep.url);
            document(&title, &single(&one.sweep, &sweep_figures(told)))
        }
        several => {
            let title = format!("{} sweeps side by side", several.len());
            document(&format!("lowrho: {title}"), &beside(&title, several, &sweep_figures(told)))
        }
    }
}

fn single(sweep: &Sweep, figures: &[Figure]) -> Markup {
    html! {
        header {
            h1 { "Sweep of " (sweep.model) " at " (sweep.url) }
            p.note { (about(sweep)) }
            (found(sweep))
            (tiles(sweep))
        }
        (limits(sweep))
        @if !figures.is_empty() { h2 { "Profile" } (grid(figures)) }
        (table(sweep))
        (configuration(sweep))
    }
}

fn beside(title: &str, told: &[ToldSweep], figures: &[Figure]) -> Markup {
    html! {
        header { h1 { (title) } }
        @for one in told {
            h2 { (one.name) }
            p.note { (one.sweep.model) " at " (one.sweep.url) "; " (about(&one.sweep)) }
            (found(&one.sweep))
            (tiles(&one.sweep))
        }
        @if !figures.is_empty() { h2 { "Profiles" } (grid(figures)) }
        @if figures.is_empty() { p.note { "Rates and requests in flight have no axis in common: these profiles are not drawn." } }
    }
}

fn about(sweep: &Sweep) -> String {
    let start = jiff::Timestamp::from_nanosecond(i128::from(sweep.start_unix_ns))
        .expect("64 bits of nanoseconds end before the year 9999")
        .strftime("%Y-%m-%d %H:%M:%S UTC");
    format!(
        "{start}, {} trials, warm-up {} and window {} at least, lowrho {}",
        sweep.trials.len(),
        figures::time(sweep.warmup_ns),
        figures::time(sweep.window_ns),
        sweep.version
    )
}

/// The one sentence, and how it ended.
fn found(sweep: &Sweep) -> Markup {
    let (verdict, ending) = sweep.ending();
    html! {
        @let sentence = sweep.sentence();
        @if !sentence.is_empty() { p.sentence { (sentence) } }
        @if let Some(words) = sweep.mlperf_words() { p { (words) } }
        @if !ending.is_empty() { p class=(verdict.name()) { (ending) } }
        @if let Some(trial) = sweep.untrusted() { p { (trial.dir) ":" } (audit::reasons(&trial.reasons)) }
    }
}

fn tiles(sweep: &Sweep) -> Markup {
    let trials = || sweep.trials.iter().filter(|trial| trial.trial.outcome.client != Trust::Invalid);
    let most = |of: fn(&SweepTrial) -> Option<f64>| trials().filter_map(of).reduce(f64::max);
    let invalid = sweep.trials.len() - trials().count();
    let between = |limit: &Limit| match (limit.low, limit.high) {
        (Some(low), Some(high)) if low < high => format!("{} to {}", rate(Some(low)), rate(Some(high))),
        _ => String::new(),
    };
    let mut tiles = Vec::new();
    if let Some(limit) = &sweep.found.slo_capacity {
        tiles.push(("capacity, requests/s", rate(limit.estimate.or(limit.low)), between(limit)));
    }
    if let Some(limit) = &sweep.found.stability_limit {
        tiles.push(("stability limit, requests/s", rate(limit.estimate), between(limit)));
    }
    tiles.push((
        "most requests/s done",
        rate(most(|trial| Some(trial.trial.outcome.completed_per_s()))),
        String::new(),
    ));
    let tokens = most(|trial| trial.trial.outcome.output_tokens_per_s);
    let of_gpus = sweep.gpus.map(|gpus| gpus.figures(tokens, None));
    let each = of_gpus.and_then(|found| found.output_tokens_per_s_per_gpu);
    let each = each.map_or(String::new(), |each| format!("{} per GPU", whole_rate(Some(each))));
    tiles.push(("most output tokens/s", whole_rate(tokens), each));
    if let Some(price) = of_gpus.and_then(|found| found.price_per_million_output_tokens) {
        tiles.push(("$ per million output tokens", rate(Some(price)), "at the most tokens/s".into()));
    }
    if sweep.found.efficient_rate.is_some() {
        let more = "most throughput per response time".into();
        tiles.push(("efficient point, requests/s", rate(sweep.found.efficient_rate), more));
    }
    let bad = if invalid > 0 { format!("{invalid} INVALID") } else { "none INVALID".into() };
    tiles.push(("trials", sweep.trials.len().to_string(), bad));
    html! {
        div.tiles {
            @for (what, figure, more) in &tiles {
                div.tile { span.what { (what) } span.figure { (figure) } span.more { (more) } }
            }
        }
    }
}

fn limits(sweep: &Sweep) -> Markup {
    let capacity = format!("capacity under {}", sweep.slo.join(", "));
    let rows =
        [(capacity.as_str(), &sweep.found.slo_capacity), ("stability limit", &sweep.found.stability_limit)];
    let times = |counts: Option<(u32, u32)>| match counts {
        Some((n, of)) if of > 0 => format!("{n} of {of}"),
        _ => UNDEFINED.into(),
    };
    html! {
        @if rows.iter().any(|(_, limit)| limit.is_some()) {
            h2 { "Limits" }
            div.scroll { table {
                thead { tr {
                    th { "requests/s" } th { "estimate" } th { "low" } th { "high" } th { "low passed" } th { "high failed" } th { "trials" }
                } }
                tbody { @for (name, limit) in rows { @if let Some(limit) = limit { tr {
                    td.wrap { (name) }
                    @for value in [limit.estimate, limit.low, limit.high] { td.number { (rate(value)) } }
                    td.number { (times(limit.passed)) }
                    td.number { (times(limit.failed)) }
                    td.number { (limit.trials.len()) }
                } } } }
            } }
            @if let Some(words) = &sweep.limited_by { p.note { "Under overload the server's own gauges said: " (words) "." } }
        }
    }
}

fn table(sweep: &Sweep) -> Markup {
    let is_priced = sweep.gpus.is_some_and(|gpus| gpus.price_per_hour.is_some());
    html! {
        h2 { "Trials" }
        div.scroll { table.trials {
            thead { tr {
                th { "trial" } th.text { "for" } th { "offered" } th { "window" } th.text { "outcome" } th.text { "client" }
                th { "done/s" } th { "good/s" } th { "failed" }
                th { "TTFT p50" } th { "TTFT p99" } th { "TPOT p99" } th { "NTPOT p99" } th { "E2E p99" } th { "in flight" }
                th { "tokens/s" } th { "per user" }
                @if sweep.gpus.is_some() { th { "per GPU" } }
                @if is_priced { th { "$/M tokens" } }
            } }
            tbody { @for trial in &sweep.trials { (row(sweep, trial)) } }
        } }
        p.note {
            "Latencies with failures as infinite; - = too few independent observations, or infinite. good/s: within the service levels. "
            "Each trial is a whole run: its directory has a page of its own."
        }
    }
}

fn row(sweep: &Sweep, trial: &SweepTrial) -> Markup {
    let (ask, outcome) = (&trial.trial.ask, &trial.trial.outcome);
    let time = |metric: &str, of: fn(&crate::search::Shown) -> Option<i64>| {
        maybe_time(outcome.shown(metric).and_then(of))
    };
    let purpose = match (ask.purpose, ask.look) {
        (Purpose::Ladder, _) => "closed loop".to_owned(),
        (Purpose::Overload, _) => "overload".into(),
        (Purpose::Level, 0) => "service levels".into(),
        (Purpose::Level, look) => format!("service levels, look {}", look + 1),
        (Purpose::Profile, _) => "profile".into(),
    };
    let offered = match ask.offer {
        Offer::Rate(offered) => format!("{}/s", rate(Some(offered))),
        Offer::Slots(slots) => format!("{slots} at once"),
    };
    let tpot = outcome.shown("tpot").and_then(|shown| shown.p50_ns);
    let of_gpus = sweep.gpus.map(|gpus| gpus.figures(outcome.output_tokens_per_s, tpot));
    let failed = match outcome.failed {
        0 => "0".to_owned(),
        failed => format!("{} ({})", count(failed), percent(share(failed, failed + outcome.succeeded))),
    };
    let (client, word) = match outcome.client {
        Trust::Valid => ("valid", "valid"),
        Trust::Suspect => ("suspect", "suspect"),
        Trust::Invalid => ("invalid", "INVALID"),
    };
    let (class, said) = outcome_words(trial);
    html! {
        tr {
            td { (trial.dir.trim_start_matches("trials/")) }
            td { (purpose) }
            td.number { (offered) }
            td.number { (maybe_time(Some(outcome.window.as_ns()))) }
            td { span class=(class) { (said) } }
            td { span class=(client) { (word) } }
            td.number { (rate(Some(outcome.completed_per_s()))) }
            td.number { (rate(outcome.goodput_per_s)) }
            td.number { (failed) }
            td.number { (time("ttft", |shown| shown.p50_ns)) }
            @for metric in ["ttft", "tpot", "ntpot", "e2e"] { td.number { (time(metric, |shown| shown.p99_ns)) } }
            td.number { (outcome.mean_in_flight().map_or(UNDEFINED.into(), |mean| rate(Some(mean)))) }
            td.number { (whole_rate(outcome.output_tokens_per_s)) }
            td.number { (rate(per_user(tpot))) }
            @if let Some(found) = of_gpus {
                td.number { (whole_rate(found.output_tokens_per_s_per_gpu)) }
                @if found.cost.price_per_hour.is_some() { td.number { (rate(found.price_per_million_output_tokens)) } }
            }
        }
    }
}

/// What a trial came to, and how that is coloured.
fn outcome_words(trial: &SweepTrial) -> (&'static str, String) {
    let outcome = &trial.trial.outcome;
    let (class, word) = match (outcome.ended, trial.judgement.as_deref()) {
        (Ended::Failed, _) => ("invalid", "the target failed"),
        (Ended::Aborted, _) => ("invalid", "ended by --abort-on"),
        (Ended::Lost, _) => ("invalid", "fails, stopped early"),
        (_, Some("passes")) => ("valid", "passes"),
        (_, Some("fails")) => ("invalid", "fails"),
        (_, Some(_)) => ("suspect", "undecided"),
        _ if outcome.client == Trust::Invalid => ("invalid", "no evidence"),
        _ => ("", ""),
    };
    let behind = if outcome.grew { "fell behind" } else { "" };
    let words: Vec<&str> = [word, behind].into_iter().filter(|word| !word.is_empty()).collect();
    (if word.is_empty() && outcome.grew { "suspect" } else { class }, words.join(", "))
}

fn configuration(sweep: &Sweep) -> Markup {
    let config = serde_json::to_string_pretty(&sweep.config).unwrap_or_default();
    html! {
        details {
            summary { "Configuration" }
            p { "config.toml beside this page repeats the sweep: lowrho rerun DIR." }
            pre { (config) }
        }
    }
}
