//! The text the simulator speaks: short words, drawn by a hash, safe inside JSON as they are.
//!
//! It must not depend on anything but the hash and the token's place: the same request gets the same answer.

/// Pieces as a tokenizer's vocabulary has them, most with their leading space; their mean length is that of English tokens.
const WORDS: [&str; 64] = [
    " the",
    " of",
    " and",
    " to",
    " in",
    " a",
    " is",
    " that",
    " for",
    " it",
    " was",
    " on",
    " as",
    " with",
    " be",
    " by",
    " at",
    " from",
    " or",
    " this",
    " which",
    " an",
    " were",
    " are",
    " not",
    " have",
    " his",
    " but",
    " had",
    " one",
    " their",
    " all",
    " more",
    " when",
    " time",
    " there",
    " can",
    " said",
    " water",
    " people",
    " first",
    " number",
    " little",
    " called",
    " through",
    " different",
    " picture",
    " sentence",
    "ing",
    "er",
    "ly",
    "ed",
    "s",
    "tion",
    "ness",
    "al",
    ",",
    ".",
    ";",
    " re",
    " un",
    " pre",
    "ity",
    "ous",
];

/// 2^64 / the golden ratio (Knuth, The Art of Computer Programming 6.4: multiplicative hashing).
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// Writes token `index` of the answer whose hash is `answer`.
pub(super) fn write_word(answer: u64, index: u32, into: &mut Vec<u8>) {
    into.extend_from_slice(word(answer, index).as_bytes());
}

fn word(answer: u64, index: u32) -> &'static str {
    let mixed = (answer ^ u64::from(index)).wrapping_mul(GOLDEN);
    // The top six bits of a multiplicative hash are its best.
    WORDS[usize::try_from(mixed >> 58).expect("six bits")]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_stands_in_json_as_it_is() {
        for word in WORDS {
            assert_eq!(serde_json::to_string(word).unwrap(), format!("\"{word}\""));
            assert!(!word.is_empty(), "an empty text is no evidence of a token");
        }
    }

    #[test]
    fn answers_differ_and_are_repeated() {
        let answer = |hash: u64| (0..50).map(|index| word(hash, index)).collect::<String>();
        assert_eq!(answer(1 << 40), answer(1 << 40));
        assert_ne!(answer(1 << 40), answer(2 << 40));
        let distinct: std::collections::HashSet<_> = (0..200).map(|index| word(7 << 50, index)).collect();
        assert!(distinct.len() > 30, "{} words of 64", distinct.len());
    }
}
