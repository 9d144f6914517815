//! Sweeps on real sockets: every trial leaves its own results, a broken one goes on, a failing target ends it.

use crate::program::{Folder, engine, lowrho, text};
use serde_json::Value;
use std::fs;
use std::process::Output;

fn sweep(folder: &Folder, arguments: &str) -> Output {
    lowrho(folder).arg("sweep").args(engine()).args(arguments.split_whitespace()).output().unwrap()
}

fn read(folder: &Folder) -> Value {
    let text = fs::read_to_string(folder.path().join("results/sweep.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

const QUICK: &str = "--sim --sim-ttft 2ms --sim-itl 1ms --output-tokens 4 --duration 400ms --warmup 100ms";

#[test]
fn a_profile_is_a_run_at_every_level_and_a_table() {
    let folder = Folder::new();
    let arguments = format!("{QUICK} --from 50 --to 200 --steps 3 --slo ttft_p50<10s --out results");
    let output = sweep(&folder, &arguments);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let told = read(&folder);
    let trials = told["trials"].as_array().unwrap();
    let rates: Vec<f64> =
        trials.iter().map(|trial| trial["ask"]["offer"]["rate"].as_f64().unwrap()).collect();
    assert!(rates.iter().zip([50.0, 100.0, 200.0]).all(|(got, want)| (got - want).abs() < 1e-9), "{rates:?}");
    let mut ids = Vec::new();
    for trial in trials {
        let dir = folder.path().join("results").join(trial["dir"].as_str().unwrap());
        let summary: Value =
            serde_json::from_str(&fs::read_to_string(dir.join("summary.json")).unwrap()).unwrap();
        assert_eq!(summary["load"]["requested_rate"], trial["ask"]["offer"]["rate"]);
        assert_eq!(summary["load"]["completed"], trial["outcome"]["succeeded"]);
        let by_twentieths =
            trial["outcome"]["completed"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap());
        let (sum, seconds) = (by_twentieths.sum::<u64>(), 0.4);
        #[expect(clippy::cast_precision_loss, reason = "a rate")]
        let per_s = sum as f64 / seconds;
        assert!((summary["throughput"]["requests_per_s"].as_f64().unwrap() - per_s).abs() < 1e-6);
        ids.push((summary["run"]["id"].to_string(), summary["run"]["seed"].as_u64().unwrap()));
        assert!(dir.join("config.toml").is_file());
    }
    ids.dedup_by_key(|(id, _)| id.clone());
    assert_eq!(ids.len(), 3, "every trial is a run of its own");
    assert!(ids.windows(2).all(|pair| pair[0].1 != pair[1].1), "with prompts of its own: {ids:?}");
    assert!(told["slo_capacity"].is_null() && told["end"] == "found");
    let table = text(&output.stdout);
    let again = lowrho(&folder).args(["report", "results"]).output().unwrap();
    assert_eq!(text(&again.stdout), table);
    assert!(table.contains("200.0/s") && table.contains("throughput"), "{table}");
}

#[test]
fn levels_of_concurrency_are_closed_loops() {
    let folder = Folder::new();
    let output =
        sweep(&folder, &format!("{QUICK} --over concurrency --from 1 --to 4 --steps 3 --out results --json"));
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    let slots: Vec<u64> = told["trials"]
        .as_array()
        .unwrap()
        .iter()
        .map(|t| t["ask"]["offer"]["slots"].as_u64().unwrap())
        .collect();
    assert_eq!(slots, [1, 2, 4]);
    assert_eq!(told, read(&folder));
}

#[test]
fn a_sweep_that_the_budget_broke_off_goes_on_where_it_was() {
    let folder = Folder::new();
    // The first trial fits one second and the second does not.
    let output = sweep(
        &folder,
        "--sim --sim-ttft 2ms --sim-itl 0s --output-tokens 2 --duration 800ms --warmup 0s \
                                 --from 20 --to 80 --steps 3 --budget 1s --out results",
    );
    let told = read(&folder);
    let made = told["trials"].as_array().unwrap().len();
    assert!(made < 3, "{}", text(&output.stderr));
    assert!(told["why"].as_str().unwrap().contains("budget"), "{told}");
    let output = sweep(&folder, "--resume results");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let whole = read(&folder);
    let trials = whole["trials"].as_array().unwrap();
    assert_eq!(trials.len(), 3);
    assert_eq!(trials[..made], told["trials"].as_array().unwrap()[..]);
    assert_eq!(trials[2]["ask"]["window_ns"], 800_000_000);
}

#[test]
fn a_target_that_fails_beyond_what_is_borne_ends_the_sweep_with_4() {
    let folder = Folder::new();
    let output = sweep(
        &folder,
        &format!(
            "{QUICK} --no-probe --sim-fault status=503:0.5 --from 100 --to 200 --steps 3 --abort-on error_rate>10% --out results"
        ),
    );
    assert_eq!(output.status.code(), Some(4), "{}", text(&output.stderr));
    let told = read(&folder);
    assert_eq!(told["trials"].as_array().unwrap().len(), 1, "what was measured is kept");
    assert_eq!(told["end"], "target_failed");
}

#[test]
fn what_a_sweep_cannot_be_is_refused_before_a_byte_is_sent() {
    let folder = Folder::new();
    for (arguments, flag) in [
        ("--sim", "--from"),
        ("--sim --from 5", "--to"),
        ("--sim --from 5 --to 2", "--to"),
        ("--sim --from 1 --to 2 --auto", "--from"),
        ("--sim --from 1 --to 2 --tolerance 5%", "--tolerance"),
        ("--sim --auto --tolerance 0%", "--tolerance"),
        ("--sim --auto --rate 5", "--rate"),
        ("--sim --from 1 --to 2 --steps 1", "--steps"),
        ("--sim --from 1 --to 2 --scale log", "--scale"),
        ("--sim --auto --abort-on ttft>5", "--abort-on"),
        ("--sim --auto --mlperf llama2-70b", "did you mean llama2-70b-server?"),
        ("--sim --auto --mlperf llama2-70b-server --slo ttft_p99<1s", "--mlperf"),
        ("--sim --auto --requests 100", "--requests"),
        ("--resume nowhere", "--resume"),
    ] {
        let output = sweep(&folder, arguments);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments}: {said}");
        assert!(said.contains(flag), "{arguments}: {said}");
    }
}
