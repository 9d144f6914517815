//! The simulator over real sockets of the loopback: outcomes, never times.
//!
//! With LOWRHO_TEST_ENGINE=epoll in the environment it is driven by that engine.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod client;
mod faults;
mod log;
mod secure;
mod serving;

use lowrho::ring::Engine;
use lowrho::script::{Latencies, Script};
use lowrho::sim::{Sim, SimConfig, SimHandle};

/// A simulator with these latencies and nothing else of note.
fn start(ttft: &str, itl: &str) -> SimHandle {
    start_with(script(ttft, itl))
}

fn script(ttft: &str, itl: &str) -> Script {
    Script {
        model: "tiny".into(),
        latencies: Latencies::parse(ttft, itl, "0s").expect("delays"),
        ..Script::default()
    }
}

fn start_with(script: Script) -> SimHandle {
    Sim::start(&SimConfig { script, ..config() }).expect("a simulator on the loopback")
}

fn config() -> SimConfig {
    let engine = match std::env::var("LOWRHO_TEST_ENGINE").as_deref() {
        Ok("epoll") => Engine::Epoll,
        Ok("uring") | Err(_) => Engine::Uring,
        Ok(other) => panic!("LOWRHO_TEST_ENGINE={other}"),
    };
    SimConfig { engine, ..SimConfig::default() }
}
