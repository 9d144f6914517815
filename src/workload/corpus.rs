//! One long run of units, written once from the seed, that all synthetic prompts are cut from.
//! It must not be copied into requests: they hold ranges of it.

use super::vocabulary::Vocabulary;
use crate::random::{Purpose, Stream};
use std::ops::Range;
use std::sync::Arc;

/// The shared text, and where its units begin.
#[derive(Clone, Debug)]
pub(super) struct Corpus {
    /// Each unit with its separator before it.
    pub(super) bytes: Arc<[u8]>,
    /// Where each unit begins, and the end.
    starts: Arc<[u32]>,
}

/// Long enough that few prompts share more than a stretch, short enough (under 500 kB) to stay in the cache.
const UNITS: u32 = 1 << 16;

/// Words take less, long ids more.
const BYTES_EXPECTED: usize = 6 * UNITS as usize;

impl Corpus {
    pub(super) fn new(vocabulary: &Vocabulary, seed: u64) -> Self {
        let mut stream = Stream::new(seed, const { Purpose::named("corpus") }, 0);
        let mut bytes = Vec::with_capacity(BYTES_EXPECTED);
        let mut starts = Vec::with_capacity(UNITS as usize + 1);
        let place = |bytes: &[u8]| u32::try_from(bytes.len()).expect("65,536 units take under 4 GiB");
        for _ in 0..UNITS {
            starts.push(place(&bytes));
            bytes.push(vocabulary.separator());
            vocabulary.write(stream.below(vocabulary.size()), &mut bytes);
        }
        starts.push(place(&bytes));
        Self { bytes: bytes.into(), starts: starts.into() }
    }

    /// The ranges of bytes that hold `units` units from a drawn place on, going round as often as it takes.
    pub(super) fn cut(&self, units: u32, mut stream: Stream) -> impl Iterator<Item = Range<u32>> + Clone {
        let mut from = u32::try_from(stream.below(u64::from(UNITS))).expect("below 65,536");
        let mut left = units;
        std::iter::from_fn(move || {
            let taken = left.min(UNITS - from);
            let [begin, end] = [from, from + taken].map(|unit| self.starts[unit as usize]);
            (from, left) = (0, left - taken);
            (taken > 0).then_some(begin..end)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_hold_as_many_units_as_asked_round_the_end_too() {
        let corpus = Corpus::new(&Vocabulary::Words, 0);
        assert!(corpus.bytes.len() < 500_000);
        for (units, index) in (0..300).map(|i| (i, u64::from(i))).chain([(UNITS, 1), (3 * UNITS + 5, 2)]) {
            let stream = Stream::new(0, Purpose::named("test"), index);
            let cut: Vec<u8> = corpus
                .cut(units, stream)
                .flat_map(|r| &corpus.bytes[r.start as usize..r.end as usize])
                .copied()
                .collect();
            let text = String::from_utf8(cut).unwrap();
            assert_eq!(text.split_ascii_whitespace().count(), usize::try_from(units).unwrap());
            assert!(text.is_empty() || text.starts_with(' ') && !text.ends_with(' '));
        }
    }
}
