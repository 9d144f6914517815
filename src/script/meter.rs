//! The counters behind `/metrics`, under vLLM's names. One shard writes each meter; any shard may read them all.
//!
//! It must not decide anything: what is counted here is for the client's eyes.

use crate::time::Span;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

const TTFT_S: &[f64] = &[
    0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0,
    80.0, 160.0, 640.0, 2560.0,
];
const TOKEN_S: &[f64] = &[
    0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0, 80.0,
];
const REQUEST_S: &[f64] = &[
    0.3, 0.5, 0.8, 1.0, 1.5, 2.0, 2.5, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0, 60.0, 120.0, 240.0, 480.0,
    960.0, 1920.0, 7680.0,
];
const COUNTS: &[f64] = &[
    1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0, 2000.0, 5000.0, 10_000.0, 20_000.0,
    50_000.0, 100_000.0,
];
/// The longest of the lists above, and +Inf.
const BUCKETS: usize = 23;

/// A number with one writer, so that adding needs no locked instruction.
#[derive(Debug, Default)]
pub(super) struct Tally(AtomicU64);

impl Tally {
    pub(super) fn add(&self, n: u64) {
        self.0.store(self.0.load(Relaxed).wrapping_add(n), Relaxed);
    }

    pub(super) fn set(&self, n: usize) {
        self.0.store(u64::try_from(n).unwrap_or(u64::MAX), Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// A Prometheus histogram; times are kept in nanoseconds.
#[derive(Debug)]
pub(super) struct Histogram {
    bounds: &'static [f64],
    /// How many of what is recorded make one of the metric's unit.
    per_unit: f64,
    buckets: [Tally; BUCKETS],
    sum: Tally,
}

impl Histogram {
    fn seconds(bounds: &'static [f64]) -> Self {
        Self { bounds, per_unit: 1e9, buckets: Default::default(), sum: Tally::default() }
    }

    fn counts() -> Self {
        Self { bounds: COUNTS, per_unit: 1.0, buckets: Default::default(), sum: Tally::default() }
    }

    pub(super) fn record(&self, value: u64) {
        let scaled = as_f64(value) / self.per_unit;
        let bucket = self.bounds.partition_point(|bound| *bound < scaled);
        self.buckets[bucket].add(1);
        self.sum.add(value);
    }

    pub(super) fn record_span(&self, span: Span) {
        self.record(u64::try_from(span.as_ns()).expect("virtual time runs forward"));
    }
}

/// What one shard counts.
#[derive(Debug)]
pub struct Meter {
    pub(super) running: Tally,
    pub(super) waiting: Tally,
    pub(super) prompt_tokens: Tally,
    pub(super) generation_tokens: Tally,
    /// Tokens of prompts that the prefix cache was asked for.
    pub(super) cache_queries: Tally,
    /// Those that it had.
    pub(super) cache_hits: Tally,
    pub(super) stopped: Tally,
    pub(super) ended_by_length: Tally,
    pub(super) aborted: Tally,
    pub(super) failed: Tally,
    pub(super) ttft: Histogram,
    pub(super) itl: Histogram,
    pub(super) tpot: Histogram,
    pub(super) e2e: Histogram,
    pub(super) queue: Histogram,
    pub(super) prefill: Histogram,
    pub(super) decode: Histogram,
    pub(super) inference: Histogram,
    pub(super) prompt_size: Histogram,
    pub(super) answer_size: Histogram,
}

impl Default for Meter {
    fn default() -> Self {
        let tally = Tally::default;
        Self {
            running: tally(),
            waiting: tally(),
            prompt_tokens: tally(),
            generation_tokens: tally(),
            cache_queries: tally(),
            cache_hits: tally(),
            stopped: tally(),
            ended_by_length: tally(),
            aborted: tally(),
            failed: tally(),
            ttft: Histogram::seconds(TTFT_S),
            itl: Histogram::seconds(TOKEN_S),
            tpot: Histogram::seconds(TOKEN_S),
            e2e: Histogram::seconds(REQUEST_S),
            queue: Histogram::seconds(REQUEST_S),
            prefill: Histogram::seconds(REQUEST_S),
            decode: Histogram::seconds(REQUEST_S),
            inference: Histogram::seconds(REQUEST_S),
            prompt_size: Histogram::counts(),
            answer_size: Histogram::counts(),
        }
    }
}

impl Meter {
    /// Requests that ended well so far.
    #[must_use]
    pub fn succeeded(&self) -> u64 {
        self.stopped.get() + self.ended_by_length.get()
    }

    /// Requests that ended any other way so far.
    #[must_use]
    pub fn failed(&self) -> u64 {
        self.aborted.get() + self.failed.get()
    }

    /// Tokens made so far.
    #[must_use]
    pub fn generation_tokens(&self) -> u64 {
        self.generation_tokens.get()
    }
}

/// The whole of `/metrics`: the sums over all shards.
pub(super) fn page(meters: &[Meter], model: &str) -> String {
    let mut page = Page {
        meters,
        labels: format!("engine=\"0\",model_name={}", super::reply::quote(model)),
        text: String::new(),
    };
    page.gauge("num_requests_running", "Number of requests in model execution batches.", |m| &m.running);
    page.gauge("num_requests_waiting", "Number of requests waiting to be processed.", |m| &m.waiting);
    page.counter("prompt_tokens_total", "Number of prefill tokens processed.", |m| &m.prompt_tokens);
    page.counter("generation_tokens_total", "Number of generation tokens processed.", |m| {
        &m.generation_tokens
    });
    page.counter(
        "prefix_cache_queries_total",
        "Prefix cache queries, in terms of number of queried tokens.",
        |m| &m.cache_queries,
    );
    page.counter("prefix_cache_hits_total", "Prefix cache hits, in terms of number of cached tokens.", |m| {
        &m.cache_hits
    });
    page.head("request_success_total", "Count of successfully processed requests.", "counter");
    page.ended("stop", |m| &m.stopped);
    page.ended("length", |m| &m.ended_by_length);
    page.ended("abort", |m| &m.aborted);
    page.ended("error", |m| &m.failed);
    page.histogram("request_prompt_tokens", "Number of prefill tokens processed.", |m| &m.prompt_size);
    page.histogram("request_generation_tokens", "Number of generation tokens processed.", |m| &m.answer_size);
    page.histogram("time_to_first_token_seconds", "Histogram of time to first token in seconds.", |m| {
        &m.ttft
    });
    page.histogram("inter_token_latency_seconds", "Histogram of inter-token latency in seconds.", |m| &m.itl);
    page.histogram(
        "request_time_per_output_token_seconds",
        "Histogram of time_per_output_token_seconds per request.",
        |m| &m.tpot,
    );
    page.histogram("e2e_request_latency_seconds", "Histogram of e2e request latency in seconds.", |m| &m.e2e);
    page.histogram(
        "request_queue_time_seconds",
        "Histogram of time spent in WAITING phase for request.",
        |m| &m.queue,
    );
    page.histogram(
        "request_inference_time_seconds",
        "Histogram of time spent in RUNNING phase for request.",
        |m| &m.inference,
    );
    page.histogram(
        "request_prefill_time_seconds",
        "Histogram of time spent in PREFILL phase for request.",
        |m| &m.prefill,
    );
    page.histogram(
        "request_decode_time_seconds",
        "Histogram of time spent in DECODE phase for request.",
        |m| &m.decode,
    );
    page.text
}

struct Page<'a> {
    meters: &'a [Meter],
    labels: String,
    text: String,
}

/// Writing to a string cannot fail.
macro_rules! line {
    ($page:expr, $($format:tt)*) => { writeln!($page.text, $($format)*).expect("a string takes all") };
}

impl Page<'_> {
    fn sum(&self, of: impl Fn(&Meter) -> &Tally) -> u64 {
        self.meters.iter().map(|meter| of(meter).get()).fold(0, u64::wrapping_add)
    }

    fn head(&mut self, name: &str, help: &str, kind: &str) {
        line!(self, "# HELP vllm:{name} {help}");
        line!(self, "# TYPE vllm:{name} {kind}");
    }

    fn gauge(&mut self, name: &str, help: &str, of: impl Fn(&Meter) -> &Tally) {
        self.head(name, help, "gauge");
        let sum = self.sum(of);
        line!(self, "vllm:{name}{{{}}} {sum}.0", self.labels);
    }

    fn counter(&mut self, name: &str, help: &str, of: impl Fn(&Meter) -> &Tally) {
        self.head(name, help, "counter");
        let sum = self.sum(of);
        line!(self, "vllm:{name}{{{}}} {sum}.0", self.labels);
    }

    fn ended(&mut self, reason: &str, of: impl Fn(&Meter) -> &Tally) {
        let sum = self.sum(of);
        let (engine, model) = self.labels.split_once(',').expect("two labels");
        line!(self, "vllm:request_success_total{{{engine},finished_reason=\"{reason}\",{model}}} {sum}.0");
    }

    fn histogram(&mut self, name: &str, help: &str, of: impl Fn(&Meter) -> &Histogram) {
        self.head(name, help, "histogram");
        let Some(first) = self.meters.first().map(&of) else { return };
        let (engine, model) = self.labels.split_once(',').expect("two labels");
        let mut below = 0;
        for place in 0..=first.bounds.len() {
            below += self.sum(|meter| &of(meter).buckets[place]);
            match first.bounds.get(place) {
                Some(bound) => {
                    line!(self, "vllm:{name}_bucket{{{engine},le=\"{bound:?}\",{model}}} {below}.0")
                }
                None => line!(self, "vllm:{name}_bucket{{{engine},le=\"+Inf\",{model}}} {below}.0"),
            }
        }
        let sum = as_f64(self.sum(|meter| &of(meter).sum)) / first.per_unit;
        line!(self, "vllm:{name}_count{{{}}} {below}.0", self.labels);
        line!(self, "vllm:{name}_sum{{{}}} {sum:?}", self.labels);
    }
}

#[expect(clippy::cast_precision_loss, reason = "a Prometheus sample is a double anyway")]
fn as_f64(n: u64) -> f64 {
    n as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_on_a_bound_is_at_most_it_and_buckets_add_up() {
        let meters = [Meter::default(), Meter::default()];
        meters[0].ttft.record_span(Span::from_ms(20));
        meters[1].ttft.record_span(Span::from_ns(20_000_001));
        meters[1].ttft.record_span(Span::from_s(9_999));
        let page = page(&meters, "m");
        let value =
            |line: &str| page.lines().find_map(|l| l.strip_prefix(line)).expect(line).trim().to_string();
        let bucket = |le: &str| {
            value(&format!(
                "vllm:time_to_first_token_seconds_bucket{{engine=\"0\",le=\"{le}\",model_name=\"m\"}}"
            ))
        };
        assert_eq!(
            (bucket("0.01"), bucket("0.02"), bucket("0.04")),
            ("0.0".into(), "1.0".into(), "2.0".into())
        );
        assert_eq!((bucket("2560.0"), bucket("+Inf")), ("2.0".into(), "3.0".into()));
        assert_eq!(value("vllm:time_to_first_token_seconds_count{engine=\"0\",model_name=\"m\"}"), "3.0");
    }

    #[test]
    fn no_list_of_bounds_outgrows_its_buckets() {
        for bounds in [TTFT_S, TOKEN_S, REQUEST_S, COUNTS] {
            assert!(bounds.len() < BUCKETS && bounds.is_sorted());
        }
    }
}
