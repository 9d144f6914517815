//! Lengths in tokens: how many words make a prompt of so many tokens, and what is known of a prompt's length.
//! It must not tokenize: what is not exact is called an estimate.

use super::WorkloadError;
use crate::random::{Counts, Law};

/// A prompt's length in tokens.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct InputTokens {
    /// How many.
    pub count: u32,
    /// Whether that is so whatever the tokenizer; else it is an estimate.
    pub exact: bool,
}

/// No prompt is longer: the longest contexts of today times ten.
pub const LONGEST_INPUT: u32 = 10_000_000;

/// No answer is asked to be longer than this.
pub const LONGEST_OUTPUT: u32 = 10_000_000;

/// English text has about four characters a token in the vocabularies in use.
const CHARACTERS_PER_TOKEN: usize = 4;

/// Tokens = overhead + per_word x words.
#[derive(Copy, Clone, PartialEq, Debug)]
pub struct TokenFit {
    /// Tokens that the server adds around the prompt: chat template, begin of sequence.
    pub overhead: f64,
    /// Tokens of one word.
    pub per_word: f64,
}

impl TokenFit {
    /// What is assumed until the server was asked: one token a word, and none around them.
    pub const ASSUMED: Self = Self { overhead: 0.0, per_word: 1.0 };

    /// The line through two prompts of known words (`(words, usage.prompt_tokens)`).
    ///
    /// # Errors
    /// When no line through them can be a tokenizer's: the words say what was seen.
    pub fn through(short: (u32, u32), long: (u32, u32)) -> Result<Self, WorkloadError> {
        let per_word = (f64::from(long.1) - f64::from(short.1)) / (f64::from(long.0) - f64::from(short.0));
        let overhead = f64::from(short.1) - per_word * f64::from(short.0);
        // Under a quarter token a word the count is no count of these words; over 16 it counts bytes twice.
        if !(0.25..=16.0).contains(&per_word) || overhead < -8.0 {
            return Err(WorkloadError::new(format!(
                "the server counts {} tokens for {} words and {} for {}: its usage cannot tell prompt lengths, \
                 which stay estimates",
                short.1, short.0, long.1, long.0
            )));
        }
        Ok(Self { overhead: overhead.max(0.0), per_word })
    }

    /// Words for a prompt of about `tokens`: at least one.
    pub(super) fn words(self, tokens: u32) -> u32 {
        whole((f64::from(tokens) - self.overhead) / self.per_word)
    }

    /// The number of words that add about so many tokens to a prompt that has some.
    pub(super) fn more_words(self, tokens: u32) -> u32 {
        whole(f64::from(tokens) / self.per_word)
    }

    /// About how many tokens `words` make.
    pub(super) fn tokens(self, words: u32) -> u32 {
        whole(self.overhead + self.per_word * f64::from(words))
    }
}

/// The nearest whole number, in 1..=[`LONGEST_INPUT`].
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped and rounded")]
fn whole(count: f64) -> u32 {
    libm::round(count.clamp(1.0, f64::from(LONGEST_INPUT))) as u32
}

/// About how many tokens so many characters of text make.
pub(super) fn of_characters(characters: usize) -> u32 {
    u32::try_from(characters.div_ceil(CHARACTERS_PER_TOKEN)).unwrap_or(u32::MAX)
}

/// Refuses a distribution that is sure to be cut at `cap`.
pub(super) fn check(what: &str, counts: Counts, cap: u32) -> Result<(), WorkloadError> {
    let over = match counts.law() {
        Law::Uniform(_, most) => most > f64::from(cap),
        law => law.mean() > f64::from(cap),
    };
    if over { Err(WorkloadError::new(format!("{what} {counts}: must be at most {cap}"))) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_prompts_tell_the_template_from_the_words() {
        let fit = TokenFit::through((16, 29), (144, 157)).unwrap();
        assert_eq!(fit, TokenFit { overhead: 13.0, per_word: 1.0 });
        assert_eq!((fit.words(128), fit.tokens(115)), (115, 128));
        assert_eq!(fit.words(5), 1, "a prompt shorter than the template still has a word");
    }

    #[test]
    fn a_server_that_does_not_count_is_found_out() {
        for (short, long) in
            [((16, 0), (144, 0)), ((16, 7), (144, 7)), ((16, 100), (144, 10)), ((16, 16), (16, 16))]
        {
            let error = TokenFit::through(short, long).unwrap_err().to_string();
            assert!(error.contains("stay estimates"), "{error}");
        }
    }

    #[test]
    fn a_length_beyond_the_cap_is_refused() {
        for text in ["20000000", "uniform:1:20000000", "normal:20000000:5"] {
            let error = check("input-tokens", text.parse().unwrap(), LONGEST_INPUT).unwrap_err().to_string();
            assert!(error.contains("at most 10000000"), "{error}");
        }
        assert_eq!(check("input-tokens", "exp:10000000".parse().unwrap(), LONGEST_INPUT), Ok(()));
    }
}
