//! A comparison as one HTML page that needs no network and no script.
//!
//! It must not decide what is told.

use super::difference::Outcome;
use super::table::{Comparison, difference_text};
use maud::{DOCTYPE, PreEscaped, html};

const STYLE: &str = "\
:root{color-scheme:light dark}body{font:15px/1.45 system-ui,sans-serif;margin:2rem auto;max-width:80rem;padding:0 1rem}\
table{border-collapse:collapse}th,td{padding:.2rem .7rem;text-align:right;border-bottom:1px solid #8884;font-variant-numeric:tabular-nums}\
th:first-child,td:first-child{text-align:left}sup{opacity:.7}.better{color:#15803d}.worse{color:#dc2626}\
.scroll{overflow-x:auto}li{margin:.2rem 0}";

impl Comparison {
    /// The comparison as a page.
    #[must_use]
    pub fn html(&self) -> String {
        let (head, _) = self.grid();
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    title { "lowrho compare" }
                    style { (PreEscaped(STYLE)) }
                }
                body {
                    h1 { "Comparison" }
                    ul { @for (name, tool) in self.heads.iter().zip(&self.tools) { li { b { (name) } ": " (tool) } } }
                    div.scroll { table {
                        thead { tr { @for cell in &head { th { (cell) } } } }
                        tbody { @for row in &self.rows { tr {
                            td title=(row.quantity.meaning()) { (row.label()) }
                            @for cell in &row.cells {
                                td { (cell.text) @if let Some(note) = cell.note { sup { " " (note) } } }
                            }
                            @if !self.compared.is_empty() { @for difference in &row.differences {
                                td class=[class(difference.as_ref().and_then(|one| one.outcome))] {
                                    (difference_text(difference.as_ref()))
                                }
                            } }
                        } } }
                    } }
                    @if !self.notes.is_empty() { h2 { "Notes" } ol { @for note in &self.notes { li { (note) } } } }
                    @if !self.apart.is_empty() {
                        h2 { "Not lined up" }
                        ul { @for [head, theirs, figures, why] in &self.apart {
                            li { (head) ": " b { (theirs) } @if !figures.is_empty() { " (" (figures) ")" } " is " (why) }
                        } }
                    }
                    @if !self.remarks.is_empty() { h2 { "Also" } ul { @for remark in &self.remarks { li { (remark) } } } }
                }
            }
        };
        page.into_string()
    }
}

const fn class(outcome: Option<Outcome>) -> Option<&'static str> {
    match outcome {
        Some(Outcome::Better) => Some("better"),
        Some(Outcome::Worse) => Some("worse"),
        _ => None,
    }
}
