//! What a user can set about the simulated server, and the text forms of it.

use super::{EngineKind, FaultRule, Faults, Latencies};
use crate::random::Counts;

/// The whole script of a simulated server.
#[derive(Clone, PartialEq, Debug)]
pub struct Script {
    /// The served model's name.
    pub model: String,
    /// Tokens of prompt and answer together that a request may have.
    pub max_model_len: u32,
    /// What makes the tokens.
    pub engine: EngineKind,
    /// When tokens come, of an engine of laws.
    pub latencies: Latencies,
    /// Tokens of one event.
    pub tokens_per_event: Counts,
    /// Requests served at once, over all shards; the others wait. `None` = no limit.
    pub max_running: Option<u32>,
    /// Tokens that the prefix cache holds, over all shards. `None` = every prompt is computed whole.
    pub prefix_cache: Option<u32>,
    /// What goes wrong.
    pub faults: Faults,
    /// What is drawn depends on this and the request's number alone.
    pub seed: u64,
}

impl Default for Script {
    fn default() -> Self {
        Self {
            model: "lowrho-sim".into(),
            max_model_len: 131_072,
            engine: EngineKind::Laws,
            latencies: Latencies::default(),
            tokens_per_event: Counts::constant(1),
            max_running: None,
            prefix_cache: None,
            faults: Faults::default(),
            seed: 0,
        }
    }
}

impl Script {
    /// The same script with the faults of these texts (see [`FaultRule`]), in their order.
    ///
    /// # Errors
    /// Names the text and what is accepted.
    pub fn with_faults<T: AsRef<str>>(mut self, texts: &[T]) -> Result<Self, super::FaultError> {
        let rules: Result<Vec<FaultRule>, _> = texts.iter().map(|text| text.as_ref().parse()).collect();
        self.faults = Faults(rules?);
        Ok(self)
    }

    /// What each of `shards` may keep of prompts: connections, and so prompts, are spread over them.
    pub(super) fn cache_tokens(&self, shards: usize) -> Option<u32> {
        Some(self.prefix_cache? / u32::try_from(shards).unwrap_or(u32::MAX).max(1))
    }

    /// The places of `shard` among `shards`: they add up to `max_running`.
    pub(super) fn places(&self, shard: usize, shards: usize) -> Option<usize> {
        let all = usize::try_from(self.max_running?).expect("a u32 fits");
        Some(all / shards + usize::from(shard < all % shards))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shards_places_add_up() {
        for (max, shards) in [(1, 1), (7, 3), (8, 4), (9, 2)] {
            let script = Script { max_running: Some(max), ..Script::default() };
            let sum: usize = (0..shards).map(|shard| script.places(shard, shards).unwrap()).sum();
            assert_eq!(sum, max as usize);
        }
        assert_eq!(Script::default().places(0, 2), None);
    }
}
