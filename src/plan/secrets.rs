//! What must not be written: which values are secret, and the options with `***` in their place.

use super::raw::{Raw, Text};

/// Stands for every secret in what is written.
pub const REDACTED: &str = "***";

/// Headers whose values are secret without being named.
const SECRET_HEADERS: [&str; 5] = ["authorization", "proxy-authorization", "x-api-key", "api-key", "cookie"];

/// Whether the value of the header `name` is secret, `named` being those of `--secret-header`.
#[must_use]
pub fn is_secret(name: &str, named: &[Text]) -> bool {
    SECRET_HEADERS.iter().any(|secret| secret.eq_ignore_ascii_case(name))
        || named.iter().any(|secret| secret.as_str().trim().eq_ignore_ascii_case(name))
}

/// The options with every secret replaced by [`REDACTED`].
pub(super) fn redacted(mut raw: Raw) -> Raw {
    let target = &mut raw.target;
    if let Some(key) = &mut target.api_key {
        key.0 = REDACTED.to_owned();
    }
    for header in &mut target.header {
        let name = header.as_str().split_once(':').map(|(name, _)| name.trim().to_owned());
        match name {
            Some(name) if !is_secret(&name, &target.secret_header) => {}
            Some(name) => header.0 = format!("{name}: {REDACTED}"),
            None => header.0 = REDACTED.to_owned(),
        }
    }
    for url in &mut target.url {
        url.0 = without_user_info(url.as_str());
    }
    raw
}

/// `url` with its user info hidden.
pub(super) fn without_user_info(url: &str) -> String {
    let start = url.find("://").map_or(0, |at| at + 3);
    let end = url[start..].find(['/', '?', '#']).map_or(url.len(), |at| start + at);
    match url[start..end].rfind('@') {
        Some(at) => format!("{}{REDACTED}{}", &url[..start], &url[start + at..]),
        None => url.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_secret_is_left_in_what_is_written() {
        let raw = Raw::from_toml(
            "[target]\nurl = \"http://me:hunter2@h/v1\"\napi-key = \"hunter2\"\nsecret-header = [\"X-Own\"]\n\
             header = [\"authorization: hunter2\", \"X-API-Key:hunter2\", \"x-own: hunter2\", \"Cookie: hunter2\",\n\
             \"API-KEY: hunter2\", \"hunter2\", \"X-Plain: seen\"]",
        )
        .unwrap();
        let written = redacted(raw).to_toml();
        assert!(!written.contains("hunter2"), "{written}");
        for kept in ["http://***@h/v1", "X-Plain: seen", "authorization: ***", "x-own: ***"] {
            assert!(written.contains(kept), "{kept} in {written}");
        }
    }

    #[test]
    fn only_user_info_of_a_url_is_hidden() {
        for (url, hidden) in [
            ("http://h/a@b", "http://h/a@b"),
            ("http://u@h", "http://***@h"),
            ("http://u:p@q@h:1/x", "http://***@h:1/x"),
            ("u:p@h", "***@h"),
        ] {
            assert_eq!(without_user_info(url), hidden);
        }
    }
}
