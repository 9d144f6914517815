//! Columns that line up and fit the page: when there is no room, the least important ones go.
//!
//! It must not know what the columns mean.

/// A column's place in the order in which columns go; those of rank 0 never do.
type Rank = u8;

/// A table under construction.
pub(super) struct Table {
    columns: Vec<(String, Rank)>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these headings; the first column is a label and keeps to the left. Columns of higher rank go first.
    pub(super) fn new(columns: &[(&str, Rank)]) -> Self {
        Self {
            columns: columns.iter().map(|(heading, rank)| ((*heading).to_string(), *rank)).collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row with a cell for each column.
    pub(super) fn row(&mut self, cells: Vec<String>) {
        assert_eq!(cells.len(), self.columns.len(), "every column has a cell");
        self.rows.push(cells);
    }

    /// The lines, heading first, at most `width` wide unless the columns of rank 0 alone are wider.
    pub(super) fn lines(&self, width: usize) -> Vec<String> {
        let widths: Vec<usize> = (0..self.columns.len()).map(|n| self.column_width(n)).collect();
        let mut shown: Vec<usize> = (0..self.columns.len()).collect();
        let needed = |shown: &[usize], gap: usize| {
            shown.iter().map(|n| widths[*n]).sum::<usize>() + gap * shown.len().saturating_sub(1)
        };
        while needed(&shown, 1) > width {
            let least = shown.iter().copied().max_by_key(|n| (self.columns[*n].1, *n));
            let Some(least) = least.filter(|n| self.columns[*n].1 > 0) else { break };
            shown.retain(|n| *n != least);
        }
        let gap = if needed(&shown, 2) > width { 1 } else { 2 };
        let heading: Vec<String> = self.columns.iter().map(|(heading, _)| heading.clone()).collect();
        std::iter::once(&heading)
            .chain(&self.rows)
            .map(|cells| {
                let mut line = String::new();
                for n in &shown {
                    if *n == 0 {
                        line.push_str(&format!("{:<1$}", cells[0], widths[0]));
                    } else {
                        line.push_str(&format!("{:gap$}{:>2$}", "", cells[*n], widths[*n]));
                    }
                }
                line
            })
            .collect()
    }

    fn column_width(&self, n: usize) -> usize {
        let cells = self.rows.iter().map(|row| row[n].chars().count());
        cells.chain([self.columns[n].0.chars().count()]).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new(&[("Latency", 0), ("mean", 0), ("p90", 2), ("p99", 1)]);
        table.row(vec!["TTFT".into(), "20.1 ms".into(), "20.2 ms".into(), "812 us".into()]);
        table
    }

    #[test]
    fn figures_line_up_on_the_right() {
        assert_eq!(
            table().lines(80),
            ["Latency     mean      p90     p99", "TTFT     20.1 ms  20.2 ms  812 us"]
        );
    }

    #[test]
    fn the_least_important_column_goes_first() {
        assert_eq!(table().lines(25), ["Latency     mean     p99", "TTFT     20.1 ms  812 us"]);
        assert_eq!(table().lines(15), ["Latency    mean", "TTFT    20.1 ms"]);
    }
}
