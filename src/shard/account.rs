//! The kernel's account of the shard's own thread, read at a beat and around long turns, and handed to the audit.
//!
//! It must not judge: the audit does. It must not read within a turn: that would be work of the turn.

use crate::clock;
use crate::host::ThreadFiles;
use crate::record::{Audit, Switches, ThreadCounts, Turn};
use crate::time::{Instant, Span};

/// How often the thread's CPU time and run delay are read: 10 us each time on a core that was asleep.
const BEAT: Span = Span::from_ms(20);

/// They are read sooner when the thread has worked for so long: the kernel's share of its work is estimated to some hundredths, and
/// what is missed of it must stay far below the excess that is asked after.
const WORK: Span = Span::from_ms(2);

/// How often its switches are read, at the edges of windows besides: 20 us each time.
const SLOW_BEAT: Span = Span::from_s(1);

/// Reads what the kernel counts of this thread.
pub struct Account {
    files: ThreadFiles,
    next: Instant,
    next_slow: Instant,
}

impl Account {
    /// Of the calling thread.
    pub fn of_this_thread() -> Self {
        Self { files: ThreadFiles::of_this_thread(), next: Instant::ZERO, next_slow: Instant::ZERO }
    }

    /// A turn is over and its jobs are told: whether it was cut is asked where it was long, and the audit takes it.
    pub fn turn(&mut self, mut turn: Turn, audit: &mut Audit) {
        let excess = audit.excess(&turn);
        let at = turn.ended;
        if !excess.is_long() && at < self.next && audit.work_since_read() < WORK {
            audit.turn(&turn);
            return;
        }
        let counts = ThreadCounts { cpu: clock::thread_cpu(), run_delay: self.files.run_delay() };
        if excess.is_long() {
            turn.interrupted = audit.judge(&turn, &excess, &counts);
        }
        audit.turn(&turn);
        audit.counted(at, counts);
        let edge = audit.next_edge(at);
        self.next = (at + BEAT).min(edge);
        if at >= self.next_slow {
            if let Some(read) = self.files.switches() {
                let switches = Switches { voluntary: read.voluntary, involuntary: read.involuntary };
                audit.switched(at, switches);
            }
            self.next_slow = (at + SLOW_BEAT).min(edge);
        }
    }
}
