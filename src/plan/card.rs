//! The capacity card: what `lowrho floor` measured on a host, kept for later plans; opens no file.

use super::Engine;
use super::cost::{Cost, CostSource};
use crate::time::Span;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The version of the card's format.
pub const CARD_VERSION: u32 = 1;

/// Costs beyond these are no measurement: a request that takes a shard longer than this could not be driven at all.
const MOST_COST: Span = Span::from_ms(10);

/// What one host can do, as measured there.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Card {
    /// Of this format: [`CARD_VERSION`].
    pub version: u32,
    /// The lowrho that measured: another one may cost more or less.
    pub lowrho: String,
    /// The host it holds for.
    pub host: CardHost,
    /// The engine that it was measured with: `uring`, or `epoll`, at whose costs that one does not drive.
    #[serde(default = "uring")]
    pub engine: String,
    /// When it was measured, in seconds since 1970.
    pub made_unix_s: u64,
    /// Tokens of an answer while measuring.
    pub tokens_per_request: u32,
    /// CPU time of a shard for a request beside its events, kernel included.
    pub request_cost_ns: i64,
    /// CPU time of a shard for a streamed event, kernel included.
    pub event_cost_ns: i64,
    /// The highest rate of requests measured with a valid verdict; null = none was valid.
    pub valid_requests_per_s: Option<f64>,
    /// The highest rate of events measured with a valid verdict; null = none was valid.
    pub valid_events_per_s: Option<f64>,
}

/// What a card without the word was measured with.
fn uring() -> String {
    Engine::Uring.name().into()
}

/// The facts that make a host the one a card was measured on.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct CardHost {
    /// The name it gives itself.
    pub hostname: String,
    /// The kernel's release: another one receives at another cost.
    pub kernel: String,
    /// The processor's name.
    pub cpu_model: Option<String>,
}

/// Why a card is not used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CardRefusal {
    /// It is not a card.
    Malformed(String),
    /// Its format is not this one.
    Version(u32),
    /// It was measured elsewhere, or by another lowrho: what differs, what it says, what is so here.
    Elsewhere(&'static str, String, String),
}

impl fmt::Display for CardRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(why) => write!(f, "not a capacity card: {why}"),
            Self::Version(version) => {
                write!(f, "a capacity card of format {version}, and this lowrho reads format {CARD_VERSION}")
            }
            Self::Elsewhere(what, card, here) => {
                write!(f, "measured with another {what} ({card:?}; here {here:?})")
            }
        }
    }
}

impl std::error::Error for CardRefusal {}

impl Card {
    /// The card's text, with a newline at its end.
    ///
    /// # Panics
    /// Never: every key of a card is a string.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("every key of a card is a string");
        text.push('\n');
        text
    }

    /// Reads a card's text for use on `host` by this lowrho.
    ///
    /// # Errors
    /// It is not a card, of another format, of another host, kernel or lowrho, or holds what cannot be.
    pub fn read(text: &str, host: &CardHost) -> Result<Self, CardRefusal> {
        #[derive(Deserialize)]
        struct Version {
            version: u32,
        }
        let malformed = |error: serde_json::Error| CardRefusal::Malformed(error.to_string());
        let Version { version } = serde_json::from_str(text).map_err(malformed)?;
        if version != CARD_VERSION {
            return Err(CardRefusal::Version(version));
        }
        let card: Self = serde_json::from_str(text).map_err(malformed)?;
        let model = |host: &CardHost| host.cpu_model.clone().unwrap_or_default();
        for (what, there, here) in [
            ("lowrho", card.lowrho.clone(), env!("CARGO_PKG_VERSION").to_owned()),
            ("host", card.host.hostname.clone(), host.hostname.clone()),
            ("kernel", card.host.kernel.clone(), host.kernel.clone()),
            ("processor", model(&card.host), model(host)),
        ] {
            if there != here {
                return Err(CardRefusal::Elsewhere(what, there, here));
            }
        }
        let most = MOST_COST.as_ns();
        if !(0..=most).contains(&card.request_cost_ns) || !(1..=most).contains(&card.event_cost_ns) {
            let why = format!("costs are from 0 (an event's: 1) to {most} ns");
            return Err(CardRefusal::Malformed(why));
        }
        Ok(card)
    }

    /// What plans are made with; `file` is where the card lies.
    #[must_use]
    pub fn cost(&self, file: &str) -> Cost {
        Cost {
            request: Span::from_ns(self.request_cost_ns),
            event: Span::from_ns(self.event_cost_ns),
            source: CostSource::Card(file.into()),
            engine: if self.engine == Engine::Epoll.name() { Engine::Epoll } else { Engine::Uring },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn here() -> CardHost {
        CardHost { hostname: "h".into(), kernel: "6.18.44".into(), cpu_model: Some("EPYC".into()) }
    }

    fn card() -> Card {
        Card {
            version: CARD_VERSION,
            lowrho: env!("CARGO_PKG_VERSION").into(),
            host: here(),
            engine: uring(),
            made_unix_s: 1_800_000_000,
            tokens_per_request: 8,
            request_cost_ns: 11_000,
            event_cost_ns: 3_500,
            valid_requests_per_s: Some(4_000.0),
            valid_events_per_s: None,
        }
    }

    #[test]
    fn a_card_is_read_back_where_it_was_measured() {
        let read = Card::read(&card().to_json(), &here()).unwrap();
        assert_eq!(read, card());
        let cost = read.cost("c.json");
        assert_eq!((cost.request, cost.event), (Span::from_us(11), Span::from_ns(3_500)));
        assert_eq!(cost.to_string(), "11us a request and 3.5us an event");
        let nameless = card().to_json().replace("  \"engine\": \"uring\",\n", "");
        assert_eq!(Card::read(&nameless, &here()).unwrap(), card(), "before there were two");
    }

    #[test]
    fn a_card_of_one_engine_says_nothing_of_the_other() {
        let cost = |engine: Engine| Card { engine: engine.name().into(), ..card() }.cost("c.json");
        for engine in [Engine::Uring, Engine::Epoll] {
            assert_eq!(cost(engine).of(engine), cost(engine));
        }
        let other = cost(Engine::Epoll).of(Engine::Uring);
        assert_eq!(other.event, Cost::default().event);
        let CostSource::Refused(why) = &other.source else { panic!("{other:?}") };
        assert!(why.contains("c.json: measured with --engine epoll"), "{why}");
    }

    #[test]
    fn a_card_of_elsewhere_is_refused_and_says_what_differs() {
        type Change = fn(&mut CardHost);
        let changes: [(Change, &str); 4] = [
            (|host| host.hostname = "other".into(), "another host (\"h\"; here \"other\")"),
            (|host| host.kernel = "6.19.1".into(), "another kernel (\"6.18.44\"; here \"6.19.1\")"),
            (|host| host.cpu_model = Some("Xeon".into()), "another processor"),
            (|host| host.cpu_model = None, "another processor"),
        ];
        for (change, said) in changes {
            let mut host = here();
            change(&mut host);
            let refusal = Card::read(&card().to_json(), &host).unwrap_err().to_string();
            assert!(refusal.contains(said), "{said} in {refusal}");
        }
        let older = Card { lowrho: "0.0.1".into(), ..card() };
        let refusal = Card::read(&older.to_json(), &here()).unwrap_err().to_string();
        assert!(refusal.contains("another lowrho (\"0.0.1\""), "{refusal}");
    }

    #[test]
    fn what_is_no_card_or_holds_what_cannot_be_is_refused() {
        let refusal = |text: &str| Card::read(text, &here()).unwrap_err();
        assert!(matches!(refusal(""), CardRefusal::Malformed(_)));
        assert!(matches!(refusal("[]"), CardRefusal::Malformed(_)));
        assert!(matches!(refusal("{\"version\": 1}"), CardRefusal::Malformed(_)));
        // A later format may hold anything else.
        assert_eq!(refusal("{\"version\": 2, \"x\": []}"), CardRefusal::Version(2));
        for (request, event) in [(-1, 3_000), (0, 0), (0, -5), (10_000_001, 3_000), (0, 10_000_001)] {
            let odd = Card { request_cost_ns: request, event_cost_ns: event, ..card() };
            assert!(matches!(refusal(&odd.to_json()), CardRefusal::Malformed(_)), "{request} {event}");
        }
    }
}
