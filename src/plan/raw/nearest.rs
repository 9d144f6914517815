//! The nearest of some words to one that is none of them; silent where nothing is near.

/// The word of `known` nearest to `word`, if one is near enough to have been meant.
#[must_use]
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    /// Below this, two words of the program's own vocabulary are as near as a typing error.
    const NEAR: f64 = 0.7;
    let word = word.to_ascii_lowercase().replace('_', "-");
    known
        .into_iter()
        .map(|candidate| (strsim::jaro_winkler(&word, candidate), candidate))
        .filter(|(likeness, _)| *likeness >= NEAR)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typing_error_finds_its_word() {
        let known = ["rate", "rate-end", "duration", "max-concurrency", "timeout-first-token"];
        for (typed, meant) in [
            ("rat", "rate"),
            ("duraton", "duration"),
            ("max_concurrency", "max-concurrency"),
            ("Timeout-First-Tokens", "timeout-first-token"),
        ] {
            assert_eq!(nearest(typed, known), Some(meant), "{typed}");
        }
    }

    #[test]
    fn a_word_near_nothing_finds_nothing() {
        assert_eq!(nearest("xyzzy", ["rate", "duration"]), None);
    }
}
