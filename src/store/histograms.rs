//! `histograms.hlog`: every histogram of the run as an HdrHistogram interval log, for the public tools.
//!
//! Values are nanoseconds; the log's own maximum is in milliseconds, as those tools expect.

use hdrhistogram::Histogram;
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, IntervalLogWriterError, Tag};
use std::fmt::Display;
use std::io::{self, Write};
use std::time::{Duration, SystemTime};

/// What public readers divide maxima by when nothing else is said: nanoseconds to milliseconds.
const MAX_VALUE_DIVISOR: f64 = 1e6;

/// One line of the log: one metric over one stage's window.
#[derive(Clone, Debug)]
pub struct Interval<'a> {
    /// The metric (`ttft`, `itl`, ...). `None` for the main one, once more: public tools misread a log in which
    /// every line has a tag.
    pub tag: Option<&'a str>,
    /// The window's start, from the run's start.
    pub start: Duration,
    /// The window's length.
    pub length: Duration,
    /// Its values, in nanoseconds.
    pub histogram: &'a Histogram<u64>,
}

/// Writes the whole log. `intervals` are in the order of their starts; a tag with a comma, a space or a line's end
/// is a defect.
///
/// # Errors
/// When the system refuses.
pub(super) fn write(
    mut out: impl Write,
    start_unix: Duration,
    intervals: &[Interval<'_>],
) -> Result<(), io::Error> {
    let mut serializer = V2DeflateSerializer::new();
    let began = SystemTime::UNIX_EPOCH + start_unix;
    writeln!(out, "#[Histogram log format version 1.3]")?;
    let mut log = IntervalLogWriterBuilder::new()
        .with_start_time(began)
        .with_base_time(began)
        .with_max_value_divisor(MAX_VALUE_DIVISOR)
        .begin_log_with(&mut out, &mut serializer)?;
    for interval in intervals {
        let tag = interval.tag.map(|tag| Tag::new(tag).expect("tags are names of metrics"));
        log.write_histogram(interval.histogram, interval.start, interval.length, tag).map_err(plain)?;
    }
    drop(log);
    out.flush()
}

fn plain<E: Display>(error: IntervalLogWriterError<E>) -> io::Error {
    match error {
        IntervalLogWriterError::IoError(error) => error,
        IntervalLogWriterError::SerializeError(error) => io::Error::other(error.to_string()),
    }
}
