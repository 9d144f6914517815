//! `histograms.hlog`: the run's histograms as an HdrHistogram interval log, for the public tools.
//!
//! Values are nanoseconds; the log's own maxima are in milliseconds, as those tools expect. It computes no quantile.

use super::StoreError;
use super::regular::regular;
use crate::record::{Histogram, Metric};
use crate::time::Span;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::serialization::interval_log::{
    IntervalLogHistogram, IntervalLogIterator, IntervalLogWriterBuilder, LogEntry, Tag,
};
use hdrhistogram::serialization::{Deserializer, V2DeflateSerializer};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// What public readers divide by when nothing else is said: nanoseconds to milliseconds.
const MAX_VALUE_DIVISOR: f64 = 1e6;

/// The metric that has a line without a tag besides its own: public tools misread a log in which every line has one.
const MAIN: Metric = Metric::Ttft;

/// The longest line that is read: a histogram with a count for every value that there can be takes less.
const LONGEST_LINE: u64 = 4 << 20;

/// The log, written as the run goes: every interval is in the file when [`HistogramLog::append`] returns.
#[derive(Debug)]
pub struct HistogramLog {
    file: File,
    path: PathBuf,
}

impl HistogramLog {
    /// A new log of a run that started at `start_unix_ns`.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn create(path: &Path, start_unix_ns: u64) -> Result<Self, StoreError> {
        let file = File::create(path).map_err(StoreError::io("create", path))?;
        let mut log = Self { file, path: path.to_path_buf() };
        let start = SystemTime::UNIX_EPOCH + Duration::from_nanos(start_unix_ns);
        let mut text = b"#[Histogram log format version 1.3]\n".to_vec();
        let mut serializer = V2DeflateSerializer::new();
        let header = IntervalLogWriterBuilder::new()
            .with_start_time(start)
            .with_base_time(start)
            .with_max_value_divisor(MAX_VALUE_DIVISOR)
            .begin_log_with(&mut text, &mut serializer)
            .map(drop);
        header.and_then(|()| log.write(&text)).map_err(StoreError::io("write", path))?;
        Ok(log)
    }

    /// Adds the histograms of one interval: its start from the run's start, its length, each metric's values.
    ///
    /// # Errors
    /// When the system refuses.
    ///
    /// # Panics
    /// When the interval runs backwards or starts before the run: our own defect.
    pub fn append<'a>(
        &mut self,
        start: Span,
        length: Span,
        histograms: impl IntoIterator<Item = (Metric, &'a Histogram)>,
    ) -> Result<(), StoreError> {
        let mut lines = Vec::new();
        for (metric, histogram) in histograms {
            let line = line(start, length, &hdr(histogram));
            if metric == MAIN {
                lines.extend_from_slice(&line);
            }
            let tag = Tag::new(metric.name()).expect("a metric's name has neither comma nor space");
            lines.extend_from_slice(b"Tag=");
            lines.extend_from_slice(tag.as_str().as_bytes());
            lines.push(b',');
            lines.extend_from_slice(&line);
        }
        self.write(&lines).map_err(StoreError::io("write", &self.path))
    }

    fn write(&mut self, text: &[u8]) -> io::Result<()> {
        self.file.write_all(text)
    }
}

/// The sums of all whole intervals of a log, by metric; a cut last line (kill -9, a full disk) is passed over.
///
/// # Errors
/// The file cannot be read, or one of its lines: sums of some of them would be of a part of the run.
pub fn read_sums(path: &Path) -> Result<BTreeMap<Metric, Histogram>, StoreError> {
    let mut log = BufReader::new(regular(path).map_err(StoreError::io("read", path))?);
    let mut sums = BTreeMap::new();
    let mut deserializer = Deserializer::new();
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        let mut next = (&mut log).take(LONGEST_LINE);
        let read = next.read_until(b'\n', &mut line).map_err(StoreError::io("read", path))?;
        let damaged = || StoreError::Histograms { path: path.to_path_buf(), line: number };
        if !line.ends_with(b"\n") {
            // A last line that is cut ends the log.
            return if (read as u64) < LONGEST_LINE { Ok(sums) } else { Err(damaged()) };
        }
        let interval = match IntervalLogIterator::new(&line).next() {
            Some(Ok(LogEntry::Interval(interval))) => interval,
            Some(Ok(_)) | None => continue,
            Some(Err(_)) => return Err(damaged()),
        };
        // A line without a tag repeats another.
        let tag = interval.tag();
        let named = |metric: &Metric| tag.is_some_and(|tag| tag.as_str() == metric.name());
        let Some(metric) = Metric::ALL.into_iter().find(named) else { continue };
        let values = decoded(&interval, &mut deserializer).ok_or_else(damaged)?;
        sums.entry(metric).or_insert_with(Histogram::published).merge(&values);
    }
    Ok(sums)
}

/// The values of an interval; none where it is damaged.
fn decoded(interval: &IntervalLogHistogram<'_>, deserializer: &mut Deserializer) -> Option<Histogram> {
    let bytes = STANDARD.decode(interval.encoded_histogram()).ok()?;
    let read: hdrhistogram::Histogram<u64> = deserializer.deserialize(&mut bytes.as_slice()).ok()?;
    let mut values = Histogram::published();
    for bucket in read.iter_recorded() {
        values.record_n(bucket.value_iterated_to(), bucket.count_at_value());
    }
    Some(values)
}

/// One line of the log with its line feed, and without a tag.
fn line(start: Span, length: Span, values: &hdrhistogram::Histogram<u64>) -> Vec<u8> {
    let mut serializer = V2DeflateSerializer::new();
    let mut text = Vec::new();
    IntervalLogWriterBuilder::new()
        .with_max_value_divisor(MAX_VALUE_DIVISOR)
        .begin_log_with(&mut text, &mut serializer)
        .expect("a buffer takes everything")
        .write_histogram(values, duration(start), duration(length), None)
        .expect("a histogram that was made here can be written");
    // The builder says the divisor at the head of each log, and the file's head has said it already.
    let head = memchr::memrchr(b'\n', &text[..text.len() - 1]).map_or(0, |at| at + 1);
    text.split_off(head)
}

fn duration(span: Span) -> Duration {
    Duration::from_nanos(u64::try_from(span.as_ns()).expect("an interval lies in its run"))
}

/// The same counts in the public form, whose buckets at three digits are those of our published histograms.
fn hdr(histogram: &Histogram) -> hdrhistogram::Histogram<u64> {
    // Room for the greatest at once: one that grows copies itself on every step.
    let greatest = histogram.max().unwrap_or(0).max(2);
    let mut values =
        hdrhistogram::Histogram::new_with_max(greatest, 3).expect("three digits are between 0 and 5");
    values.auto(true);
    for bucket in histogram.buckets() {
        values.record_n(bucket.low, bucket.count).expect("a histogram that may grow takes every value");
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_public_form_is_what_it_would_have_recorded_itself(values in prop::collection::vec(0..1_u64 << 50, 1..50)) {
            let mut ours = Histogram::published();
            let mut public = hdrhistogram::Histogram::<u64>::new(3).unwrap();
            for value in values {
                ours.record(value);
                public.record(value).unwrap();
            }
            prop_assert_eq!(hdr(&ours), public);
        }
    }
}
