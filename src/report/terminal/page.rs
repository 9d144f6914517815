//! A page of a terminal: lines that fit its width, words in colour where it has colours.
//!
//! Nothing it is given can move the cursor: control characters are replaced.

use super::table::Table;
use std::fmt::{self, Write};

/// How the terminal report is to look; the caller knows the terminal.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Style {
    /// Columns.
    pub width: usize,
    /// Whether colours are welcome.
    pub colour: bool,
    /// Whether to say what is usually left out.
    pub verbose: bool,
}

impl Default for Style {
    /// What a pipe gets: 100 columns, no colours.
    fn default() -> Self {
        Self { width: 100, colour: false, verbose: false }
    }
}

/// The look of a line.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Look {
    Plain,
    Heading,
    Dim,
    Good,
    Doubtful,
    Bad,
}

impl Look {
    const fn escape(self) -> Option<&'static str> {
        match self {
            Self::Plain => None,
            Self::Heading => Some("\x1b[1m"),
            Self::Dim => Some("\x1b[2m"),
            Self::Good => Some("\x1b[1;32m"),
            Self::Doubtful => Some("\x1b[1;33m"),
            Self::Bad => Some("\x1b[1;31m"),
        }
    }
}

/// Lines are at least this wide, whatever the terminal says: below it nothing can be read anyway.
const NARROWEST: usize = 40;

/// The page being written.
pub(super) struct Page<'a> {
    out: &'a mut dyn Write,
    width: usize,
    colour: bool,
}

impl<'a> Page<'a> {
    pub(super) fn new(out: &'a mut dyn Write, style: &Style) -> Self {
        Self { out, width: style.width.max(NARROWEST), colour: style.colour }
    }

    /// One line, cut where the page ends.
    pub(super) fn line(&mut self, look: Look, text: &str) -> fmt::Result {
        let text = cut(&clean(text), self.width);
        match look.escape().filter(|_| self.colour && !text.is_empty()) {
            Some(escape) => writeln!(self.out, "{escape}{text}\x1b[0m"),
            None => writeln!(self.out, "{text}"),
        }
    }

    pub(super) fn blank(&mut self) -> fmt::Result {
        self.line(Look::Plain, "")
    }

    /// A table with its heading.
    pub(super) fn table(&mut self, table: &Table) -> fmt::Result {
        for (n, line) in table.lines(self.width).iter().enumerate() {
            self.line(if n == 0 { Look::Heading } else { Look::Plain }, line)?;
        }
        Ok(())
    }

    /// A label, and what follows it broken into lines that start below each other.
    pub(super) fn paragraph(&mut self, look: Look, label: &str, text: &str) -> fmt::Result {
        let room = self.room_after(label);
        self.hang(look, label, &wrapped(&clean(text), room))
    }

    /// A label and a list, broken between items only.
    pub(super) fn list(&mut self, look: Look, label: &str, items: &[String]) -> fmt::Result {
        let room = self.room_after(label);
        self.hang(look, label, &listed(items, room))
    }

    /// Words that stand well apart, in as many lines as they need.
    pub(super) fn words(&mut self, look: Look, words: &[&str]) -> fmt::Result {
        let together = words.join("  ");
        if together.chars().count() <= self.width {
            return self.line(look, &together);
        }
        words.iter().try_for_each(|word| self.paragraph(look, "", word))
    }

    fn room_after(&self, label: &str) -> usize {
        self.width.saturating_sub(label.chars().count())
    }

    fn hang(&mut self, look: Look, label: &str, lines: &[String]) -> fmt::Result {
        let indent = label.chars().count();
        for (n, line) in lines.iter().enumerate() {
            if n == 0 {
                self.line(look, &format!("{label}{line}"))?;
            } else {
                self.line(look, &format!("{:indent$}{line}", ""))?;
            }
        }
        Ok(())
    }
}

/// Lines of at most `width` characters, broken between items.
fn listed(items: &[String], width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for (n, item) in items.iter().enumerate() {
        let item = if n + 1 < items.len() { format!("{item};") } else { item.clone() };
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + item.chars().count() <= width => {
                line.push(' ');
                line.push_str(&item);
            }
            _ => lines.push(item),
        }
    }
    lines
}

/// The text without what could move the cursor or ring the bell.
pub fn clean(text: &str) -> String {
    // Beside control characters those that turn the direction of writing or end a line.
    let moves = |c: char| {
        c.is_control()
            || matches!(c, '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    text.chars().map(|c| if moves(c) { ' ' } else { c }).collect()
}

/// The first `width` characters; a cut is shown.
fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.trim_end().to_string();
    }
    let mut kept: String = text.chars().take(width.saturating_sub(1)).collect();
    kept.push('~');
    kept
}

/// Lines of at most `width` characters, broken between words where that can be done.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let width = width.max(1);
    let mut lines = Vec::new();
    let mut line = String::new();
    let mut used = 0;
    for word in figures_joined(text) {
        let mut word: Vec<char> = word.chars().collect();
        if used > 0 && used + 1 + word.len() > width {
            lines.push(std::mem::take(&mut line));
            used = 0;
        }
        if used > 0 {
            line.push(' ');
            used += 1;
        }
        while word.len() > width {
            lines.push(word.drain(..width).collect());
        }
        used += word.len();
        line.extend(word);
    }
    if !line.is_empty() || lines.is_empty() {
        lines.push(line);
    }
    lines
}

/// The words of a text; a number and its unit are one.
fn figures_joined(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let bare = word.trim_end_matches([',', ';', ':', '.', ')']);
        let is_unit = matches!(bare, "%" | "ns" | "us" | "ms" | "s" | "B/s" | "kB/s" | "MB/s" | "GB/s");
        match words.last_mut() {
            Some(number) if is_unit && number.ends_with(|c: char| c.is_ascii_digit()) => {
                number.push(' ');
                number.push_str(word);
            }
            _ => words.push(word.into()),
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_a_server_says_cannot_move_the_cursor() {
        let mut text = String::new();
        let mut page = Page::new(&mut text, &Style { width: 80, colour: false, verbose: false });
        page.line(Look::Bad, "overloaded\x1b[2J\r\n\x07now").unwrap();
        assert_eq!(text, "overloaded [2J   now\n");
    }

    #[test]
    fn long_words_are_broken_and_others_are_not() {
        assert_eq!(wrapped("use --cpus or isolcpus", 10), ["use --cpus", "or", "isolcpus"]);
        assert_eq!(wrapped("a 123456789 b", 4), ["a", "1234", "5678", "9 b"]);
        assert_eq!(wrapped("", 10), [""]);
        assert_eq!(wrapped("busy 42.0 %, for 7 ms", 10), ["busy", "42.0 %,", "for 7 ms"]);
    }

    #[test]
    fn a_list_is_broken_between_its_items() {
        let items = ["rho 0.2 (<= 0.5)", "late 0 %", "lost 0"].map(String::from);
        assert_eq!(listed(&items, 28), ["rho 0.2 (<= 0.5); late 0 %;", "lost 0"]);
        assert_eq!(listed(&[], 28), Vec::<String>::new());
    }

    #[test]
    fn colours_are_used_only_where_they_are_welcome() {
        let mut text = String::new();
        Page::new(&mut text, &Style { width: 80, colour: true, verbose: false })
            .line(Look::Good, "valid")
            .unwrap();
        assert_eq!(text, "\x1b[1;32mvalid\x1b[0m\n");
    }
}
