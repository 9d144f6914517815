//! The events of chat and completions streams: from one JSON payload to choices, usage and errors.
//!
//! It must not know framing, nor keep anything between events.

mod choice;
mod event;
mod usage;

pub(super) use choice::Choice;
pub(super) use event::Event;
