//! Hosts that forbid io_uring: the program as a child of a thread whose seccomp filter refuses `io_uring_setup`, as the
//! profiles of container runtimes do.

use crate::program::{Folder, lowrho, start_with, text};
use rustix::io::Errno;
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, apply_filter, compile_from_json};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::env::consts::ARCH;
use std::io::{BufRead, BufReader};
use std::process::{Output, Stdio};
use std::thread;

const EPERM: u32 = 1;
const ENOSYS: u32 = 38;
/// The same number on every architecture (the kernel's asm-generic/unistd.h).
const IO_URING_SETUP: i64 = 425;

/// What `deed` gives in a thread whose children, and itself, are refused io_uring with `errno`.
fn refused<T: Send + 'static>(errno: u32, deed: impl FnOnce() -> T + Send + 'static) -> T {
    let rules = BTreeMap::from([(IO_URING_SETUP, Vec::new())]);
    let here = ARCH.try_into().unwrap();
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, SeccompAction::Errno(errno), here).unwrap();
    under(filter.try_into().unwrap(), deed)
}

/// What `deed` gives in a thread that is held by `filter`, as its children are.
fn under<T: Send + 'static>(filter: BpfProgram, deed: impl FnOnce() -> T + Send + 'static) -> T {
    thread::spawn(move || {
        apply_filter(&filter).unwrap();
        deed()
    })
    .join()
    .unwrap()
}

/// `lowrho run ARGUMENTS` without io_uring.
fn run(errno: u32, arguments: &'static str) -> (Folder, Output) {
    refused(errno, move || {
        let folder = Folder::new();
        let output = start_with(lowrho(&folder).arg("run"), arguments).wait_with_output().unwrap();
        (folder, output)
    })
}

const LOAD: &str = "--sim --rate 200 --duration 1s --output-tokens 3 --sim-ttft 5ms --sim-itl 1ms";

#[test]
fn a_run_takes_epoll_by_itself_says_so_once_and_stamps_as_ever() {
    for errno in [EPERM, ENOSYS] {
        let (folder, output) = run(errno, LOAD);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let (summary, page) = (folder.summary(), text(&output.stdout));
        assert_eq!(summary["client"]["engine"], "epoll");
        assert!(page.contains("engine: epoll"), "{page}");
        let caveats = summary["client"]["caveats"].as_array().unwrap();
        let said = caveats.iter().filter(|caveat| caveat.as_str().unwrap().contains("io_uring")).count();
        assert_eq!(said, 1, "{caveats:?}");
        let (load, stamps) = (&summary["load"], &summary["client"]["stamps"]);
        assert_eq!((load["failed"].as_u64(), &load["begun"]), (Some(0), &load["due"]));
        assert!(load["completed"].as_u64().unwrap() > 100, "{load}");
        assert!(stamps["software"].as_u64() > load["completed"].as_u64(), "{stamps}");
        assert!(folder.rows().iter().all(|row| row["output_tokens"] == 3));
    }
}

#[test]
fn epoll_asked_for_by_name_is_no_caveat_and_a_sweep_takes_it_too() {
    let (folder, output) = run(
        EPERM,
        "--engine epoll --sim --rate 100 --duration 500ms --output-tokens 2 --sim-ttft 5ms --sim-itl 1ms",
    );
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let client = &folder.summary()["client"];
    assert_eq!(client["engine"], "epoll");
    assert!(!client["caveats"].to_string().contains("io_uring"), "{}", client["caveats"]);
    let (folder, output) = refused(EPERM, || {
        let folder = Folder::new();
        let arguments =
            "--sim --from 50 --to 100 --duration 500ms --warmup 100ms --output-tokens 2 --sim-ttft 5ms";
        let output = start_with(lowrho(&folder).arg("sweep"), arguments).wait_with_output().unwrap();
        (folder, output)
    });
    assert!(folder.results().join("sweep.json").is_file(), "{}", text(&output.stderr));
}

#[test]
fn io_uring_asked_for_by_name_is_refused_with_the_remedy_before_anything_is_sent() {
    let (folder, output) = run(EPERM, "--engine uring --sim --rate 100 --duration 500ms");
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    let told = text(&output.stderr);
    for part in ["io_uring", "seccomp", "kernel.io_uring_disabled=0", "--engine epoll"] {
        assert!(told.contains(part), "{part} in {told}");
    }
    assert!(!folder.results().exists());
}

#[test]
fn the_doctor_says_which_engine_would_be_taken_and_why() {
    let doctor = |arguments: &'static str| {
        refused(EPERM, move || {
            let folder = Folder::new();
            lowrho(&folder).arg("doctor").args(arguments.split_whitespace()).output().unwrap()
        })
    };
    let found = doctor("");
    let told = text(&found.stdout);
    assert!(told.contains("epoll is taken, because io_uring cannot be had"), "{told}");
    let asked = doctor("--sim --rate 10 --engine uring");
    let told = text(&asked.stdout);
    assert_eq!(asked.status.code(), Some(1), "{told}");
    assert!(
        told.contains("uring was asked for and cannot be had") && told.contains("--engine epoll"),
        "{told}"
    );
}

#[test]
fn the_simulator_alone_serves_by_epoll_of_itself_and_when_asked() {
    for arguments in ["", "--socket-engine epoll"] {
        let (said, report) = refused(EPERM, move || {
            let folder = Folder::new();
            let mut sim = lowrho(&folder)
                .args(["sim", "--listen", "127.0.0.1:0", "--ttft", "0s"])
                .args(arguments.split_whitespace())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            let mut said = String::new();
            let mut err = BufReader::new(sim.stderr.take().unwrap());
            while !said.contains("simulator at ") {
                assert!(err.read_line(&mut said).unwrap() > 0, "{said}");
            }
            let url = said.split("simulator at ").nth(1).unwrap().split_whitespace().next().unwrap();
            let arguments = format!("--url {url} --rate 50 --duration 500ms --output-tokens 2");
            let run = start_with(lowrho(&folder).arg("run"), &arguments).wait_with_output().unwrap();
            assert_eq!(run.status.code(), Some(0), "{}", text(&run.stderr));
            assert_eq!(folder.summary()["load"]["failed"], 0);
            let id = rustix::process::Pid::from_child(&sim);
            rustix::process::kill_process(id, rustix::process::Signal::INT).unwrap();
            (said, sim.wait_with_output().unwrap())
        });
        assert_eq!(report.status.code(), Some(0));
        assert!(text(&report.stdout).contains("simulator: "), "{}", text(&report.stdout));
        assert_eq!(said.contains("io_uring cannot be had"), arguments.is_empty(), "{said}");
    }
    let refused = refused(EPERM, || {
        let folder = Folder::new();
        lowrho(&folder).args(["sim", "--socket-engine", "uring"]).output().unwrap()
    });
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("--socket-engine epoll"), "{}", text(&refused.stderr));
}

#[test]
fn under_the_profile_of_the_docs_the_program_has_io_uring_and_the_host_is_left_alone() {
    let profile: Value =
        serde_json::from_str(include_str!("../../docs/containers/seccomp-io-uring.json")).unwrap();
    let [denied] = profile["syscalls"].as_array().unwrap().as_slice() else { panic!("one list") };
    assert_eq!(
        (&profile["defaultAction"], &denied["action"]),
        (&"SCMP_ACT_ALLOW".into(), &"SCMP_ACT_ERRNO".into())
    );
    // The same in the words of the library that applies it here.
    let names = denied["names"].as_array().unwrap().iter();
    let filter = json!({"main": {
        "mismatch_action": "allow",
        "match_action": {"errno": denied["errnoRet"]},
        "filter": names.map(|name| json!({"syscall": name})).collect::<Vec<_>>(),
    }});
    let mut filters = compile_from_json(filter.to_string().as_bytes(), ARCH.try_into().unwrap()).unwrap();
    let (summary, renamed) = under(filters.remove("main").unwrap(), || {
        let folder = Folder::new();
        let run = start_with(lowrho(&folder).arg("run"), &format!("{LOAD} --engine uring"));
        let run = run.wait_with_output().unwrap();
        assert_eq!(run.status.code(), Some(0), "{}", text(&run.stderr));
        let name = rustix::system::uname();
        (folder.summary(), rustix::system::sethostname(name.nodename().to_bytes()))
    });
    assert_eq!((&summary["client"]["engine"], &summary["load"]["failed"]), (&"uring".into(), &0.into()));
    assert_eq!(renamed, Err(Errno::PERM), "even by root");
}
