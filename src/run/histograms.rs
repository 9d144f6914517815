//! The thread that writes `histograms.hlog`: it tells each shard's intervals from what the shard has counted up to the end of each,
//! adds them up, and writes each when all have given it.
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
    given: Sender<Message>,
    taken: Receiver<Message>,
}

/// What a shard had counted at the end of an interval; `None` = no more is waited for, even if a shard that is stuck could still send.
type Message = Option<Counted>;

struct Counted {
    shard: u16,
    nth: u32,
    so_far: Interval,
}

impl Intervals {
    /// None yet.
    pub fn new() -> Self {
        let (given, taken) = unbounded();
        Self { given, taken }
    }

    /// A shard's end.
    pub fn sink(&self, shard: u16) -> IntervalSink {
        let given = self.given.clone();
        // The collector lives until its last sender is gone; if it has died, its words are in `finish`.
        Box::new(move |nth, so_far| drop(given.send(Some(Counted { shard, nth, so_far }))))
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
    given: Sender<Message>,
    thread: JoinHandle<Result<(), StoreError>>,
}

impl Histograms {
    /// Adds the interval that was going on when a shard ended.
    pub fn last(&self, shard: u16, (nth, so_far): (u32, Interval)) {
        // As in `sink`.
        let _ = self.given.send(Some(Counted { shard, nth, so_far }));
    }

    /// Writes what is left.
    ///
    /// # Errors
    /// The log cannot be written.
    pub fn finish(self) -> Result<(), StoreError> {
        let Self { given, thread } = self;
        // As in `sink`.
        let _ = given.send(None);
        thread.join().expect("the collector of intervals does not panic")
    }
}

fn collect(mut log: HistogramLog, shards: usize, taken: &Receiver<Message>) -> Result<(), StoreError> {
    let mut open: BTreeMap<u32, (usize, Interval)> = BTreeMap::new();
    let mut before: BTreeMap<u16, Interval> = BTreeMap::new();
    let mut failed = Ok(());
    for Counted { shard, nth, so_far } in taken.iter().map_while(|message| message) {
        let before = before.entry(shard).or_default();
        let (count, sum) = open.entry(nth).or_default();
        *count += 1;
        sum.merge(&so_far.without(before));
        *before = so_far;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Results;

    #[test]
    fn a_shard_that_is_stuck_does_not_keep_the_log_open() {
        let dir = std::env::temp_dir().join(format!("lowrho-histograms-{}", std::process::id()));
        let results = Results::create(&dir).unwrap();
        let intervals = Intervals::new();
        let (mut well, stuck) = (intervals.sink(0), intervals.sink(1));
        let log = results.start_histograms(0).unwrap();
        let histograms = intervals.collect(log, 2).unwrap();
        well(0, Interval::default());
        histograms.last(0, (1, Interval::default()));
        // It would hang here for as long as the stuck shard has its end.
        histograms.finish().unwrap();
        drop(stuck);
        std::fs::remove_dir_all(dir).unwrap();
    }
}
