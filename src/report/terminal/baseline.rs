//! A baseline in tables: the sides beside each other, and the ratios of their pairs.

use super::page::{Look, Page, Style};
use super::table::Table;
use crate::report::figures::{count, rate, time};
use crate::report::{Baseline, BaselineRun, BaselineSide, MEASURES, Measure, MeasureUnit, Ranged, SLOPES};
use std::fmt;

/// What stands for a quantity that a side does not have.
const NOT_TOLD: &str = "n/a";

/// What marks a highest rate that is the simulator's.
const LIMIT_MARK: &str = "!";

/// The label of a slope's row.
const SLOPE_LABEL: &str = "  slope, start-up cancelled";

/// The baseline as one text.
///
/// # Panics
/// Never: a text takes everything.
#[must_use]
pub fn baseline(baseline: &Baseline, style: &Style) -> String {
    let mut text = String::new();
    write(baseline, &mut Page::new(&mut text, style)).expect("a text takes everything");
    text
}

fn write(found: &Baseline, page: &mut Page<'_>) -> fmt::Result {
    let about = format!("lowrho {}  beside  {}", found.lowrho, found.peer_version);
    page.line(Look::Heading, &about)?;
    let host = &found.host;
    let model = host.cpu_model.as_deref().unwrap_or("unknown processor");
    let server = match found.server_cpus.as_str() {
        "" => "the server's CPUs are not known".to_owned(),
        cpus => format!("server on CPU {cpus}"),
    };
    let about = format!(
        "{model}, {} CPUs, kernel {}; clients on CPU {}, {server}; {}",
        host.cpus, host.kernel, found.client_cpus, found.peer_binary
    );
    page.paragraph(Look::Dim, "", &about)?;
    page.paragraph(Look::Plain, "", &format!("{}; {}", found.target, found.load))?;
    page.blank()?;
    page.table(&sides(found))?;
    page.blank()?;
    ratios(found, page)?;
    problems(found, page)?;
    found.sides.iter().try_for_each(|side| doubts(side, found.offered, page))?;
    if found.sides.iter().filter_map(|side| side.highest.as_ref()).any(|highest| highest.server_was_the_limit)
    {
        let words = format!(
            "{LIMIT_MARK} the simulator says that it was the limit at the next rate: this client's own limit may be higher"
        );
        page.paragraph(Look::Dim, "  ", &words)?;
    }
    found.notes.iter().try_for_each(|note| page.paragraph(Look::Dim, "  ", note))
}

/// Medians over the rounds; of what should be none, the most.
fn sides(found: &Baseline) -> Table {
    let columns: Vec<(&str, u8)> = std::iter::once(("medians", 0))
        .chain(found.sides.iter().map(|side| (side.name.as_str(), 0)))
        .collect();
    let mut table = Table::new(&columns);
    let rounds = found.sides.iter().map(|side| rounds(side, found.offered));
    table.row(std::iter::once("rounds measured".to_owned()).chain(rounds).collect());
    let told = |key: &str| found.sides.iter().any(|side| side.figures.contains_key(key));
    let median = |ranged: &Ranged| ranged.median;
    for measure in MEASURES.iter().filter(|measure| told(measure.key)) {
        let of = if measure.tells_the_most() { |ranged: &Ranged| ranged.high } else { median };
        table.row(cells(found, measure.label, measure.key, measure.unit, of));
        for slope in SLOPES.iter().filter(|slope| slope.below == measure.key && told(slope.key)) {
            table.row(cells(found, SLOPE_LABEL, slope.key, measure.unit, median));
        }
    }
    if found.sides.iter().any(|side| side.highest.is_some()) {
        let label = "highest rate without drops".to_owned();
        table.row(std::iter::once(label).chain(found.sides.iter().map(highest)).collect());
    }
    let verdicts: Vec<String> = found.sides.iter().map(|side| verdicts(side, found.offered)).collect();
    if verdicts.iter().any(|words| words != NOT_TOLD) {
        table.row(std::iter::once("verdicts".to_owned()).chain(verdicts).collect());
    }
    table
}

/// How many runs of a side its medians are of: those at the compared load that went well.
fn rounds(side: &BaselineSide, offered: f64) -> String {
    let runs = side.runs.iter().filter(|run| run.offered == offered && run.problem.is_none());
    count(runs.count() as u64)
}

fn cells(found: &Baseline, label: &str, key: &str, unit: MeasureUnit, of: fn(&Ranged) -> f64) -> Vec<String> {
    let value = |side: &BaselineSide| {
        side.figures.get(key).map_or(NOT_TOLD.into(), |ranged| figure(of(ranged), unit))
    };
    std::iter::once(label.to_owned()).chain(found.sides.iter().map(value)).collect()
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a float cast saturates, and counts and bytes are not negative"
)]
fn figure(value: f64, unit: MeasureUnit) -> String {
    match unit {
        MeasureUnit::Count => count(libm::round(value) as u64),
        MeasureUnit::PerS => rate(Some(value)),
        MeasureUnit::Ns => time(libm::round(value) as i64),
        MeasureUnit::CpuS => format!("{value:.4}"),
        MeasureUnit::Bytes => format!("{:.1} MiB", value / 1_048_576.0),
    }
}

fn highest(side: &BaselineSide) -> String {
    match &side.highest {
        None => NOT_TOLD.into(),
        Some(found) => match (found.kept, found.lost) {
            (Some(kept), Some(_)) => {
                let mark = if found.server_was_the_limit { LIMIT_MARK } else { "" };
                format!("{}/s{mark}", count(kept.into()))
            }
            (Some(kept), None) => format!("at least {}/s", count(kept.into())),
            (None, _) if found.server_was_the_limit => format!("none{LIMIT_MARK}"),
            (None, _) => "none".into(),
        },
    }
}

/// How often each verdict came: `4 valid, 1 suspect`.
fn verdicts(side: &BaselineSide, offered: f64) -> String {
    let all: Vec<&str> = side
        .runs
        .iter()
        .filter(|run| run.offered == offered)
        .filter_map(|run| run.verdict.as_deref())
        .collect();
    let told: Vec<String> = ["valid", "suspect", "invalid"]
        .into_iter()
        .map(|name| (name, all.iter().filter(|verdict| **verdict == name).count()))
        .filter(|(_, times)| *times > 0)
        .map(|(name, times)| format!("{times} {name}"))
        .collect();
    if told.is_empty() { NOT_TOLD.into() } else { told.join(", ") }
}

/// Ratios of pairs, a row a measure and a column a side of lowrho.
fn ratios(found: &Baseline, page: &mut Page<'_>) -> fmt::Result {
    let ours: Vec<&BaselineSide> = found.sides.iter().filter(|side| side.is_ours).collect();
    let heading = format!("over {}, by pairs", found.peer);
    let columns: Vec<(&str, u8)> = std::iter::once((heading.as_str(), 0))
        .chain(ours.iter().map(|side| (side.name.as_str(), 0)))
        .collect();
    let mut table = Table::new(&columns);
    let ratio = |side: &BaselineSide, key: &str| {
        found.ratios.iter().find(|ratio| ratio.ours == side.name && ratio.measure == key).map(|one| one.ratio)
    };
    let mut add = |label: &str, key: &str| {
        let values: Vec<Option<Ranged>> = ours.iter().map(|side| ratio(side, key)).collect();
        if values.iter().any(Option::is_some) {
            let words = values.into_iter().map(|value| value.map_or(NOT_TOLD.into(), ranged));
            table.row(std::iter::once(label.to_owned()).chain(words).collect());
        }
    };
    for Measure { key, label, .. } in MEASURES.iter().filter(|measure| measure.has_ratio) {
        let label = if *key == "true_e2e_due_p99" { "e2e_due by the server p99" } else { *label };
        add(label, key);
        for slope in SLOPES.iter().filter(|slope| slope.below == *key) {
            add(SLOPE_LABEL, slope.key);
        }
    }
    if found.ratios.is_empty() {
        return page.line(Look::Bad, "No pair was measured: there is no ratio");
    }
    page.table(&table)?;
    page.blank()
}

fn ranged(ratio: Ranged) -> String {
    let Ranged { median, low, high, n } = ratio;
    // Of a small ratio two decimals would say little.
    let digits = if median.abs() < 0.1 { 3 } else { 2 };
    format!("{median:.digits$} ({low:.digits$} to {high:.digits$}, {n})")
}

/// Why lowrho's verdicts on itself are not valid: of each kind of verdict the first reason of the first such run, and how many
/// there are.
fn doubts(side: &BaselineSide, offered: f64, page: &mut Page<'_>) -> fmt::Result {
    for verdict in ["suspect", "invalid"] {
        let is_such = |run: &&BaselineRun| run.offered == offered && run.verdict.as_deref() == Some(verdict);
        let such: Vec<&BaselineRun> = side.runs.iter().filter(is_such).collect();
        let Some(reason) = such.iter().find_map(|run| run.verdict_reasons.first()) else { continue };
        let which = if such.len() == 1 { "" } else { ", such as" };
        let words = format!("{} {verdict}{which}: {reason}", such.len());
        page.paragraph(Look::Plain, &format!("{}: ", side.name), &words)?;
    }
    Ok(())
}

/// What went wrong, a line a kind.
fn problems(found: &Baseline, page: &mut Page<'_>) -> fmt::Result {
    for side in &found.sides {
        let mut kinds: Vec<(&str, usize)> = Vec::new();
        for problem in side.runs.iter().filter_map(|run| run.problem.as_deref()) {
            match kinds.iter_mut().find(|(kind, _)| *kind == problem) {
                Some((_, times)) => *times += 1,
                None => kinds.push((problem, 1)),
            }
        }
        for (problem, times) in kinds {
            page.paragraph(
                Look::Bad,
                &format!("{}: ", side.name),
                &format!("{times} of its runs: {problem}"),
            )?;
        }
        if let Some(highest) = side.highest.as_ref().filter(|highest| !highest.why.is_empty()) {
            let lost =
                highest.lost.map_or(String::new(), |lost| format!("{} requests/s: ", count(lost.into())));
            page.paragraph(
                Look::Plain,
                &format!("{}, search: ", side.name),
                &format!("{lost}{}", highest.why),
            )?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{HighestRate, Told};

    fn run(round: u32, cpu_s: f64, p50: Option<i64>) -> BaselineRun {
        BaselineRun {
            round,
            offered: 1_000.0,
            due: Some(8_000),
            sent: Some(7_990),
            cpu_s: Some(cpu_s),
            lateness_ns: Told { p99: p50, ..Told::default() },
            verdict: p50.map(|_| "valid".into()),
            ..BaselineRun::default()
        }
    }

    #[test]
    fn both_sides_stand_beside_each_other_and_what_one_lacks_is_said() {
        let side = |name: &str, is_ours, runs| BaselineSide {
            name: name.into(),
            is_ours,
            runs,
            ..BaselineSide::default()
        };
        let broken = BaselineRun { problem: Some("it ended with status 9".into()), ..run(1, 3.0, None) };
        let late = BaselineRun {
            sent: Some(7_980),
            verdict: Some("suspect".into()),
            verdict_reasons: vec!["sent late".into(), "and more".into()],
            ..run(1, 1.1, Some(60_000))
        };
        let mut found = Baseline {
            peer: "k6".into(),
            peer_version: "k6 v1.1.0".into(),
            offered: 1_000.0,
            pairs: 2,
            sides: vec![
                side("lowrho auto", true, vec![run(0, 1.0, Some(50_000)), late]),
                side("k6", false, vec![run(0, 2.0, None), broken]),
            ],
            notes: vec!["a note".into()],
            ..Baseline::default()
        };
        found.sides[1].highest = Some(HighestRate {
            kept: Some(3_000),
            lost: Some(3_100),
            why: "8 unsent".into(),
            trials: 9,
            server_was_the_limit: true,
        });
        found.conclude();
        let text = baseline(&found, &Style::default());
        let row = |label: &str| {
            let line = text.lines().find(|line| line.trim_start().starts_with(label));
            let line = line.unwrap_or_else(|| panic!("{label} in\n{text}"));
            line.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        assert!(text.starts_with("lowrho   beside  k6 v1.1.0"), "{text}");
        assert_eq!(row("rounds measured"), "rounds measured 2 1");
        assert_eq!(row("sent"), "sent 7,985 7,990");
        assert_eq!(row("unsent"), "unsent, the most 20 10");
        assert_eq!(row("lateness p99"), "lateness p99 55.0 us n/a");
        assert_eq!(row("verdicts"), "verdicts 1 valid, 1 suspect n/a");
        assert_eq!(row("lowrho auto: "), "lowrho auto: 1 suspect: sent late");
        assert_eq!(row("highest rate"), "highest rate without drops n/a 3,000/s!");
        assert!(row("! the simulator").contains("limit at the next rate"));
        assert_eq!(row("k6: "), "k6: 1 of its runs: it ended with status 9");
        assert!(row("k6, search").ends_with("3,100 requests/s: 8 unsent"));
        assert!(text.contains("0.50 (0.50 to 0.50, 1)"), "{text}");
        assert!(text.trim_end().ends_with("a note"));
    }
}
