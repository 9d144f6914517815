//! How much is asked of the target and when; draws no arrival itself.

use crate::time::Span;

/// The load of one run: warm-up, stages one after another, cool-down.
#[derive(Clone, PartialEq, Debug)]
pub struct Load {
    /// The measured stages, never empty; all open loop or all closed loop.
    pub stages: Vec<Stage>,
    /// Load before the first stage, at its first rate, unmeasured.
    pub warmup: Span,
    /// The longest that load goes on, unmeasured, until the measured requests are finished; zero = not at all.
    pub cooldown: Span,
    /// The seed of everything random in the run.
    pub seed: u64,
    /// The most requests in flight of an open loop; `None` = as many as connections can be had.
    pub max_concurrency: Option<usize>,
    /// Closed loop: the slots' starts are spread over this.
    pub ramp: Span,
    /// Closed loop: pause of a slot between its answer and its next request.
    pub think_time: Span,
    /// How many times the whole run is made, each from a fresh start.
    pub repeat: u32,
}

/// One measured stage.
#[derive(Clone, PartialEq, Debug)]
pub struct Stage {
    /// What it offers.
    pub offered: Offered,
    /// How long it lasts.
    pub extent: Extent,
}

/// The load a stage offers.
#[derive(Clone, PartialEq, Debug)]
pub enum Offered {
    /// Open loop: requests are due whatever the server does.
    Rate {
        /// Requests per second at its start.
        from_per_s: f64,
        /// Requests per second at its end.
        to_per_s: f64,
        /// The way from one to the other.
        shape: Shape,
        /// The arrival process, in its text form (`poisson`, `constant`, `gamma:0.5`).
        arrival: String,
    },
    /// Closed loop: this many slots, each with one request at a time.
    Concurrency(usize),
}

/// The way a rate goes from a stage's start to its end.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Shape {
    /// It stays.
    Flat,
    /// By equal differences.
    Linear,
    /// By equal ratios.
    Geometric,
}

/// How long a stage lasts.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Extent {
    /// So much time.
    Duration(Span),
    /// So many requests; only as the single stage of a run.
    Requests(u64),
}
