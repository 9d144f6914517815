//! Peers' files: what real tools wrote (`samples/`, made against `lowrho sim` or a server of the same laws; hosts and paths
//! replaced, long lists cut) is read with the numbers that are in it, and what is hostile or cut is refused.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod commands;
mod exports;
mod hostile;
mod readers;
#[path = "../report/sample.rs"]
mod sample;
mod tables;

use lowrho::foreign::{Quantity, Reading, Statistic, read};
use std::path::PathBuf;

/// The text of a sample.
fn text(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/foreign/samples").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The one reading of a sample.
fn one(name: &str) -> Reading {
    let mut readings = read(&text(name), name).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(readings.len(), 1, "{name}");
    readings.remove(0)
}

/// A figure of a reading, if it has it.
fn figure(reading: &Reading, quantity: Quantity, statistic: Statistic) -> Option<f64> {
    reading.figure(quantity, statistic).map(|figure| figure.value)
}

/// Fails unless a figure is what it should be, to a millionth.
fn assert_is(reading: &Reading, quantity: Quantity, statistic: Statistic, value: f64) {
    let found = figure(reading, quantity, statistic);
    let near = found.is_some_and(|found| (found - value).abs() <= 1e-6 * value.abs());
    assert!(near, "{}: {quantity:?} {statistic:?}: {found:?}, not {value}", reading.name);
}
