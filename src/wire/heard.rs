//! What a response says while it streams, in the order it says it.

/// One thing a response said. The caller stamps each with the arrival of the read it came in.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Heard {
    /// The final response head (not a 1xx) is complete.
    Head {
        /// The HTTP status.
        status: u16,
    },
    /// One choice of a choice-bearing event. An event with several choices is heard once for each.
    Delta(Delta),
    /// An event that bears no choice: usage alone, an error, a ping, a comment re-wrapped as data.
    Other,
    /// The terminal event (`[DONE]`).
    Done,
    /// The body's end, by its own framing.
    End,
}

/// What one choice of one event carries.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Delta {
    /// The choice's index (0 where the server leaves it out).
    pub choice: u16,
    /// False for the second and later choices of one event: count events by those that are true.
    pub opens_event: bool,
    /// Whether it bears a token.
    pub bears: Bears,
    /// Whether what it bears belongs to the answer (text, refusal, tool call), not to reasoning.
    pub answer: bool,
    /// Tokens of this choice in this event, where the event itself proves them (growth of continuous usage >
    /// token ids > logprobs); 0 = unknown.
    pub tokens: u32,
}

/// Whether a delta bears a token (`docs/METHOD.md`, "Which event bears a token").
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Bears {
    /// Text, reasoning, refusal, tool call, token ids, logprobs, or usage that grew.
    Token,
    /// An empty text with no role and no finish reason before the choice has finished: [`super::Reply::undecided_count`]
    /// tells at the end.
    Undecided,
    /// Role, finish, or nothing.
    Nothing,
}
