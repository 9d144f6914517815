//! How old a request was, in each metric, when we cancelled it: it would have come to at least that (docs/METHOD.md: right-censored).
//!
//! It must not be asked about a request that ended by itself.

use super::{Metric, Metrics, Record};
use crate::time::Span;

impl Record {
    /// The age of a request cancelled by us in a metric that was not complete; `None` where it was, or never began.
    pub(super) fn age_when_cancelled(&self, metric: Metric, metrics: &Metrics) -> Option<Span> {
        let begun = self.begun?;
        let sent = self.sent.unwrap_or(self.over);
        let latest = self.last.unwrap_or(sent);
        let per_token = |age: Span| match self.asked_output_tokens {
            Some(asked) if asked > 0 => age / i64::from(asked),
            _ => Span::ZERO,
        };
        let complete_at_first =
            matches!(metric, Metric::Ttft | Metric::TtftDue | Metric::Ttfe | Metric::Ttfo | Metric::Head);
        if complete_at_first && metrics.get(metric).is_some() {
            return None;
        }
        match metric {
            // When a handshake began is not kept where it did not end: its wait is in `connect`.
            Metric::Lateness | Metric::PoolWait | Metric::Handshake => None,
            Metric::Connect if self.connected.is_some() || self.reused => None,
            Metric::Connect => Some(self.over - begun),
            Metric::Ttft | Metric::Ttfe | Metric::Ttfo | Metric::Head => Some(self.over - sent),
            Metric::TtftDue => Some(self.over - self.due),
            Metric::Itl => Some(self.over - latest),
            Metric::Stall => Some((self.over - latest).max(self.stall.unwrap_or(Span::ZERO))),
            Metric::E2e | Metric::E2eDone | Metric::E2eEnd => Some(self.over - sent),
            Metric::E2eDue => Some(self.over - self.due),
            Metric::Tpot | Metric::NtpotDecoding => {
                Some(per_token(self.first.map_or(Span::ZERO, |first| self.over - first)))
            }
            // How many tokens it waited for is not known yet, even where the first has come.
            Metric::NtpotWaiting => Some(per_token(self.first.unwrap_or(self.over) - self.due)),
            Metric::Ntpot => Some(per_token(self.over - self.due)),
            Metric::NtpotSent => Some(per_token(self.over - sent)),
        }
    }
}
