//! A summary in the formats of peers: what they name is there, in their unit, and what we do not have is not made up.

use super::{assert_is, sample};
use Quantity::{
    Completed, E2e, E2eEnd, Failed, Itl, Lateness, NtpotSent, OutputTokensPerS, RequestsPerS, Tpot, Ttft,
};
use lowrho::foreign::{Format, Quantity, Reading, Statistic, export, ours, read};
use lowrho::report::Summary;
use serde_json::Value;

fn exported(summary: &Summary, format: Format) -> Value {
    serde_json::from_str(&export(summary, format)).unwrap()
}

/// What our own reader of the format finds.
fn read_back(summary: &Summary, format: Format) -> Reading {
    read(&export(summary, format), "exported").unwrap().remove(0)
}

/// Fails unless these quantities come back with the summary's own numbers, as far as the format has the statistic.
fn assert_kept(summary: &Summary, format: Format, quantities: &[Quantity]) {
    let (mine, theirs) = (ours(summary, Err("no rows were kept"), "mine"), read_back(summary, format));
    for quantity in quantities {
        assert!(theirs.has(*quantity), "{format:?} lost {quantity:?}");
        for statistic in Statistic::ALL {
            if let Some(figure) = theirs.figure(*quantity, statistic) {
                let mine = mine
                    .figure(*quantity, statistic)
                    .unwrap_or_else(|| panic!("{format:?} invents {quantity:?}"));
                assert_is(&theirs, *quantity, statistic, mine.value);
                let _ = figure;
            }
        }
    }
}

#[test]
fn every_format_gives_back_what_it_has_a_name_for() {
    for summary in [sample::steady(), sample::broken(), sample::staged()] {
        assert_kept(
            &summary,
            Format::Vllm,
            &[Completed, Failed, RequestsPerS, OutputTokensPerS, Ttft, Tpot, E2e],
        );
        assert_kept(
            &summary,
            Format::Aiperf,
            &[Completed, RequestsPerS, OutputTokensPerS, Ttft, Tpot, Itl, E2e],
        );
        assert_kept(
            &summary,
            Format::InferencePerf,
            &[Completed, Failed, RequestsPerS, Lateness, Ttft, Tpot, NtpotSent, E2eEnd],
        );
        assert_kept(&summary, Format::K6, &[Completed, Failed, E2eEnd]);
    }
}

#[test]
fn the_keys_that_scripts_read_are_there() {
    let summary = sample::steady();
    let vllm = exported(&summary, Format::Vllm);
    for key in [
        "model_id",
        "max_concurrency",
        "total_token_throughput",
        "output_throughput",
        "mean_ttft_ms",
        "median_tpot_ms",
        "p99_itl_ms",
        "p99.9_e2el_ms",
        "std_ttft_ms",
        "request_goodput",
        "total_input_tokens",
        "duration",
        "tokenizer_id",
    ] {
        assert!(vllm.get(key).is_some(), "vllm: {key}");
    }
    for (format, path) in [
        (Format::Aiperf, "/time_to_first_token/p99"),
        (Format::Aiperf, "/benchmark_duration/avg"),
        (Format::GenaiPerf, "/request_latency/p90"),
        (Format::GenaiPerf, "/output_token_throughput/unit"),
        (Format::InferencePerf, "/successes/latency/normalized_time_per_output_token/median"),
        (Format::InferencePerf, "/load_summary/schedule_delay/p99"),
        (Format::InferencePerf, "/failures/count"),
        (Format::K6, "/metrics/http_req_duration/p(99)"),
        (Format::K6, "/root_group/checks"),
    ] {
        assert!(
            exported(&summary, format).pointer(path).is_some_and(|value| !value.is_null()),
            "{format:?} {path}"
        );
    }
}

#[test]
fn what_was_not_measured_is_left_out_or_null() {
    let nothing = Summary::default();
    for format in Format::ALL {
        let text = export(&nothing, format);
        assert!(!text.contains("NaN") && !text.contains("inf\""), "{format:?}: {text}");
    }
    assert_eq!(exported(&nothing, Format::Vllm).get("mean_ttft_ms"), None);
    assert_eq!(exported(&nothing, Format::Aiperf).get("time_to_first_token"), None);
    assert_eq!(
        exported(&nothing, Format::InferencePerf).pointer("/successes/latency/time_to_first_token"),
        Some(&Value::Null)
    );
    assert_eq!(exported(&nothing, Format::K6).pointer("/metrics/http_req_duration"), None);
    let p25 = exported(&sample::steady(), Format::InferencePerf);
    assert_eq!(p25.pointer("/successes/latency/time_to_first_token/p25"), Some(&Value::Null));
}

#[test]
fn failures_keep_k6s_mixed_latencies_out() {
    let summary = sample::broken();
    assert!(summary.total.load.failed > summary.total.load.failed_by_us);
    let k6 = exported(&summary, Format::K6);
    assert_eq!(k6.pointer("/metrics/http_req_duration"), None);
    assert_eq!(k6.pointer("/metrics/http_req_waiting"), None);
    assert!(k6.pointer("/metrics/http_req_duration{expected_response:true}").is_some());
}
