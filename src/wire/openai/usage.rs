//! The token counts of a `usage` object, under every name that servers give them.

use super::super::json::{Cursor, Value};
use crate::wire::Usage;

/// Reads a `usage` object; what it does not say stays `None`.
pub(super) fn read(cursor: &mut Cursor<'_>) -> Option<Usage> {
    let mut usage = Usage::default();
    // The legacy names come beside the new ones or instead of them.
    let mut legacy = Usage::default();
    cursor.object(|key, cursor| {
        match key {
            b"completion_tokens" => merge(&mut usage.completion_tokens, cursor.value()?.count()),
            b"prompt_tokens" => merge(&mut usage.prompt_tokens, cursor.value()?.count()),
            b"output_tokens" => merge(&mut legacy.completion_tokens, cursor.value()?.count()),
            b"input_tokens" => merge(&mut legacy.prompt_tokens, cursor.value()?.count()),
            b"cached_tokens" | b"prompt_cache_hit_tokens" => {
                merge(&mut legacy.cached_tokens, cursor.value()?.count());
            }
            b"reasoning_tokens" => merge(&mut legacy.reasoning_tokens, cursor.value()?.count()),
            b"prompt_tokens_details" | b"input_tokens_details" => {
                merge(&mut usage.cached_tokens, detail(cursor.value()?, b"cached_tokens"));
            }
            b"completion_tokens_details" | b"output_tokens_details" => {
                merge(&mut usage.reasoning_tokens, detail(cursor.value()?, b"reasoning_tokens"));
            }
            _ => {
                cursor.value()?;
            }
        }
        Some(())
    })?;
    legacy.merge(usage);
    Some(legacy)
}

fn detail(details: Value<'_>, wanted: &[u8]) -> Option<u64> {
    let Value::Object(details) = details else { return None };
    let mut count = None;
    Cursor::new(details).object(|key, cursor| {
        let value = cursor.value()?;
        if key == wanted {
            merge(&mut count, value.count());
        }
        Some(())
    })?;
    count
}

fn merge(count: &mut Option<u64>, later: Option<u64>) {
    *count = later.or(*count);
}
