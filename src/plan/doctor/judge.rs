//! Facts of a machine to findings, one function for each thing that is looked at.
//!
//! It must not read anything: facts recorded on one machine are judged alike on any other.

use super::{Finding, Health, Machine};
use crate::plan::expected::{EASY_RHO, EVENT_COST};
use crate::plan::{Engine, Plan, SHARD_LOCKED_BYTES, format_cpus};

/// Deferred task running and multishot receive with control messages came with it.
const OLDEST_KERNEL: (u32, u32) = (6, 1);
/// Gathering and waiting in one call.
const BEST_KERNEL: (u32, u32) = (6, 12);
/// glommio refuses to start below this limit of locked memory, whatever it needs.
const LEAST_LOCKED_BYTES: u64 = 512 * 1024;
/// Files beside connections: rings, results, the program's own.
const OTHER_FILES: u64 = 64;
/// Fewer connections than this, and a run of a few hundred requests/s to a slow server is limited by it.
const FEW: u64 = 4_096;

/// Looks at `machine`, for `plan` where there is one.
#[must_use]
pub fn judge(machine: &Machine, plan: Option<&Plan>) -> Vec<Finding> {
    // Without a plan any CPU could be a shard's.
    let shards = plan.map_or(machine.cpus.as_slice(), |plan| plan.client.cpus.as_slice());
    vec![
        kernel(machine, plan),
        io_uring(machine, plan),
        container(machine, plan),
        engine(machine, plan),
        cpus(machine, plan),
        rho(machine, plan),
        files(machine, plan),
        ports(machine, plan),
        memlock(machine, plan),
        quota(machine, plan),
        governor(machine, shards),
        siblings(machine, shards, plan.is_some()),
        isolation(machine, shards),
        interrupts(machine, shards, plan.is_some()),
        clocksource(machine),
    ]
}

fn finding(
    name: &'static str,
    health: Health,
    words: impl Into<String>,
    remedy: impl Into<String>,
) -> Finding {
    Finding { name, health, words: words.into(), remedy: remedy.into() }
}

fn fine(name: &'static str, words: impl Into<String>) -> Finding {
    finding(name, Health::Ok, words, "")
}

/// How bad it is that io_uring cannot be had: a plan that asks for no engine by name takes the other.
fn without_io_uring(plan: Option<&Plan>) -> Health {
    match plan.map(|plan| &plan.client) {
        Some(client) if client.engine_by_name && client.engine == Engine::Uring => Health::Fail,
        Some(client) if client.engine_by_name => Health::Ok,
        _ => Health::Warn,
    }
}

fn kernel(machine: &Machine, plan: Option<&Plan>) -> Finding {
    let words = format!("Linux {}", machine.kernel);
    match machine.kernel_version {
        None => finding("kernel", Health::Unknown, words, "Linux 6.1 or later is needed for io_uring"),
        Some(version) if version < OLDEST_KERNEL => {
            let remedy = "run on a host with Linux 6.1 or later to have io_uring";
            finding("kernel", without_io_uring(plan), words, remedy)
        }
        Some(_) => fine("kernel", words),
    }
}

fn io_uring(machine: &Machine, plan: Option<&Plan>) -> Finding {
    let name = "io_uring";
    if let Some(why) = &machine.io_uring_forbidden {
        return finding(name, without_io_uring(plan), why.clone(), "sysctl kernel.io_uring_disabled=0");
    }
    match &machine.ring {
        Err(why) => {
            let (words, remedy) = why.split_once(": ").unwrap_or((why.as_str(), ""));
            finding(name, without_io_uring(plan), words, remedy)
        }
        Ok(true) => fine(name, "a shard's ring can be had; one call gathers and waits"),
        Ok(false) => finding(
            name,
            Health::Ok,
            "a shard's ring can be had; gathering and waiting take two calls",
            format!("Linux {}.{} or later costs less CPU", BEST_KERNEL.0, BEST_KERNEL.1),
        ),
    }
}

/// Which engine a run takes, and why.
fn engine(machine: &Machine, plan: Option<&Plan>) -> Finding {
    let name = "engine";
    let by_name = plan.map(|plan| &plan.client).filter(|client| client.engine_by_name);
    let refused = [kernel(machine, None), io_uring(machine, None), memlock(machine, plan)];
    let refused = refused.into_iter().find(|finding| finding.health >= Health::Warn);
    match (by_name.map(|client| client.engine), refused) {
        (Some(Engine::Epoll), _) => fine(name, "epoll, as asked"),
        (Some(Engine::Uring), None) => fine(name, "uring, as asked"),
        (Some(Engine::Uring), Some(why)) => finding(
            name,
            Health::Fail,
            format!("uring was asked for and cannot be had ({}: {})", why.name, why.words),
            "--engine epoll does without io_uring",
        ),
        (None, None) => fine(name, "uring is taken: io_uring can be had"),
        (None, Some(why)) => fine(
            name,
            format!("epoll is taken, because io_uring cannot be had ({}: {})", why.name, why.words),
        ),
    }
}

fn container(machine: &Machine, plan: Option<&Plan>) -> Finding {
    let name = "container";
    let inside = match &machine.container {
        Some(kind) => format!("this seems to be a {kind} container"),
        None => "no container is seen".into(),
    };
    match machine.seccomp {
        None => finding(
            name,
            Health::Unknown,
            format!("{inside}; whether a seccomp filter holds cannot be read"),
            "",
        ),
        Some(0) => fine(name, format!("{inside}; no seccomp filter")),
        Some(_) if machine.ring.is_ok() => {
            fine(name, format!("{inside}; a seccomp filter holds, and lets io_uring through"))
        }
        Some(_) => finding(
            name,
            without_io_uring(plan),
            format!("{inside}; a seccomp filter holds, and io_uring cannot be had"),
            "allow io_uring_setup, io_uring_enter and io_uring_register (docker, podman: --security-opt seccomp=unconfined, \
             or a profile that lists them)",
        ),
    }
}

/// Whether every shard has a CPU.
fn cpus(machine: &Machine, plan: Option<&Plan>) -> Finding {
    let name = "cpus";
    let words = format!("this process may run on cpus {}", format_cpus(&machine.cpus));
    let wanted = plan.map_or(&[][..], |plan| plan.client.cpus.as_slice());
    let missing: Vec<usize> = wanted.iter().copied().filter(|cpu| !machine.cpus.contains(cpu)).collect();
    if missing.is_empty() {
        return fine(name, words);
    }
    let words = if wanted.len() > machine.cpus.len() {
        format!("{words}, and {} shards need one each", wanted.len())
    } else {
        format!("{words}, and shards are asked for on cpus {}", format_cpus(&missing))
    };
    let remedy =
        "fewer --shards, other --cpus, more machines, or a wider affinity (taskset -p, cpuset, container)";
    finding(name, Health::Fail, words, remedy)
}

fn rho(machine: &Machine, plan: Option<&Plan>) -> Finding {
    let name = "expected rho";
    let Some(plan) = plan else {
        let per_shard = EASY_RHO / EVENT_COST.as_s_f64();
        return fine(
            name,
            format!(
                "no load was given; a shard has a rho of {EASY_RHO} at about {per_shard:.0} streamed events/s (by a guess of what \
                 one costs; lowrho floor measures it), and there are {} CPUs",
                machine.cpus.len()
            ),
        );
    };
    let (rho, shards) = (plan.client.expected_rho, plan.client.cpus.len());
    let words = format!(
        "{rho:.2} of each of {shards} shards at {:.0} events/s, {}",
        plan.client.expected_events_per_s, plan.client.cost
    );
    let health = match rho {
        rho if rho > plan.thresholds.rho_invalid => Health::Fail,
        rho if rho > plan.thresholds.rho_valid => Health::Warn,
        _ => Health::Ok,
    };
    let remedy = if health == Health::Ok {
        ""
    } else {
        "more shards (--shards, --cpus), more machines, or a lower rate"
    };
    finding(name, health, words, remedy)
}

fn files(machine: &Machine, plan: Option<&Plan>) -> Finding {
    let (soft, hard) = machine.files;
    let words = format!("{hard} files may be open (soft limit {soft}, raised by itself)");
    let needed = plan
        .map(|plan| u64::try_from(plan.client.connections).unwrap_or(u64::MAX).saturating_add(OTHER_FILES));
    let health = match needed {
        Some(needed) if hard < needed => Health::Fail,
        None if hard < FEW => Health::Warn,
        _ => Health::Ok,
    };
    let remedy = if health == Health::Ok {
        ""
    } else {
        "raise the hard limit (ulimit -Hn, LimitNOFILE=, docker --ulimit nofile=)"
    };
    finding("files", health, words, remedy)
}

fn ports(machine: &Machine, plan: Option<&Plan>) -> Finding {
    let ports = machine.source_ports;
    let words = format!("{ports} source ports towards one address of a server");
    let needed = plan.map_or(FEW, |plan| u64::try_from(plan.client.connections).unwrap_or(u64::MAX));
    let health = if u64::from(ports) < needed { Health::Warn } else { Health::Ok };
    let remedy = if health == Health::Ok { "" } else { "widen net.ipv4.ip_local_port_range" };
    finding("ports", health, words, remedy)
}

fn memlock(machine: &Machine, plan: Option<&Plan>) -> Finding {
    let name = "locked memory";
    let Some(limit) = machine.memlock_bytes else { return fine(name, "no limit holds") };
    let rings =
        plan.map_or(1, |plan| plan.client.cpus.len() + plan.sim.as_ref().map_or(0, |sim| sim.cpus.len()));
    let needed =
        (u64::try_from(rings).unwrap_or(u64::MAX).saturating_mul(SHARD_LOCKED_BYTES)).max(LEAST_LOCKED_BYTES);
    let words =
        format!("{} KiB may be locked, enough for {} shards", limit / 1024, limit / SHARD_LOCKED_BYTES);
    if limit < needed {
        let remedy = "raise it (ulimit -l unlimited, LimitMEMLOCK=infinity, docker run --ulimit memlock=-1), or take fewer --shards";
        let words = format!("{} KiB may be locked, and {rings} shards need {}", limit / 1024, needed / 1024);
        return finding(name, without_io_uring(plan), words, remedy);
    }
    fine(name, words)
}

fn quota(machine: &Machine, plan: Option<&Plan>) -> Finding {
    let name = "cgroup quota";
    let Some(quota) = machine.cpu_quota else { return fine(name, "no quota of CPU time") };
    let threads = plan.map_or(machine.cpus.len(), |plan| {
        plan.client.cpus.len() + plan.sim.as_ref().map_or(0, |sim| sim.cpus.len())
    });
    let words = format!("control groups allow {quota:.2} CPUs' worth of time, for {threads} CPUs");
    if quota < super::super::expected::whole_f64(threads) {
        let remedy = "pinned threads are stopped when it is used up: raise it (docker run --cpus, cpu.max), or take fewer shards";
        return finding(name, Health::Warn, words, remedy);
    }
    fine(name, words)
}

fn governor(machine: &Machine, shards: &[usize]) -> Finding {
    let name = "governor";
    let of_shards: Vec<&(usize, String)> =
        machine.governors.iter().filter(|(cpu, _)| shards.contains(cpu)).collect();
    if of_shards.is_empty() {
        return finding(name, Health::Unknown, "no frequency governor is shown here (usual in a guest)", "");
    }
    let slow: Vec<usize> =
        of_shards.iter().filter(|(_, governor)| governor != "performance").map(|(cpu, _)| *cpu).collect();
    match slow.first() {
        None => fine(name, "performance"),
        Some(first) => {
            let (_, governor) = of_shards.iter().find(|(cpu, _)| cpu == first).expect("found just now");
            finding(
                name,
                Health::Warn,
                format!(
                    "{governor} on cpus {}: a core that clocks down and up again is late",
                    format_cpus(&slow)
                ),
                "cpupower frequency-set -g performance",
            )
        }
    }
}

fn siblings(machine: &Machine, shards: &[usize], planned: bool) -> Finding {
    let name = "SMT siblings";
    let Some(cores) = &machine.siblings else {
        return finding(name, Health::Unknown, "which CPUs share a core cannot be read", "");
    };
    let crowded = cores.iter().find(|core| core.iter().filter(|cpu| shards.contains(cpu)).count() > 1);
    match crowded {
        None => fine(name, "no two of the CPUs looked at share a core"),
        Some(core) => finding(
            name,
            Health::Warn,
            format!("cpus {} are threads of one core: each slows the other down", format_cpus(core)),
            if planned {
                "use --cpus to put shards on cores of their own"
            } else {
                "name one CPU of each core (--cpus)"
            },
        ),
    }
}

fn isolation(machine: &Machine, shards: &[usize]) -> Finding {
    let name = "isolated cpus";
    match &machine.isolated {
        None => finding(name, Health::Unknown, "whether any CPU is isolated cannot be read", ""),
        Some(isolated) if isolated.is_empty() => finding(
            name,
            Health::Ok,
            "none: others may run on the shards' CPUs",
            "isolcpus= or cpusets keep them off, where it matters",
        ),
        Some(isolated) if shards.iter().all(|cpu| isolated.contains(cpu)) => {
            fine(name, format!("{}, the shards' among them", format_cpus(isolated)))
        }
        Some(isolated) => finding(
            name,
            Health::Ok,
            format!("{}, and shards elsewhere", format_cpus(isolated)),
            format!("--cpus {} would keep others off the shards", format_cpus(isolated)),
        ),
    }
}

fn interrupts(machine: &Machine, shards: &[usize], planned: bool) -> Finding {
    let name = "IRQ affinity";
    let Some(interface) = &machine.interface else {
        return finding(name, Health::Unknown, "the way to the target is not known", "");
    };
    if interface == "lo" {
        return fine(name, "loopback has no interrupts");
    }
    let Some(cpus) = &machine.interrupt_cpus else {
        return finding(
            name,
            Health::Unknown,
            format!("who takes the interrupts of {interface} cannot be read"),
            "",
        );
    };
    let words = format!("{interface} interrupts cpus {}", format_cpus(cpus));
    let free = machine.cpus.iter().any(|cpu| !cpus.contains(cpu));
    if planned && free && shards.iter().any(|cpu| cpus.contains(cpu)) {
        return finding(
            name,
            Health::Warn,
            format!("{words}, and a shard is among them"),
            "use --cpus to put shards elsewhere, or move the interrupts (/proc/irq/N/smp_affinity_list)",
        );
    }
    let remedy = if free {
        ""
    } else {
        "all CPUs are interrupted: gather the interrupts on one (smp_affinity_list), and shards on others"
    };
    finding(name, Health::Ok, words, remedy)
}

fn clocksource(machine: &Machine) -> Finding {
    let name = "clocksource";
    /// Those that are read without a system call.
    const QUICK: [&str; 4] = ["tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page"];
    match &machine.clocksource {
        None => finding(name, Health::Unknown, "it cannot be read", ""),
        Some(source) if QUICK.contains(&source.as_str()) => fine(name, source.clone()),
        Some(source) => finding(
            name,
            Health::Warn,
            format!("{source}: each reading of the clock is a system call or slower"),
            "use tsc where it is stable (/sys/devices/system/clocksource/clocksource0/current_clocksource, clocksource=tsc)",
        ),
    }
}

#[cfg(test)]
mod tests;
