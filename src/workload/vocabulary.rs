//! What synthetic prompts are made of: words, or token ids; each unit is safe in JSON as it stands.
//! It must not draw anything: see [`super::corpus`].

use super::WorkloadError;
use std::ops::RangeInclusive;

/// How a prompt is written in the body.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PromptForm {
    /// As text: its length in tokens is an estimate.
    Text,
    /// As an array of token ids in this range (completions only): its length is exact.
    Ids(RangeInclusive<u32>),
}

/// The fewest ids that prompts are made of: fewer would need a long unique head, and hardly resemble a prompt.
pub const LEAST_IDS: u32 = 256;

/// The most.
pub const MOST_IDS: u32 = 16_777_216;

/// The ids below `size`, 256 to 16777216, that are ordinary tokens as far as can be told: not the first 1,000, which are
/// control tokens in some vocabularies (Tekken) and single bytes and markers in others, where enough others are left.
#[must_use]
pub fn ids_below(size: u32) -> RangeInclusive<u32> {
    size.saturating_sub(LEAST_IDS).min(1_000)..=size.saturating_sub(1)
}

/// The units prompts are made of.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Vocabulary {
    Words,
    Ids { first: u32, size: u32 },
}

impl Vocabulary {
    pub(super) fn new(form: &PromptForm) -> Result<Self, WorkloadError> {
        let PromptForm::Ids(range) = form else { return Ok(Self::Words) };
        let (first, last) = (*range.start(), *range.end());
        match last.checked_sub(first).map(|span| span.saturating_add(1)) {
            Some(size @ LEAST_IDS..=MOST_IDS) => Ok(Self::Ids { first, size }),
            _ => Err(WorkloadError::new(format!(
                "token ids {first} to {last}: the range must hold {LEAST_IDS} to {MOST_IDS} ids"
            ))),
        }
    }

    /// How many units there are.
    pub(super) fn size(&self) -> u64 {
        match self {
            Self::Words => WORDS.len() as u64,
            Self::Ids { size, .. } => u64::from(*size),
        }
    }

    /// How many units tell any 64 bits: the length of a prompt's unique head.
    pub(super) fn head_units(&self) -> u32 {
        let mut units = 1;
        let mut told = u128::from(self.size());
        while told < 1 << 64 {
            told *= u128::from(self.size());
            units += 1;
        }
        units
    }

    /// What stands between two units.
    pub(super) const fn separator(&self) -> u8 {
        match self {
            Self::Words => b' ',
            Self::Ids { .. } => b',',
        }
    }

    /// What stands around all of them.
    pub(super) const fn quotes(&self) -> (&'static [u8], &'static [u8]) {
        match self {
            Self::Words => (b"\"", b"\""),
            Self::Ids { .. } => (b"[", b"]"),
        }
    }

    /// Bytes of one unit.
    pub(super) fn length(&self, nth: u64) -> usize {
        match self {
            Self::Words => word(nth).len(),
            Self::Ids { first, .. } => {
                (u64::from(*first) + nth).checked_ilog10().map_or(1, |log| log as usize + 1)
            }
        }
    }

    /// Writes one unit: `nth` is below [`Vocabulary::size`].
    pub(super) fn write(&self, nth: u64, into: &mut Vec<u8>) {
        match self {
            Self::Words => into.extend_from_slice(word(nth).as_bytes()),
            Self::Ids { first, .. } => {
                into.extend_from_slice(itoa::Buffer::new().format(u64::from(*first) + nth).as_bytes());
            }
        }
    }
}

fn word(nth: u64) -> &'static str {
    WORDS[usize::try_from(nth).expect("a word's place is below 256")]
}

/// Common English words: with the space before them, one token each in most vocabularies.
#[rustfmt::skip]
const WORDS: [&str; 256] = [
    "the", "of", "and", "to", "in", "is", "that", "it", "was", "for", "on", "are", "with", "as", "his",
    "they", "at", "be", "this", "from", "have", "or", "by", "one", "had", "not", "but", "what", "all",
    "were", "when", "we", "there", "can", "an", "your", "which", "their", "said", "if", "do", "will",
    "each", "about", "how", "up", "out", "them", "then", "she", "many", "some", "so", "these", "would",
    "other", "into", "has", "more", "her", "two", "like", "him", "see", "time", "could", "no", "make",
    "than", "first", "been", "its", "who", "now", "people", "my", "made", "over", "did", "down", "only",
    "way", "find", "use", "may", "water", "long", "little", "very", "after", "words", "called", "just",
    "where", "most", "know", "get", "through", "back", "much", "before", "go", "good", "new", "write",
    "our", "used", "me", "man", "too", "any", "day", "same", "right", "look", "think", "also", "around",
    "another", "came", "come", "work", "three", "word", "must", "because", "does", "part", "even", "place",
    "well", "such", "here", "take", "why", "things", "help", "put", "years", "different", "away", "again",
    "off", "went", "old", "number", "great", "tell", "men", "say", "small", "every", "found", "still",
    "between", "name", "should", "home", "big", "give", "air", "line", "set", "own", "under", "read",
    "last", "never", "us", "left", "end", "along", "while", "might", "next", "sound", "below", "saw",
    "something", "thought", "both", "few", "those", "always", "looked", "show", "large", "often",
    "together", "asked", "house", "world", "going", "want", "school", "important", "until", "form", "food",
    "keep", "children", "feet", "land", "side", "without", "boy", "once", "animals", "life", "enough",
    "took", "sometimes", "four", "head", "above", "kind", "began", "almost", "live", "page", "got", "earth",
    "need", "far", "hand", "high", "year", "mother", "light", "parts", "country", "father", "let", "night",
    "following", "picture", "being", "study", "second", "eyes", "soon", "times", "story", "boys", "since",
    "white", "days", "ever", "paper", "hard", "near", "sentence", "better", "best", "across", "during",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_distinct_and_need_no_escape() {
        let distinct: std::collections::HashSet<_> = WORDS.iter().collect();
        assert_eq!(distinct.len(), 256);
        assert!(WORDS.iter().all(|word| !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase())));
    }

    #[test]
    fn a_head_is_long_enough_to_tell_every_request() {
        assert_eq!(Vocabulary::Words.head_units(), 8);
        assert_eq!(Vocabulary::new(&PromptForm::Ids(ids_below(30_001))).unwrap().head_units(), 5);
        assert_eq!(Vocabulary::new(&PromptForm::Ids(0..=255)).unwrap().head_units(), 8);
    }

    #[test]
    fn ids_stay_below_the_size_of_the_vocabulary_and_leave_out_its_first_where_others_are_left() {
        assert_eq!(ids_below(30_001), 1_000..=30_000);
        assert_eq!(ids_below(32_000), 1_000..=31_999);
        assert_eq!(ids_below(1_000), 744..=999);
        assert_eq!(ids_below(LEAST_IDS), 0..=255);
        for size in [LEAST_IDS, 257, 1_255, 1_256, 1_257, MOST_IDS] {
            assert!(Vocabulary::new(&PromptForm::Ids(ids_below(size))).is_ok(), "{size}");
        }
    }

    #[test]
    fn a_range_of_few_or_of_too_many_ids_is_refused() {
        for range in [0..=100, RangeInclusive::new(9, 3), 0..=u32::MAX] {
            let error = Vocabulary::new(&PromptForm::Ids(range)).unwrap_err().to_string();
            assert!(error.contains("256 to 16777216"), "{error}");
        }
    }
}
