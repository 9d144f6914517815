//! Service levels on the page: whether they held, goodput, each term.

use crate::report::figures::{count, percent, rate};
use crate::report::{Held, Section, Verdict};
use maud::{Markup, html};

pub(super) fn markup(section: &Section) -> Markup {
    let Some(slo) = &section.slo else { return html! {} };
    let (look, word) = if slo.held { (Verdict::Valid, "held") } else { (Verdict::Invalid, "crossed") };
    html! {
        h2 { "Service levels " span class=(look.name()) { (word) } }
        p {
            "Goodput " (rate(slo.goodput_per_s)) " requests/s: " (percent(slo.good_share)) " of " (count(slo.judged))
            " requests kept every latency bound."
        }
        ul {
            @for term in &slo.terms {
                @let (look, word) = state(term.state);
                li { (term.term) ": " span class=(look) { (word) } (term.made()) }
            }
        }
    }
}

const fn state(held: Held) -> (&'static str, &'static str) {
    match held {
        Held::Held => (Verdict::Valid.name(), "held"),
        Held::Crossed => (Verdict::Invalid.name(), "crossed"),
        Held::Untold => ("unknown", "nothing to tell it by"),
    }
}
