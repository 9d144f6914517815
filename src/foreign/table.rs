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
    pub(super) differences: Vec<Against>,
}

/// What is told of a figure against that of another run.
#[derive(Copy, Clone, PartialEq, Debug, Default)]
pub(super) struct Against {
    /// None where figures of this kind are not compared, or one is missing.
    pub(super) difference: Option<Difference>,
    /// The number of the note that says why it has no interval, from 1.
    pub(super) note: Option<usize>,
}

impl Against {
    /// A difference in words: `+4.1 % [+1.0, +7.3] worse`, with the mark of its note.
    pub(super) fn marked(&self) -> String {
        let text = difference_text(self.difference.as_ref());
        self.note.map_or_else(|| text.clone(), |note| format!("{text} [{note}]"))
    }
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
    /// In what the settings of the runs that are compared differ.
    pub(super) asked: Vec<String>,
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
        let compared: Vec<String> = if ours.len() > 1 {
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
                let cells: Vec<Cell> =
                    readings.iter().map(|reading| notes.cell(reading, quantity, statistic)).collect();
                let differences = notes.differences(&ours, &compared, quantity, statistic);
                rows.push(Row { quantity, statistic, cells, differences });
            }
        }
        let apart = readings.iter().zip(&heads).flat_map(|(reading, head)| {
            reading.apart.iter().filter(|one| !one.figures.is_empty()).map(move |one| told(head, one))
        });
        let remarks = readings
            .iter()
            .zip(&heads)
            .flat_map(|(reading, head)| reading.notes.iter().map(move |note| format!("{head}: {note}")));
        let asked = ours.iter().zip(&compared).skip(1);
        Self {
            asked: asked
                .filter_map(|(other, name)| settings((ours[0], compared.first()?), (other, name)))
                .collect(),
            tools: readings.iter().map(|reading| reading.tool.clone()).collect(),
            rows,
            compared,
            notes: notes.texts,
            apart: apart.collect(),
            remarks: remarks.collect(),
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

/// Whether runs are held against each other in it: neither how long a run was nor its extremes are figures that another could
/// keep to.
fn is_compared(quantity: Quantity, statistic: Statistic) -> bool {
    quantity.unit() != Unit::Count
        && quantity.better() != Better::Neither
        && !matches!(statistic, Statistic::Sd | Statistic::Min | Statistic::Max)
}

/// Why the difference of two runs, each with its name, has no interval.
fn why_unsure(runs: [(&Reading, &String); 2], quantity: Quantity, statistic: Statistic) -> String {
    let lacks = |reading: &Reading| {
        reading.figure(quantity, statistic).is_some_and(|figure| figure.interval.is_none())
    };
    let lacking = runs.iter().filter(|(reading, _)| lacks(reading));
    let whys: Vec<(&String, &str)> =
        lacking.map(|(reading, name)| (*name, reading.why_unsure(quantity, statistic))).collect();
    match whys.as_slice() {
        [] => "no interval: a value, or its own interval, reaches 0".into(),
        [(_, one), (_, other)] if one == other => format!("no interval: {one}"),
        several => {
            let told: Vec<String> = several.iter().map(|(name, why)| format!("{name}: {why}")).collect();
            format!("no interval: {}", told.join("; "))
        }
    }
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

    /// Of the runs in `ours`, with their names, against the first.
    fn differences(
        &mut self,
        ours: &[&Reading],
        names: &[String],
        quantity: Quantity,
        statistic: Statistic,
    ) -> Vec<Against> {
        let mut runs = ours.iter().copied().zip(names);
        let Some(base) = runs.next() else { return Vec::new() };
        let against = |other: (&Reading, &String)| {
            let figures = [base.0, other.0].map(|reading| reading.figure(quantity, statistic));
            let [Some(old), Some(new)] = figures else { return Against::default() };
            let difference =
                Difference::of(old, new, quantity.better()).filter(|_| is_compared(quantity, statistic));
            let unsure = difference.is_some_and(|difference| difference.interval.is_none());
            let note = unsure.then(|| self.number(why_unsure([base, other], quantity, statistic)));
            Against { difference, note }
        };
        runs.map(against).collect()
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
fn settings(
    (base, base_name): (&Reading, &String),
    (other, other_name): (&Reading, &String),
) -> Option<String> {
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
    Some(format!("{base_name} and {other_name} were asked for differently: {told}{rest}"))
}

/// A difference in words.
fn difference_text(difference: Option<&Difference>) -> String {
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
