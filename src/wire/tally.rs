//! What the events of one response add up to: tokens, choices that finished, usage.
//!
//! It must not know how the response ends; `docs/METHOD.md`, "Which event bears a token", is what it does.

use super::json::Value;
use super::openai::{Choice, Event};
use super::{Bears, Delta, FinishReason, Heard, Listener, TokenSource, Usage, unescape};

/// The sums of one response.
#[derive(Debug)]
pub(super) struct Tally {
    /// Usage, merged.
    pub(super) usage: Usage,
    /// The finish reason of the last choice to finish.
    pub(super) finish_reason: Option<FinishReason>,
    /// A choice finished for the server's reasons, not the model's or the user's.
    pub(super) aborted: bool,
    choices: Choices,
    /// Whether the usage comes from an event without choices: then it is the whole request's.
    usage_is_whole: bool,
    /// The tokens of each delta, where all proved theirs.
    exact: Exact,
    exact_tokens: u64,
    /// Deltas that bear a token.
    tokens: u32,
    /// Deltas that may.
    undecided: u32,
}

/// How well the deltas so far proved their tokens; the worst of them counts.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Exact {
    TokenIds,
    Logprobs,
    No,
}

#[derive(Debug)]
enum Choices {
    /// One was asked for. Whatever index the server gives it, it is the one.
    One(ChoiceTally),
    /// One for each choice asked for; others are heard but not kept.
    Many(Box<[ChoiceTally]>),
}

#[derive(Copy, Clone, Debug)]
struct ChoiceTally {
    continuous: Continuous,
    finished: bool,
}

/// The usage that some servers repeat in every event of a choice.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Continuous {
    /// No event has borne a token: the count is still zero, though nobody said so.
    Unsaid,
    /// The last event's count.
    Said(u32),
    /// Events without usage bore tokens: the next growth is not of one event.
    Lost,
}

impl Tally {
    pub(super) fn new(choices: u16) -> Self {
        let fresh = ChoiceTally { continuous: Continuous::Unsaid, finished: false };
        Self {
            usage: Usage::default(),
            finish_reason: None,
            aborted: false,
            choices: match choices {
                0 | 1 => Choices::One(fresh),
                n => Choices::Many(vec![fresh; n.into()].into()),
            },
            usage_is_whole: false,
            exact: Exact::TokenIds,
            exact_tokens: 0,
            tokens: 0,
            undecided: 0,
        }
    }

    /// Adds one event and tells its deltas.
    #[inline]
    pub(super) fn add(&mut self, event: &Event<'_>, hear: &mut impl Listener) {
        let alone = event.choices == 1;
        let mut opens_event = true;
        let event_usage = event.usage;
        event.each_choice(|choice| {
            // With several choices in one event nobody can tell whose tokens its usage counts.
            let count = event_usage.filter(|_| alone).and_then(|usage| usage.completion_tokens);
            let delta = self.delta(choice, count, opens_event);
            if let Some(usage) = event_usage
                && opens_event
            {
                self.add_usage(usage, false);
            }
            tell_text(choice, hear);
            hear.heard(Heard::Delta(delta));
            opens_event = false;
        });
        if event.choices == 0 {
            if let Some(usage) = event_usage {
                self.add_usage(usage, true);
            }
            hear.heard(Heard::Other);
        }
    }

    /// Adds usage that came when nothing else counts any more.
    pub(super) fn add_late(&mut self, event: &Event<'_>) {
        if let Some(usage) = event.usage {
            self.add_usage(usage, event.choices == 0);
        }
    }

    /// Adds a unary reply.
    pub(super) fn add_whole(&mut self, reply: &Event<'_>) {
        if let Some(usage) = reply.usage {
            self.add_usage(usage, true);
        }
        reply.each_choice(|choice| {
            if choice.finishes() {
                self.finish(choice.finish_reason);
            }
        });
    }

    fn add_usage(&mut self, usage: Usage, whole: bool) {
        self.usage.merge(usage);
        self.usage_is_whole |= whole && usage.completion_tokens.is_some();
    }

    #[inline]
    fn delta(&mut self, choice: &Choice<'_>, count: Option<u64>, opens_event: bool) -> Delta {
        let bearing = choice.bearing();
        let finishes = choice.finishes();
        let mut unknown = ChoiceTally { continuous: Continuous::Lost, finished: false };
        let (index, own) = match &mut self.choices {
            Choices::One(own) => (0, own),
            Choices::Many(all) => {
                (choice.index, all.get_mut(usize::from(choice.index)).unwrap_or(&mut unknown))
            }
        };
        let shown = bearing.answer || bearing.reasoning || choice.token_ids > 0 || choice.logprobs > 0;
        let held_back = bearing.empty_text && !bearing.role && !finishes && !own.finished;
        let open = !finishes && !own.finished;
        let growth = match count {
            Some(count) => own.continuous.advance(count, shown || open).filter(|_| !own.finished),
            None => {
                own.continuous.skip(shown || held_back);
                None
            }
        };
        let bears = match growth {
            Some(1..) => Bears::Token,
            _ if shown => Bears::Token,
            // Usage is told with every event and did not grow: that is a proof too.
            Some(0) => Bears::Nothing,
            None if held_back => Bears::Undecided,
            None => Bears::Nothing,
        };
        own.finished |= finishes;
        match bears {
            Bears::Token => {
                self.tokens = self.tokens.saturating_add(1);
                let (tokens, proof) = match (choice.token_ids, choice.logprobs) {
                    (0, 0) => (0, Exact::No),
                    (0, logprobs) => (logprobs, Exact::Logprobs),
                    (ids, _) => (ids, Exact::TokenIds),
                };
                self.exact = self.exact.max(proof);
                self.exact_tokens += u64::from(tokens);
            }
            Bears::Undecided => self.undecided = self.undecided.saturating_add(1),
            Bears::Nothing => {}
        }
        if finishes {
            self.finish(choice.finish_reason);
        }
        let proved = [growth.unwrap_or(0), choice.token_ids, choice.logprobs];
        Delta {
            choice: index,
            opens_event,
            bears,
            answer: bearing.answer,
            tokens: proved.into_iter().find(|&tokens| tokens > 0).unwrap_or(0),
        }
    }

    #[cold]
    fn finish(&mut self, reason: Value<'_>) {
        let raw = reason.word();
        let word = unescape(&raw[..raw.len().min(8 * FinishReason::LONGEST_WORD)]);
        self.aborted |= matches!(&*word, "abort" | "error" | "insufficient_system_resource");
        self.finish_reason = Some(FinishReason::from_name(&word));
    }

    /// Whether every choice asked for has finished.
    pub(super) fn all_finished(&self) -> bool {
        match &self.choices {
            Choices::One(one) => one.finished,
            Choices::Many(all) => all.iter().all(|choice| choice.finished),
        }
    }

    /// Whether a token was shown.
    pub(super) const fn shows_tokens(&self) -> bool {
        self.tokens > 0
    }

    /// Whether a token was shown, or counted by the server.
    pub(super) fn proves_tokens(&self) -> bool {
        self.shows_tokens() || self.counted().is_some_and(|tokens| tokens > 0)
    }

    /// Whether the server counts none though some were shown.
    pub(super) fn distrusts_usage(&self) -> bool {
        self.shows_tokens() && self.counted() == Some(0)
    }

    /// Whether deltas with an empty text bore tokens after all: the server counted enough for each.
    pub(super) fn undecided_count(&self) -> bool {
        let needed = u64::from(self.tokens) + u64::from(self.undecided);
        self.undecided > 0 && self.counted().is_some_and(|tokens| tokens >= needed)
    }

    /// Output tokens, and where the number comes from.
    pub(super) fn output_tokens(&self) -> (u64, TokenSource) {
        match (self.counted(), self.exact) {
            (Some(tokens), _) if tokens > 0 || !self.shows_tokens() => (tokens, TokenSource::Usage),
            (_, Exact::TokenIds) if self.shows_tokens() => (self.exact_tokens, TokenSource::TokenIds),
            (_, Exact::Logprobs) => (self.exact_tokens, TokenSource::Logprobs),
            _ => (self.tokens.into(), TokenSource::Events),
        }
    }

    /// The server's own count.
    fn counted(&self) -> Option<u64> {
        match &self.choices {
            // Counts in events that bear a choice are that choice's alone (vLLM's continuous usage).
            Choices::Many(all) if !self.usage_is_whole => {
                let said = |choice: &ChoiceTally| match choice.continuous {
                    Continuous::Said(tokens) => Some(u64::from(tokens)),
                    Continuous::Unsaid | Continuous::Lost => None,
                };
                all.iter().filter_map(said).reduce(|a, b| a + b).or(self.usage.completion_tokens)
            }
            _ => self.usage.completion_tokens,
        }
    }
}

impl Continuous {
    /// Takes an event's count; gives its growth where that is the event's own. A first count is so only where the
    /// event is `in_stream`: usage may also come but once, with the finish or after it.
    #[inline]
    fn advance(&mut self, count: u64, in_stream: bool) -> Option<u32> {
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        let growth = match *self {
            Self::Said(before) => Some(count.saturating_sub(before)),
            Self::Unsaid if in_stream => Some(count),
            Self::Unsaid | Self::Lost => None,
        };
        *self = Self::Said(count);
        growth
    }

    /// Passes an event without a count.
    #[inline]
    fn skip(&mut self, may_bear_a_token: bool) {
        if may_bear_a_token {
            *self = Self::Lost;
        }
    }
}

fn tell_text<L: Listener>(choice: &Choice<'_>, hear: &mut L) {
    if L::WANTS_TEXT {
        choice.tell(hear);
    }
}
