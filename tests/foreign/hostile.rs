//! Cut, mangled and absurd files: an error that says where, never a panic and never a number out of nothing.

use super::text;
use lowrho::foreign::{Comparison, ForeignError, Quantity, Scope, Statistic, read};
use proptest::prelude::*;
use serde_json::Value;

const SAMPLES: [&str; 20] = [
    "k6-1.1-export.json",
    "k6-1.1-handle.json",
    "k6-1.8-machine-full.json",
    "k6-1.8-machine-handle.json",
    "k6-2.2-export.json",
    "vllm-0.33.json",
    "vllm-0.33-detailed.json",
    "vllm-rust-0.33.json",
    "sglang-0.5.23.jsonl",
    "sglang-rust-0.5.23.jsonl",
    "aiperf-0.13.json",
    "aiperf-0.13-rows.jsonl",
    "inference-perf-0.7-stage.json",
    "inference-perf-0.7-summary.json",
    "inference-perf-0.7-requests.json",
    "guidellm-0.8.json",
    "oha-1.16.json",
    "oha-1.16.txt",
    "wrk-4.1.txt",
    "wrk-4.1-errors.txt",
];

/// Reads and tells: neither may panic, and every figure is a number.
fn swallow(text: &str) -> Result<usize, ForeignError> {
    let readings = read(text, "it")?;
    for reading in &readings {
        for (key, figure) in &reading.figures {
            assert!(figure.value.is_finite(), "{key:?}");
        }
    }
    let comparison = Comparison::of(&readings, Scope::All);
    Ok(comparison.text().len() + comparison.markdown().len() + comparison.html().len())
}

#[test]
fn rows_that_stand_in_a_file_twice_are_not_counted_twice() {
    let once = text("aiperf-0.13-rows.jsonl");
    let error = read(&format!("{once}{once}"), "it").unwrap_err().to_string();
    assert!(
        error.contains("aiperf, line 6") && error.contains("twice: give each run its own file"),
        "{error}"
    );
}

#[test]
fn nothing_is_refused_as_nothing() {
    for empty in ["", " \n\t", "\u{feff}"] {
        assert_eq!(read(empty, "it"), Err(ForeignError::Empty));
    }
}

#[test]
fn a_cut_json_file_is_refused_as_cut() {
    for name in SAMPLES.iter().filter(|name| name.ends_with(".json")) {
        let text = text(name);
        let error = swallow(text.trim_end().strip_suffix(['}', ']']).unwrap()).unwrap_err();
        assert!(
            matches!(&error, ForeignError::NotJson(why) if why.contains("the file is cut")),
            "{name}: {error}"
        );
    }
}

#[test]
fn a_cut_line_among_lines_is_named() {
    let text = text("sglang-0.5.23.jsonl").repeat(2);
    let error = swallow(&text[..text.len() - 20]).unwrap_err().to_string();
    assert!(error.contains("document 2") && error.contains("cut"), "{error}");
}

#[test]
fn a_value_of_another_kind_is_named_with_its_place() {
    for (name, from, to, place) in [
        ("k6-2.2-export.json", "\"count\": 3001", "\"count\": \"many\"", "metrics.http_reqs.count"),
        ("vllm-0.33.json", "\"completed\": 3000", "\"completed\": -1", "completed"),
        ("aiperf-0.13.json", "\"unit\": \"ms\"", "\"unit\": \"weeks\"", "unit"),
        (
            "guidellm-0.8.json",
            "\"successful\": 60",
            "\"successful\": 1.5",
            "benchmarks[0].metrics.request_totals.successful",
        ),
        (
            "inference-perf-0.7-stage.json",
            "\"requested_rate\": 300.0",
            "\"requested_rate\": []",
            "load_summary.requested_rate",
        ),
        ("oha-1.16.json", "\"200\": 495", "\"200\": null", "statusCodeDistribution.200"),
        ("oha-1.16.txt", "495 responses", "some responses", "line"),
        ("wrk-4.1.txt", "1440 requests", "1e9 requests", "line"),
    ] {
        let sample = text(name);
        assert!(sample.contains(from), "{name} holds {from}");
        let error = swallow(&sample.replace(from, to)).expect_err(name);
        assert!(matches!(error, ForeignError::Wrong { .. }), "{name}: {error}");
        assert!(error.to_string().contains(place), "{name}: {error}");
    }
}

#[test]
fn a_duration_or_a_rate_below_0_is_refused_by_its_name() {
    for (name, key, place) in [
        ("k6-2.2-export.json", "\"med\": ", "metrics.http_req_waiting.med is -"),
        ("vllm-0.33.json", "\"mean_ttft_ms\": ", "vllm bench serve.mean_ttft_ms is -"),
        ("vllm-0.33.json", "\"request_throughput\": ", "request_throughput is -"),
        ("sglang-0.5.23.jsonl", "\"p99_itl_ms\": ", "p99_itl_ms is -"),
        ("inference-perf-0.7-stage.json", "\"median\": ", "median is -"),
        ("oha-1.16.json", "\"fastest\": ", "oha.summary.fastest is -"),
        ("oha-1.16.txt", "  Fastest:\t", "line 5 is no time"),
        ("oha-1.16.txt", "  Requests/sec:\t", "line 7 is no rate"),
        ("wrk-4.1.txt", "     50%   ", "line 7 is no time"),
    ] {
        let sample = text(name);
        assert!(sample.contains(key), "{name} holds {key}");
        let error = swallow(&sample.replace(key, &format!("{key}-"))).expect_err(name).to_string();
        assert!(error.contains(place), "{name}, {key}: {error}");
        assert!(
            error.contains("is no") || error.contains(", and cannot be below 0"),
            "{name}, {key}: {error}"
        );
    }
}

#[test]
fn what_was_begun_early_is_late_by_less_than_nothing() {
    for (name, from, place) in [
        ("inference-perf-0.7-stage.json", "/load_summary/schedule_delay/min", "inference-perf"),
        ("guidellm-0.8.json", "/benchmarks/0/metrics/request_dispatch_delay/successful/min", "guidellm"),
    ] {
        let mut document: Value = serde_json::from_str(&text(name)).unwrap();
        *document.pointer_mut(from).expect(place) = Value::from(-0.002);
        let readings = read(&document.to_string(), "it").unwrap();
        let least = readings[0].figure(Quantity::Lateness, Statistic::Min).expect(place).value;
        assert!((least + 2e6).abs() < 1.0, "{place}: {least}");
    }
}

#[test]
fn numbers_that_are_none_or_too_large_are_refused() {
    let sample = text("vllm-0.33.json");
    let with = |value: &str| {
        let at = sample.find("\"mean_ttft_ms\": ").unwrap() + "\"mean_ttft_ms\": ".len();
        let end = at + sample[at..].find(',').unwrap();
        swallow(&format!("{}{value}{}", &sample[..at], &sample[end..]))
    };
    for python in ["NaN", "Infinity", "-Infinity"] {
        let error = with(python).unwrap_err().to_string();
        assert!(error.contains("Python writes NaN"), "{python}: {error}");
    }
    assert!(with("1e300").unwrap_err().to_string().contains("292 years"));
    assert!(with("1e999").is_err());
    assert!(with("true").is_err());
    assert!(with("null").is_ok());
}

#[test]
fn a_text_cut_anywhere_is_refused_or_says_the_same() {
    for name in ["oha-1.16.txt", "wrk-4.1.txt", "wrk-4.1-errors.txt"] {
        let sample = text(name);
        let whole = read(&sample, "it").unwrap();
        let ends = (1..sample.len()).filter(|end| sample.is_char_boundary(*end));
        for end in ends {
            if let Ok(readings) = read(&sample[..end], "it") {
                assert!(readings == whole, "{name} cut after {end} bytes: {readings:?}");
            }
        }
        for (line, nth) in sample.lines().zip(1..) {
            let rest: Vec<&str> = sample.lines().take(nth - 1).collect();
            let Err(error) = read(&rest.join("\n"), "it") else { continue };
            let error = error.to_string();
            let known =
                error.contains(" is cut: ") || error.contains("no tool is known") || error == "it is empty";
            assert!(known, "{name} before {line:?}: {error}");
        }
    }
}

#[test]
fn a_text_that_lacks_a_part_names_it() {
    for (name, part, told) in [
        ("oha-1.16.txt", "Status code distribution:", "the text of oha is cut: it has no \"Status code"),
        ("oha-1.16.txt", "  Total:", "the text of oha is cut: it has no line \"Total\""),
        (
            "oha-1.16.txt",
            "  [8] aborted",
            "its rate and its time make 503 requests, and its counts come to 495",
        ),
        ("wrk-4.1.txt", "    Latency ", "the text of wrk is cut: it has no line \"Latency\""),
        ("wrk-4.1-errors.txt", "Transfer/sec", "the text of wrk is cut: it has no line \"Transfer/sec"),
    ] {
        let sample = text(name);
        let rest: Vec<&str> = sample.lines().filter(|line| !line.starts_with(part)).collect();
        assert_ne!(rest.len(), sample.lines().count(), "{name} holds {part}");
        let error = read(&rest.join("\n"), "it").unwrap_err().to_string();
        assert!(error.contains(told), "{name} without {part}: {error}");
    }
}

#[test]
fn several_runs_in_one_text_are_refused_with_their_number() {
    for (name, tool) in [("oha-1.16.txt", "oha"), ("wrk-4.1.txt", "wrk")] {
        for runs in 2..4 {
            let error = read(&text(name).repeat(runs), "it").unwrap_err().to_string();
            assert_eq!(error, format!("the text of {tool} holds {runs} runs: give each its own file"));
        }
        // The first of them may be cut.
        let two = format!("{}{}", text(name).split_once("99%").unwrap().0, text(name));
        assert!(read(&two, "it").unwrap_err().to_string().contains("holds 2 runs"), "{name}");
    }
}

/// Every place of a document, as the path to it.
fn places(value: &Value, path: String, into: &mut Vec<String>) {
    match value {
        Value::Object(entries) => {
            for (key, value) in entries {
                places(value, format!("{path}/{}", key.replace('~', "~0").replace('/', "~1")), into);
            }
        }
        Value::Array(list) => {
            list.iter().enumerate().for_each(|(n, value)| places(value, format!("{path}/{n}"), into));
        }
        _ => {}
    }
    into.push(path);
}

fn any_json() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        Just(Value::from("text")),
        Just(Value::from(-1)),
        Just(Value::from(u64::MAX)),
        Just(Value::from(1e308)),
        Just(Value::from(-1e308)),
        Just(Value::from(true)),
        Just(serde_json::json!([])),
        Just(serde_json::json!({})),
        Just(serde_json::json!([[{}]])),
    ]
}

proptest! {
    #[test]
    fn any_value_in_any_place_is_read_or_refused(name in prop::sample::select(&SAMPLES[..]), at: prop::sample::Index, value in any_json()) {
        let sample = text(name);
        let first = sample.lines().next().unwrap_or_default();
        let document = serde_json::from_str::<Value>(&sample).or_else(|_| serde_json::from_str(first));
        let Ok(mut document) = document else { return Ok(()) };
        let mut all = Vec::new();
        places(&document, String::new(), &mut all);
        let place = &all[at.index(all.len())];
        *document.pointer_mut(place).unwrap() = value;
        let _ = swallow(&document.to_string());
    }

    #[test]
    fn any_cut_is_read_or_refused(name in prop::sample::select(&SAMPLES[..]), at: prop::sample::Index) {
        let sample = text(name);
        let mut end = at.index(sample.len());
        while !sample.is_char_boundary(end) {
            end -= 1;
        }
        let _ = swallow(&sample[..end]);
    }

    #[test]
    fn any_text_is_read_or_refused(text in "(Running 1s test @ x\n|Response time distribution:\nStatus code distribution:\n|\\{)?.{0,60}\n.{0,60}") {
        let _ = swallow(&text);
    }

    #[test]
    fn any_line_of_wrk_and_oha_is_read_or_refused(
        name in prop::sample::select(&["wrk-4.1.txt", "oha-1.16.txt"][..]), at: prop::sample::Index, word in "[-0-9a-z%.:\\[\\] ]{0,12}",
    ) {
        let sample = text(name);
        let mut lines: Vec<String> = sample.lines().map(str::to_owned).collect();
        let at = at.index(lines.len());
        let words: Vec<&str> = lines[at].split(' ').collect();
        let half = words.len() / 2;
        lines[at] = format!("{} {word} {}", words[..half].join(" "), words[half..].join(" "));
        let _ = swallow(&lines.join("\n"));
    }
}
