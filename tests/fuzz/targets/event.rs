//! Any bytes as one event.
#![no_main]
#![allow(dead_code, reason = "a target uses its own part of the tests it shares")]

#[path = "../../wire/agreement.rs"]
mod agreement;
#[path = "../../wire/case.rs"]
mod case;
#[path = "../../wire/invariants.rs"]
mod invariants;
#[path = "../../wire/replay.rs"]
mod replay;
#[path = "../../wire/slow.rs"]
mod slow;

libfuzzer_sys::fuzz_target!(|input: &[u8]| invariants::event(input));
