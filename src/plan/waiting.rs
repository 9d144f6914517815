//! How the shards wait for what arrives: the options `--coalesce` and `--busy-poll`; waits for nothing.

use super::raw::Raw;
use super::reading::{Place, Reading, option};
use crate::time::{Span, format_span, parse_span};
use std::fmt;

/// What a shard does while nothing is due.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum Waiting {
    /// Arrivals gather for a time that adapts: none when little arrives, up to 250 us under load.
    #[default]
    Auto,
    /// Arrivals gather for this long, from zero (each wakes the shard) to [`LONGEST_WINDOW`].
    Window(Span),
    /// The shard never sleeps.
    BusyPoll,
}

/// The longest window accepted. One above 500 us makes coalesced events so uncertain that the bound on their bias passes
/// what a valid verdict allows (`docs/METHOD.md`, "Verdict"); up to here that can at least be looked at.
pub const LONGEST_WINDOW: Span = Span::from_ms(10);

/// A timer for less is not worth its own cost.
const SHORTEST_WINDOW: Span = Span::from_us(1);

impl fmt::Display for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("coalescing auto"),
            Self::Window(Span::ZERO) => f.write_str("coalescing off"),
            Self::Window(window) => write!(f, "coalescing {}", format_span(*window)),
            Self::BusyPoll => f.write_str("busy-polling"),
        }
    }
}

/// Reads a window, which the option at `place` has.
pub(super) fn window(r: &mut Reading, place: Place, text: &str) -> Option<Waiting> {
    let why = match text {
        "auto" => return Some(Waiting::Auto),
        // The one span whose unit says nothing.
        "0" => return Some(Waiting::Window(Span::ZERO)),
        text => match parse_span(text) {
            Ok(window) if window == Span::ZERO || (SHORTEST_WINDOW..=LONGEST_WINDOW).contains(&window) => {
                return Some(Waiting::Window(window));
            }
            Ok(_) => String::new(),
            Err(why) => why.to_string(),
        },
    };
    let (least, most) = (format_span(SHORTEST_WINDOW), format_span(LONGEST_WINDOW));
    r.note(place, Some(text.to_owned()), format!("auto, 0, or a span from {least} to {most}"), why);
    None
}

/// Reads both options; they exclude each other, since a shard that polls lets nothing gather.
pub(super) fn read(r: &mut Reading, raw: &Raw) -> Waiting {
    let given = option!(raw.client.coalesce);
    let waiting = window(r, given.place, given.value.map_or("auto", |text| text.as_str()));
    if raw.client.busy_poll != Some(true) {
        return waiting.unwrap_or_default();
    }
    if let Some(Waiting::Window(window)) = waiting.filter(|waiting| *waiting != Waiting::Window(Span::ZERO)) {
        let place: Place = option!(@place client.busy_poll);
        r.note(
            place,
            Some("true".into()),
            "with --coalesce auto or 0",
            format!("a shard that polls lets nothing gather for {}: leave one out", format_span(window)),
        );
    }
    Waiting::BusyPoll
}
