//! Sweeps on real sockets: every trial leaves its own results, a broken one goes on, a failing target ends it.

use crate::program::{Folder, engine, lowrho, text};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs;
use std::process::{Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

fn sweep(folder: &Folder, arguments: &str) -> Output {
    lowrho(folder).arg("sweep").args(engine()).args(arguments.split_whitespace()).output().unwrap()
}

/// It came to its end. On a busy machine a trial of half a second can leave the client untrusted, which is status 3, and what is
/// looked at here was measured all the same.
fn assert_measured(output: &Output) {
    assert!(matches!(output.status.code(), Some(0 | 3)), "{}", text(&output.stderr));
}

fn read(folder: &Folder) -> Value {
    let text = fs::read_to_string(folder.path().join("results/sweep.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// Whatever else this machine does: an INVALID load would end with 3.
const QUICK: &str =
    "--sim --sim-ttft 2ms --sim-itl 1ms --output-tokens 4 --duration 400ms --warmup 100ms --require any";

#[test]
fn a_profile_is_a_run_at_every_level_and_a_table() {
    let folder = Folder::new();
    let arguments = format!("{QUICK} --from 50 --to 200 --steps 3 --slo ttft_p50<10s --out results");
    let output = sweep(&folder, &arguments);
    assert_measured(&output);
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
    assert_measured(&output);
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
                                 --from 20 --to 80 --steps 3 --budget 1s --require any --out results",
    );
    let told = read(&folder);
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    let made = told["trials"].as_array().unwrap().len();
    assert!(made < 3, "{}", text(&output.stderr));
    assert!(told["why"].as_str().unwrap().contains("budget"), "{told}");
    let output = sweep(&folder, "--resume results");
    assert_measured(&output);
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
    assert_eq!(told["end"], "aborted");
}

#[test]
fn a_target_that_answers_nothing_well_ends_the_sweep_with_4() {
    let folder = Folder::new();
    let fails = "--no-probe --sim-fault status=503:1 --from 100 --to 200 --steps 3 --out results";
    let output = sweep(&folder, &format!("{QUICK} {fails}"));
    assert_eq!(output.status.code(), Some(4), "{}", text(&output.stderr));
    let told = read(&folder);
    assert_eq!((told["end"].as_str(), told["trials"].as_array().unwrap().len()), (Some("target_failed"), 1));
    assert!(told["why"].as_str().unwrap().ends_with("requests of trials/000 failed"), "{told}");
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
        ("--sim --auto --abort-on ttft>5s", "--abort-on (sweep.abort-on in a file)"),
        ("--sim --auto --abort-on ttft_p99<5s", "ttft_p99>SPAN"),
        ("--sim --auto --price 2", "--gpus 8"),
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

#[test]
fn a_sweep_of_the_config_file_is_kept_with_its_lengths_and_repeated_as_a_sweep() {
    let folder = Folder::new();
    let file = "[target]\nsim = true\n[sim]\nttft = \"2ms\"\nitl = \"1ms\"\n[payload]\noutput-tokens = 4\n\
                [verdict]\nrequire = \"any\"\n\
                [load]\nduration = \"400ms\"\n[sweep]\nfrom = 50\nto = 500\nsteps = 2\n";
    fs::write(folder.path().join("sweep.toml"), file).unwrap();
    // A flag wins over the file.
    let output = sweep(&folder, "-c sweep.toml --to 100 --out results");
    assert_measured(&output);
    let said = text(&output.stderr);
    assert!(said.contains("warm-up 500 ms") && said.contains("lowrho's simulator"), "{said}");
    let told = read(&folder);
    assert_eq!(
        (told["warmup_ns"].as_u64(), told["window_ns"].as_u64()),
        (Some(500_000_000), Some(400_000_000))
    );
    assert_eq!(told["config"]["sweep"]["to"], 100);
    assert_eq!(told["config"]["load"]["warmup"], "500ms");
    assert!(told["config"]["load"]["rate"].is_null());
    assert!(
        fs::read_to_string(folder.results().join("report.html")).unwrap().contains("Sweep of lowrho-sim")
    );

    let again = lowrho(&folder).args(["rerun", "results", "--out", "again"]).output().unwrap();
    assert_measured(&again);
    let again: Value =
        serde_json::from_str(&fs::read_to_string(folder.path().join("again/sweep.json")).unwrap()).unwrap();
    let asked = |sweep: &Value| {
        let trials = sweep["trials"].as_array().unwrap();
        trials.iter().map(|trial| trial["ask"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(asked(&again), asked(&told));
    // A trial of it is a run, and is repeated as one.
    let trial = lowrho(&folder).args(["rerun", "results/trials/001", "--out", "one", "-q"]).output().unwrap();
    assert!(folder.path().join("one/summary.json").is_file(), "{}", text(&trial.stderr));
}

#[test]
fn what_a_sweep_goes_on_with_cannot_be_changed() {
    let folder = Folder::new();
    let output = sweep(&folder, &format!("{QUICK} --from 50 --to 100 --steps 2 --out results"));
    assert_measured(&output);
    for (arguments, flag) in [
        ("--from 4", "leave out --from"),
        ("--duration 1s --sim-ttft 9ms", "leave out --duration, --sim-ttft"),
        ("--input-tokens 9", "leave out --input-tokens"),
        ("--config results/config.toml", "leave out --config"),
    ] {
        let output = sweep(&folder, &format!("--resume results {arguments}"));
        assert_eq!(output.status.code(), Some(2), "{arguments}");
        assert!(text(&output.stderr).contains(flag), "{arguments}: {}", text(&output.stderr));
    }
    let output = sweep(&folder, "--resume results --budget 1m --json");
    assert_measured(&output);
}

#[test]
fn a_limit_that_a_trial_crosses_ends_the_sweep_and_is_named() {
    let folder = Folder::new();
    let arguments = format!("{QUICK} --from 50 --to 200 --steps 3 --out results");
    let output = sweep(&folder, &format!("{arguments} --abort-on error_rate>90%,e2e_p50>1ms"));
    assert_eq!(output.status.code(), Some(4), "{}", text(&output.stderr));
    let told = read(&folder);
    assert_eq!((told["end"].as_str(), told["trials"].as_array().unwrap().len()), (Some("aborted"), 1));
    assert_eq!(told["trials"][0]["outcome"]["ended"], "aborted");
    assert_eq!(told["why"], "trials/000 crossed e2e_p50>1ms");
    assert!(text(&output.stdout).contains("ended by --abort-on"));
}

/// A sweep of two loads that got `signal` while the second was under way.
fn interrupted(folder: &Folder, signal: Signal) -> Output {
    let arguments = format!("{QUICK} --from 50 --to 100 --steps 2 --out results");
    let arguments = arguments.replace("--duration 400ms", "--duration 2s");
    let child = lowrho(folder)
        .arg("sweep")
        .args(arguments.split_whitespace())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The second trial's shards have started: before that it has nothing to keep.
    let until = Instant::now() + Duration::from_secs(60);
    while !folder.results().join("trials/001/histograms.hlog").is_file() {
        assert!(Instant::now() < until, "no second trial within a minute");
        thread::sleep(Duration::from_millis(20));
    }
    kill_process(Pid::from_raw(child.id().try_into().unwrap()).unwrap(), signal).unwrap();
    child.wait_with_output().unwrap()
}

#[test]
fn a_sweep_that_is_terminated_keeps_what_it_measured_and_says_by_what() {
    let folder = Folder::new();
    let output = interrupted(&folder, Signal::TERM);
    assert_eq!(output.status.code(), Some(143), "{}", text(&output.stderr));
    let told = read(&folder);
    assert_eq!((&told["end"], told["why"].as_str()), (&Value::Null, Some("interrupted")));
    assert_eq!(told["trials"].as_array().unwrap().len(), 1);
    // What the second had measured by then is its own, and no trial of the sweep.
    for trial in ["000", "001"] {
        let summary = folder.results().join("trials").join(trial).join("summary.json");
        assert!(summary.is_file(), "{}", summary.display());
    }
    assert!(folder.results().join("report.html").is_file());
}

#[test]
fn a_sweep_that_is_interrupted_keeps_what_it_measured_and_goes_on() {
    let folder = Folder::new();
    let output = interrupted(&folder, Signal::INT);
    assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
    let told = read(&folder);
    assert_eq!((&told["end"], told["why"].as_str()), (&Value::Null, Some("interrupted")));
    assert_eq!(told["trials"].as_array().unwrap().len(), 1);
    assert!(text(&output.stdout).contains("--resume goes on with it"), "{}", text(&output.stdout));
    let output = sweep(&folder, "--resume results");
    assert_measured(&output);
    let whole = read(&folder);
    assert_eq!((whole["end"].as_str(), whole["trials"].as_array().unwrap().len()), (Some("found"), 2));
    assert_eq!(whole["trials"][0], told["trials"][0]);
}

#[test]
fn runs_and_sweeps_are_reported_apart_and_gpus_can_be_said_afterwards() {
    let folder = Folder::new();
    let output = sweep(&folder, &format!("{QUICK} --from 50 --to 100 --steps 2 --out results"));
    assert_measured(&output);
    let report =
        |arguments: &str| lowrho(&folder).arg("report").args(arguments.split_whitespace()).output().unwrap();
    let mixed = report("results results/trials/000 --html both.html");
    assert!(
        mixed.status.code() == Some(2) && text(&mixed.stderr).contains("apart"),
        "{}",
        text(&mixed.stderr)
    );
    let both = report("results results --html both.html --svg svg --gpus 4 --price 3");
    assert_eq!(both.status.code(), Some(0), "{}", text(&both.stderr));
    assert!(fs::read_to_string(folder.path().join("both.html")).unwrap().contains("2 sweeps side by side"));
    assert!(folder.path().join("svg/price.svg").is_file());
    let json: Value = serde_json::from_slice(&report("results --gpus 4 --json").stdout).unwrap();
    assert_eq!(json["gpus"]["count"], 4);
    let run: Value = serde_json::from_slice(&report("results/trials/000 --gpus 4 --json").stdout).unwrap();
    let flow = run["throughput"]["output_tokens_per_s"].as_f64().unwrap();
    assert_eq!(run["gpus"]["output_tokens_per_s_per_gpu"].as_f64(), Some(flow / 4.0));
    assert_eq!(text(&report("results --csv").stdout).lines().count(), 3);
    let nowhere = report("results --html no-such-folder/page.html");
    assert_eq!(nowhere.status.code(), Some(2));
    assert!(text(&nowhere.stderr).contains("there is no folder no-such-folder"), "{}", text(&nowhere.stderr));
    assert!(!folder.path().join("no-such-folder").exists());
}
