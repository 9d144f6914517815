//! A value of a JSON document and the way to it, so that what is wrong can be named.
//!
//! It must not guess: a value of another kind than expected is an error with its place; null is as good as absent.

use super::ForeignError;
use super::quantity::Statistic;
use serde_json::Value;

/// A value and its place.
#[derive(Clone, Debug)]
pub(super) struct Field<'a> {
    value: &'a Value,
    path: String,
}

/// Longer than this nothing was ever measured: 292 years.
const MOST_NS: f64 = 9.2e18;

impl<'a> Field<'a> {
    /// The document itself; `what` is the kind of file.
    pub(super) fn root(value: &'a Value, what: &str) -> Self {
        Self { value, path: what.to_owned() }
    }

    /// The value of `key`, if it is there and not null.
    pub(super) fn get(&self, key: &str) -> Option<Self> {
        let value = self.value.get(key).filter(|value| !value.is_null())?;
        Some(self.at(value, key))
    }

    /// The value of `key`.
    pub(super) fn need(&self, key: &str) -> Result<Self, ForeignError> {
        self.get(key).ok_or_else(|| self.wrong_at(key, "is missing".to_owned()))
    }

    /// The entries of a list.
    pub(super) fn list(&self) -> Result<impl Iterator<Item = Self> + use<'a>, ForeignError> {
        let list = self.value.as_array().ok_or_else(|| self.is_no("a list"))?;
        let path = self.path.clone();
        Ok(list.iter().enumerate().map(move |(n, value)| Self { value, path: format!("{path}[{n}]") }))
    }

    /// A number, finite.
    pub(super) fn number(&self) -> Result<f64, ForeignError> {
        self.value.as_f64().filter(|number| number.is_finite()).ok_or_else(|| self.is_no("a finite number"))
    }

    /// A number, finite and not below 0: a rate, or how long something took.
    pub(super) fn amount(&self) -> Result<f64, ForeignError> {
        let number = self.number()?;
        if number < 0.0 { Err(self.wrong(format!("is {number}, and cannot be below 0"))) } else { Ok(number) }
    }

    /// An amount that may be absent.
    pub(super) fn maybe_amount(&self, key: &str) -> Result<Option<f64>, ForeignError> {
        self.get(key).map(|field| field.amount()).transpose()
    }

    /// A count: a whole number, or one written as `3000.0`.
    pub(super) fn count(&self) -> Result<u64, ForeignError> {
        let whole = |number: f64| {
            ((0.0..=9e15).contains(&number) && libm::floor(number) == number)
                .then(|| number.to_string().parse::<u64>().ok())
                .flatten()
        };
        let count = self.value.as_u64().or_else(|| self.value.as_f64().and_then(whole));
        count.ok_or_else(|| self.is_no("a count"))
    }

    /// A count that may be absent.
    pub(super) fn maybe_count(&self, key: &str) -> Result<Option<u64>, ForeignError> {
        self.get(key).map(|field| field.count()).transpose()
    }

    /// A text.
    pub(super) fn text(&self) -> Result<&'a str, ForeignError> {
        self.value.as_str().ok_or_else(|| self.is_no("a text"))
    }

    /// Whether it is a text, and which.
    pub(super) fn as_text(&self) -> Option<&'a str> {
        self.value.as_str()
    }

    /// Whether it is a number.
    pub(super) fn is_number(&self) -> bool {
        self.value.is_number()
    }

    /// A time in units of `unit_ns`, as nanoseconds.
    pub(super) fn time(&self, unit_ns: f64) -> Result<f64, ForeignError> {
        let ns = self.number()? * unit_ns;
        if ns.abs() < MOST_NS { Ok(ns) } else { Err(self.wrong("is longer than 292 years".to_owned())) }
    }

    /// How long something took, in units of `unit_ns`, as nanoseconds.
    pub(super) fn duration(&self, unit_ns: f64) -> Result<f64, ForeignError> {
        self.amount()?;
        self.time(unit_ns)
    }

    /// The statistics of durations that an object has under `keys`, in units of `unit_ns`, as nanoseconds.
    pub(super) fn statistics(
        &self,
        keys: &[(&str, Statistic)],
        unit_ns: f64,
    ) -> Result<Vec<(Statistic, f64)>, ForeignError> {
        self.times(keys, |field| field.duration(unit_ns))
    }

    /// The same of times from an instant that can lie on either side: what was begun early is late by less than nothing.
    pub(super) fn lateness(
        &self,
        keys: &[(&str, Statistic)],
        unit_ns: f64,
    ) -> Result<Vec<(Statistic, f64)>, ForeignError> {
        self.times(keys, |field| field.time(unit_ns))
    }

    fn times(
        &self,
        keys: &[(&str, Statistic)],
        time: impl Fn(&Self) -> Result<f64, ForeignError>,
    ) -> Result<Vec<(Statistic, f64)>, ForeignError> {
        if !self.value.is_object() {
            return Err(self.is_no("an object"));
        }
        let mut found: Vec<(Statistic, f64)> = Vec::new();
        for (key, statistic) in keys {
            if let Some(field) = self.get(key)
                && !found.iter().any(|(has, _)| has == statistic)
            {
                found.push((*statistic, time(&field)?));
            }
        }
        Ok(found)
    }

    /// What is wrong with this value.
    pub(super) fn wrong(&self, why: String) -> ForeignError {
        ForeignError::Wrong { place: self.path.clone(), why }
    }

    fn wrong_at(&self, key: &str, why: String) -> ForeignError {
        ForeignError::Wrong { place: format!("{}.{key}", self.path), why }
    }

    fn is_no(&self, wanted: &str) -> ForeignError {
        let kind = match self.value {
            Value::Null => "null".to_owned(),
            Value::Bool(truth) => truth.to_string(),
            Value::Number(number) => number.to_string(),
            Value::String(text) => format!("the text {:?}", text.chars().take(40).collect::<String>()),
            Value::Array(_) => "a list".to_owned(),
            Value::Object(_) => "an object".to_owned(),
        };
        self.wrong(format!("is {kind}, not {wanted}"))
    }

    fn at(&self, value: &'a Value, key: &str) -> Self {
        Self { value, path: format!("{}.{key}", self.path) }
    }
}
