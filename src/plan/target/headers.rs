//! The headers that every request carries beside our own; writes none.

use super::Header;
use super::basic;
use crate::plan::raw::Raw;
use crate::plan::reading::{Reading, option};
use crate::plan::secrets::{REDACTED, is_secret};
use crate::wire::check_header;

const ACCEPTED: &str = "NAME: VALUE";

const AUTHORIZATION: &str = "Authorization";

/// What to do about a secret that was not saved.
const GIVE_AGAIN: &str = "secrets are not saved with results: give it again";

/// The headers in the order given; an `Authorization` of its own wins over the key, and the key over what the URLs say.
pub(super) fn read(r: &mut Reading, raw: &Raw) -> Vec<Header> {
    let mut headers: Vec<Header> =
        raw.target.header.iter().filter_map(|text| one(r, raw, text.as_str())).collect();
    if !authorizes(&headers)
        && let Some(value) = key(r, raw)
    {
        headers.push(Header { name: AUTHORIZATION.into(), value, secret: true });
    }
    headers
}

/// Whether one of them is the `Authorization`.
pub(super) fn authorizes(headers: &[Header]) -> bool {
    headers.iter().any(|header| header.name.eq_ignore_ascii_case(AUTHORIZATION))
}

/// The `Authorization` of a URL's user info.
pub(super) fn of_user_info(user_info: &str) -> Header {
    Header { name: AUTHORIZATION.into(), value: basic::authorization(user_info), secret: true }
}

fn one(r: &mut Reading, raw: &Raw, text: &str) -> Option<Header> {
    let place = option!(@place target.header);
    let Some((name, value)) = text.split_once(':').map(|(name, value)| (name.trim(), value.trim())) else {
        let remedy = "a colon stands between name and value, and quotes around both: --header 'NAME: VALUE'";
        r.note(place, Some(without_colon(text)), ACCEPTED, remedy);
        return None;
    };
    let secret = is_secret(name, &raw.target.secret_header);
    let shown = Some(format!("{name}: {}", if secret { REDACTED } else { value }));
    if let Err(fault) = check_header(name, value) {
        r.note(place, shown, ACCEPTED, fault.to_string());
        return None;
    }
    if name.eq_ignore_ascii_case("x-request-id") && raw.payload.no_request_id != Some(true) {
        r.note(place, shown, ACCEPTED, "every request has an x-request-id of its own: add --no-request-id");
        return None;
    }
    if secret && value == REDACTED {
        r.note(place, shown, ACCEPTED, format!("{GIVE_AGAIN} with --header '{name}: VALUE'"));
        return None;
    }
    Some(Header { name: name.to_owned(), value: value.to_owned(), secret })
}

/// What can be shown of a header without a colon: a first word that reads like a name. All else may well be a secret.
fn without_colon(text: &str) -> String {
    /// Longer than any name in use.
    const LONGEST: usize = 40;
    let is_sign = |b: u8| b.is_ascii_alphabetic() || b == b'-';
    let end = text.bytes().position(|b| !is_sign(b)).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    let padding = !rest.is_empty() && rest.bytes().all(|b| b == b'=');
    let after_name = rest.is_empty() || (rest.starts_with(['=', ' ', ';', ',']) && !padding);
    match (after_name && (1..=LONGEST).contains(&end), rest.is_empty()) {
        (true, true) => name.to_owned(),
        (true, false) => format!("{name}{}{REDACTED}", &rest[..1]),
        (false, _) => REDACTED.to_owned(),
    }
}

fn key(r: &mut Reading, raw: &Raw) -> Option<String> {
    let key = raw.target.api_key.as_ref()?.as_str().trim();
    let place = option!(@place target.api_key);
    if key == REDACTED {
        let remedy = format!("{GIVE_AGAIN} with --api-key KEY or the environment's OPENAI_API_KEY");
        r.note(place, Some(REDACTED.into()), "a key", remedy);
        return None;
    }
    if key.is_empty() || !key.bytes().all(|b| b.is_ascii_graphic()) {
        r.note(place, Some(REDACTED.into()), "a key of visible ASCII characters", "");
        return None;
    }
    Some(format!("Bearer {key}"))
}
