//! The commands as their user meets them: what they print, write and refuse, and their exit status. Nothing is sent.

use super::{sample, text};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn lowrho(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lowrho"));
    command
        .current_dir(folder)
        .args(arguments)
        .env_remove("OPENAI_API_KEY")
        .env("XDG_CONFIG_HOME", "/nonexistent");
    command.output().expect("the program can be started")
}

fn told(output: &Output) -> (i32, String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

/// A folder with two results directories, `before` and a slower `after`, and a file of k6.
fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("foreign-{name}"));
    let _ = fs::remove_dir_all(&folder);
    let mut summary = sample::steady();
    for name in ["before", "after"] {
        fs::create_dir_all(folder.join(name)).unwrap();
        fs::write(folder.join(name).join("summary.json"), summary.to_json()).unwrap();
        let ttft = &mut summary.total.latency.ttft_ns;
        ttft.p99 = ttft.p99.map(|ns| ns * 2);
        ttft.p99_ci = ttft.p99_ci.map(|ends| ends.map(|ns| ns * 2));
    }
    fs::write(folder.join("k6.json"), text("k6-2.2-export.json")).unwrap();
    folder
}

#[test]
fn compare_tells_files_side_by_side_and_holds_them_to_limits() {
    let folder = folder("compare");
    let (code, out, err) = told(&lowrho(&folder, &["compare", "before", "after/summary.json", "k6.json"]));
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    assert!(
        out.contains("+100.0 % [") && out.contains("worse") && out.contains("http_req_waiting is not ttft"),
        "{out}"
    );

    let gate = |terms: &str| told(&lowrho(&folder, &["compare", "before", "after", "--fail-if", terms]));
    let (code, _, err) = gate("ttft_p99>+5%");
    assert!(code == 99 && err.starts_with("crossed: ttft_p99>+5% of after"), "{code} {err}");
    assert_eq!(gate("ttft_p99>+150%").0, 0);
    assert_eq!(gate("e2e_p99>+5%").0, 0);
    for (terms, why) in
        [("ttft_p50>+5%", "has no interval"), ("ttft>5%", "accepted"), ("head_sd>1%", "accepted")]
    {
        let (code, _, err) = gate(terms);
        assert!(code == 2 && err.contains(why), "{terms}: {code} {err}");
    }
    let (code, _, err) =
        told(&lowrho(&folder, &["compare", "before", "k6.json", "--fail-if", "ttft_p99>5%"]));
    assert!(code == 2 && err.contains("two results of lowrho"), "{err}");
}

#[test]
fn figures_that_no_run_has_are_told_without_a_panic() {
    let folder = folder("absurd");
    let mut summary = sample::steady();
    summary.total.latency.ttft_ns.p90 = Some(i64::MAX);
    summary.total.load.failed = u64::MAX;
    fs::write(folder.join("after/summary.json"), summary.to_json()).unwrap();
    assert_eq!(told(&lowrho(&folder, &["compare", "before", "after"])).0, 0);
    for format in ["vllm", "aiperf", "inference-perf", "k6"] {
        let (code, _, err) = told(&lowrho(
            &folder,
            &["export", "after", "--as", format, "--out", &format!("as-{format}.json")],
        ));
        assert_eq!(code, 0, "{format}: {err}");
    }
}

#[test]
fn compare_tells_repeats_by_the_spread_between_them() {
    let folder = folder("repeats");
    for (name, p99_ms) in [("low", [20_i64, 21, 19]), ("near", [20, 22, 20]), ("high", [30, 32, 29])] {
        for (run, ms) in (1..).zip(p99_ms) {
            let mut summary = sample::steady();
            summary.run.id = format!("{name}-{run}");
            summary.total.latency.ttft_ns.p99 = Some(ms * 1_000_000);
            let dir = folder.join(name).join(run.to_string());
            fs::create_dir_all(&dir).unwrap();
            fs::write(dir.join("summary.json"), summary.to_json()).unwrap();
        }
        fs::write(folder.join(name).join("repeats.json"), "{}").unwrap();
    }
    // A run that was broken off is no repetition.
    let mut broken = sample::steady();
    broken.run.ended = lowrho::report::Ended::Interrupted;
    broken.total.latency.ttft_ns.p99 = Some(500_000_000);
    fs::create_dir_all(folder.join("low/4")).unwrap();
    fs::write(folder.join("low/4/summary.json"), broken.to_json()).unwrap();

    // A run that is there twice, or is lost, would make the spread what it is not.
    fs::create_dir_all(folder.join("twice/1")).unwrap();
    fs::create_dir_all(folder.join("twice/2")).unwrap();
    fs::write(folder.join("twice/repeats.json"), r#"{"runs": [{}, {}, {}]}"#).unwrap();
    for (second, why) in [("high/1", "is there twice"), ("high/2", "3 runs were made, and 2 are there")] {
        fs::copy(folder.join("high/1/summary.json"), folder.join("twice/1/summary.json")).unwrap();
        fs::copy(folder.join(second).join("summary.json"), folder.join("twice/2/summary.json")).unwrap();
        let (code, _, err) = told(&lowrho(&folder, &["compare", "low", "twice"]));
        assert!(code == 2 && err.contains(why), "{code} {err}");
    }
    fs::write(folder.join("twice/2/summary.json"), "{").unwrap();
    let (code, _, err) = told(&lowrho(&folder, &["compare", "low", "twice"]));
    assert!(code == 2 && err.contains("twice/2"), "{code} {err}");

    let gate = |other: &str| told(&lowrho(&folder, &["compare", "low", other, "--fail-if", "ttft_p99>+10%"]));
    let (code, out, err) = gate("high");
    assert!(code == 99 && err.starts_with("crossed: ttft_p99>+10% of high"), "{code} {out} {err}");
    let line = |out: &str| out.lines().find(|line| line.starts_with("ttft p99 ")).unwrap().to_owned();
    assert!(
        out.contains("3 runs") && line(&out).contains("worse") && line(&out).contains("20.0 ms"),
        "{out}"
    );
    let (code, out, err) = gate("near");
    assert!(code == 0 && line(&out).contains("no difference seen"), "{code} {out} {err}");
}

#[test]
fn compare_refuses_what_it_cannot_read_and_writes_a_page() {
    let folder = folder("refused");
    fs::write(folder.join("strange.txt"), "hello").unwrap();
    fs::write(folder.join("bytes"), [0xff, 0xfe, 0x00]).unwrap();
    fs::create_dir(folder.join("empty")).unwrap();
    let (mode, pipe) = (rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR, folder.join("pipe"));
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    for (path, why) in [
        ("pipe", "it is no regular file"),
        ("strange.txt", "wrk 4.1"),
        ("bytes", "UTF-8"),
        ("/dev/zero", "it is a device"),
        ("empty", "summary.json"),
        ("nowhere", "No such file"),
    ] {
        let (code, out, err) = told(&lowrho(&folder, &["compare", "before", path]));
        assert!(
            code == 2 && out.is_empty() && err.contains(path) && err.contains(why),
            "{path}: {code} {err}"
        );
    }
    // An earlier page is drawn again, and an empty file filled; anything else that is there stays.
    fs::write(folder.join("empty.html"), "").unwrap();
    for page in ["page.html", "page.html", "empty.html"] {
        let (code, out, err) = told(&lowrho(&folder, &["compare", "before", "k6.json", "--html", page]));
        assert_eq!((code, out.as_str(), err), (0, "", format!("1 file written: {page}\n")));
        assert!(fs::read_to_string(folder.join(page)).unwrap().contains("<table>"));
    }
    for arguments in [
        ["compare", "--html", "k6.json", "before", "after"],
        ["report", "--html", "k6.json", "before", "after"],
    ] {
        let (code, out, err) = told(&lowrho(&folder, &arguments));
        assert!(code == 2 && out.is_empty() && err.contains("it is there already"), "{code} {err}");
        assert_eq!(fs::read_to_string(folder.join("k6.json")).unwrap(), text("k6-2.2-export.json"));
    }
}

#[test]
fn who_stops_reading_changes_no_exit_status() {
    let folder = folder("gone");
    let code = |arguments: &[&str], stdout: bool, stderr: bool| {
        let gone = |is_gone: bool| {
            let (reader, writer) = std::io::pipe().expect("there are pipes");
            // What is not to be gone leads nowhere, so that nothing waits for a reader.
            if is_gone {
                drop(reader);
                Stdio::from(writer)
            } else {
                Stdio::null()
            }
        };
        let mut command = Command::new(env!("CARGO_BIN_EXE_lowrho"));
        command.current_dir(&folder).args(arguments).env("XDG_CONFIG_HOME", "/nonexistent");
        let status = command.stdout(gone(stdout)).stderr(gone(stderr)).status();
        status.expect("the program can be started").code()
    };
    for (arguments, wanted) in [
        (&["compare", "nowhere", "x"][..], 2),
        (&["compare", "before", "after"], 0),
        (&["compare", "before", "after", "--fail-if", "ttft_p99>+5%"], 99),
        (&["compare", "before", "k6.json", "--fail-if", "ttft_p99>+5%"], 2),
        (&["compare", "before", "--html", "nowhere/page.html"], 2),
        (&["export", "nowhere", "--as", "k6"], 2),
        (&["export", "before", "--as", "k6"], 0),
        (&["import-config", "k6.json"], 2),
        (&["report", "nowhere"], 2),
        (&["report", "before"], 0),
        (&["k6-script", "--sim", "--rate", "5"], 2),
        (&["run", "--rate", "5"], 2),
    ] {
        for (stdout, stderr) in [(true, false), (false, true), (true, true)] {
            assert_eq!(code(arguments, stdout, stderr), Some(wanted), "{arguments:?} {stdout} {stderr}");
        }
    }
}

#[test]
fn compare_reads_what_a_shell_hands_over() {
    let folder = folder("handed-over");
    let script =
        r#"cat k6.json | "$0" compare before /dev/stdin && cat k6.json | "$0" compare before /dev/fd/3 3<&0"#;
    let output = Command::new("sh")
        .current_dir(&folder)
        .args(["-c", script, env!("CARGO_BIN_EXE_lowrho")])
        .output()
        .expect("there is a shell");
    let (code, out, err) = told(&output);
    assert_eq!((code, out.matches("http_req_waiting is not ttft").count()), (0, 2), "{out} {err}");
}

#[test]
fn compare_says_what_of_a_runs_files_is_damaged_or_missing() {
    let folder = folder("damaged");
    let compare = || told(&lowrho(&folder, &["compare", "before", "after"]));
    let (code, out, _) = compare();
    assert!(code == 0 && !out.contains("damaged"), "{out}");
    assert!(out.contains("no interval: before: cannot read before/records.jsonl"), "{out}");
    for name in ["before", "after"] {
        fs::write(folder.join(name).join("records.jsonl"), "").unwrap();
    }
    fs::write(folder.join("after/histograms.hlog"), "#[Histogram log format version 1.3]\ngarbage\n")
        .unwrap();
    let (code, out, _) = compare();
    assert_eq!(code, 0);
    assert!(out.contains("after: after/histograms.hlog:2: it is no interval of histograms"), "{out}");
    assert!(
        out.contains("] no interval: it takes a row of every request (--records all), and there are 0 of"),
        "{out}"
    );
}

#[test]
fn export_writes_what_compare_reads() {
    let folder = folder("export");
    for format in ["vllm", "aiperf", "inference-perf", "k6"] {
        let file = format!("as-{format}.json");
        let (code, _, err) = told(&lowrho(&folder, &["export", "before", "--as", format, "--out", &file]));
        assert_eq!((code, err.as_str()), (0, ""), "{format}");
        assert_eq!(lowrho(&folder, &["compare", "before", &file]).status.code(), Some(0), "{format}");
        // What is there already stays.
        assert_eq!(
            lowrho(&folder, &["export", "before", "--as", format, "--out", &file]).status.code(),
            Some(1)
        );
    }
    let (code, _, err) = told(&lowrho(&folder, &["export", "before", "--as", "jmeter"]));
    assert!(code == 2 && err.contains("genai-perf"), "{err}");
    assert_eq!(lowrho(&folder, &["export", "nowhere", "--as", "k6"]).status.code(), Some(2));
}

#[test]
fn import_config_makes_a_config_that_a_dry_run_takes() {
    let folder = folder("import");
    let command = "vllm bench serve --model m --base-url http://127.0.0.1:9 --request-rate 4 --num-prompts 300 --profile";
    let (code, _, err) = told(&lowrho(&folder, &["import-config", "--out", "vllm.toml", "--", command]));
    assert!(code == 0 && err.contains("1 option without an equivalent"), "{err}");
    let yaml = "load: {type: constant, stages: [{rate: 10, duration: 6}]}\nserver: {base_url: 'http://127.0.0.1:9', model_name: m}\n\
                api: {streaming: true}\n";
    fs::write(folder.join("ip.yml"), yaml).unwrap();
    let (code, out, err) = told(&lowrho(&folder, &["import-config", "ip.yml"]));
    assert_eq!((code, err.as_str()), (0, ""));
    fs::write(folder.join("ip.toml"), out).unwrap();
    for config in ["vllm.toml", "ip.toml"] {
        let (code, out, err) = told(&lowrho(&folder, &["run", "-c", config, "--dry-run"]));
        assert!(code == 0 && out.contains("open loop"), "{config}: {err}");
    }
    for bad in [
        &["import-config", "nowhere.yml"][..],
        &["import-config", "k6.json"],
        &["import-config", "--", "ls", "-l"],
    ] {
        let (code, out, err) = told(&lowrho(&folder, bad));
        assert!(code == 2 && out.is_empty() && err.starts_with("error: "), "{bad:?}: {code} {err}");
    }
}

#[test]
fn k6_script_writes_the_plans_bodies_and_no_secret() {
    let folder = folder("k6");
    let arguments = |more: &[&'static str]| {
        let mut all = vec!["k6-script", "--url", "http://127.0.0.1:9", "--model", "m", "--api-key", "sekret"];
        all.extend(more);
        all
    };
    let asked = [
        "--rate",
        "50",
        "--warmup",
        "1s",
        "--duration",
        "2s",
        "--expect-e2e",
        "200ms",
        "--slo",
        "e2e_end_p99<500ms,ttft_p99<1s",
    ];
    let (code, out, err) = told(&lowrho(&folder, &arguments(&asked)));
    assert_eq!(
        (code, out.trim()),
        (0, "k6 run --no-usage-report --summary-export k6.summary.json k6.js"),
        "{err}"
    );
    assert!(err.contains("poisson") && err.contains("ttft_p99<1s: k6 does not measure it"), "{err}");
    let script = fs::read_to_string(folder.join("k6.js")).unwrap();
    let bodies = fs::read_to_string(folder.join("k6.bodies.json")).unwrap();
    for word in [
        "constant-arrival-rate",
        "\"discardResponseBodies\": true",
        "\"p(99)<=499.999999\"",
        "__ENV.OPENAI_API_KEY",
        "send(50 + ",
    ] {
        assert!(script.contains(word), "{word} in\n{script}");
    }
    // 10 in flight by Little's law, and four deviations of a Poisson number more.
    assert!(script.contains("\"preAllocatedVUs\": 24"), "{script}");
    assert!(!script.contains("sekret") && !bodies.contains("sekret"));
    let bodies: Vec<String> = serde_json::from_str(&bodies).unwrap();
    assert_eq!(bodies.len(), 150);
    for (more, why) in [
        (&["--concurrency", "4"][..], "open loop"),
        (&["--rate", "50"], "cannot write"),
        (&["--rate", "3.14159265", "--script", "other.js"], "whole requests"),
        (&["--rate", "5", "--max-concurrency", "3"], "max-concurrency"),
    ] {
        let (code, out, err) = told(&lowrho(&folder, &arguments(more)));
        assert!(code == 2 && out.is_empty() && err.contains(why), "{more:?}: {code} {err}");
    }
    // What is refused leaves nothing behind.
    assert!(!folder.join("other.bodies.json").exists() && !folder.join("other.js").exists());
}
