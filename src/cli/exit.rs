//! The exit status of a run (`docs/METHOD.md`, "Exit status"); decides nothing about the run.

use std::process::ExitCode;

/// How the process ends.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Exit {
    /// Measured, and within every bound asked for.
    Good,
    /// lowrho itself failed, or results could not be written.
    Failed,
    /// Bad plan or usage; nothing was sent.
    BadPlan,
    /// Measured, but the client cannot be trusted.
    Untrusted,
    /// The target failed: no success, or too many failures.
    TargetFailed,
    /// A service-level threshold was crossed.
    Crossed,
    /// Interrupted; what was measured is written.
    Interrupted(Signal),
}

/// What interrupted a run.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Signal {
    /// SIGINT, usually by Ctrl-C.
    Interrupt,
    /// SIGTERM.
    Terminate,
}

/// What may be said of a run that was begun; several can hold at once.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct Ending {
    /// Who stopped it before its time.
    pub interrupted: Option<Signal>,
    /// A shard failed, or results could not be written.
    pub failed: bool,
    /// No success, or the error share above `--max-error-share`.
    pub target_failed: bool,
    /// The verdict on the client is worse than `--require` takes.
    pub untrusted: bool,
    /// A service-level threshold was crossed.
    pub crossed: bool,
}

impl Exit {
    /// The one of two that decides: the first of the order in which a run's exit status is told.
    #[must_use]
    pub const fn worse(self, other: Self) -> Self {
        if self.rank() <= other.rank() { self } else { other }
    }

    const fn rank(self) -> u8 {
        match self {
            Self::Interrupted(_) => 0,
            Self::Failed => 1,
            Self::BadPlan => 2,
            Self::TargetFailed => 3,
            Self::Untrusted => 4,
            Self::Crossed => 5,
            Self::Good => 6,
        }
    }

    /// The number the shell sees.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Good => 0,
            Self::Failed => 1,
            Self::BadPlan => 2,
            Self::Untrusted => 3,
            Self::TargetFailed => 4,
            // The number k6 uses.
            Self::Crossed => 99,
            Self::Interrupted(Signal::Interrupt) => 130,
            Self::Interrupted(Signal::Terminate) => 143,
        }
    }
}

impl From<Ending> for Exit {
    /// The first that applies.
    fn from(ending: Ending) -> Self {
        match ending {
            Ending { interrupted: Some(signal), .. } => Self::Interrupted(signal),
            Ending { failed: true, .. } => Self::Failed,
            Ending { target_failed: true, .. } => Self::TargetFailed,
            Ending { untrusted: true, .. } => Self::Untrusted,
            Ending { crossed: true, .. } => Self::Crossed,
            _ => Self::Good,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        exit.code().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_that_applies_decides() {
        let mut ending = Ending {
            interrupted: Some(Signal::Terminate),
            failed: true,
            target_failed: true,
            untrusted: true,
            crossed: true,
        };
        let code = |ending: Ending| Exit::from(ending).code();
        assert_eq!(code(ending), 143);
        ending.interrupted = Some(Signal::Interrupt);
        assert_eq!(code(ending), 130);
        ending.interrupted = None;
        assert_eq!(code(ending), 1);
        ending.failed = false;
        assert_eq!(code(ending), 4);
        ending.target_failed = false;
        assert_eq!(code(ending), 3);
        ending.untrusted = false;
        assert_eq!(code(ending), 99);
        ending.crossed = false;
        assert_eq!(code(ending), 0);
    }
}
