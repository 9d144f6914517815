//! `docs/summary.schema.json` is what the code writes, and what the code writes fits it.

use crate::{assert_is_file, sample};
use lowrho::report::{Summary, summary_schema};
use serde_json::{Value, json};

#[test]
fn the_published_schema_is_that_of_the_code() {
    assert_is_file("docs/summary.schema.json", &summary_schema());
}

fn errors(value: &Value) -> Vec<String> {
    let schema: Value = serde_json::from_str(&summary_schema()).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    validator.iter_errors(value).map(|error| format!("{}: {error}", error.instance_path())).collect()
}

#[test]
fn every_summary_that_is_written_fits_the_schema() {
    for summary in [Summary::default(), sample::steady(), sample::broken(), sample::staged()] {
        let value: Value = serde_json::from_str(&summary.to_json()).unwrap();
        assert_eq!(errors(&value), Vec::<String>::new());
    }
}

#[test]
fn what_is_no_summary_does_not_fit_the_schema() {
    let mut value: Value = serde_json::from_str(&sample::steady().to_json()).unwrap();
    value["latency"]["ttft_ns"]["p99"] = json!("fast");
    assert_eq!(errors(&value).len(), 1);
    value["latency"]["ttft_ns"]["p99"] = Value::Null;
    assert_eq!(errors(&value).len(), 0);
    value.as_object_mut().unwrap().remove("client");
    assert_eq!(errors(&value).len(), 1);
}

#[test]
fn the_keys_are_the_published_ones_in_their_order() {
    let value: Value = serde_json::from_str(&sample::steady().to_json()).unwrap();
    let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>().join(" ");
    assert_eq!(
        keys(&value),
        "schema_version run config host target targets stages load latency ntpot throughput tokens slo errors \
         tolerated gpus failures slowest blame client server"
    );
    assert!(keys(&value["run"]).starts_with("id start_unix_ns start_mono_ns"));
    assert_eq!(
        keys(&value["load"]),
        "requested_rate scheduled_rate sent_rate achieved_rate requested_concurrency due begun completed failed \
         failed_by_us cancelled retried lateness_ns"
    );
    assert_eq!(
        keys(&value["latency"]),
        "ttft_ns ttft_due_ns ttfe_ns ttfo_ns itl_ns stall_ns tpot_ns ntpot_ns ntpot_sent_ns ntpot_waiting_ns \
         ntpot_decoding_ns e2e_ns e2e_due_ns e2e_done_ns e2e_end_ns head_ns connect_ns handshake_ns pool_wait_ns"
    );
    assert_eq!(
        keys(&value["latency"]["ttft_ns"]),
        "count mean sd min max p50 p90 p95 p99 p99_9 p99_ci with_failures"
    );
    assert_eq!(keys(&value["latency"]["ttft_ns"]["with_failures"]), "p50 p90 p95 p99 p99_9");
    assert!(keys(&value["client"]).starts_with("verdict reasons"));
    assert!(keys(&value["client"]).ends_with("stamps tls surroundings shards"));
    assert!(keys(&value["server"]).starts_with("kept_up in_flight_slope"));
    assert_eq!(
        keys(&value["stages"][0]),
        "name arrival start_ns window_ns load latency ntpot throughput tokens slo errors tolerated server"
    );
}

#[test]
fn a_summary_survives_its_text() {
    for summary in [Summary::default(), sample::steady(), sample::broken(), sample::staged()] {
        let mut summary = summary;
        summary.schema_version = lowrho::report::SCHEMA_VERSION;
        assert_eq!(Summary::from_json(&summary.to_json()).unwrap(), summary);
    }
}

#[test]
fn a_summary_from_before_a_key_was_added_is_read() {
    let mut value: Value = serde_json::from_str(&sample::steady().to_json()).unwrap();
    for (parent, key) in [
        ("", "ntpot"),
        ("/stages/0", "ntpot"),
        ("/latency", "ntpot_waiting_ns"),
        ("/load", "retried"),
        ("/client", "tls"),
        ("/latency", "handshake_ns"),
    ] {
        assert!(value.pointer_mut(parent).unwrap().as_object_mut().unwrap().remove(key).is_some());
    }
    let read = Summary::from_json(&value.to_string()).unwrap();
    assert_eq!(read.total.latency.ntpot_ns, sample::steady().total.latency.ntpot_ns);
    assert_eq!(read.total.ntpot, lowrho::report::Ntpot::default());
}

#[test]
fn keys_of_a_later_version_are_passed_over() {
    let mut value: Value = serde_json::from_str(&sample::steady().to_json()).unwrap();
    value["run"]["weather"] = json!("sunny");
    value["weather"] = json!("sunny");
    assert_eq!(Summary::from_json(&value.to_string()).unwrap(), sample::steady());
}
