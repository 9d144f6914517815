//! What is wrong with what was asked: flag, value, what is accepted, and what to do; judges nothing itself.

use std::fmt;

/// An option, as messages name it.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Key {
    section: &'static str,
    name: &'static str,
}

impl Key {
    /// The option `name` of `section`, both as the fields of the options are called.
    pub(super) const fn new(section: &'static str, name: &'static str) -> Self {
        Self { section, name }
    }

    /// The flag: `--max-concurrency`.
    #[must_use]
    pub fn flag(self) -> String {
        let prefix = if self.section == "sim" { "--sim-" } else { "--" };
        format!("{prefix}{}", self.name.replace('_', "-"))
    }

    /// The key of the TOML form: `load.max-concurrency`.
    #[must_use]
    pub fn path(self) -> String {
        format!("{}.{}", self.section, self.name.replace('_', "-"))
    }
}

/// One mistake.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mistake {
    /// Where: a flag and its key, or a stage and its key.
    pub place: String,
    /// What was given; `None` = nothing was.
    pub value: Option<String>,
    /// What is accepted there.
    pub accepted: String,
    /// What to do; empty when what is accepted says it all.
    pub remedy: String,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.value {
            Some(why) if self.accepted.is_empty() && self.remedy.is_empty() => {
                write!(f, "{}: {why}", self.place)?
            }
            Some(value) => write!(f, "{}: {value:?} is refused", self.place)?,
            None => write!(f, "{}: not given", self.place)?,
        }
        if !self.accepted.is_empty() {
            write!(f, "; accepted: {}", self.accepted)?;
        }
        if !self.remedy.is_empty() {
            write!(f, "\n  {}", self.remedy)?;
        }
        Ok(())
    }
}

/// Every mistake of a plan; nothing was sent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PlanError {
    /// The mistakes, in the order of the options; never empty.
    pub mistakes: Vec<Mistake>,
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, mistake) in self.mistakes.iter().enumerate() {
            if n > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{mistake}")?;
        }
        Ok(())
    }
}

impl std::error::Error for PlanError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_its_flag_without_the_dashes() {
        let key = Key::new("load", "max_concurrency");
        assert_eq!((key.flag(), key.path()), ("--max-concurrency".into(), "load.max-concurrency".into()));
    }

    #[test]
    fn the_simulators_flags_say_whose_they_are() {
        let key = Key::new("sim", "ttft");
        assert_eq!((key.flag(), key.path()), ("--sim-ttft".into(), "sim.ttft".into()));
    }
}
