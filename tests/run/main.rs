//! The main job as its users have it: the program itself, over loopback, against the embedded simulator and worse servers.
//!
//! With LOWRHO_TEST_ENGINE=epoll (or uring) in the environment runs are driven by that engine.
//!
//! Outcomes, counts and order are asserted, never times: `--require any`, since a busy machine is no defect.

#![allow(clippy::disallowed_methods, reason = "a test has a clock of its own")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod baselines;
mod endings;
mod floor;
mod forbidden;
mod held_up;
mod honest;
mod hostile;
mod program;
mod refusals;
mod refused;
mod secure;
mod sweeps;
mod targets;
