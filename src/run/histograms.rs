//! The thread that writes `histograms.hlog`: it tells each shard's intervals from what the shard has counted up to the end of each,
//! adds them up, and writes each when all have given it.
//!
//! It must not make a shard wait, nor wait for one that is silent.

use crate::record::Interval;
use crate::shard::{INTERVAL, IntervalSink};
use crate::store::{HistogramLog, StoreError};
use crossbeam_channel::{Receiver, Sender, unbounded};
use std::collections::BTreeMap;
use std::io;
use std::thread::{Builder, JoinHandle};

/// So many intervals a shard may be behind another: then the log goes on without it, and what it tells later stands in the first
/// one that is not written yet.
const PATIENCE: u32 = 2;

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

fn collect(log: HistogramLog, shards: usize, taken: &Receiver<Message>) -> Result<(), StoreError> {
    let mut collector =
        Collector { log, shards, open: BTreeMap::new(), before: BTreeMap::new(), next: 0, failed: Ok(()) };
    for counted in taken.iter().map_while(|message| message) {
        collector.add(counted);
    }
    while collector.open.first_key_value().is_some() {
        collector.write_first();
    }
    collector.failed
}

struct Collector {
    log: HistogramLog,
    shards: usize,
    /// The intervals that are not written, with the number of shards that have given them.
    open: BTreeMap<u32, (usize, Interval)>,
    /// What each shard had counted when it gave one last.
    before: BTreeMap<u16, Interval>,
    /// All before this one are written.
    next: u32,
    failed: Result<(), StoreError>,
}

impl Collector {
    fn add(&mut self, Counted { shard, nth, so_far }: Counted) {
        let before = self.before.entry(shard).or_default();
        let (count, sum) = self.open.entry(nth.max(self.next)).or_default();
        *count += usize::from(nth >= self.next);
        sum.merge(&so_far.without(before));
        *before = so_far;
        // In order: an interval is written when all shards have given it, or nobody waits any more, and all before it are written.
        while let Some((&first, &(count, _))) = self.open.first_key_value()
            && (count == self.shards || first + PATIENCE <= nth)
        {
            self.write_first();
        }
    }

    fn write_first(&mut self) {
        let Some((nth, (_, interval))) = self.open.pop_first() else { return };
        self.next = nth + 1;
        if self.failed.is_ok() {
            self.failed = self.log.append(
                INTERVAL * i64::from(nth),
                INTERVAL,
                interval.histograms().filter(|(_, values)| values.count() > 0),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock;
    use crate::record::Metric;
    use crate::store::Results;
    use crate::time::Span;

    /// The log that two shards fill, and how many TTFTs are in it.
    fn logged(
        name: &str,
        fill: impl FnOnce(&Histograms, [IntervalSink; 2], &dyn Fn() -> String),
    ) -> (String, u64) {
        let dir = std::env::temp_dir().join(format!("lowrho-histograms-{name}-{}", std::process::id()));
        let results = Results::create(&dir).unwrap();
        let text = || std::fs::read_to_string(dir.join("histograms.hlog")).unwrap();
        let intervals = Intervals::new();
        let sinks = [intervals.sink(0), intervals.sink(1)];
        let histograms = intervals.collect(results.start_histograms(0).unwrap(), 2).unwrap();
        fill(&histograms, sinks, &text);
        histograms.finish().unwrap();
        let logged = (text(), results.read_histograms().unwrap()[&Metric::Ttft].count());
        std::fs::remove_dir_all(dir).unwrap();
        logged
    }

    /// The seconds that have TTFTs.
    fn seconds(log: &str) -> Vec<&str> {
        log.lines().filter_map(|line| line.strip_prefix("Tag=ttft,")?.split(',').next()).collect()
    }

    #[test]
    fn a_shard_that_is_stuck_does_not_keep_the_log_open() {
        // `finish` would hang for as long as it has its end.
        let mut stuck = None;
        let (log, count) = logged("stuck", |histograms, [mut well, sink], _| {
            stuck = Some(sink);
            well(0, Interval::of_ttfts(&[7]));
            histograms.last(0, (1, Interval::of_ttfts(&[7, 8])));
        });
        drop(stuck);
        assert_eq!((seconds(&log), count), (vec!["0.000", "1.000"], 2));
    }

    #[test]
    fn a_shard_that_is_silent_holds_the_others_back_for_two_seconds_and_what_it_tells_later_is_not_lost() {
        let (log, count) = logged("silent", |histograms, [mut well, mut silent], text| {
            silent(0, Interval::of_ttfts(&[5]));
            well(0, Interval::of_ttfts(&[1]));
            well(1, Interval::of_ttfts(&[1, 2]));
            well(2, Interval::of_ttfts(&[1, 2, 3]));
            well(3, Interval::of_ttfts(&[1, 2, 3, 4]));
            let until = clock::now() + Span::from_s(60);
            while seconds(&text()) != ["0.000", "1.000"] {
                assert!(clock::now() < until, "{}", text());
                clock::sleep(Span::from_ms(5));
            }
            silent(1, Interval::of_ttfts(&[5, 6, 7]));
            histograms.last(1, (4, Interval::of_ttfts(&[5, 6, 7])));
        });
        assert_eq!(seconds(&log), ["0.000", "1.000", "2.000", "3.000"]);
        assert_eq!(count, 7);
    }
}
