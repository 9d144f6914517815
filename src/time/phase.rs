//! The parts of a run's time.

/// Which part of a run a request belongs to, by the instant it was due.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum Phase {
    /// Before the window.
    Warmup,
    /// Inside the window: its latencies count.
    Measured,
    /// After the window, to keep the load up until the measured ones are done.
    Cooldown,
}

impl Phase {
    /// The word that records use.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Warmup => "warmup",
            Self::Measured => "measured",
            Self::Cooldown => "cooldown",
        }
    }
}
