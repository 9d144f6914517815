//! Recorded machines, judged.

use super::*;
use crate::plan::{Cost, Limits, Raw};

/// A 2-core guest without a governor, as read there.
fn guest() -> Machine {
    Machine {
        kernel: "6.18.44".into(),
        kernel_version: Some((6, 18)),
        ring: Ok(true),
        io_uring_forbidden: None,
        container: None,
        seccomp: Some(0),
        cpus: vec![0, 1],
        cpu_quota: None,
        governors: Vec::new(),
        siblings: Some(Vec::new()),
        isolated: Some(Vec::new()),
        interface: Some("eth0".into()),
        interrupt_cpus: Some(vec![0, 1]),
        clocksource: Some("tsc".into()),
        files: (1_024, 20_000),
        source_ports: 28_232,
        memlock_bytes: Some(8 << 20),
    }
}

/// A desktop with hyper-threading in its power-saving default.
fn desktop() -> Machine {
    Machine {
        kernel: "6.8.0-45-generic".into(),
        kernel_version: Some((6, 8)),
        ring: Ok(false),
        cpus: (0..8).collect(),
        governors: (0..8).map(|cpu| (cpu, "powersave".into())).collect(),
        siblings: Some((0..4).map(|core| vec![core, core + 4]).collect()),
        isolated: Some(vec![2, 3]),
        interrupt_cpus: Some(vec![0]),
        clocksource: Some("hpet".into()),
        files: (1_024, 1_048_576),
        memlock_bytes: None,
        ..guest()
    }
}

/// A container of Docker's default profile on an old host.
fn docker() -> Machine {
    Machine {
        kernel: "5.15.0".into(),
        kernel_version: Some((5, 15)),
        ring: Err("io_uring is forbidden here: set sysctl kernel.io_uring_disabled=0".into()),
        container: Some("docker".into()),
        seccomp: Some(2),
        cpu_quota: Some(1.5),
        memlock_bytes: Some(64 << 10),
        files: (1_024, 1_024),
        ..guest()
    }
}

fn plan(toml: &str, machine: &Machine) -> Plan {
    let limits = Limits {
        cpus: machine.cpus.clone(),
        cpu_quota: machine.cpu_quota,
        files: machine.files.1,
        source_ports: machine.source_ports,
        memlock_bytes: None,
        kernel: None,
        io_uring_forbidden: None,
        ring_refused: None,
        cost: Cost::default(),
    };
    let asked = format!("[target]\nurl = \"http://192.0.2.1\"\n{toml}");
    Plan::new(Raw::from_toml(&asked).unwrap(), &limits).unwrap()
}

/// Everything that is not as it should be.
fn wrong(machine: &Machine, plan: Option<&Plan>) -> Vec<(&'static str, Health)> {
    let findings = judge(machine, plan);
    assert!(
        findings.iter().all(|finding| finding.health < Health::Warn || !finding.remedy.is_empty()),
        "{findings:?}"
    );
    findings
        .iter()
        .filter(|finding| finding.health > Health::Ok)
        .map(|finding| (finding.name, finding.health))
        .collect()
}

#[test]
fn a_usual_guest_is_well_but_for_what_a_guest_cannot_see() {
    assert_eq!(wrong(&guest(), None), [("governor", Health::Unknown)]);
}

#[test]
fn a_desktop_in_its_defaults_is_warned_of_its_clock_its_governor_and_its_siblings() {
    let all = [("governor", Health::Warn), ("SMT siblings", Health::Warn), ("clocksource", Health::Warn)];
    assert_eq!(wrong(&desktop(), None), all);
    let apart = plan("[load]\nrate = 1000\n[client]\ncpus = \"1,2\"\nshards = 2\n", &desktop());
    assert_eq!(wrong(&desktop(), Some(&apart)), [all[0], all[2]], "two cores are no siblings");
    let together = plan("[load]\nrate = 1000\n[client]\ncpus = \"0,4\"\nshards = 2\n", &desktop());
    let with_interrupts = [all[0], all[1], ("IRQ affinity", Health::Warn), all[2]];
    assert_eq!(wrong(&desktop(), Some(&together)), with_interrupts);
}

#[test]
fn a_container_that_forbids_io_uring_is_warned_with_every_remedy_and_driven_by_epoll() {
    let with = |engine: &str| {
        let asked = format!("[load]\nrate = 100\n[client]\nengine = \"{engine}\"\n");
        let mut findings = judge(&docker(), Some(&plan(&asked, &docker())));
        findings.retain(|finding| {
            ["kernel", "io_uring", "container", "engine", "locked memory"].contains(&finding.name)
        });
        findings
    };
    for (engine, health, of_engine, words) in [
        (
            "auto",
            Health::Warn,
            Health::Ok,
            "epoll is taken, because io_uring cannot be had (kernel: Linux 5.15.0)",
        ),
        ("uring", Health::Fail, Health::Fail, "uring was asked for and cannot be had (kernel: Linux 5.15.0)"),
        ("epoll", Health::Ok, Health::Ok, "epoll, as asked"),
    ] {
        for finding in with(engine) {
            if finding.name == "engine" {
                assert_eq!((finding.health, finding.words.as_str()), (of_engine, words));
            } else {
                assert_eq!(finding.health, health, "{engine}: {finding:?}");
                assert!(!finding.remedy.is_empty(), "{finding:?}");
            }
        }
    }
    let engine = judge(&guest(), None).into_iter().find(|finding| finding.name == "engine").unwrap();
    assert_eq!(engine.words, "uring is taken: io_uring can be had");
    let found = wrong(&docker(), None);
    assert!(found.iter().all(|(_, health)| *health < Health::Fail), "a run works: {found:?}");
    let names: Vec<_> = found.iter().map(|(name, _)| *name).collect();
    for name in ["kernel", "io_uring", "container", "files", "locked memory", "cgroup quota"] {
        assert!(names.contains(&name), "{name} in {names:?}");
    }
    let findings = judge(&docker(), None);
    let io_uring = findings.iter().find(|finding| finding.name == "io_uring").unwrap();
    assert_eq!(
        (io_uring.words.as_str(), io_uring.remedy.as_str()),
        ("io_uring is forbidden here", "set sysctl kernel.io_uring_disabled=0")
    );
}

#[test]
fn what_cannot_be_read_is_unknown_and_never_ok() {
    let blind = Machine {
        kernel_version: None,
        seccomp: None,
        siblings: None,
        isolated: None,
        interface: None,
        interrupt_cpus: None,
        clocksource: None,
        ..guest()
    };
    let unknown =
        ["kernel", "container", "governor", "SMT siblings", "isolated cpus", "IRQ affinity", "clocksource"];
    assert_eq!(wrong(&blind, None), unknown.map(|name| (name, Health::Unknown)));
    let no_interrupts = Machine { interrupt_cpus: None, ..guest() };
    assert!(wrong(&no_interrupts, None).contains(&("IRQ affinity", Health::Unknown)));
}

#[test]
fn the_plans_rho_is_held_to_its_own_thresholds() {
    let rho = |rate: u32| {
        let plan = plan(&format!("[load]\nrate = {rate}\n[client]\nshards = 1\n"), &guest());
        judge(&guest(), Some(&plan))
            .into_iter()
            .find(|finding| finding.name == "expected rho")
            .unwrap()
            .health
    };
    assert_eq!([1_000, 5_000, 8_000].map(rho), [Health::Ok, Health::Warn, Health::Fail]);
}

#[test]
fn shards_without_a_cpu_are_found() {
    let plan = plan("[load]\nrate = 100\n[client]\nshards = 4\n", &desktop());
    let cpus = |machine: &Machine| {
        let found = judge(machine, Some(&plan)).into_iter().find(|finding| finding.name == "cpus");
        found.unwrap().health
    };
    assert_eq!([&desktop(), &guest()].map(cpus), [Health::Ok, Health::Fail]);
}

#[test]
fn a_switch_of_the_kernel_is_told_before_what_follows_from_it() {
    let off = Machine { io_uring_forbidden: Some("kernel.io_uring_disabled is 2".into()), ..docker() };
    let findings = judge(&off, None);
    assert_eq!(findings[1].remedy, "sysctl kernel.io_uring_disabled=0");
}
