//! The checks of one stage, and those of the run's surroundings.
//!
//! It must not compute what it compares; each check has its words and its remedy beside it.

use super::verdict::{Check, Reason, State, Verdict};
use super::words::{say_number, say_share, say_span};
use super::{Facts, Level, Load, ShardQueue, StageFindings, Thresholds};
use crate::record::{Backwards, Metric, Stage};
use crate::time::{Span, StampClass};

/// The verdict on one stage, made of the figures that `found` already has.
pub(super) fn stage(stage: &Stage, found: &StageFindings, facts: &Facts, thresholds: &Thresholds) -> Verdict {
    let mut verdict = Verdict::default();
    busy(&mut verdict, &found.shards, thresholds);
    begun(&mut verdict, &found.load, facts, thresholds);
    on_schedule(&mut verdict, stage, found, thresholds);
    for metric in [Metric::Ttft, Metric::Itl] {
        bias(&mut verdict, stage, found, metric, thresholds);
    }
    delivered(&mut verdict, stage, thresholds);
    negative(&mut verdict, stage, &found.shards, thresholds);
    verdict
}

/// What concerns the run as a whole, added to the verdict on its stages.
pub(super) fn surroundings(
    verdict: &mut Verdict,
    facts: &Facts,
    jobs: u64,
    rows: u64,
    thresholds: &Thresholds,
) {
    let sum = |of: fn(&super::ShardFacts) -> u64| facts.shards.iter().map(of).sum::<u64>();
    let reads = sum(|shard| shard.reads);
    let losses = [
        (
            "queue_overflows",
            sum(|shard| shard.queue_overflows),
            jobs,
            "overflows of the completion queue",
            "use more shards (--shards) or a lower rate",
        ),
        (
            "lost_stamps",
            sum(|shard| shard.lost_stamps),
            reads,
            "reads came without the kernel's stamp and were stamped when they were processed",
            "see whether something on this host switches time stamps off",
        ),
        (
            "rows_dropped",
            sum(|shard| shard.rows_dropped),
            rows,
            "rows are missing in records.jsonl; the statistics are whole",
            "write to a faster disk (--out), or keep fewer rows (--records failed)",
        ),
    ];
    for (name, lost, of, what, remedy) in losses {
        let share = ratio(lost, of.max(lost).max(1));
        let check = Check::at_most(name, "ratio", Some(share), 0.0, thresholds.lost_invalid);
        verdict.check(check, || (format!("{lost} of {of}: {what}"), remedy.into()));
    }
    if facts.stamps == StampClass::User {
        verdict.caveats.push(
            "receive stamps are lowrho's own, made when it reads (--stamps user): every latency contains the client's own \
             waiting, and the bias bound is how much that can be"
                .into(),
        );
    }
    if facts.clock_steps > 0 {
        verdict.caveats.push(format!(
            "the clock of the receive stamps was set {} times during the run; stamps were mapped anew each time",
            facts.clock_steps
        ));
    }
}

fn busy(verdict: &mut Verdict, shards: &[ShardQueue], thresholds: &Thresholds) {
    let (valid, invalid) = (thresholds.rho_valid, thresholds.rho_invalid);
    let check = |rho: Option<f64>| Check::at_most("rho_busy", "ratio", rho, valid, invalid);
    let worst = shards
        .iter()
        .filter_map(|shard| shard.rho_busy)
        .fold(None, |worst: Option<f64>, rho| Some(worst.map_or(rho, |worst| worst.max(rho))));
    for (number, shard) in shards.iter().enumerate() {
        let (Some(rho), state) = (shard.rho_busy, check(shard.rho_busy).state) else { continue };
        if state > State::Valid {
            let limit = if state == State::Invalid { invalid } else { valid };
            verdict.reason(Reason {
                state,
                check: "rho_busy",
                words: format!(
                    "shard {number} was busy {} of the time (rho_busy {} > {})",
                    say_share(rho),
                    say_number(rho),
                    say_number(limit)
                ),
                remedy: "use more shards (--shards) or a lower rate".into(),
                shard: Some(number),
                badness: rho,
            });
        }
        if shard.rho_agree == Some(false)
            && let Some((explained, jobs)) = shard.share_explained.zip(shard.share_jobs)
        {
            verdict.caveats.push(format!(
                "shard {number}: its jobs explain a rho of {}, and its turns with jobs took one of {}: the audit misses work",
                say_number(explained),
                say_number(jobs)
            ));
        }
    }
    verdict.checks.push(check(worst));
}

fn begun(verdict: &mut Verdict, load: &Load, facts: &Facts, thresholds: &Thresholds) {
    let share = (load.due > 0).then(|| ratio(load.begun, load.due));
    let check = Check::at_least("begun", share, 1.0, Some(thresholds.begun_invalid));
    verdict.check(check, || {
        let missing = format!("{} of {} requests that were due", load.due - load.begun, load.due);
        if facts.has_lost_counts() {
            let words = format!("{missing} were never begun, or by a shard that left no count of them");
            return (words, "see what became of the shard (shards_alive)".into());
        }
        let remedy = "use more shards (--shards), more connections (--connections) or a lower rate";
        (format!("{missing} were never begun"), remedy.into())
    });
}

fn on_schedule(verdict: &mut Verdict, stage: &Stage, found: &StageFindings, thresholds: &Thresholds) {
    let lateness = stage.tally(Metric::Lateness).values();
    let median_ttft = quantile(stage, Metric::Ttft, 0.5);
    let limit = thresholds.lateness(median_ttft);
    let late = lateness.above(u64::try_from(limit.as_ns()).expect("a threshold is not negative"));
    let share = (lateness.count() > 0).then(|| 1.0 - late / ratio(lateness.count(), 1));
    let check = Check::at_least(
        "on_schedule",
        share,
        thresholds.on_schedule_valid,
        Some(thresholds.on_schedule_invalid),
    );
    let waited = stage.tally(Metric::PoolWait).values().count();
    verdict.check(check, || {
        let p99 = say_p99(stage, found, Metric::Lateness);
        let words = format!(
            "only {} of the requests were begun within {} of their due instant (p99 of lateness {})",
            say_share(share.unwrap_or(0.0)),
            say_span(limit),
            p99
        );
        let remedy = if waited > 0 {
            "the pool's limit held requests back: raise --connections or --max-concurrency, or lower the rate"
        } else {
            "use more shards (--shards), free their CPUs (--cpus), or lower the rate"
        };
        (words, remedy.into())
    });
    if waited > 0 {
        verdict.caveats.push(format!(
            "the pool closed the loop: {waited} of {} requests waited for a connection or a slot",
            found.load.begun
        ));
    }
}

fn bias(
    verdict: &mut Verdict,
    stage: &Stage,
    found: &StageFindings,
    metric: Metric,
    thresholds: &Thresholds,
) {
    let (name, title) = match metric {
        Metric::Ttft => ("bias_ttft_p99", "TTFT"),
        _ => ("bias_itl_p99", "ITL"),
    };
    let bound = found.bias.get(metric)[Level::P99.index()];
    let p99 = quantile(stage, metric, 0.99).unwrap_or(Span::ZERO);
    let part = |share: f64, least: Span| (share * ns(p99)).max(ns(least));
    let check = Check::at_most(
        name,
        "ns",
        bound.map(ns),
        part(thresholds.bias_valid_share, thresholds.bias_valid),
        part(thresholds.bias_invalid_share, thresholds.bias_invalid),
    );
    verdict.check(check, || {
        let bound = bound.unwrap_or(Span::ZERO);
        let (why, remedy) = match found.bias.stolen() {
            _ if found.bias.stamps() == StampClass::User => (
                "because what arrives is stamped when it is read (--stamps user)".into(),
                "let the kernel stamp (--stamps software)",
            ),
            Some(stolen) => (
                format!(
                    "because the CPUs that stamp were stolen (in {} of the time, up to {} at once), and events met in one read",
                    say_share(stolen.share),
                    say_span(stolen.longest)
                ),
                "use a machine whose CPUs are its own (dedicated vCPUs), or stamps of the network card",
            ),
            None => (
                "because events met in one read".into(),
                "use more shards (--shards) or a lower rate, and keep others off their CPUs (--cpus)",
            ),
        };
        let words = format!(
            "the p99 of {title} ({}) can be off by {} {why}",
            say_p99(stage, found, metric),
            say_span(bound)
        );
        (words, remedy.into())
    });
}

fn delivered(verdict: &mut Verdict, stage: &Stage, thresholds: &Thresholds) {
    let tokens = &stage.tokens;
    let share = (tokens.asked > 0).then(|| ratio(tokens.delivered, tokens.asked));
    let check = Check::at_least("delivered", share, thresholds.delivered_valid, None);
    verdict.check(check, || {
        let share = share.unwrap_or(0.0);
        let so = if share < thresholds.delivered_other_workload {
            ": this is not the workload asked for"
        } else {
            ""
        };
        let words = format!("{} of the output tokens asked for were delivered{so}", say_share(share));
        let remedy = "see that the server honours ignore_eos and max_tokens, or ask for what it gives (--output-tokens)";
        (words, remedy.into())
    });
}

fn negative(verdict: &mut Verdict, stage: &Stage, shards: &[ShardQueue], thresholds: &Thresholds) {
    let of_shards = |kind: fn(&ShardQueue) -> &Backwards| {
        shards.iter().map(kind).fold(Backwards::default(), |mut all, one| {
            all.merge(one);
            all
        })
    };
    let waits = (["wait of a job", "waits of jobs"], of_shards(|shard| &shard.backward_waits));
    let services = (["service of a job", "services of jobs"], of_shards(|shard| &shard.backward_services));
    let metrics = stage.backwards().map(|(metric, seen)| ([metric.name(); 2], seen));
    let kinds: Vec<_> =
        metrics.chain([waits, services]).filter(|(_, backwards)| backwards.count > 0).collect();
    let backwards: u64 = kinds.iter().map(|(_, seen)| seen.count).sum();
    let of = stage.population.due + shards.iter().map(|shard| shard.jobs).sum::<u64>();
    let share = ratio(backwards, of.max(backwards).max(1));
    let check = Check::at_most("negative_spans", "ratio", Some(share), 0.0, thresholds.lost_invalid);
    verdict.check(check, || {
        let kinds = kinds.iter().map(|(name, seen)| {
            let furthest = say_span(Span::ZERO - seen.furthest);
            format!("{} {}, by up to {furthest}", seen.count, name[usize::from(seen.count != 1)])
        });
        let kinds = kinds.collect::<Vec<_>>().join("; ");
        let spans = if backwards == 1 { "span" } else { "spans" };
        let words =
            format!("{backwards} {spans} of time ran backwards ({kinds}): stamps and our clock disagree");
        (
            words,
            "this is a defect of lowrho, or a clock that was set: please report it if it comes again".into(),
        )
    });
}

/// A p99 as a reason says it: also where the report has none, and then why not.
fn say_p99(stage: &Stage, found: &StageFindings, metric: Metric) -> String {
    let p99 = say_span(quantile(stage, metric, 0.99).unwrap_or(Span::ZERO));
    match found.latency(metric).quantile(Level::P99) {
        Some(_) => p99,
        None => format!("about {p99}: too few independent observations to print it"),
    }
}

fn quantile(stage: &Stage, metric: Metric, q: f64) -> Option<Span> {
    let ns = stage.tally(metric).values().quantile(q)?;
    Some(Span::from_ns(i64::try_from(ns).expect("recorded from a span")))
}

fn ns(span: Span) -> f64 {
    span.as_s_f64() * 1e9
}

#[expect(clippy::cast_precision_loss, reason = "a share of a few digits")]
pub(super) fn ratio(part: u64, whole: u64) -> f64 {
    part as f64 / whole as f64
}
