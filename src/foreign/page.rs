//! A comparison as text: for the terminal, and as Markdown.
//!
//! It must not decide what is told.

use super::table::Comparison;
use std::fmt::Write;

impl Comparison {
    /// The heads of the columns and the lines below them, label first.
    pub(super) fn grid(&self) -> (Vec<String>, Vec<Vec<String>>) {
        let mut head = vec![String::new()];
        head.extend(self.heads.iter().cloned());
        if let [base, others @ ..] = self.compared.as_slice() {
            head.extend(others.iter().map(|other| format!("{other} against {base} [95 %]")));
        }
        let lines = self.rows.iter().map(|row| {
            let mut line = vec![row.label()];
            line.extend(row.cells.iter().map(super::table::Cell::marked));
            if !self.compared.is_empty() {
                line.extend(row.differences.iter().map(super::table::Against::marked));
            }
            line
        });
        (head, lines.collect())
    }

    /// The comparison for a terminal.
    #[must_use]
    pub fn text(&self) -> String {
        let (head, lines) = self.grid();
        let mut text = String::new();
        for (name, tool) in self.heads.iter().zip(&self.tools) {
            push(&mut text, &format!("{name}: {tool}"));
        }
        self.asked.iter().for_each(|asked| push(&mut text, asked));
        text.push('\n');
        let width = |n: usize| {
            let cells = lines.iter().map(|line| line[n].chars().count());
            cells.chain([head[n].chars().count()]).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..head.len()).map(width).collect();
        let mut last = "";
        for line in std::iter::once(&head).chain(&lines) {
            let quantity = line[0].split(' ').next().unwrap_or_default();
            if quantity != last && line[0].contains(' ') {
                text.push('\n');
            }
            last = quantity;
            let mut told = format!("{:<1$}", line[0], widths[0]);
            for (cell, width) in line.iter().zip(&widths).skip(1) {
                let _ = write!(told, "  {cell:>width$}");
            }
            push(&mut text, &told);
        }
        self.below(&mut text, "", |text, heading| push(text, &format!("\n{heading}")));
        text
    }

    /// The comparison as Markdown.
    #[must_use]
    pub fn markdown(&self) -> String {
        let (head, lines) = self.grid();
        let mut text = String::new();
        for (name, tool) in self.heads.iter().zip(&self.tools) {
            push(&mut text, &format!("- {}: {}", escaped(name), escaped(tool)));
        }
        self.asked.iter().for_each(|asked| push(&mut text, &format!("- {}", escaped(asked))));
        text.push('\n');
        let row = |cells: &[String]| {
            let cells: Vec<String> = cells.iter().map(|cell| escaped(cell)).collect();
            format!("| {} |", cells.join(" | "))
        };
        push(&mut text, &row(&head));
        push(&mut text, &format!("|---|{}", "--:|".repeat(head.len() - 1)));
        lines.iter().for_each(|line| push(&mut text, &row(line)));
        self.below(&mut text, "- ", |text, heading| push(text, &format!("\n**{heading}**\n")));
        text
    }

    /// What stands below the table.
    fn below(&self, text: &mut String, bullet: &str, heading: impl Fn(&mut String, &str)) {
        if !self.notes.is_empty() {
            heading(text, "Notes");
            for (note, n) in self.notes.iter().zip(1..) {
                push(text, &format!("{bullet}[{n}] {note}"));
            }
        }
        if !self.apart.is_empty() {
            heading(text, "Not lined up");
            for [head, theirs, figures, why] in &self.apart {
                let figures = if figures.is_empty() { String::new() } else { format!(" ({figures})") };
                push(text, &format!("{bullet}{head}: {theirs}{figures} is {why}"));
            }
        }
        if !self.remarks.is_empty() {
            heading(text, "Also");
            self.remarks.iter().for_each(|remark| push(text, &format!("{bullet}{remark}")));
        }
    }
}

/// A line, a heading's empty one before it kept; names come from files, and nothing in them is to move a terminal's cursor.
fn push(text: &mut String, line: &str) {
    let plain = |c: char| if c.is_control() && c != '\n' { ' ' } else { c };
    text.extend(line.trim_end().chars().map(plain));
    text.push('\n');
}

/// Names come from files: nothing in them is to be a cell's end.
fn escaped(text: &str) -> String {
    text.replace('|', "\\|").replace(char::is_control, " ")
}
