//! A shard's thread: its core, its client, and what is left of them when it ends, however it ends.
//!
//! It must not wait for other shards.

use super::client::{Client, Orders};
use super::control::Standing;
use super::measured::Measured;
use super::sessions::Handshakes;
use super::sinks::Sinks;
use crate::clock::{self, CpuTimes};
use crate::plan::{Engine, Waiting};
use crate::record::ShardGauge;
use crate::ring::{self, Coalesce, Core, CoreError, Counters, Paths, PumpConfig, RingConfig, Stamps};
use crate::time::{Span, StampClass};
use std::any::Any;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};

/// What one shard is started with.
pub struct Shard {
    /// Its number, from 0.
    pub number: u16,
    /// Its CPU.
    pub cpu: usize,
    /// How it waits for what arrives.
    pub waiting: Waiting,
    /// By which system calls it drives its sockets.
    pub engine: Engine,
    /// What all shards share.
    pub orders: Arc<Orders>,
    /// What it shows while it runs.
    pub gauge: Arc<ShardGauge>,
    /// How far it has come.
    pub standing: Arc<Standing>,
    /// Where what it gathers goes.
    pub sinks: Sinks,
}

/// What one shard leaves.
pub struct Outcome {
    /// Its number.
    pub number: u16,
    /// Its CPU.
    pub cpu: usize,
    /// What it counted; `None` when it ended before the run started.
    pub measured: Option<Measured>,
    /// The ring's counters.
    pub counters: Counters,
    /// How well kernel stamps are mapped to our clock: half the width of the bracket.
    pub clock_bound: Span,
    /// What TCP knows of its connections.
    pub paths: Paths,
    /// How often the realtime clock was stepped.
    pub clock_steps: u64,
    /// CPU time of its thread, kernel included.
    pub cpu_time: Span,
    /// The same, split by the kernel's own accounting, where it tells.
    pub cpu_times: Option<CpuTimes>,
    /// How hands were shaken with servers that speak TLS.
    pub handshakes: Handshakes,
    /// The failed assertion that ended it, if one did: what it counted until then stands.
    pub died: Option<String>,
}

impl Shard {
    /// Starts the thread.
    ///
    /// # Errors
    /// No thread can be had.
    pub fn start(self) -> io::Result<JoinHandle<Result<Outcome, CoreError>>> {
        Builder::new().name(format!("shard-{}", self.number)).spawn(move || self.run())
    }

    fn run(self) -> Result<Outcome, CoreError> {
        let Self { number, cpu, waiting, engine, orders, gauge, standing, sinks } = self;
        let class = orders.stamps;
        let by_us = class == StampClass::User;
        let stamps = match class {
            StampClass::Hardware => Stamps::Hardware,
            StampClass::Software => Stamps::Software,
            StampClass::User => Stamps::Off,
        };
        let engine = match engine {
            Engine::Uring => ring::Engine::Uring,
            Engine::Epoll => ring::Engine::Epoll,
        };
        let config = RingConfig { engine, survey: true, stamps, ..RingConfig::default() };
        let mut core = Core::new(
            Some(cpu),
            &config,
            PumpConfig { card: orders.card.clone(), ..pump_config(waiting, by_us) },
        )?;
        let mut client = Client::new(orders, number, gauge, standing, sinks, clock::now());
        let run = catch_unwind(AssertUnwindSafe(|| core.run(&mut client, |client, _| client.is_over())));
        let rest = catch_unwind(AssertUnwindSafe(|| client.record_all()));
        let died = run.and(rest).err().map(|panic| words(&*panic));
        client.close_traffic();
        let pump = core.pump();
        let offset = pump.realtime_offset();
        let (clock_bound, clock_steps) = match (class, pump.card_offset()) {
            // Where we stamp ourselves no other clock is mapped.
            (StampClass::User, _) => (Span::ZERO, 0),
            // Reads that the card did not stamp have the kernel's stamp, and its clock's bound.
            (StampClass::Hardware, Some(card)) => {
                (card.bound().max(offset.bound()), card.steps() + offset.steps())
            }
            (StampClass::Hardware, None) | (StampClass::Software, _) => (offset.bound(), offset.steps()),
        };
        Ok(Outcome {
            number,
            cpu,
            handshakes: client.handshakes().clone(),
            measured: client.into_measured(),
            counters: core.pump().ring().counters(),
            paths: core.pump().ring().survey(),
            clock_bound,
            clock_steps,
            cpu_time: clock::thread_cpu(),
            cpu_times: clock::thread_cpu_times(),
            died,
        })
    }
}

/// The pump that waits in this way. With stamps of our own, what gathers would be stamped late, so by itself nothing does.
fn pump_config(waiting: Waiting, stamps_by_us: bool) -> PumpConfig {
    let usual = PumpConfig::default();
    match waiting {
        Waiting::Auto if stamps_by_us => PumpConfig { coalesce: Coalesce::Never, ..usual },
        Waiting::Auto => usual,
        Waiting::Window(Span::ZERO) => PumpConfig { coalesce: Coalesce::Never, ..usual },
        Waiting::Window(window) => PumpConfig {
            coalesce: Coalesce::Window(window),
            // A shorter sleep would cut the window.
            longest_sleep: usual.longest_sleep.max(window),
            ..usual
        },
        Waiting::BusyPoll => PumpConfig { coalesce: Coalesce::Never, busy_poll: true, ..usual },
    }
}

fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic
        .downcast_ref::<&str>()
        .map(ToString::to_string)
        .or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "a panic without words".into())
}
