//! A comparison as one HTML page that needs no network and no script.
//!
//! It must not decide what is told.

use super::difference::Outcome;
use super::table::Comparison;
use maud::{DOCTYPE, PreEscaped, html};

/// The table scrolls in a box of its own, so that the page never does; its first column stays, above the marks of notes, which are
/// drawn late since they are translucent.
const STYLE: &str = "\
:root{color-scheme:light dark}body{font:15px/1.45 system-ui,sans-serif;margin:2rem auto;max-width:80rem;padding:0 1rem;overflow-wrap:anywhere}\
table{border-collapse:separate;border-spacing:0;overflow-wrap:normal}th,td{padding:.2rem .7rem;text-align:right;vertical-align:baseline;border-bottom:1px solid #8884;font-variant-numeric:tabular-nums}\
thead th{vertical-align:bottom;overflow-wrap:anywhere;min-width:4.5em}td{white-space:nowrap}td:first-child{white-space:normal}td.difference{white-space:normal;min-width:7em}\
th:first-child,td:first-child{text-align:left;position:sticky;left:0;z-index:1;background:Canvas}sup{opacity:.7}.better{color:#15803d}.worse{color:#dc2626}\
.scroll{overflow-x:auto}li{margin:.2rem 0}ul,ol{padding-left:1.4rem}\
@media(max-width:600px){body{font-size:12px;margin:1rem auto}th,td{padding:.2rem .3rem}}\
@media print{:root{color-scheme:light}body{font-size:10px;margin:0;max-width:none}.scroll{overflow:visible}tr{break-inside:avoid}h2{break-after:avoid}}";

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
                    @for asked in &self.asked { p { (asked) } }
                    div.scroll { table {
                        thead { tr { @for cell in &head { th { (cell) } } } }
                        tbody { @for row in &self.rows { tr {
                            td title=(row.quantity.meaning()) {
                                @for part in row.label().split_inclusive('_') { (part) wbr; }
                            }
                            @for cell in &row.cells {
                                td { (cell.text) @if let Some(note) = cell.note { sup { " " (note) } } }
                            }
                            @if !self.compared.is_empty() { @for against in &row.differences {
                                @let outcome = against.difference.and_then(|one| one.outcome);
                                td.difference.better[outcome == Some(Outcome::Better)].worse[outcome == Some(Outcome::Worse)] {
                                    (against.marked())
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
