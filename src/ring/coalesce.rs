//! How long the pump lets arrivals gather before it harvests.
//!
//! It must not read a clock or wait: it decides from what it is told.

use crate::time::Span;

/// Whether arrivals are let gather.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Coalesce {
    /// Every arrival wakes the pump.
    Never,
    /// At least this long between harvests, while anything arrives; an arrival after a longer silence wakes at once.
    Window(Span),
    /// Short when little arrives, up to 250 us under load.
    Auto,
}
