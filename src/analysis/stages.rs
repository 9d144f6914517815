//! Which stages something is said of: `stage 3`, `stages 1, 3-5`, and the worst of them where they differ.
//!
//! It must not know what is said.

use std::fmt;

/// Stages of which one thing is said, by number, in order: counted from 0 here, and from 1 where people read.
pub(super) struct Stages {
    numbers: Vec<usize>,
    worst: usize,
    differ: bool,
}

impl Stages {
    pub(super) fn of(number: usize) -> Self {
        Self { numbers: vec![number], worst: number, differ: false }
    }

    /// The same is said of a later stage; with other numbers, unless it is `equal`.
    pub(super) fn add(&mut self, number: usize, equal: bool, worse: bool) {
        self.numbers.push(number);
        self.differ |= !equal;
        if worse {
            self.worst = number;
        }
    }

    /// Where the numbers that are said are those of the first of them: `stages 1-4, as in 1`.
    pub(super) fn as_in_the_first(&self) -> String {
        let list = self.list();
        if self.differ { format!("{list}, as in {}", self.numbers[0] + 1) } else { list }
    }

    fn list(&self) -> String {
        if let [only] = self.numbers.as_slice() {
            return format!("stage {}", only + 1);
        }
        let runs = self.numbers.chunk_by(|a, b| a + 1 == *b).map(|run| match run {
            [only] => (only + 1).to_string(),
            [first, .., last] => format!("{}-{}", first + 1, last + 1),
            [] => unreachable!("a run has a number"),
        });
        format!("stages {}", runs.collect::<Vec<_>>().join(", "))
    }
}

impl fmt::Display for Stages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.list())?;
        if self.differ { write!(f, " (worst: {})", self.worst + 1) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_joined_and_the_worst_is_named_where_they_differ() {
        let mut stages = Stages::of(0);
        assert_eq!(stages.to_string(), "stage 1");
        for number in [2, 3, 4] {
            stages.add(number, true, false);
        }
        assert_eq!(stages.to_string(), "stages 1, 3-5");
        stages.add(9, false, true);
        assert_eq!(stages.to_string(), "stages 1, 3-5, 10 (worst: 10)");
        assert_eq!(stages.as_in_the_first(), "stages 1, 3-5, 10, as in 1");
    }
}
