//! The client's verdict: the word, why, what to do about it, and the shards' own audit.

use super::page::{Look, Page};
use super::table::Table;
use super::verdict::client_look as look;
use crate::report::figures::{UNDEFINED, count, maybe_time, percent, plain, time, whole_rate};
use crate::report::{Check, Client, Good, LostTurns, Reason, ShardAudit, Surroundings, Tls, Unit, Wait};
use std::fmt;

/// Shards shown without being asked for more, busiest first.
const SHOWN: usize = 4;

pub(super) fn write(client: &Client, verbose: bool, page: &mut Page<'_>) -> fmt::Result {
    page.blank()?;
    let bound = |name: &str, p99: Option<i64>| p99.map(|ns| format!("{name} <= {}", time(ns)));
    let bounds = [bound("TTFT", client.bias.ttft_ns.p99), bound("ITL", client.bias.itl_ns.p99)];
    let bounds: Vec<String> = bounds.into_iter().flatten().collect();
    let bias =
        if bounds.is_empty() { String::new() } else { format!(" (bias of p99: {})", bounds.join(", ")) };
    let verdict = client.verdict.name().to_uppercase();
    page.paragraph(look(client.verdict), "Client  ", &format!("{verdict}{bias}"))?;
    reasons(&client.reasons, page)?;
    for caveat in &client.caveats {
        page.paragraph(Look::Plain, "  note: ", caveat)?;
    }
    if let Some(tls) = &client.tls {
        page.paragraph(Look::Dim, "  TLS: ", &secured(tls))?;
    }
    let checks: Vec<String> = client.checks.iter().map(check).collect();
    page.list(Look::Dim, "  checks: ", &checks)?;
    shards(client, verbose, page)?;
    if verbose {
        jobs(client, page)?;
    }
    Ok(())
}

/// Each reason with what to do about it.
pub(super) fn reasons(reasons: &[Reason], page: &mut Page<'_>) -> fmt::Result {
    for reason in reasons {
        page.paragraph(look(reason.verdict), &format!("  {}: ", reason.verdict.name()), &reason.words)?;
        if !reason.remedy.is_empty() {
            page.paragraph(Look::Plain, "    remedy: ", &reason.remedy)?;
        }
    }
    Ok(())
}

/// How servers were spoken to over TLS.
fn secured(tls: &Tls) -> String {
    let spoken: Vec<&str> = tls.spoken.keys().map(String::as_str).collect();
    let failed = if tls.failed > 0 { format!(", {} failed", count(tls.failed)) } else { String::new() };
    format!(
        "{}; {} handshakes ({} resumed{failed}); servers vouched for by {}",
        if spoken.is_empty() { "nothing was agreed on".into() } else { spoken.join(", ") },
        count(tls.handshakes),
        count(tls.resumed),
        tls.trust,
    )
}

/// One check with its threshold: `rho_busy 21.2 % (<= 50.0 %)`.
fn check(check: &Check) -> String {
    let figure = |value: Option<f64>| match (check.unit, value) {
        (_, None) => UNDEFINED.into(),
        (Unit::Ratio, value) => percent(value),
        (Unit::PerS, value) => whole_rate(value),
        (Unit::Ns, Some(ns)) => time(whole(ns)),
    };
    let sign = match check.good {
        Good::AtMost => "<=",
        Good::AtLeast => ">=",
    };
    format!("{} {} ({sign} {})", check.name, figure(check.value), figure(check.valid))
}

#[expect(clippy::cast_possible_truncation, reason = "saturates, for the eye only")]
const fn whole(value: f64) -> i64 {
    value as i64
}

fn shards(client: &Client, verbose: bool, page: &mut Page<'_>) -> fmt::Result {
    if client.shards.is_empty() {
        return Ok(());
    }
    let mut busiest: Vec<&ShardAudit> = client.shards.iter().collect();
    if !verbose {
        busiest.sort_by(|a, b| b.rho_busy.unwrap_or(0.0).total_cmp(&a.rho_busy.unwrap_or(0.0)));
        busiest.truncate(SHOWN);
    }
    let mut table = Table::new(&[
        ("  Shard", 0),
        ("cpu", 5),
        ("rho", 0),
        ("calc", 2),
        ("jobs/s", 3),
        ("E[S]", 1),
        ("wait", 0),
        ("hold", 4),
        ("Lindley", 1),
        ("P-K", 1),
        ("batch", 2),
        ("late p99.9", 0),
        ("coalesced", 4),
    ]);
    for shard in busiest {
        table.row(row(shard));
    }
    page.table(&table)?;
    let hidden = client.shards.len().saturating_sub(SHOWN);
    if !verbose && hidden > 0 {
        page.line(Look::Dim, &format!("  and {hidden} less busy"))?;
    }
    if client
        .shards
        .iter()
        .any(|shard| !holds(&shard.waits.pollaczek_khinchine) || !holds(&shard.waits.batch))
    {
        page.paragraph(
            Look::Dim,
            "  ! ",
            "the formula does not hold here: over 2 x off Lindley's recursion",
        )?;
    }
    for shard in &client.shards {
        if let Some(failed) = &shard.failed {
            page.paragraph(Look::Bad, &format!("  shard {} failed: ", shard.shard), failed)?;
        }
    }
    Ok(())
}

fn holds(wait: &Wait) -> bool {
    wait.holds != Some(false)
}

#[expect(clippy::cast_precision_loss, reason = "a share for the eye")]
fn row(shard: &ShardAudit) -> Vec<String> {
    let waits = &shard.waits;
    let formula = |wait: &Wait| match wait.mean_ns {
        None => UNDEFINED.into(),
        Some(ns) if holds(wait) => time(ns),
        Some(ns) => format!("!{}", time(ns)),
    };
    let coalesced = (shard.reads > 0).then(|| shard.coalesced_reads as f64 / shard.reads as f64);
    vec![
        format!("  {}", shard.shard),
        shard.cpu.map_or(UNDEFINED.into(), |cpu| cpu.to_string()),
        plain(shard.rho_busy),
        plain(shard.rho_calc),
        whole_rate(shard.lambda_per_s),
        maybe_time(shard.service_mean_ns),
        maybe_time(waits.observed_ns),
        maybe_time(waits.hold_ns),
        maybe_time(waits.lindley_ns),
        formula(&waits.pollaczek_khinchine),
        formula(&waits.batch),
        maybe_time(shard.lateness_ns.p99_9),
        percent(coalesced),
    ]
}

/// Jobs by class, and what went wrong: for those who ask for more.
fn jobs(client: &Client, page: &mut Page<'_>) -> fmt::Result {
    let mut table = Table::new(&[
        ("  Jobs", 0),
        ("count", 0),
        ("E[S]", 0),
        ("sd", 2),
        ("max", 1),
        ("wait", 0),
        ("hold", 1),
    ]);
    for shard in &client.shards {
        for job in &shard.jobs {
            table.row(vec![
                format!("  {} {}", shard.shard, job.class),
                count(job.count),
                maybe_time(job.service_mean_ns),
                maybe_time(job.service_sd_ns),
                maybe_time(job.service_max_ns),
                maybe_time(job.wait_mean_ns),
                maybe_time(job.hold_mean_ns),
            ]);
        }
    }
    page.table(&table)?;
    for shard in &client.shards {
        page.paragraph(Look::Plain, &format!("  shard {}: ", shard.shard), &account(shard))?;
    }
    page.paragraph(Look::Plain, "  host: ", &surroundings(&client.surroundings))
}

/// What one shard went through, and what its ring counted.
fn account(shard: &ShardAudit) -> String {
    let lost = |lost: &LostTurns| {
        format!("{} turns ({}, {} at most)", count(lost.turns), time(lost.lost_ns), time(lost.longest_ns))
    };
    let [fine, middle, coarse] = shard.dispersion.map(plain);
    let late = &shard.lateness_ns;
    let mut text = format!(
        "{} jobs in interrupted turns: {} preempted, {} off the CPU; waits beyond hold and Lindley {} a job, beside a run \
         delay of {} and {} stolen; {} involuntary switches, {} voluntary; bursts {} jobs on average, {} at most; \
         dispersion {fine} / {middle} / {coarse} at 0.1, 1, 10 ms; lateness p50 {}, p99 {}, p99.9 {}, max {}; {} reads \
         ({} coalesced, {} without stamp), {} buffer shortages, {} queue overflows, {} rows dropped, {} negative spans",
        count(shard.interruptions),
        lost(&shard.preempted),
        lost(&shard.off_cpu),
        maybe_time(shard.waits.unexplained_ns),
        read_time(shard.run_delay_ns),
        read_time(shard.steal_ns),
        read_count(shard.involuntary_switches),
        read_count(shard.voluntary_switches),
        plain(shard.burst_mean),
        count(shard.burst_max),
        maybe_time(late.p50),
        maybe_time(late.p99),
        maybe_time(late.p99_9),
        maybe_time(late.max),
        count(shard.reads),
        count(shard.coalesced_reads),
        count(shard.lost_stamps),
        count(shard.buffer_shortages),
        count(shard.queue_overflows),
        count(shard.rows_dropped),
        count(shard.negative_spans),
    );
    for neighbour in &shard.neighbours {
        let cpu = shard.cpu.map_or_else(|| UNDEFINED.into(), |cpu| cpu.to_string());
        text.push_str(&format!(
            "; {} (pid {}) used {} of cpu {cpu}",
            neighbour.name,
            neighbour.pid,
            time(neighbour.cpu_time_ns)
        ));
    }
    text
}

fn surroundings(host: &Surroundings) -> String {
    let stamping = host.stamping_cpus.as_ref().map_or_else(String::new, |cpus| {
        let cpus: Vec<String> = cpus.iter().map(u64::to_string).collect();
        format!(", {} of it from the cpus that stamp ({})", read_time(host.stamping_steal_ns), cpus.join(","))
    });
    format!(
        "interface {}, interrupt moderation {}; {} stolen from all cpus{stamping}; softnet: {} packets dropped, {} squeezes; {} clock steps; \
         TCP: {} connections, {} segments sent again, least round trip {}",
        host.interface.as_deref().unwrap_or(NOT_READ),
        read_time(host.interrupt_moderation_ns),
        read_time(host.steal_ns),
        read_count(host.softnet_dropped),
        read_count(host.softnet_squeezed),
        count(host.clock_steps),
        count(host.tcp.connections),
        count(host.tcp.retransmits),
        maybe_time(host.tcp.min_rtt_ns),
    )
}

/// What stands for a counter that could not be read: nobody should take it for 0.
const NOT_READ: &str = "(not read)";

fn read_time(ns: Option<i64>) -> String {
    ns.map_or_else(|| NOT_READ.into(), time)
}

fn read_count(n: Option<u64>) -> String {
    n.map_or_else(|| NOT_READ.into(), count)
}
