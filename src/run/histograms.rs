//! The thread that writes `histograms.hlog`: it adds up the shards' intervals and writes each when all have given it.
//!
//! It must not make a shard wait.

use crate::record::Interval;
use crate::shard::{INTERVAL, IntervalSink};
use crate::store::{HistogramLog, StoreError};
use crossbeam_channel::{Receiver, Sender, unbounded};
use std::collections::BTreeMap;
use std::io;
use std::thread::{Builder, JoinHandle};

/// Where the shards' intervals wait: one message a second and shard, which the disk has not taken yet.
pub struct Intervals {
    given: Sender<(u32, Interval)>,
    taken: Receiver<(u32, Interval)>,
}

impl Intervals {
    /// None yet.
    pub fn new() -> Self {
        let (given, taken) = unbounded();
        Self { given, taken }
    }

    /// A shard's end.
    pub fn sink(&self) -> IntervalSink {
        let given = self.given.clone();
        // The collector lives until its last sender is gone; if it has died, its words are in `finish`.
        Box::new(move |nth, interval| drop(given.send((nth, interval))))
    }

    /// Starts the thread that writes them to `log`; they come from `shards` shards.
    ///
    /// # Errors
    /// No thread can be had.
    pub fn collect(self, log: HistogramLog, shards: usize) -> io::Result<Histograms> {
        let Self { given, taken } = self;
        let thread =
            Builder::new().name("lowrho-histograms".into()).spawn(move || collect(log, shards, &taken))?;
        Ok(Histograms { given, thread })
    }
}

/// The collector of a run's intervals.
pub struct Histograms {
    given: Sender<(u32, Interval)>,
    thread: JoinHandle<Result<(), StoreError>>,
}

impl Histograms {
    /// Adds the interval that was going on when a shard ended.
    pub fn last(&self, (nth, interval): (u32, Interval)) {
        // As in `sink`.
        let _ = self.given.send((nth, interval));
    }

    /// Writes what is left.
    ///
    /// # Errors
    /// The log cannot be written.
    pub fn finish(self) -> Result<(), StoreError> {
        let Self { given, thread } = self;
        drop(given);
        thread.join().expect("the collector of intervals does not panic")
    }
}

fn collect(
    mut log: HistogramLog,
    shards: usize,
    taken: &Receiver<(u32, Interval)>,
) -> Result<(), StoreError> {
    let mut open: BTreeMap<u32, (usize, Interval)> = BTreeMap::new();
    let mut failed = Ok(());
    for (nth, interval) in taken {
        let (count, sum) = open.entry(nth).or_default();
        *count += 1;
        sum.merge(&interval);
        // In order: an interval is written when all shards have given it and all before it are written.
        while let Some(entry) = open.first_entry().filter(|entry| entry.get().0 == shards) {
            let (nth, (_, interval)) = entry.remove_entry();
            failed = failed.and_then(|()| write(&mut log, nth, &interval));
        }
    }
    open.into_iter()
        .fold(failed, |failed, (nth, (_, interval))| failed.and_then(|()| write(&mut log, nth, &interval)))
}

fn write(log: &mut HistogramLog, nth: u32, interval: &Interval) -> Result<(), StoreError> {
    log.append(
        INTERVAL * i64::from(nth),
        INTERVAL,
        interval.histograms().filter(|(_, values)| values.count() > 0),
    )
}
