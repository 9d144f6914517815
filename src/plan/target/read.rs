//! The options of the target to the target; resolves no name and opens nothing.

use super::{Endpoint, MOST_TARGETS, Retry, Target, Timeouts, balance, headers, tls, url};
use crate::plan::gpus;
use crate::plan::raw::Raw;
use crate::plan::reading::{Given, Reading, option};
use crate::plan::secrets::{REDACTED, without_user_info};
use crate::plan::sim;
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
    let mut endpoints = endpoints(r, raw, api);
    let headers = headers::read(r, raw);
    if headers::authorizes(&headers) {
        endpoints.iter_mut().for_each(|endpoint| endpoint.authorization = None);
    }
    let balance = balance::read(r, raw, &mut endpoints);
    let tls = tls::read(r, raw, &endpoints);
    Target {
        endpoints,
        balance,
        api,
        model: r.text(option!(raw.target.model), "the name of a model"),
        headers,
        tls,
        extra_body: extra_body(r, raw),
        wait_ready: r.span(option!(raw.target.wait_ready), TIMEOUT),
        timeouts: timeouts(r, raw),
        retry: Retry { times: r.count(option!(raw.target.retry), 0..=20).unwrap_or_default() },
        gpus: gpus::read(r, raw),
        probe: raw.target.no_probe != Some(true),
    }
}

/// The servers named; never none.
fn endpoints(r: &mut Reading, raw: &Raw, api: Api) -> Vec<Endpoint> {
    // The simulator's own address is known when it listens.
    let ours = || {
        let endpoint = Endpoint::of_host("127.0.0.1".into(), 0, api.path().into(), String::new());
        vec![Endpoint { secure: sim::is_secure(&raw.sim), ..endpoint }]
    };
    let given = |value| Given { place: option!(@place target.url), value };
    let urls = &raw.target.url;
    let Some(first) = urls.first() else {
        if raw.target.sim != Some(true) {
            r.refuse(
                given(None),
                url::ACCEPTED,
                "say what to drive: --url http://HOST:PORT, or --sim for the embedded simulator",
            );
        }
        return ours();
    };
    let shown = |text: &str| Some(without_user_info(text));
    if raw.target.sim == Some(true) {
        let remedy = "--sim drives the embedded simulator: leave one of --url and --sim out";
        r.note(given(None).place, shown(first.as_str()), "", remedy);
        return ours();
    }
    if urls.len() > MOST_TARGETS {
        r.note(
            given(None).place,
            Some(format!("{} of them", urls.len())),
            format!("at most {MOST_TARGETS}"),
            "",
        );
        return ours();
    }
    let mut found: Vec<Endpoint> = Vec::new();
    for text in urls.iter().map(|url| url.as_str()) {
        match url::parse(text, api) {
            Ok(address) if address.user_info.as_deref() == Some(REDACTED) => {
                let remedy = "secrets are not saved with results: give --url again, user and password in it";
                r.note(given(None).place, shown(text), url::ACCEPTED, remedy);
            }
            Ok(url::Address { mut endpoint, user_info }) => {
                if found.iter().any(|other| other.url() == endpoint.url()) {
                    let remedy = "each server once: its share is said by --weights";
                    r.note(given(None).place, shown(text), "several different URLs", remedy);
                }
                endpoint.authorization = user_info.as_deref().map(headers::of_user_info);
                found.push(endpoint);
            }
            Err(url::UrlError(remedy)) => r.note(given(None).place, shown(text), url::ACCEPTED, remedy),
        }
    }
    if found.is_empty() { ours() } else { found }
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
