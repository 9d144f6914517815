//! Peers' files and lowrho's findings, each told in the words of the other; comparison.
//!
//! Pure: it is given texts and gives texts. It must not guess: a file that it does not know is refused, and a number that only
//! shares a name with one of ours is kept apart (`docs/COMPARISON.md`).

mod aiperf;
mod aiperf_rows;
mod bench_serving;
mod difference;
mod export;
mod field;
mod gate;
mod guidellm;
mod html;
mod import;
mod inference_perf;
mod inference_perf_rows;
mod k6;
mod k6_script;
mod lowrho;
mod oha;
mod order;
mod page;
mod quantity;
mod reading;
mod recognise;
mod repeats;
mod sglang;
mod table;
mod vllm;
mod whole;
mod wrk;

pub use difference::{Difference, Outcome};
pub use export::{Format, export};
pub use gate::{Gate, GateError, Term};
pub use import::{ImportError, Imported, inference_perf as import_inference_perf, is_command, vllm_command};
pub use k6_script::{Script, ScriptError, ScriptHeader, ScriptLoad, ScriptParts, k6_script};
pub use lowrho::ours;
pub use quantity::{Better, Quantity, Statistic, Unit};
pub use reading::{Apart, Figure, Reading};
pub use recognise::{ForeignError, KNOWN, Known, read};
pub use repeats::together;
pub use table::{Comparison, Scope};

/// Nanoseconds of a millisecond.
const MS: f64 = 1e6;

/// Nanoseconds of a second.
const S: f64 = 1e9;

/// How long something took, in nanoseconds, where it is that: not below 0, and no longer than 292 years.
fn bounded(ns: f64) -> Option<f64> {
    (0.0..9.2e18).contains(&ns).then_some(ns)
}
