//! The first lines: which run, against what, and whether it ended as planned.

use super::page::{Look, Page};
use crate::report::figures::time;
use crate::report::{Ended, Summary};
use std::fmt;

pub(super) fn write(summary: &Summary, page: &mut Page<'_>) -> fmt::Result {
    let (run, target) = (&summary.run, &summary.target);
    let others = match summary.targets.len() {
        0 | 1 => String::new(),
        n => format!(" and {} more", n - 1),
    };
    let servers = format!("{}{others}", target.url);
    page.words(Look::Heading, &[&format!("lowrho {}", run.version), &servers, &target.model])?;
    let stamps = &summary.client.stamps;
    let classes = [("hardware", stamps.hardware), ("software", stamps.software), ("user", stamps.user)];
    let classes: Vec<&str> = classes.iter().filter(|(_, n)| *n > 0).map(|(name, _)| *name).collect();
    let shards = summary.client.shards.len();
    let mut about = vec![
        format!("run {}", run.id),
        start(run.start_unix_ns),
        format!("{} measured of {}", time(run.window_ns), time(run.duration_ns)),
        format!("{shards} shard{}", if shards == 1 { "" } else { "s" }),
        format!("stamps: {}", if classes.is_empty() { "none".into() } else { classes.join(", ") }),
    ];
    let engine = &summary.client.engine;
    about.extend((!engine.is_empty()).then(|| format!("engine: {engine}")));
    about.extend(waiting(&summary.config));
    about.extend(run.tags.iter().map(|(key, value)| format!("{key}={value}")));
    page.paragraph(Look::Dim, "", &about.join(", "))?;
    match run.ended {
        Ended::Complete => Ok(()),
        Ended::Interrupted => {
            page.line(Look::Doubtful, "interrupted: what follows is what was measured until then")
        }
        Ended::Failed => {
            page.line(Look::Bad, "lowrho itself failed: what follows is what was measured until then")
        }
    }
}

/// How the shards waited, where that was chosen.
fn waiting(config: &serde_json::Value) -> Option<String> {
    let client = &config["client"];
    if client["busy-poll"].as_bool() == Some(true) {
        return Some("busy-polling".into());
    }
    match &client["coalesce"] {
        serde_json::Value::String(window) if window != "auto" => Some(format!("coalescing {window}")),
        serde_json::Value::Number(_) => Some("coalescing off".into()),
        _ => None,
    }
}

/// The start to the second, in UTC.
fn start(unix_ns: u64) -> String {
    jiff::Timestamp::from_nanosecond(i128::from(unix_ns))
        .expect("64 bits of nanoseconds end before the year 9999")
        .strftime("%Y-%m-%dT%H:%M:%SZ")
        .to_string()
}
