//! What one file of one tool says, in the words of `docs/METHOD.md`.
//!
//! It must not hold a number under a quantity that it is not: what only shares the name is kept apart, with the reason.

use super::quantity::{Quantity, Statistic, Unit};
use std::collections::BTreeMap;

/// One figure.
#[derive(Copy, Clone, PartialEq, Debug)]
pub struct Figure {
    /// In the unit of its quantity: requests, a share, per second, or nanoseconds.
    pub value: f64,
    /// Its 95 % interval, low and high, where the file's own data tell one.
    pub interval: Option<[f64; 2]>,
    /// Whether it is a lower bound: requests were cancelled that could have ended above it.
    pub at_least: bool,
}

impl Figure {
    /// A value without an interval.
    #[must_use]
    pub const fn plain(value: f64) -> Self {
        Self { value, interval: None, at_least: false }
    }
}

/// A number of a tool that is not what its name, or its place in the table, would suggest.
#[derive(Clone, PartialEq, Debug)]
pub struct Apart {
    /// The tool's own name of it.
    pub theirs: String,
    /// The row of the table that it does not stand in.
    pub not: Quantity,
    /// Why.
    pub why: &'static str,
    /// Its unit.
    pub unit: Unit,
    /// What the file says.
    pub figures: Vec<(Statistic, f64)>,
}

/// What a file says.
#[derive(Clone, PartialEq, Debug)]
pub struct Reading {
    /// What it is called in a table's head.
    pub name: String,
    /// The tool and the kind of its file.
    pub tool: String,
    /// Whether it is one of lowrho's own.
    pub is_ours: bool,
    /// What it says, by quantity.
    pub figures: BTreeMap<(Quantity, Statistic), Figure>,
    /// In what small way a quantity of the tool differs from ours of that name.
    pub near: BTreeMap<Quantity, String>,
    /// What is not lined up.
    pub apart: Vec<Apart>,
    /// What else is to be known of the whole file.
    pub notes: Vec<String>,
    /// Quantiles with every failure of the target as +infinity, for `--fail-if`: a server that fails its slow requests is not
    /// faster. Only where requests failed, and rows tell it; of lowrho's own only.
    pub with_failures: BTreeMap<(Quantity, Statistic), Figure>,
    /// Why figures have no interval; of lowrho's own only.
    pub unsure: BTreeMap<(Quantity, Statistic), String>,
    /// How the run was asked for, by key; of lowrho's own only.
    pub settings: BTreeMap<String, String>,
}

impl Reading {
    /// A file that says nothing yet.
    #[must_use]
    pub fn of(name: &str, tool: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            tool: tool.into(),
            is_ours: false,
            figures: BTreeMap::new(),
            near: BTreeMap::new(),
            apart: Vec::new(),
            notes: Vec::new(),
            with_failures: BTreeMap::new(),
            unsure: BTreeMap::new(),
            settings: BTreeMap::new(),
        }
    }

    /// One value of a run.
    pub(super) fn single(&mut self, quantity: Quantity, value: Option<f64>) {
        if let Some(value) = value.filter(|value| value.is_finite()) {
            self.figures.insert((quantity, Statistic::Value), Figure::plain(value));
        }
    }

    /// The same, which differs from ours in the way that is told.
    pub(super) fn nearly(&mut self, quantity: Quantity, value: Option<f64>, how: &str) {
        self.single(quantity, value);
        self.differs(quantity, how);
    }

    /// A distribution.
    pub(super) fn distribution(&mut self, quantity: Quantity, figures: Vec<(Statistic, f64)>, how: &str) {
        for (statistic, value) in figures {
            self.figures.insert((quantity, statistic), Figure::plain(value));
        }
        self.differs(quantity, how);
    }

    /// A distribution in nanoseconds that has no row.
    pub(super) fn keep_apart(
        &mut self,
        theirs: &str,
        not: Quantity,
        figures: Vec<(Statistic, f64)>,
        why: &'static str,
    ) {
        self.apart.push(Apart { theirs: theirs.into(), not, why, unit: Unit::Ns, figures });
    }

    /// Says how a quantity differs from ours, where the file has it at all.
    fn differs(&mut self, quantity: Quantity, how: &str) {
        if self.has(quantity) && !how.is_empty() {
            self.near.insert(quantity, how.into());
        }
    }

    /// Whether anything is said of a quantity.
    #[must_use]
    pub fn has(&self, quantity: Quantity) -> bool {
        self.figures.keys().any(|(has, _)| *has == quantity)
    }

    /// One figure.
    #[must_use]
    pub fn figure(&self, quantity: Quantity, statistic: Statistic) -> Option<&Figure> {
        self.figures.get(&(quantity, statistic))
    }

    /// Why a figure has no interval.
    pub(super) fn why_unsure(&self, quantity: Quantity, statistic: Statistic) -> &str {
        self.unsure.get(&(quantity, statistic)).map_or("lowrho makes none of this figure", String::as_str)
    }

    /// Counts, and the share that failed.
    pub(super) fn counts(&mut self, completed: Option<u64>, failed: Option<u64>) {
        self.single(Quantity::Completed, completed.map(float));
        self.single(Quantity::Failed, failed.map(float));
        if let (Some(completed), Some(failed)) = (completed, failed)
            && let Some(all) = completed.checked_add(failed).filter(|all| *all > 0)
        {
            self.single(Quantity::ErrorRate, Some(float(failed) / float(all)));
        }
    }
}

/// A count as a number.
#[expect(clippy::cast_precision_loss, reason = "counts to be shown and divided")]
pub(super) const fn float(count: u64) -> f64 {
    count as f64
}
