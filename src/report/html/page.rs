//! The page around the figures: its head, its order, its style.

use super::figure::Figure;
use super::told::Told;
use super::{audit, course, curves, levels, others, profile, servers, stages, tables};
use crate::report::figures::time;
use crate::report::{Ended, Verdict};
use maud::{DOCTYPE, Markup, PreEscaped, html};

/// The colours of all figures, light and dark.
pub(super) const COLOURS: &str = include_str!("colours.css");

/// The rest of the style.
const STYLE: &str = include_str!("page.css");

/// All figures of one run, or of several over each other.
#[must_use]
pub fn figures(told: &[Told]) -> Vec<Figure> {
    let mut found = Vec::new();
    found.extend(profiles(told));
    if let [one] = told {
        found.extend(course::figures(one));
    }
    found.extend(curves::figures(told));
    found
}

/// The page of one run, or of several over each other.
///
/// # Panics
/// When there is none.
#[must_use]
pub fn page(told: &[Told]) -> String {
    assert!(!told.is_empty(), "a page tells of a run");
    let title = match told {
        [one] => format!("lowrho: {} at {}", one.summary.target.model, one.summary.target.url),
        several => format!("lowrho: {} runs side by side", several.len()),
    };
    let body = match told {
        [one] => single(one),
        several => beside(several),
    };
    document(&title, &body)
}

/// The profile of one run's stages; of several, those that have stages beside each other.
fn profiles(told: &[Told]) -> Vec<Figure> {
    let found: Vec<_> = match told {
        [one] => vec![stages::profile(one, "")],
        several => several.iter().map(|run| stages::profile(run, &run.name)).collect(),
    };
    // Rates and concurrencies have no axis in common.
    let alike = found.windows(2).all(|pair| pair[0].unit == pair[1].unit);
    if alike { profile::figures(&found) } else { Vec::new() }
}

/// The page around what it tells.
pub(super) fn document(title: &str, body: &Markup) -> String {
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) }
                style { (PreEscaped(COLOURS)) (PreEscaped(STYLE)) }
            }
            body { main { (body) } }
        }
    };
    markup.into_string()
}

fn single(told: &Told) -> Markup {
    let summary = &told.summary;
    html! {
        header {
            h1 { (summary.target.model) " at " (summary.target.url) }
            p.note { (about(told)) }
            @for note in &told.notes { p.note { (note) } }
            (verdicts(told))
            (tables::headline(told))
        }
        (tables::load(&summary.total))
        (levels::markup(&summary.total))
        (tables::latencies(&summary.total))
        (tables::failures(&summary.total))
        (servers::markup(told))
        @let (stages, course, curves) = (profiles(std::slice::from_ref(told)), course::figures(told), curves::figures(std::slice::from_ref(told)));
        @if !stages.is_empty() { h2 { "Profile" } (grid(&stages)) }
        @if !course.is_empty() { h2 { "Over time" } (grid(&course)) }
        @if !curves.is_empty() { h2 { "Distributions" } (grid(&curves)) }
        (audit::markup(told))
        (others::markup(told))
        (tables::slowest(told))
        (tables::configuration(told))
    }
}

fn beside(told: &[Told]) -> Markup {
    html! {
        header { h1 { (told.len()) " runs side by side" } }
        @for run in told {
            h2 { (run.name) }
            p.note { (run.summary.target.model) " at " (run.summary.target.url) "; " (about(run)) }
            @for note in &run.notes { p.note { (note) } }
            (verdicts(run))
            (tables::headline(run))
        }
        @let (profiles, curves) = (profiles(told), curves::figures(told));
        @if !profiles.is_empty() { h2 { "Profiles" } (grid(&profiles)) }
        @if !curves.is_empty() { h2 { "Distributions" } (grid(&curves)) }
    }
}

pub(super) fn grid(figures: &[Figure]) -> Markup {
    html! { div.grid { @for figure in figures { (figure.markup()) } } }
}

fn about(told: &Told) -> String {
    let run = &told.summary.run;
    let start = jiff::Timestamp::from_nanosecond(i128::from(run.start_unix_ns))
        .expect("64 bits of nanoseconds end before the year 9999")
        .strftime("%Y-%m-%d %H:%M:%S UTC");
    let mut about =
        format!("run {}, {start}, {} measured of {}", run.id, time(run.window_ns), time(run.duration_ns));
    for (key, value) in &run.tags {
        about.push_str(&format!(", {key}={value}"));
    }
    match run.ended {
        Ended::Complete => {}
        Ended::Interrupted => about.push_str("; interrupted: what follows was measured until then"),
        Ended::Failed => about.push_str("; lowrho itself failed: what follows was measured until then"),
    }
    about
}

/// The client's state and the server's, said apart.
fn verdicts(told: &Told) -> Markup {
    let (client, server) = (&told.summary.client, &told.summary.server);
    let kept_up = match server.kept_up {
        Some(true) => (Verdict::Valid.name(), "kept up"),
        Some(false) => (Verdict::Invalid.name(), "did not keep up"),
        None => ("unknown", "cannot be told whether it kept up"),
    };
    html! {
        p.verdicts {
            "Client: " span class=(client.verdict.name()) { (client.verdict.name()) }
            " \u{b7} Server: " span class=(kept_up.0) { (kept_up.1) }
        }
        @for reason in &server.reasons { p.note { (reason) } }
    }
}
