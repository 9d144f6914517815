//! What the simulator does wrong on purpose, to which request, and where in its answer.
//!
//! It must not draw from any stream but (seed, rule, request): the same request fails the same way in every run.

use crate::random::{Purpose, Stream};
use std::fmt;
use std::str::FromStr;

/// One kind of misbehaviour.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Fault {
    /// Answers with this status and vLLM's error object.
    Status(u16),
    /// Resets the connection.
    Reset(Place),
    /// Says nothing more, and keeps the connection open.
    Stall(Place),
    /// Closes in the midst of an event.
    Truncate(Place),
    /// Streams an error event, then `[DONE]`.
    Error(Place),
    /// Sends this many bytes at a time, [`DRIP_GAP_NS`] apart.
    Drip(u32),
    /// A keep-alive comment before each token event.
    Comment,
}

/// Between two pieces of a dripping answer: long enough that no reader sees two pieces in one read for our sake.
pub const DRIP_GAP_NS: u64 = 1_000_000;

/// Where in an answer it happens.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Place {
    /// Anywhere after the head, each token event as likely.
    Drawn,
    /// Before the first byte.
    Head,
    /// After this many token events.
    After(u32),
}

impl Fault {
    /// Fixes a drawn place in an answer of `events` token events.
    fn fixed(self, events: u32, stream: &mut Stream) -> Self {
        let mut fix = |place: Place| match place {
            Place::Drawn => {
                Place::After(u32::try_from(stream.below(u64::from(events.max(1)))).expect("below a u32"))
            }
            fixed => fixed,
        };
        match self {
            Self::Reset(place) => Self::Reset(fix(place)),
            Self::Stall(place) => Self::Stall(fix(place)),
            Self::Truncate(place) => Self::Truncate(fix(place)),
            Self::Error(place) => Self::Error(fix(place)),
            other => other,
        }
    }
}

/// A fault and whom it befalls. Text form: `KIND[=ARGUMENT]:SHARE` or `KIND[=ARGUMENT]@INDEX[,INDEX...]`.
///
/// Kinds: `status=CODE`, `reset`, `stall`, `truncate`, `error` (each `=head` or `=N`, after N token events; else
/// anywhere), `drip` (`=BYTES` at a time, 1 by default), `comment`. SHARE is a probability (`0.01`), INDEX the
/// number of the request as the simulator counts them, from 0.
#[derive(Clone, PartialEq, Debug)]
pub struct FaultRule {
    /// What happens.
    pub fault: Fault,
    /// To whom.
    pub whom: Whom,
}

/// Which requests a rule befalls.
#[derive(Clone, PartialEq, Debug)]
pub enum Whom {
    /// Each with this probability.
    Share(f64),
    /// Those of these numbers.
    At(Vec<u64>),
}

/// Why a text is no fault; its words tell what is accepted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FaultError(String);

impl fmt::Display for FaultError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for FaultError {}

const ACCEPTED: &str = "KIND[=ARGUMENT]:SHARE or KIND[=ARGUMENT]@INDEX[,INDEX...], such as status=503:0.05, reset:0.01, \
                        stall=3@7, truncate=head@0,1, error:0.02, drip=16:1, comment:0.5 (SHARE from 0 to 1)";

impl FromStr for FaultRule {
    type Err = FaultError;

    fn from_str(text: &str) -> Result<Self, FaultError> {
        let refuse = |why: String| FaultError(format!("{text:?} {why}; accepted: {ACCEPTED}"));
        let at = text.find([':', '@']).ok_or_else(|| refuse("does not say to whom".into()))?;
        let (what, whom) = (&text[..at], &text[at + 1..]);
        let whom = if text[at..].starts_with(':') {
            let share = whom.parse::<f64>().ok().filter(|share| (0.0..=1.0).contains(share));
            Whom::Share(share.ok_or_else(|| refuse(format!("has the share {whom:?}")))?)
        } else {
            let numbers: Result<Vec<u64>, _> = whom.split(',').map(|n| n.trim().parse()).collect();
            Whom::At(numbers.map_err(|_| refuse(format!("has the indexes {whom:?}")))?)
        };
        let (kind, argument) = match what.split_once('=') {
            Some((kind, argument)) => (kind, Some(argument)),
            None => (what, None),
        };
        let place = || match argument {
            None => Ok(Place::Drawn),
            Some("head") => Ok(Place::Head),
            Some(n) => n.parse().map(Place::After).map_err(|_| refuse(format!("has the place {n:?}"))),
        };
        let fault = match kind {
            "status" => {
                let status =
                    argument.and_then(|code| code.parse().ok()).filter(|code| (400..600).contains(code));
                Fault::Status(status.ok_or_else(|| refuse("needs a status from 400 to 599".into()))?)
            }
            "reset" => Fault::Reset(place()?),
            "stall" => Fault::Stall(place()?),
            "truncate" => Fault::Truncate(place()?),
            "error" => Fault::Error(place()?),
            "drip" => {
                let bytes = argument.map_or(Ok(1), str::parse).ok().filter(|bytes| *bytes >= 1);
                Fault::Drip(bytes.ok_or_else(|| refuse("needs a number of bytes from 1 on".into()))?)
            }
            "comment" if argument.is_none() => Fault::Comment,
            "comment" => return Err(refuse("takes no argument".into())),
            _ => return Err(refuse(format!("names the unknown kind {kind:?}"))),
        };
        Ok(Self { fault, whom })
    }
}

/// All rules of a script; the first that befalls a request is the one that happens.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Faults(pub Vec<FaultRule>);

impl Faults {
    /// What goes wrong with request `number`, whose answer has `events` token events.
    #[must_use]
    pub fn befall(&self, seed: u64, number: u64, events: u32) -> Option<Fault> {
        self.0.iter().zip(0_u64..).find_map(|(rule, place)| {
            // A stream for each rule, so that a rule more changes nothing of the others.
            let mut stream =
                Stream::new(seed.wrapping_add(place), Purpose::named("simulator's faults"), number);
            let hit = match &rule.whom {
                Whom::Share(share) => stream.uniform() < *share,
                Whom::At(numbers) => numbers.contains(&number),
            };
            hit.then(|| rule.fault.fixed(events, &mut stream))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(texts: &[&str]) -> Faults {
        Faults(texts.iter().map(|text| text.parse().expect(text)).collect())
    }

    #[test]
    fn the_text_forms_are_read() {
        let read = |text: &str| text.parse::<FaultRule>().map(|rule| (rule.fault, rule.whom)).expect(text);
        assert_eq!(read("status=503:0.05"), (Fault::Status(503), Whom::Share(0.05)));
        assert_eq!(read("reset:1"), (Fault::Reset(Place::Drawn), Whom::Share(1.0)));
        assert_eq!(read("stall=3@7"), (Fault::Stall(Place::After(3)), Whom::At(vec![7])));
        assert_eq!(read("truncate=head@0, 9"), (Fault::Truncate(Place::Head), Whom::At(vec![0, 9])));
        assert_eq!(read("error:0"), (Fault::Error(Place::Drawn), Whom::Share(0.0)));
        assert_eq!((read("drip:1").0, read("drip=16:1").0), (Fault::Drip(1), Fault::Drip(16)));
        assert_eq!(read("comment@0").0, Fault::Comment);
    }

    #[test]
    fn what_is_refused_says_what_is_accepted() {
        for text in [
            "",
            "reset",
            "reset:",
            "reset:1.5",
            "reset:-1",
            "reset:NaN",
            "reset@",
            "reset@x",
            "reset=x:1",
            "status:1",
            "status=200:1",
            "status=x:1",
            "drip=0:1",
            "comment=3:1",
            "explode:1",
            "stall=-1:1",
        ] {
            let error = text.parse::<FaultRule>().expect_err(text).to_string();
            assert!(error.contains("accepted: KIND") && error.contains(&format!("{text:?}")), "{error}");
        }
    }

    #[test]
    fn a_share_befalls_about_that_share_and_always_the_same_ones() {
        let faults = rules(&["reset:0.1"]);
        let hit: Vec<u64> = (0..20_000).filter(|n| faults.befall(1, *n, 8).is_some()).collect();
        assert!(hit.len().abs_diff(2_000) < 200, "{}", hit.len());
        assert!(hit.iter().all(|n| faults.befall(1, *n, 8).is_some()));
        assert_ne!(hit, (0..20_000).filter(|n| faults.befall(2, *n, 8).is_some()).collect::<Vec<_>>());
    }

    #[test]
    fn a_drawn_place_lies_in_the_answer_and_reaches_all_of_it() {
        let faults = rules(&["truncate:1"]);
        let mut seen = [false; 8];
        for n in 0..500 {
            match faults.befall(3, n, 8) {
                Some(Fault::Truncate(Place::After(place))) => seen[usize::try_from(place).unwrap()] = true,
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(seen, [true; 8]);
    }

    #[test]
    fn the_first_rule_wins_and_a_rule_more_changes_nothing_of_those_before() {
        let (one, two) = (rules(&["reset:0.2"]), rules(&["reset:0.2", "status=500:0.5", "comment@3"]));
        for n in 0..1_000 {
            match one.befall(5, n, 4) {
                Some(fault) => assert_eq!(two.befall(5, n, 4), Some(fault)),
                None => assert!(!matches!(two.befall(5, n, 4), Some(Fault::Reset(_)))),
            }
        }
    }
}
