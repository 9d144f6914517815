//! Readings side by side: the rows that are told, each cell as text, what each cell is not, and differences.
//!
//! It must not put a number where it does not belong: a tool without the quantity has n/a there.

use super::difference::Difference;
use super::quantity::{Better, Quantity, Statistic, Unit, span};
use super::reading::{Apart, Figure, Reading};
use crate::report::figures;
use std::collections::BTreeMap;

/// What stands where a tool does not tell the quantity.
pub(super) const NOT_THERE: &str = "n/a";

/// Which rows are told.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum Scope {
    /// The usual ones, and all that a peer's file has.
    #[default]
    Usual,
    /// Every one that any file has.
    All,
}

/// Quantities that are always told where a file of ours has them.
const USUAL: [Quantity; 13] = [
    Quantity::Completed,
    Quantity::Failed,
    Quantity::ErrorRate,
    Quantity::RequestedRate,
    Quantity::RequestsPerS,
    Quantity::OutputTokensPerS,
    Quantity::Lateness,
    Quantity::Ttft,
    Quantity::Itl,
    Quantity::Tpot,
    Quantity::Ntpot,
    Quantity::E2e,
    Quantity::E2eDue,
];

/// Statistics that are always told; the others where every row is.
const USUAL_STATISTICS: [Statistic; 6] =
    [Statistic::Value, Statistic::Mean, Statistic::P50, Statistic::P90, Statistic::P99, Statistic::P99_9];

/// Settings that may differ between runs that are compared: more of them fill a screen.
const MOST_SETTINGS: usize = 12;

/// One row.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Row {
    pub(super) quantity: Quantity,
    pub(super) statistic: Statistic,
    /// One for each reading.
    pub(super) cells: Vec<Cell>,
    /// Against the first reading of ours; one for each reading of ours after it.
    pub(super) differences: Vec<Option<Difference>>,
}

impl Row {
    /// `ttft p99`.
    pub(super) fn label(&self) -> String {
        format!("{} {}", self.quantity.name(), self.statistic.name()).trim_end().to_owned()
    }
}

/// One cell.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Cell {
    pub(super) text: String,
    /// The number of its note, from 1.
    pub(super) note: Option<usize>,
}

impl Cell {
    /// The text with the mark of its note.
    pub(super) fn marked(&self) -> String {
        self.note.map_or_else(|| self.text.clone(), |note| format!("{} [{note}]", self.text))
    }
}

/// Readings side by side.
#[derive(Clone, Debug)]
pub struct Comparison {
    pub(super) heads: Vec<String>,
    pub(super) tools: Vec<String>,
    pub(super) rows: Vec<Row>,
    /// The names of the runs that differences are of; the first is what they are against.
    pub(super) compared: Vec<String>,
    /// Notes to cells, from 1.
    pub(super) notes: Vec<String>,
    /// What is not lined up: column, the tool's name of it, its figures, why.
    pub(super) apart: Vec<[String; 4]>,
    /// What is to be known of whole files.
    pub(super) remarks: Vec<String>,
}

impl Comparison {
    /// Of readings, in their order. Differences are those of lowrho's own runs, against the first of them.
    #[must_use]
    pub fn of(readings: &[Reading], scope: Scope) -> Self {
        let heads: Vec<String> =
            heads(readings).iter().map(|head| head.replace(char::is_control, " ")).collect();
        let ours: Vec<&Reading> = readings.iter().filter(|reading| reading.is_ours).collect();
        let compared = if ours.len() > 1 {
            heads
                .iter()
                .zip(readings)
                .filter(|(_, reading)| reading.is_ours)
                .map(|(head, _)| head.clone())
                .collect()
        } else {
            Vec::new()
        };
        let mut notes = Notes::default();
        let mut rows = Vec::new();
        for quantity in Quantity::ALL {
            for statistic in Statistic::ALL.into_iter().filter(|one| is_told(readings, quantity, *one, scope))
            {
                let cells = readings.iter().map(|reading| notes.cell(reading, quantity, statistic));
                rows.push(Row {
                    quantity,
                    statistic,
                    cells: cells.collect(),
                    differences: differences(&ours, quantity, statistic),
                });
            }
        }
        let apart = readings.iter().zip(&heads).flat_map(|(reading, head)| {
            reading.apart.iter().filter(|one| !one.figures.is_empty()).map(move |one| told(head, one))
        });
        let mut remarks: Vec<String> = readings
            .iter()
            .zip(&heads)
            .flat_map(|(reading, head)| reading.notes.iter().map(move |note| format!("{head}: {note}")))
            .collect();
        for other in ours.iter().skip(1) {
            remarks.extend(settings(ours[0], other));
        }
        Self {
            tools: readings.iter().map(|reading| reading.tool.clone()).collect(),
            rows,
            compared,
            notes: notes.texts,
            apart: apart.collect(),
            remarks,
            heads,
        }
    }
}

/// The names of the columns: the last part of each path; the whole path where that part is not its own alone, and with its
/// number where two files are the same.
fn heads(readings: &[Reading]) -> Vec<String> {
    fn last(name: &str) -> &str {
        let name = name.trim_end_matches('/');
        name.rsplit('/').next().filter(|last| !last.is_empty()).unwrap_or(name)
    }
    let alike = |part: fn(&str) -> &str, name: &str| {
        readings.iter().filter(|other| part(&other.name) == part(name)).count() > 1
    };
    readings
        .iter()
        .zip(1..)
        .map(|(one, n)| {
            if !alike(last, &one.name) {
                last(&one.name).to_owned()
            } else if alike(|name| name, &one.name) {
                format!("{} ({n})", one.name)
            } else {
                one.name.clone()
            }
        })
        .collect()
}

fn is_told(readings: &[Reading], quantity: Quantity, statistic: Statistic, scope: Scope) -> bool {
    let has = |reading: &&Reading| reading.figure(quantity, statistic).is_some();
    if scope == Scope::All {
        return readings.iter().any(|reading| has(&reading));
    }
    let by_peer = readings.iter().any(|reading| !reading.is_ours && reading.has(quantity));
    USUAL_STATISTICS.contains(&statistic)
        && (USUAL.contains(&quantity) || by_peer)
        && readings.iter().any(|reading| has(&reading))
}

fn differences(ours: &[&Reading], quantity: Quantity, statistic: Statistic) -> Vec<Option<Difference>> {
    let Some((base, others)) = ours.split_first() else { return Vec::new() };
    let of = |other: &&Reading| {
        Difference::of(
            base.figure(quantity, statistic)?,
            other.figure(quantity, statistic)?,
            quantity.better(),
        )
    };
    // Neither how long a run was nor its extremes are figures that another could keep to.
    let is_compared = quantity.unit() != Unit::Count
        && quantity.better() != Better::Neither
        && !matches!(statistic, Statistic::Sd | Statistic::Min | Statistic::Max);
    others.iter().map(|other| of(other).filter(|_| is_compared)).collect()
}

/// Notes to cells: each is told once.
#[derive(Default)]
struct Notes {
    texts: Vec<String>,
    numbers: BTreeMap<String, usize>,
}

impl Notes {
    fn cell(&mut self, reading: &Reading, quantity: Quantity, statistic: Statistic) -> Cell {
        let name = quantity.name();
        let tool = reading.tool.split(' ').next().unwrap_or_default();
        match reading.figure(quantity, statistic) {
            Some(figure) => {
                let note = reading.near.get(&quantity).map(|how| self.number(format!("{tool}: {how}")));
                Cell { text: figure_text(figure, quantity.unit()), note }
            }
            None => {
                let apart =
                    reading.apart.iter().find(|apart| apart.not == quantity && !reading.has(quantity));
                let note = apart.map(|apart| {
                    self.number(format!("{tool}: {} is not {name}: {}", apart.theirs, apart.why))
                });
                let text = if reading.is_ours { figures::UNDEFINED } else { NOT_THERE };
                Cell { text: text.into(), note }
            }
        }
    }

    fn number(&mut self, text: String) -> usize {
        let next = self.texts.len() + 1;
        let number = *self.numbers.entry(text.clone()).or_insert(next);
        if number == next {
            self.texts.push(text);
        }
        number
    }
}

/// A figure as people read it.
pub(super) fn figure_text(figure: &Figure, unit: Unit) -> String {
    let bound = if figure.at_least { ">=" } else { "" };
    format!("{bound}{}", value_text(figure.value, unit))
}

fn value_text(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Ns => figures::time(span(value).as_ns()),
        Unit::PerS => figures::rate(Some(value)),
        Unit::Share => figures::percent(Some(value)),
        Unit::Count => {
            figures::whole_rate(Some(value)).trim_end_matches(".000").trim_end_matches(".00").to_owned()
        }
    }
}

/// What is not lined up, as a line of a table.
fn told(head: &str, apart: &Apart) -> [String; 4] {
    let figures: Vec<String> = apart
        .figures
        .iter()
        .map(|(statistic, value)| format!("{} {}", statistic.name(), value_text(*value, apart.unit)))
        .collect();
    let why = format!("not {}: {}", apart.not.name(), apart.why);
    [head.to_owned(), apart.theirs.clone(), figures.join(", "), why]
}

/// In what the configurations of two runs differ: then they need not be of the same thing.
fn settings(base: &Reading, other: &Reading) -> Option<String> {
    let keys = base.settings.keys().chain(other.settings.keys());
    let keys: std::collections::BTreeSet<&String> = keys.collect();
    let value =
        |reading: &Reading, key: &str| reading.settings.get(key).cloned().unwrap_or_else(|| "-".into());
    let different: Vec<String> = keys
        .into_iter()
        .filter(|key| base.settings.get(*key) != other.settings.get(*key))
        .map(|key| format!("{key} {} / {}", value(base, key), value(other, key)))
        .collect();
    if different.is_empty() {
        return None;
    }
    let more = different.len().saturating_sub(MOST_SETTINGS);
    let rest = if more > 0 { format!(", and {more} more") } else { String::new() };
    let told = different[..different.len() - more].join(", ");
    Some(format!("{} and {} were asked for differently: {told}{rest}", base.name, other.name))
}

/// A difference in words: `+4.1 % [+1.0, +7.3] worse`.
pub(super) fn difference_text(difference: Option<&Difference>) -> String {
    let Some(difference) = difference else { return String::new() };
    let percent = |share: f64| format!("{:+.1}", share * 100.0);
    match (difference.interval, difference.outcome) {
        (Some([low, high]), Some(outcome)) => {
            format!(
                "{} % [{}, {}] {}",
                percent(difference.relative),
                percent(low),
                percent(high),
                outcome.name()
            )
        }
        _ => format!("{} % [{NOT_THERE}]", percent(difference.relative)),
    }
}
