//! The quantiles that are published.

/// One of them.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[expect(missing_docs, reason = "each name is its own meaning")]
pub enum Level {
    P50,
    P90,
    P95,
    P99,
    P99_9,
}

impl Level {
    /// Every one, lowest first.
    pub const ALL: [Self; 5] = [Self::P50, Self::P90, Self::P95, Self::P99, Self::P99_9];

    /// The share of values that are not above it.
    #[must_use]
    pub const fn q(self) -> f64 {
        match self {
            Self::P50 => 0.5,
            Self::P90 => 0.9,
            Self::P95 => 0.95,
            Self::P99 => 0.99,
            Self::P99_9 => 0.999,
        }
    }

    /// The word that reports use.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::P50 => "p50",
            Self::P90 => "p90",
            Self::P95 => "p95",
            Self::P99 => "p99",
            Self::P99_9 => "p99_9",
        }
    }

    /// Its place in [`Level::ALL`].
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }
}
