//! Between two trials: the server comes to rest, by its own gauges where it has some.
//!
//! It must not wait for ever: a shared server never reads nothing.

use super::gauges::Gauges;
use crate::clock;
use crate::plan::Plan;
use crate::run::Interrupts;
use crate::run::target::Target;
use crate::time::Span;

/// So long is waited at most; after that the next trial's warm-up must do.
const PATIENCE: Span = Span::from_s(30);

/// How often the gauges are read.
const LOOK: Span = Span::from_ms(100);

/// Without gauges: connections are closed, and what was cancelled is noticed within this.
const PAUSE: Span = Span::from_ms(300);

/// What rest is for the servers.
pub(super) struct Rest {
    plan: Plan,
    target: Target,
    /// What their gauges said before the sweep.
    before: Gauges,
}

impl Rest {
    /// Looks at the servers before anything is sent.
    pub(super) fn look(plan: &Plan, target: &Target, interrupts: &Interrupts) -> Self {
        let mut rest = Self { before: Gauges::default(), plan: plan.clone(), target: target.clone() };
        rest.before = rest.read(interrupts);
        rest
    }

    /// Waits until they are as they were.
    pub(super) fn wait(&self, interrupts: &Interrupts) {
        let Some(before) = self.before.busy() else {
            clock::sleep(PAUSE);
            return;
        };
        let until = clock::now() + PATIENCE;
        while interrupts.count() == 0 && clock::now() < until {
            if self.read(interrupts).busy().is_none_or(|busy| busy <= before) {
                return;
            }
            clock::sleep(LOOK);
        }
    }

    /// What bounds the servers now, under overload, in words; `None` where none says.
    pub(super) fn limit(&self, interrupts: &Interrupts) -> Option<String> {
        self.read(interrupts).limit(&self.before)
    }

    /// The gauges of all servers, as if they were the engines of one.
    fn read(&self, interrupts: &Interrupts) -> Gauges {
        let pages = self.target.sites(&self.plan, interrupts).filter_map(|site| site.page("/metrics"));
        Gauges::read(&pages.collect::<Vec<_>>().join("\n"))
    }
}
