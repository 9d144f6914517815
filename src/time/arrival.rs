//! What is known of the moment some bytes arrived: the latest it can have been, the earliest, and who says so.

use super::{Instant, Span};

/// Who made a receive stamp.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub enum StampClass {
    /// The network card.
    Hardware,
    /// The kernel, in softirq: later than the wire by interrupt moderation, backlog and steal.
    #[default]
    Software,
    /// Us, when the bytes were processed; Unix sockets have no other.
    User,
}

impl StampClass {
    /// The word that reports and records use.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hardware => "hardware",
            Self::Software => "software",
            Self::User => "user",
        }
    }
}

/// The arrival of one read: of its *last* TCP segment, and the bounds of what came before in the same read.
///
/// The last event of the read arrived at `stamp`; any other lies in (`earliest`, `stamp`].
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Arrival {
    /// When the last segment of the read arrived.
    pub stamp: Instant,
    /// max(previous stamp of this stream, start of the previous full harvest): nothing in the read arrived before.
    pub earliest: Instant,
    /// Who made `stamp`.
    pub class: StampClass,
}

impl Arrival {
    /// How much earlier than `stamp` an event of this read can have arrived.
    #[must_use]
    pub fn uncertainty(&self) -> Span {
        self.stamp - self.earliest
    }
}
