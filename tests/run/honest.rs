//! What a run against the simulator must say: every request begun, none lost, rows and histograms telling the same.

use crate::program::{Folder, lowrho, run, text};
use serde_json::Value;
use std::fs;

fn count(summary: &Value, key: &str) -> u64 {
    summary["load"][key].as_u64().unwrap()
}

fn ns(row: &Value, key: &str) -> Option<i64> {
    row[key].as_i64()
}

/// The value of rank ceil(n percent / 100), as the histograms define a quantile.
fn quantile(values: &mut [i64], percent: usize) -> i64 {
    values.sort_unstable();
    values[(values.len() * percent).div_ceil(100) - 1]
}

#[test]
fn every_request_that_is_due_is_begun_and_told() {
    let folder = Folder::new();
    let output = run(&folder, "--sim --rate 300 --duration 2s --warmup 500ms --output-tokens 5");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let (summary, rows) = (folder.summary(), folder.rows());
    let (due, begun) = (count(&summary, "due"), count(&summary, "begun"));
    assert!((450..750).contains(&due), "600 are expected, {due} were due");
    assert_eq!((begun, count(&summary, "failed"), count(&summary, "cancelled")), (due, 0, 0));
    let measured: Vec<&Value> = rows.iter().filter(|row| row["phase"] == "measured").collect();
    assert_eq!(measured.len() as u64, due);
    assert!(rows.iter().any(|row| row["phase"] == "warmup"));
    for row in &measured {
        assert_eq!(row["ok"], true, "{row}");
        assert_eq!((row["output_tokens"].as_u64(), row["events"].as_u64()), (Some(5), Some(5)), "{row}");
        let order = ["due_ns", "begun_ns", "sent_ns", "head_ns", "first_ns", "last_ns", "done_ns", "end_ns"];
        let instants: Vec<i64> = order.iter().map(|key| ns(row, key).unwrap()).collect();
        assert!(instants.is_sorted(), "{row}");
        // The simulator's first token is planned 20 ms after the request arrived there.
        assert!(ns(row, "first_ns").unwrap() - ns(row, "sent_ns").unwrap() >= 20_000_000, "{row}");
    }
    let tokens = &summary["tokens"];
    assert_eq!(tokens["output"].as_u64(), Some(5 * due));
    assert_eq!(summary["target"]["honours_output_tokens"], true);
    assert_eq!(summary["run"]["ended"], "complete");
    let stamps = &summary["client"]["stamps"];
    assert!(stamps["software"].as_u64().unwrap() >= due, "{stamps}");
}

#[test]
fn rows_and_histograms_tell_the_same_within_three_digits() {
    let folder = Folder::new();
    run(&folder, "--sim --rate 200 --duration 2s --sim-ttft exp:5ms --sim-itl exp:1ms");
    let (summary, rows) = (folder.summary(), folder.rows());
    let of = |from: &str, to: &str| -> Vec<i64> {
        let measured = rows.iter().filter(|row| row["phase"] == "measured");
        measured.filter_map(|row| Some(ns(row, to)? - ns(row, from)?)).collect()
    };
    for (key, from, to) in [
        ("ttft_ns", "sent_ns", "first_ns"),
        ("ttft_due_ns", "due_ns", "first_ns"),
        ("e2e_ns", "sent_ns", "last_ns"),
        ("head_ns", "sent_ns", "head_ns"),
    ] {
        let mut values = of(from, to);
        let told = &summary["latency"][key];
        assert_eq!(told["count"].as_u64(), Some(values.len() as u64), "{key}");
        for (name, percent) in [("p50", 50), ("p90", 90)] {
            let (told, exact) = (told[name].as_i64().unwrap(), quantile(&mut values, percent));
            assert!((told - exact).abs() * 500 <= exact, "{key} {name}: {told} told, {exact} in the rows");
        }
    }
}

/// The TTFT of each measured request as a client of one process and so long an event would tell it, from the rows alone.
fn imagined_ttft(rows: &[Value], service_ns: i64) -> Vec<i64> {
    let mut jobs: Vec<(i64, usize, usize)> = Vec::new();
    for (request, row) in rows.iter().enumerate() {
        jobs.push((ns(row, "sent_ns").unwrap(), request, 0));
        let mut event = ns(row, "first_ns").unwrap();
        jobs.push((event, request, 1));
        for (nth, gap) in row["gaps_ns"].as_array().unwrap().iter().enumerate() {
            event += gap.as_i64().unwrap();
            jobs.push((event, request, nth + 2));
        }
    }
    jobs.sort_unstable();
    let (mut free_at, mut told) = (i64::MIN, Vec::new());
    for (at, request, event) in jobs {
        free_at = free_at.max(at) + service_ns;
        if event == 1 && rows[request]["phase"] == "measured" {
            told.push(free_at - ns(&rows[request], "sent_ns").unwrap());
        }
    }
    told
}

#[test]
fn other_clients_would_have_told_what_their_queues_make_of_the_rows() {
    let folder = Folder::new();
    run(&folder, "--sim --rate 300 --duration 2s --sim-ttft exp:5ms --output-tokens 5 --record-gaps");
    let (summary, rows) = (folder.summary(), folder.rows());
    let clients = summary["client"]["imagined"].as_array().unwrap();
    assert_eq!(clients.len(), 8);
    for client in clients.iter().filter(|client| client["processes"] == 1) {
        let service_ns = ns(client, "service_ns").unwrap();
        let (told, exact) =
            (ns(&client["ttft_ns"], "p50").unwrap(), quantile(&mut imagined_ttft(&rows, service_ns), 50));
        assert!((told - exact).abs() * 100 <= exact, "{service_ns}: {told} told, {exact} by the rows");
        // 300 requests/s of a send and five events: 1,800 jobs/s.
        assert_eq!(client["saturated"], service_ns == 1_000_000, "{client}");
    }
    assert!(ns(&summary["client"]["bias_removed"]["ttft_ns"], "p50").is_some());
}

#[test]
fn recorded_gaps_lead_from_the_first_token_to_the_last_and_every_event_is_as_sure_as_the_row_says() {
    let folder = Folder::new();
    run(&folder, "--sim --rate 200 --requests 100 --output-tokens 5 --record-gaps");
    let rows = folder.rows();
    assert_eq!(rows.len(), 100);
    for row in &rows {
        let all = |key: &str| -> Vec<i64> {
            row[key].as_array().unwrap().iter().map(|ns| ns.as_i64().unwrap()).collect()
        };
        let (gaps, uncertainties) = (all("gaps_ns"), all("uncertainties_ns"));
        assert_eq!((gaps.len(), uncertainties.len()), (4, 5), "{row}");
        assert_eq!(ns(row, "first_ns").unwrap() + gaps.iter().sum::<i64>(), ns(row, "last_ns").unwrap());
        assert_eq!(uncertainties.iter().copied().max(), ns(row, "uncertainty_ns"), "{row}");
    }
}

#[test]
fn a_closed_loop_measures_exactly_so_many_requests() {
    let folder = Folder::new();
    let output =
        run(&folder, "--sim --concurrency 7 --requests 100 --warmup 200ms --sim-ttft 2ms --sim-itl 0s");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let rows = folder.rows();
    let mut measured: Vec<u64> = rows
        .iter()
        .filter(|row| row["phase"] == "measured")
        .map(|row| row["index"].as_u64().unwrap())
        .collect();
    measured.sort_unstable();
    assert_eq!(measured, (0..100).collect::<Vec<_>>());
    let mut in_flight: Vec<(i64, i32)> = rows
        .iter()
        .flat_map(|row| [(ns(row, "begun_ns").unwrap(), 1), (ns(row, "done_ns").unwrap(), -1)])
        .collect();
    in_flight.sort_unstable();
    let most = in_flight.iter().scan(0, |sum, (_, step)| {
        *sum += step;
        Some(*sum)
    });
    assert!(most.max().unwrap() <= 7);
}

#[test]
fn the_report_and_the_rerun_of_a_directory_say_what_the_run_did() {
    let folder = Folder::new();
    let output = run(&folder, "--sim --rate 100 --requests 50 --tag who=test --seed 9");
    let again = lowrho(&folder).args(["report", "results"]).output().unwrap();
    assert_eq!(text(&again.stdout), text(&output.stdout));
    let json = lowrho(&folder).args(["report", "results", "--json"]).output().unwrap();
    assert_eq!(serde_json::from_slice::<Value>(&json.stdout).unwrap(), folder.summary());
    let rerun = lowrho(&folder)
        .args(["rerun", "results", "--out", "second", "--json", "--require", "any", "--quiet"])
        .output()
        .unwrap();
    let second: Value = serde_json::from_slice(&rerun.stdout).unwrap();
    let first = folder.summary();
    for key in ["seed", "tags"] {
        assert_eq!(second["run"][key], first["run"][key]);
    }
    assert_eq!(second["load"]["due"], first["load"]["due"]);
    assert_eq!(second["load"]["scheduled_rate"], first["load"]["scheduled_rate"]);
    assert_ne!(second["run"]["id"], first["run"]["id"]);
}

#[test]
fn several_runs_have_a_directory_each_and_a_spread() {
    let folder = Folder::new();
    let output = run(&folder, "--sim --rate 100 --requests 30 --repeat 2 --quiet");
    let shown = text(&output.stdout);
    assert!(shown.contains("Spread over 2 runs"), "{shown}");
    let [first, second] = ["results/1/summary.json", "results/2/summary.json"]
        .map(|nth| fs::read_to_string(folder.path().join(nth)).unwrap())
        .map(|json| serde_json::from_str::<Value>(&json).unwrap());
    assert_ne!(first["run"]["seed"], second["run"]["seed"], "each has arrivals and prompts of its own");
    assert_ne!(first["run"]["id"], second["run"]["id"]);
    assert_ne!(first["load"]["scheduled_rate"], second["load"]["scheduled_rate"]);
    let spread: Value =
        serde_json::from_str(&fs::read_to_string(folder.results().join("repeats.json")).unwrap()).unwrap();
    assert_eq!(spread["runs"][0]["id"], first["run"]["id"]);
    assert_eq!(spread["runs"][1]["seed"], second["run"]["seed"]);
    let report = lowrho(&folder).args(["report", "results"]).output().unwrap();
    assert_eq!(report.status.code(), Some(2));
    assert!(text(&report.stderr).contains("several runs"), "{}", text(&report.stderr));
    let of = |run: &Value| run["latency"]["ttft_ns"]["p50"].as_i64().unwrap();
    let ttft = &spread["latency"]["ttft_ns"]["p50"];
    assert_eq!(ttft["runs"], 2);
    assert_eq!(ttft["min"].as_i64(), Some(of(&first).min(of(&second))));
    assert_eq!(ttft["max"].as_i64(), Some(of(&first).max(of(&second))));
}

#[test]
fn several_runs_print_one_json_document_and_have_one_directory_by_default_too() {
    let folder = Folder::new();
    let output = lowrho(&folder)
        .args("run --sim --rate 100 --requests 20 --repeat 2 --json --require any".split_whitespace())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let all: Value = serde_json::from_slice(&output.stdout).expect("one document");
    assert_eq!(all["summaries"].as_array().unwrap().len(), 2);
    assert_eq!(all["summaries"][1]["run"]["id"], all["runs"][1]["id"]);
    assert!(all["latency"]["e2e_ns"]["p50"]["median"].is_i64(), "{all}");
    let [parent] =
        &fs::read_dir(folder.results()).unwrap().map(|e| e.unwrap().path()).collect::<Vec<_>>()[..]
    else {
        panic!("one directory for both")
    };
    for name in ["repeats.json", "1/summary.json", "2/summary.json"] {
        assert!(parent.join(name).is_file(), "{name}");
    }
}

#[test]
fn the_way_of_waiting_is_kept_told_and_has_its_price() {
    let reads = |waiting: &str, said: &str, saved: &str| {
        let folder = Folder::new();
        let output = run(&folder, &format!("--sim --rate 100 --requests 100 --sim-itl 500us {waiting}"));
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        assert!(text(&output.stdout).contains(said), "{said} in {}", text(&output.stdout));
        let config = std::fs::read_to_string(folder.results().join("config.toml")).unwrap();
        assert!(config.contains(saved), "{saved} in {config}");
        let summary = folder.summary();
        assert_eq!(count(&summary, "completed"), 100);
        summary["client"]["shards"][0]["reads"].as_u64().unwrap()
    };
    // Gathering for ten milliseconds, events half a millisecond apart meet: 1,600 of them come in a few reads a request. A busy
    // machine makes them fewer still, for polling too.
    let long = reads("--coalesce 10ms", "coalescing 10ms", "coalesce = \"10ms\"");
    assert!((100..=500).contains(&long), "{long} reads");
    reads("--busy-poll", "busy-polling", "busy-poll = true");
}

#[test]
fn stamps_of_our_own_are_told_with_what_they_cost() {
    let folder = Folder::new();
    let output = run(&folder, "--sim --rate 100 --requests 100 --output-tokens 4 --stamps user");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let summary = folder.summary();
    assert_eq!(count(&summary, "completed"), 100);
    let client = &summary["client"];
    let reads = client["shards"][0]["reads"].as_u64().unwrap();
    assert_eq!(
        (client["stamps"]["user"].as_u64(), client["stamps"]["software"].as_u64()),
        (Some(reads), Some(0))
    );
    assert_eq!(client["stamps"]["lost"], 0, "no stamp was promised");
    assert_eq!(client["stamps"]["clock_bound_ns"], 0, "no other clock is mapped");
    let caveats = client["caveats"].as_array().unwrap().iter().filter_map(Value::as_str);
    assert!(caveats.into_iter().any(|caveat| caveat.contains("--stamps user")), "{client}");
    assert!(folder.rows().iter().all(|row| row["stamp"] == "user"));
    // Each event is uncertain by the time since the look before, up to half a millisecond where nothing else happened.
    assert!(folder.rows().iter().all(|row| ns(row, "uncertainty_ns").is_some_and(|ns| ns > 0)));
}
