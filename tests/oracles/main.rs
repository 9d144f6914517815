//! Statistics and audit against what is known exactly: naive models, closed forms, planted queues; all in virtual time.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod imagined;
mod made;
mod merging;
mod ntpot;
mod planted_queues;
mod populations;
mod rows;
mod service_levels;
mod shard_as_queue;
mod timelines;
mod verdicts;
mod windows;
