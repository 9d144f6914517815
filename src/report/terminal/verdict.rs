//! One line for who reads no further: can the numbers be trusted, did the server keep up, were service levels held.
//!
//! It must not give reasons beyond their names: they follow below the numbers, with their remedies.

use super::page::{Look, Page};
use crate::report::{Server, Summary, Verdict};
use std::fmt;

pub(super) fn write(summary: &Summary, page: &mut Page<'_>) -> fmt::Result {
    let client = &summary.client;
    let mut why: Vec<&str> = Vec::new();
    for reason in &client.reasons {
        if !why.contains(&reason.check.as_str()) {
            why.push(&reason.check);
        }
    }
    let why = if why.is_empty() { String::new() } else { format!(" ({}; below)", why.join(", ")) };
    let (_, server) = server(&summary.server);
    let slo = match summary.total.slo.as_ref().map(|slo| slo.held) {
        Some(true) => ", SLO HELD",
        Some(false) => ", SLO CROSSED",
        None => "",
    };
    page.paragraph(
        client_look(client.verdict),
        "Verdict  ",
        &format!("client {}{why}, server {server}{slo}", client.verdict.name().to_uppercase()),
    )
}

/// How a verdict looks wherever it stands.
pub(super) const fn client_look(verdict: Verdict) -> Look {
    match verdict {
        Verdict::Valid => Look::Good,
        Verdict::Suspect => Look::Doubtful,
        Verdict::Invalid => Look::Bad,
    }
}

/// The server's state in a word, and how it looks.
pub(super) const fn server(server: &Server) -> (Look, &'static str) {
    match server.kept_up {
        Some(true) => (Look::Good, "KEPT UP"),
        Some(false) => (Look::Bad, "DID NOT KEEP UP"),
        None => (Look::Plain, "UNKNOWN"),
    }
}
