//! The options of the target to the target; resolves no name and opens nothing.

use super::{Endpoint, Target, Timeouts, headers, url};
use crate::plan::raw::Raw;
use crate::plan::reading::{Reading, option};
use crate::plan::secrets::{REDACTED, without_user_info};
use crate::time::Span;
use crate::wire::Api;
use serde_json::{Map, Value};
use std::ops::RangeInclusive;

const APIS: [(&str, Api); 2] = [("chat", Api::Chat), ("completions", Api::Completions)];

/// From what a loopback answers in to what no one waits for.
const TIMEOUT: RangeInclusive<Span> = Span::from_ms(1)..=Span::from_s(86_400);

/// Reads section `[target]`.
pub(in crate::plan) fn read(r: &mut Reading, raw: &Raw) -> Target {
    let api = r.word(option!(raw.target.api), &APIS).unwrap_or(Api::Chat);
    let (endpoint, user_info) = endpoint(r, raw, api);
    let headers = headers::read(r, raw, user_info.as_deref());
    Target {
        endpoint,
        api,
        model: r.text(option!(raw.target.model), "the name of a model"),
        headers,
        extra_body: extra_body(r, raw),
        wait_ready: r.span(option!(raw.target.wait_ready), TIMEOUT),
        timeouts: timeouts(r, raw),
        probe: raw.target.no_probe != Some(true),
    }
}

fn endpoint(r: &mut Reading, raw: &Raw, api: Api) -> (Endpoint, Option<String>) {
    // The simulator's own address is known when it listens.
    let ours = Endpoint { host: "127.0.0.1".into(), port: 0, path: api.path().into(), base: String::new() };
    let given = option!(raw.target.url);
    let Some(text) = given.value else {
        if raw.target.sim != Some(true) {
            r.refuse(
                given,
                url::ACCEPTED,
                "say what to drive: --url http://HOST:PORT, or --sim for the embedded simulator",
            );
        }
        return (ours, None);
    };
    let shown = Some(without_user_info(text.as_str()));
    if raw.target.sim == Some(true) {
        r.note(
            given.place,
            shown,
            "",
            "--sim drives the embedded simulator: leave one of --url and --sim out",
        );
        return (ours, None);
    }
    match url::parse(text.as_str(), api) {
        Ok(address) if address.user_info.as_deref() == Some(REDACTED) => {
            let remedy = "secrets are not saved with results: give --url again, user and password in it";
            r.note(given.place, shown, url::ACCEPTED, remedy);
            (ours, None)
        }
        Ok(address) => (address.endpoint, address.user_info),
        Err(url::UrlError(remedy)) => {
            r.note(given.place, shown, url::ACCEPTED, remedy);
            (ours, None)
        }
    }
}

fn extra_body(r: &mut Reading, raw: &Raw) -> Map<String, Value> {
    let given = option!(raw.target.extra_body);
    let accepted = "a JSON object, such as '{\"temperature\": 0}'";
    match r.parsed(given, accepted, |text| serde_json::from_str::<Value>(text)) {
        Some(Value::Object(object)) => object,
        Some(_) => {
            r.refuse(given, accepted, "");
            Map::new()
        }
        None => Map::new(),
    }
}

fn timeouts(r: &mut Reading, raw: &Raw) -> Timeouts {
    let timeouts = Timeouts {
        total: r.span(option!(raw.target.timeout), TIMEOUT).unwrap_or_default(),
        connect: r.span(option!(raw.target.timeout_connect), TIMEOUT).unwrap_or_default(),
        first_byte: r.span(option!(raw.target.timeout_first_byte), TIMEOUT),
        first_token: r.span(option!(raw.target.timeout_first_token), TIMEOUT),
        idle: r.span(option!(raw.target.timeout_idle), TIMEOUT),
    };
    for (given, part) in [
        (option!(raw.target.timeout_first_byte), timeouts.first_byte),
        (option!(raw.target.timeout_first_token), timeouts.first_token),
        (option!(raw.target.timeout_idle), timeouts.idle),
    ] {
        if part.is_some_and(|part| part > timeouts.total && timeouts.total > Span::ZERO) {
            r.refuse(given, "at most --timeout", "raise --timeout too, or this one never fires");
        }
    }
    timeouts
}
