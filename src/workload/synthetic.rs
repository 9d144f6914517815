//! Made-up prompts: where it is asked for, a prefix that all share; a head that no other request has; a cut of the shared corpus.
//! It must not know the body around the prompt's value.

use super::corpus::Corpus;
use super::tokens::{self, LONGEST_INPUT};
use super::vocabulary::{PromptForm, Vocabulary};
use super::{InputTokens, Request, TokenFit, WorkloadError};
use crate::random::{Counts, Purpose, Stream};
use crate::wire::Api;
use std::ops::Range;
use std::sync::Arc;

/// Prompts of drawn lengths.
#[derive(Clone, Debug)]
pub(super) struct Synthetic {
    seed: u64,
    prefix_tokens: u32,
    input_tokens: Counts,
    vocabulary: Vocabulary,
    corpus: Corpus,
    fit: TokenFit,
    /// What stands around a prompt: in chat, one message of the user.
    around: (&'static [u8], &'static [u8]),
}

const INPUT_TOKENS: Purpose = Purpose::named("input tokens");
const PREFIX: Purpose = Purpose::named("shared prefix");
const CUT: Purpose = Purpose::named("cut of the corpus");

impl Synthetic {
    pub(super) fn new(
        api: Api,
        form: &PromptForm,
        (prefix_tokens, input_tokens): (u32, Counts),
        seed: u64,
    ) -> Result<Self, WorkloadError> {
        let vocabulary = Self::check(api, form, input_tokens)?;
        let around: (&[u8], &[u8]) = match api {
            Api::Chat => (b"[{\"role\":\"user\",\"content\":", b"}]"),
            Api::Completions => (b"", b""),
        };
        let corpus = Corpus::new(&vocabulary, seed);
        Ok(Self { seed, prefix_tokens, input_tokens, vocabulary, corpus, fit: TokenFit::ASSUMED, around })
    }

    /// Checks what prompts are to be, and tells what they are made of.
    pub(super) fn check(
        api: Api,
        form: &PromptForm,
        input_tokens: Counts,
    ) -> Result<Vocabulary, WorkloadError> {
        tokens::check("input-tokens", input_tokens, LONGEST_INPUT)?;
        if let (Api::Chat, PromptForm::Ids(_)) = (api, form) {
            return Err(WorkloadError::new(
                "prompt-as ids: chat takes text only; use --api completions, or --prompt-as text",
            ));
        }
        Vocabulary::new(form)
    }

    /// The bytes that prompts are ranges of.
    pub(super) fn shared(&self) -> Arc<[u8]> {
        Arc::clone(&self.corpus.bytes)
    }

    /// Takes what the server counted; ids need no count.
    pub(super) fn calibrate(&mut self, fit: TokenFit) {
        self.fit = fit;
    }

    /// Words or ids of request `index`'s prompt, the shared prefix not among them.
    pub(super) fn units(&self, index: u64) -> u32 {
        let tokens =
            self.input_tokens.sample(&mut Stream::new(self.seed, INPUT_TOKENS, index), LONGEST_INPUT);
        match self.vocabulary {
            Vocabulary::Words => self.fit.words(tokens),
            Vocabulary::Ids { .. } => tokens,
        }
    }

    /// Words or ids of the shared prefix.
    fn prefix_units(&self) -> u32 {
        match self.vocabulary {
            Vocabulary::Words if self.prefix_tokens > 0 => self.fit.more_words(self.prefix_tokens),
            _ => self.prefix_tokens,
        }
    }

    /// What is known of the length of a prompt of so many words or ids, and the shared prefix before them.
    pub(super) fn tokens(&self, units: u32) -> InputTokens {
        let units = units.saturating_add(self.prefix_units());
        match self.vocabulary {
            Vocabulary::Words => InputTokens { count: self.fit.tokens(units), exact: false },
            Vocabulary::Ids { .. } => InputTokens { count: units, exact: true },
        }
    }

    pub(super) fn mean_tokens(&self) -> f64 {
        f64::from(self.prefix_tokens) + self.input_tokens.mean(LONGEST_INPUT)
    }

    /// The prompt of `units` words or ids that belongs to (purpose, index).
    ///
    /// No two of one purpose have the same first [`Vocabulary::head_units`] units: their key is a bijection of the
    /// index, and these are its digits. Shorter prompts can repeat. The shared prefix is not before it.
    pub(super) fn prompt(
        &self,
        purpose: Purpose,
        index: u64,
        units: u32,
    ) -> Prompt<'_, impl Iterator<Item = Range<u32>> + Clone> {
        let key = Stream::key(self.seed, purpose, index);
        let unique = units.min(self.vocabulary.head_units());
        let cut = self.corpus.cut(units - unique, Stream::new(self.seed, CUT, key));
        Prompt { of: self, prefix: 0, key, unique, cut }
    }

    /// The first `units` of the prefix. Each unit has its separator before it, but for the first.
    fn prefix(&self, units: u32) -> impl Iterator<Item = Range<u32>> + Clone {
        let cut = self.corpus.cut(units, Stream::new(self.seed, PREFIX, 0));
        cut.zip(0..).map(|(range, nth)| if nth == 0 { range.start + 1..range.end } else { range })
    }
}

/// One prompt, not yet written.
pub(super) struct Prompt<'a, Cut> {
    of: &'a Synthetic,
    /// Units before it that are not.
    prefix: u32,
    key: u64,
    /// Units that are its own.
    unique: u32,
    /// The rest, in the shared bytes; each unit has its separator before it.
    cut: Cut,
}

impl<Cut: Iterator<Item = Range<u32>> + Clone> Prompt<'_, Cut> {
    /// The same prompt behind the prefix that all share.
    pub(super) fn after_prefix(mut self) -> Self {
        self.prefix = self.of.prefix_units();
        self
    }

    /// Bytes of its JSON value.
    pub(super) fn length(&self) -> usize {
        let Synthetic { vocabulary, around, .. } = self.of;
        let (open, close) = vocabulary.quotes();
        let unique: usize = self.digits().map(|digit| 1 + vocabulary.length(digit)).sum();
        let unique = unique - usize::from(self.prefix == 0);
        let cuts = self.of.prefix(self.prefix).chain(self.cut.clone());
        let cuts: usize = cuts.map(|range| (range.end - range.start) as usize).sum();
        around.0.len() + open.len() + unique + cuts + close.len() + around.1.len()
    }

    /// Appends its JSON value.
    pub(super) fn write(self, request: &mut Request) {
        let Synthetic { vocabulary, around, .. } = self.of;
        let (open, close) = vocabulary.quotes();
        request.write(|own| {
            own.extend_from_slice(around.0);
            own.extend_from_slice(open);
        });
        self.of.prefix(self.prefix).for_each(|range| request.borrow(range));
        request.write(|own| {
            for (digit, nth) in self.digits().zip(0..) {
                if nth > 0 || self.prefix > 0 {
                    own.push(vocabulary.separator());
                }
                vocabulary.write(digit, own);
            }
        });
        self.cut.for_each(|range| request.borrow(range));
        request.write(|own| {
            own.extend_from_slice(close);
            own.extend_from_slice(around.1);
        });
    }

    /// The digits of the key to the base of the vocabulary.
    fn digits(&self) -> impl Iterator<Item = u64> + use<Cut> {
        let size = self.of.vocabulary.size();
        let mut left = self.key;
        let next = move || {
            let digit = left % size;
            left /= size;
            digit
        };
        std::iter::repeat_with(next).take(self.unique as usize)
    }
}
