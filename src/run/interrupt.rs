//! Ctrl-C and SIGTERM: counted, so that the first stops sending, the second stops waiting, and the third ends at once.
//!
//! It must not stop anything itself, but for the third.

use signal_hook::consts::{SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::flag;
use signal_hook::iterator::Signals;
use std::io;
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::thread::Builder;

/// The signals caught since the program began.
#[derive(Clone, Debug, Default)]
pub struct Interrupts {
    caught: Arc<AtomicU8>,
    status: Arc<AtomicU8>,
}

/// How many signals leave the program the time to write what it has.
const PATIENCE: u8 = 2;

/// Makes a file that may grow no further (`ulimit -f`) an error of the write to it, not the end of the program.
///
/// # Errors
/// The system refuses a handler.
pub fn outlive_file_limits() -> io::Result<()> {
    flag::register(SIGXFSZ, Arc::default()).map(drop)
}

impl Interrupts {
    /// Catches them from now on, on a thread of their own.
    ///
    /// # Errors
    /// The system refuses a handler or a thread.
    pub fn catch() -> io::Result<Self> {
        let interrupts = Self::default();
        let mut signals = Signals::new([SIGINT, SIGTERM])?;
        let seen = interrupts.clone();
        Builder::new().name("lowrho-signals".into()).spawn(move || {
            for signal in signals.forever() {
                let status = status(signal);
                seen.status.store(status, Ordering::Release);
                if seen.caught.fetch_add(1, Ordering::AcqRel) >= PATIENCE {
                    process::exit(i32::from(status));
                }
            }
        })?;
        Ok(interrupts)
    }

    /// How many were caught.
    #[must_use]
    pub fn count(&self) -> u8 {
        self.caught.load(Ordering::Acquire)
    }

    /// Whether the latest one was SIGTERM.
    #[must_use]
    pub fn is_terminated(&self) -> bool {
        self.status() == Some(status(SIGTERM))
    }

    /// The exit status that the latest one asks for, 128 + its number; `None` when there was none.
    #[must_use]
    pub fn status(&self) -> Option<u8> {
        Some(self.status.load(Ordering::Acquire)).filter(|status| *status > 0)
    }
}

/// The exit status of a program that a signal has ended.
fn status(signal: i32) -> u8 {
    128 + u8::try_from(signal).expect("SIGINT and SIGTERM are small numbers")
}
