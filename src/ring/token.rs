//! What a submission is called, so that its completion can be told whose it is.
//!
//! It must not know slots or sockets: it packs and unpacks 64 bits.

/// What a completion is of.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// Nobody waits for it: cancels and closes that failed.
    Unheard,
    /// A multishot receive of a connection.
    Receive,
    /// A multishot accept of a listener.
    Accept,
    /// A connect of a connection.
    Connect,
    /// A send; the slot is the payload's.
    Send,
}

/// The user data of a submission: kind (4 bits), generation (28), slot (32).
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) generation: u32,
    pub(super) slot: u32,
}

impl Token {
    /// Generations fit 28 bits: 268 million lives of one slot, and no completion lags behind by so many.
    pub(super) const MOST_GENERATION: u32 = (1 << 28) - 1;

    pub(super) const UNHEARD: Self = Self { kind: Kind::Unheard, generation: 0, slot: 0 };

    pub(super) fn pack(self) -> u64 {
        debug_assert!(self.generation <= Self::MOST_GENERATION, "slots wrap generations");
        let kind = match self.kind {
            Kind::Unheard => 0_u64,
            Kind::Receive => 1,
            Kind::Accept => 2,
            Kind::Connect => 3,
            Kind::Send => 4,
        };
        kind << 60 | u64::from(self.generation) << 32 | u64::from(self.slot)
    }

    pub(super) fn unpack(packed: u64) -> Self {
        let kind = match packed >> 60 {
            1 => Kind::Receive,
            2 => Kind::Accept,
            3 => Kind::Connect,
            4 => Kind::Send,
            _ => Kind::Unheard,
        };
        let low = |bits: u64| u32::try_from(bits & u64::from(u32::MAX)).expect("32 bits");
        Self { kind, generation: low(packed >> 32) & Self::MOST_GENERATION, slot: low(packed) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_packed_is_unpacked(kind in 0_usize..5, generation in 0..=Token::MOST_GENERATION, slot: u32) {
            let kind = [Kind::Unheard, Kind::Receive, Kind::Accept, Kind::Connect, Kind::Send][kind];
            let token = Token { kind, generation, slot };
            prop_assert_eq!(Token::unpack(token.pack()), token);
        }
    }
}
