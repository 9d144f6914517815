//! Searches in virtual time against engines whose limits are known: many seeds, no socket.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod capacities;
mod rules;
mod server;
mod steps;
mod truth;
