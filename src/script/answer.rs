//! One answer under way: turns the engine's bursts into bytes, faults included.
//!
//! It must not schedule: the instants are the engine's.

use super::engine::{Burst, Ticket};
use super::faults::{Fault, Place};
use super::reply::{HttpDate, Reply, write_stream_head, write_unary_head};
use super::step::{Mark, Said, Step, Then};
use super::stream::{self, Identity, Phrases, Tokens};
use crate::time::{Instant, Span};
use crate::wire::Api;

/// One generation request that is being answered.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) ticket: Ticket,
    pub(super) who: Identity,
    pub(super) received: Instant,
    /// Planned instant of the first token event, once it has been.
    pub(super) first: Option<Instant>,
    /// Planned instant of what was said last.
    pub(super) last: Instant,
    pub(super) stream: bool,
    pub(super) include_usage: bool,
    pub(super) keep_alive: bool,
    pub(super) choices: u16,
    pub(super) output_tokens: u32,
    pub(super) finish: &'static str,
    pub(super) fault: Option<Fault>,
    /// Token events so far (of all choices together: one an instant).
    pub(super) events: u32,
    pub(super) waited: Span,
}

/// How far an answer is after a step.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Progress {
    /// More is to come.
    GoesOn,
    /// It was said whole.
    Whole,
    /// Its script ends it here, badly.
    Broken,
    /// Nothing more will be said, and the connection stays open.
    Stuck,
}

/// What an answer needs of its server to speak.
pub(super) struct Voice<'a> {
    pub(super) phrases: &'a Phrases,
    pub(super) date: &'a HttpDate,
    /// Whether marks are kept.
    pub(super) marking: bool,
    /// The planned instant of what is being said.
    pub(super) planned: Instant,
}

impl Voice<'_> {
    fn mark(&self, step: &mut Step, what: Said) {
        if self.marking {
            let said = Mark::Said { what, planned: self.planned, end: step.bytes.len() };
            step.marks.push(said);
        }
    }
}

impl Answer {
    /// What is said as soon as the request is understood, before any token.
    pub(super) fn open(&self, voice: &Voice<'_>, step: &mut Step) -> Progress {
        if let Some(Fault::Status(status)) = self.fault {
            Reply::fault(status).write(voice.date, self.keep_alive, &mut step.bytes);
            voice.mark(step, Said::Error);
            return Progress::Whole;
        }
        match self.fault {
            Some(Fault::Reset(Place::Head)) => {
                step.then = Then::Reset;
                Progress::Broken
            }
            Some(Fault::Truncate(Place::Head)) => {
                step.then = Then::Close;
                Progress::Broken
            }
            Some(Fault::Stall(Place::Head)) => Progress::Stuck,
            _ => {
                if self.stream {
                    write_stream_head(voice.date, self.keep_alive, &mut step.bytes);
                    voice.mark(step, Said::Head);
                    if self.fault == Some(Fault::Error(Place::Head)) {
                        return self.say_error(voice, step);
                    }
                } else if let Some(Fault::Error(Place::Head)) = self.fault {
                    return self.say_error(voice, step);
                }
                Progress::GoesOn
            }
        }
    }

    /// Says the token events of one burst, and the end if they are the last.
    pub(super) fn say(
        &mut self,
        burst: &Burst,
        sizes: &[u32],
        voice: &Voice<'_>,
        step: &mut Step,
    ) -> Progress {
        if self.stream {
            self.say_events(burst, sizes, voice, step)
        } else {
            self.say_whole(burst, sizes, voice, step)
        }
    }

    fn say_events(&mut self, burst: &Burst, sizes: &[u32], voice: &Voice<'_>, step: &mut Step) -> Progress {
        let mut made = burst.first;
        for &count in sizes {
            match self.fault {
                Some(Fault::Reset(Place::After(n))) if n == self.events => {
                    step.then = Then::Reset;
                    return Progress::Broken;
                }
                Some(Fault::Stall(Place::After(n))) if n == self.events => return Progress::Stuck,
                Some(Fault::Error(Place::After(n))) if n == self.events => {
                    return self.say_error(voice, step);
                }
                Some(Fault::Comment) => stream::comment(&mut step.bytes),
                _ => {}
            }
            let start = step.bytes.len();
            if made == 0 && self.who.api == Api::Chat {
                for choice in 0..self.choices {
                    voice.phrases.role(&self.who, choice, &mut step.bytes);
                    voice.mark(step, Said::Role);
                }
            }
            let finish = (made + count == self.output_tokens).then_some(self.finish);
            for choice in 0..self.choices {
                let tokens = Tokens { choice, first: made, count, finish };
                voice.phrases.tokens(&self.who, tokens, &mut step.bytes);
                voice.mark(step, Said::Tokens(count));
            }
            if self.fault == Some(Fault::Truncate(Place::After(self.events))) {
                return cut_in_half(start, step);
            }
            step.bears_tokens = true;
            made += count;
            self.events += 1;
        }
        if !burst.last {
            return Progress::GoesOn;
        }
        if self.include_usage {
            voice.phrases.usage(&self.who, self.total_tokens(), &mut step.bytes);
            voice.mark(step, Said::Usage);
        }
        stream::done(&mut step.bytes);
        voice.mark(step, Said::Done);
        Progress::Whole
    }

    fn say_whole(&mut self, burst: &Burst, sizes: &[u32], voice: &Voice<'_>, step: &mut Step) -> Progress {
        self.events += u32::try_from(sizes.len()).expect("a burst is no longer than the answer");
        if !burst.last {
            return Progress::GoesOn;
        }
        match self.fault {
            Some(Fault::Reset(_)) => {
                step.then = Then::Reset;
                return Progress::Broken;
            }
            Some(Fault::Stall(_)) => return Progress::Stuck,
            Some(Fault::Error(_)) => return self.say_error(voice, step),
            _ => {}
        }
        let mut body = Vec::with_capacity(700);
        voice.phrases.unary(&self.who, self.choices, self.output_tokens, self.finish, &mut body);
        write_unary_head(
            200,
            Some("application/json"),
            "",
            body.len(),
            voice.date,
            self.keep_alive,
            &mut step.bytes,
        );
        let start = step.bytes.len();
        step.bytes.extend_from_slice(&body);
        voice.mark(step, Said::Whole(self.total_tokens()));
        if matches!(self.fault, Some(Fault::Truncate(_))) {
            cut_in_half(start, step)
        } else {
            Progress::Whole
        }
    }

    fn say_error(&self, voice: &Voice<'_>, step: &mut Step) -> Progress {
        if self.stream {
            stream::error(&mut step.bytes);
            voice.mark(step, Said::Error);
            stream::done(&mut step.bytes);
            voice.mark(step, Said::Done);
        } else {
            Reply::fault(500).write(voice.date, self.keep_alive, &mut step.bytes);
            voice.mark(step, Said::Error);
        }
        Progress::Broken
    }

    /// Tokens of all choices.
    pub(super) fn total_tokens(&self) -> u32 {
        self.output_tokens.saturating_mul(u32::from(self.choices))
    }
}

/// Keeps the first half of what follows `start`, and no mark of what is no longer whole.
fn cut_in_half(start: usize, step: &mut Step) -> Progress {
    step.bytes.truncate(start + (step.bytes.len() - start) / 2);
    let whole = step.bytes.len();
    step.marks.retain(|mark| !matches!(mark, Mark::Said { end, .. } if *end > whole));
    step.then = Then::Close;
    Progress::Broken
}
