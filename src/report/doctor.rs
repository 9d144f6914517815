//! What the doctor found, as text and as JSON.
//!
//! It must not judge: each finding comes with its state.

use crate::plan::{Finding, Health};
use crate::report::terminal::clean;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;

/// The doctor's findings.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Doctor {
    /// Whether nothing failed.
    pub ok: bool,
    /// Each thing that was looked at.
    pub findings: Vec<DoctorFinding>,
}

/// One thing that was looked at.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize, JsonSchema)]
pub struct DoctorFinding {
    /// Its name.
    pub name: String,
    /// `ok`, `warn`, `fail`, or `unknown` where it cannot be read.
    pub state: String,
    /// What was found.
    pub words: String,
    /// What to do; empty where there is nothing to do.
    pub remedy: String,
}

impl Doctor {
    /// From the findings.
    #[must_use]
    pub fn of(findings: &[Finding]) -> Self {
        let told = findings.iter().map(|finding| DoctorFinding {
            name: finding.name.into(),
            state: finding.health.name().into(),
            words: finding.words.clone(),
            remedy: finding.remedy.clone(),
        });
        let ok = findings.iter().all(|finding| finding.health != Health::Fail);
        Self { ok, findings: told.collect() }
    }

    /// As JSON, indented, with a newline at its end.
    ///
    /// # Panics
    /// Never: every key is a string.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("every key is a string") + "\n"
    }

    /// As text: a line each, and the remedy below it.
    #[must_use]
    pub fn text(&self) -> String {
        let state_width = self.findings.iter().map(|finding| finding.state.len()).max().unwrap_or(0);
        let name_width = self.findings.iter().map(|finding| finding.name.len()).max().unwrap_or(0);
        let mut text = String::new();
        for DoctorFinding { name, state, words, remedy } in &self.findings {
            let _ = writeln!(text, "{state:state_width$}  {name:name_width$}  {}", clean(words));
            if !remedy.is_empty() {
                let _ = writeln!(text, "{:state_width$}  {:name_width$}  remedy: {}", "", "", clean(remedy));
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(worst: Health) -> Vec<Finding> {
        let finding = |name, health, words: &str, remedy: &str| Finding {
            name,
            health,
            words: words.into(),
            remedy: remedy.into(),
        };
        vec![
            finding("kernel", Health::Ok, "Linux 6.18.0", ""),
            finding("governor", Health::Unknown, "none is shown", ""),
            finding("files", worst, "64 files\x1b[2J", "raise the limit"),
        ]
    }

    #[test]
    fn each_finding_has_a_line_and_its_remedy_below() {
        let text = Doctor::of(&findings(Health::Warn)).text();
        assert_eq!(
            text,
            "ok       kernel    Linux 6.18.0\nunknown  governor  none is shown\nwarn     files     64 files [2J\n                   remedy: raise the limit\n"
        );
    }

    #[test]
    fn only_a_failure_is_not_ok() {
        let doctor = Doctor::of(&findings(Health::Warn));
        assert!(doctor.ok);
        let read: Doctor = serde_json::from_str(&doctor.to_json()).unwrap();
        assert_eq!(read, doctor);
        assert!(!Doctor::of(&findings(Health::Fail)).ok);
    }
}
