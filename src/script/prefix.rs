//! Which beginnings of prompts an engine still has in memory: its prefix cache, in whole blocks.
//!
//! It must not keep prompts: a block is known by a hash of itself and of all before it.

use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hasher};

/// Tokens of a block, as in vLLM.
pub const BLOCK_TOKENS: u32 = 16;

/// The same as a number of things.
const BLOCK: usize = 16;

/// Bytes of text that make a block: four to a token, as everywhere here.
const BLOCK_BYTES: usize = 4 * BLOCK;

/// The blocks of the prompts seen last. A prompt is known from the moment it arrives.
#[derive(Debug)]
pub struct PrefixCache {
    most_blocks: usize,
    /// When each block was used last.
    used: HashMap<u64, u64>,
    /// The same the other way round: the first is the first to go.
    order: BTreeMap<u64, u64>,
    uses: u64,
}

impl PrefixCache {
    /// A cold cache of so many tokens, rounded down to blocks, at least one.
    #[must_use]
    pub fn of_tokens(tokens: u32) -> Self {
        let most_blocks = usize::try_from(tokens / BLOCK_TOKENS).expect("a u32 fits").max(1);
        Self { most_blocks, used: HashMap::new(), order: BTreeMap::new(), uses: 0 }
    }

    /// How many of a prompt's `tokens` need not be computed, and remembers the prompt. Whole blocks from its beginning;
    /// never all of it, since the first token of the answer comes of computing the prompt's last.
    pub fn take(&mut self, prompt: &[u8], tokens: u32) -> u32 {
        let blocks = chain(prompt);
        let known = blocks.iter().take_while(|block| self.used.contains_key(block)).count();
        // The beginning, which most prompts could share, is used last, and so goes last.
        for block in blocks.iter().rev() {
            self.uses += 1;
            if let Some(before) = self.used.insert(*block, self.uses) {
                self.order.remove(&before);
            }
            self.order.insert(self.uses, *block);
        }
        while self.used.len() > self.most_blocks {
            let Some((_, block)) = self.order.pop_first() else { break };
            self.used.remove(&block);
        }
        let cached = u32::try_from(known * BLOCK).unwrap_or(u32::MAX);
        let whole = cached.min(tokens.saturating_sub(1));
        whole - whole % BLOCK_TOKENS
    }
}

/// The names of a prompt's whole blocks, each made of its bytes and of the name before it.
///
/// The prompt is as it stands in JSON: token ids are told apart by their commas, text begins after its quotation mark, and
/// messages are taken as they stand, what is around their texts for the tokens of a chat's template.
fn chain(prompt: &[u8]) -> Vec<u64> {
    let name = |before: &mut u64, block: &[u8]| {
        let mut hasher = DefaultHasher::new();
        hasher.write_u64(*before);
        hasher.write(block);
        *before = hasher.finish();
        Some(*before)
    };
    match prompt {
        [b'[', rest @ ..] if rest.trim_ascii_start().first().is_some_and(u8::is_ascii_digit) => {
            let ids: Vec<&[u8]> =
                rest.split(|byte| matches!(byte, b',' | b']')).map(<[u8]>::trim_ascii).collect();
            let ids = ids.strip_suffix(&[b"".as_slice()]).unwrap_or(&ids);
            ids.chunks_exact(BLOCK)
                .map(|block| block.join(&b','))
                .scan(0, |before, block| name(before, &block))
                .collect()
        }
        [b'"', text @ ..] => text.chunks_exact(BLOCK_BYTES).scan(0, name).collect(),
        messages => messages.chunks_exact(BLOCK_BYTES).scan(0, name).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A text of so many tokens, the first `shared` of them the same in all.
    fn prompt(own: u8, shared: usize, tokens: usize) -> Vec<u8> {
        let mut text = vec![b'x'; 4 * shared];
        text.resize(4 * tokens, own);
        text
    }

    #[test]
    fn what_prompts_share_is_computed_once() {
        let mut cache = PrefixCache::of_tokens(10_000);
        assert_eq!(cache.take(&prompt(1, 800, 1_000), 1_000), 0, "cold");
        assert_eq!(cache.take(&prompt(2, 800, 1_000), 1_000), 800);
        assert_eq!(cache.take(&prompt(3, 0, 1_000), 1_000), 0, "another beginning");
        assert_eq!(cache.take(&prompt(1, 800, 1_000), 1_000), 992, "never all of it");
        assert_eq!(cache.take(&prompt(4, 807, 1_000), 1_000), 800, "whole blocks");
    }

    #[test]
    fn a_block_is_known_only_after_the_same_beginning() {
        let mut cache = PrefixCache::of_tokens(10_000);
        let text = prompt(1, 16, 64);
        cache.take(&text, 64);
        assert_eq!(cache.take(&text[64..], 48), 0, "the same block elsewhere");
    }

    #[test]
    fn what_was_used_longest_ago_goes_first_and_its_end_before_its_beginning() {
        let mut cache = PrefixCache::of_tokens(160);
        let (first, second) = (prompt(1, 0, 96), prompt(2, 0, 96));
        cache.take(&first, 96);
        cache.take(&second, 96);
        // Twelve blocks for ten places: the first prompt lost its last two.
        assert_eq!(cache.take(&first, 96), 64);
        assert_eq!(PrefixCache::of_tokens(1).most_blocks, 1);
    }

    #[test]
    fn token_ids_are_counted_and_not_their_digits() {
        let mut cache = PrefixCache::of_tokens(10_000);
        let json = |own: u32, gap: &str| {
            let ids: Vec<String> = (0..160).chain(own..own + 100).map(|id| id.to_string()).collect();
            format!("[{}]", ids.join(gap))
        };
        cache.take(json(7, ",").as_bytes(), 260);
        assert_eq!(cache.take(json(100_000, ", ").as_bytes(), 260), 160);
        assert_eq!(cache.take(json(7, ",\n").as_bytes(), 260), 256);
        assert_eq!(cache.take(b"[]", 1), 0);
    }

    #[test]
    fn text_is_counted_from_its_first_character() {
        let mut cache = PrefixCache::of_tokens(10_000);
        let json = |own: &str| format!("\"{}{}\"", "x".repeat(256), own.repeat(100));
        cache.take(json("ab").as_bytes(), 114);
        assert_eq!(cache.take(json("cd").as_bytes(), 114), 64);
    }

    proptest! {
        #[test]
        fn it_never_holds_more_than_it_may_nor_tells_more_than_there_is(
            prompts in proptest::collection::vec((0_u8..4, 0_usize..40, 0_usize..60), 1..40), room in 0_u32..500,
        ) {
            let mut cache = PrefixCache::of_tokens(room);
            for (own, shared, tokens) in prompts {
                let told = u32::try_from(tokens).unwrap();
                let cached = cache.take(&prompt(own, shared.min(tokens), tokens), told);
                prop_assert!(cached == 0 || cached < told);
                prop_assert!(cache.used.len() <= cache.most_blocks && cache.used.len() == cache.order.len());
            }
        }
    }
}
