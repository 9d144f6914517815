//! The token counts of a `usage` object, under every name that servers give them.

use super::super::json::{Json, Value};
use crate::wire::Usage;

/// No prompt and no reply has more tokens: above it a count is no count, and sums of true ones never overflow.
const MOST_TOKENS: u64 = 1_000_000_000;

/// Reads a `usage` object into `usage`.
#[inline]
pub(super) fn read<'a>(json: Json<'a>, usage: &mut Usage) -> Option<Json<'a>> {
    *usage = Usage::default();
    json.object(|key, value| {
        let (value, rest) = value.value()?;
        match key {
            b"completion_tokens" => take(&mut usage.completion_tokens, tokens(value)),
            b"prompt_tokens" => take(&mut usage.prompt_tokens, tokens(value)),
            // Other names come beside these or instead of them, and count where these do not.
            b"output_tokens" => fill(&mut usage.completion_tokens, tokens(value)),
            b"input_tokens" => fill(&mut usage.prompt_tokens, tokens(value)),
            b"cached_tokens" | b"prompt_cache_hit_tokens" => fill(&mut usage.cached_tokens, tokens(value)),
            b"reasoning_tokens" => fill(&mut usage.reasoning_tokens, tokens(value)),
            b"prompt_tokens_details" | b"input_tokens_details" => {
                take(&mut usage.cached_tokens, detail(value, b"cached_tokens"));
            }
            b"completion_tokens_details" | b"output_tokens_details" => {
                take(&mut usage.reasoning_tokens, detail(value, b"reasoning_tokens"));
            }
            _ => {}
        }
        Some(rest)
    })
}

#[cold]
fn detail(details: Value<'_>, wanted: &[u8]) -> Option<u64> {
    let json = details.as_object()?;
    let mut count = None;
    json.object(|key, value| {
        let (value, rest) = value.value()?;
        if key == wanted {
            take(&mut count, tokens(value));
        }
        Some(rest)
    })?;
    count
}

fn take(count: &mut Option<u64>, later: Option<u64>) {
    *count = later.or(*count);
}

fn fill(count: &mut Option<u64>, other: Option<u64>) {
    *count = count.or(other);
}

fn tokens(value: Value<'_>) -> Option<u64> {
    value.count().filter(|tokens| *tokens <= MOST_TOKENS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_beyond_every_reply_is_no_count() {
        assert_eq!(
            usage(r#"{"completion_tokens":18446744073709551615,"prompt_tokens":1000000001}"#),
            [None; 4]
        );
        assert_eq!(usage(r#"{"completion_tokens":1000000000}"#)[2], Some(1_000_000_000));
    }

    fn usage(text: &str) -> [Option<u64>; 4] {
        let mut usage = Usage::default();
        read(Json::new(text.as_bytes()), &mut usage).unwrap();
        [usage.prompt_tokens, usage.cached_tokens, usage.completion_tokens, usage.reasoning_tokens]
    }

    #[test]
    fn every_servers_names_are_known() {
        for (text, counts) in [
            (r#"{"prompt_tokens":4,"completion_tokens":2}"#, [Some(4), None, Some(2), None]),
            (r#"{"input_tokens":4,"output_tokens":2}"#, [Some(4), None, Some(2), None]),
            (r#"{"output_tokens":9,"completion_tokens":2,"input_tokens":9}"#, [Some(9), None, Some(2), None]),
            (r#"{"completion_tokens":2,"output_tokens":9}"#, [None, None, Some(2), None]),
            (r#"{"completion_tokens":null,"output_tokens":9}"#, [None, None, Some(9), None]),
            (r#"{"completion_tokens":2,"completion_tokens":null}"#, [None, None, Some(2), None]),
            (
                r#"{"prompt_tokens_details":{"cached_tokens":3},"cached_tokens":1}"#,
                [None, Some(3), None, None],
            ),
            (
                r#"{"cached_tokens":1,"prompt_tokens_details":{"cached_tokens":3}}"#,
                [None, Some(3), None, None],
            ),
            (r#"{"prompt_cache_hit_tokens":1,"prompt_tokens_details":null}"#, [None, Some(1), None, None]),
            (r#"{"completion_tokens_details":{"reasoning_tokens":7,"x":[]}}"#, [None, None, None, Some(7)]),
            (r#"{"reasoning_tokens":0}"#, [None, None, None, Some(0)]),
        ] {
            assert_eq!(usage(text), counts, "{text}");
        }
    }
}
