//! The page, read as text: it holds what the run found, needs no network, and survives runs that found nothing.

use super::*;
use crate::analysis::Course;
use crate::record::{Histogram, Metric};
use crate::report::Summary;
use crate::time::{Instant, Span};

fn told(name: &str) -> Told {
    let mut values = Histogram::published();
    (1..2_000_u64).for_each(|n| values.record(10_000_000 + n * 10_000));
    let curves = [Metric::Ttft, Metric::E2e].map(|metric| Curve { metric, values: values.clone() });
    let mut summary = Summary::default();
    summary.target.url = "http://server.example:8000/<script>".into();
    summary.target.model = "a \"model\" & <more>".into();
    Told { name: name.into(), summary, curves: curves.into(), course: None, notes: Vec::new() }
}

#[test]
fn a_page_needs_no_network_and_no_script() {
    let page = page(&[told("one")]);
    for word in ["<script", "src=", "@import", "url("] {
        assert!(!page.contains(word), "{word}");
    }
    // Names of XML's own are no requests.
    let links = page.replace("http://www.w3.org/2000/svg", "").replace("http://server.example:8000/", "");
    assert!(!links.contains("http"), "nothing is fetched");
}

#[test]
fn what_the_server_says_of_itself_is_text_and_never_markup() {
    let page = page(&[told("one")]);
    assert!(page.contains("a &quot;model&quot; &amp; &lt;more&gt;"));
    assert!(!page.contains("<more>"));
}

#[test]
fn each_metric_with_values_has_its_share_and_its_tail() {
    let names: Vec<String> = figures(&[told("one")]).into_iter().map(|figure| figure.name).collect();
    assert_eq!(names, ["ttft-share", "ttft-tail", "e2e-share", "e2e-tail"]);
}

#[test]
fn several_runs_share_their_charts_and_are_told_apart() {
    let page = page(&[told("before"), told("after")]);
    assert!(page.contains("2 runs side by side"));
    assert_eq!(page.matches("<svg").count(), 4);
    assert_eq!(page.matches("</span>before</li>").count(), 4, "each legend names it");
}

#[test]
fn colours_are_the_pages_own_in_every_figure() {
    for figure in figures(&[told("one")]) {
        assert!(!figure.svg.contains("#A1"), "a stand-in is left in {}", figure.name);
        assert!(figure.svg.contains("var(--series-0)"), "{}", figure.name);
        let alone = figure.standalone();
        assert!(alone.starts_with("<svg") && alone.contains("--series-0:"), "{}", figure.name);
    }
}

#[test]
fn a_run_that_found_nothing_has_a_page_too() {
    let nothing = Told {
        name: "none".into(),
        summary: Summary::default(),
        curves: vec![Curve { metric: Metric::Ttft, values: Histogram::published() }],
        course: Some(Course::new(Instant::ZERO, Span::ZERO)),
        notes: Vec::new(),
    };
    let page = page(&[nothing]);
    assert!(page.contains("</html>"));
    assert!(!page.contains("<svg"));
}

#[test]
fn service_levels_servers_and_other_clients_are_told_where_there_are_any() {
    use crate::report::{Blame, Held, ImaginedClient, Slo, SloTerm, TargetSection, Unit};
    let bare = page(&[told("one")]);
    for word in ["Service levels", "Servers", "other clients", "TTFT p99:"] {
        assert!(!bare.contains(word), "{word}");
    }
    let mut one = told("one");
    let term = SloTerm {
        term: "ttft_p99<50ms".into(),
        state: Held::Crossed,
        value: Some(61e6),
        bound: 50e6,
        unit: Unit::Ns,
        infinite: false,
        of: Some(1_000),
        over: Some(63),
        n_eff: Some(400.0),
        ci: None,
        sure: Some(true),
    };
    one.summary.total.slo = Some(Slo { held: false, judged: 1_000, terms: vec![term], ..Slo::default() });
    one.summary.blame = Some(Blame { ttft_p99_ns: 61_000_000, ..Blame::default() });
    one.summary.client.imagined = vec![ImaginedClient {
        service_ns: 300_000,
        processes: 1,
        saturated: true,
        ..ImaginedClient::default()
    }];
    let server = |url: &str| {
        let mut server = TargetSection::default();
        server.target.url = url.into();
        server
    };
    one.summary.targets = vec![server("http://a:1"), server("http://b:2")];
    let page = page(&[one]);
    for words in [
        "ttft_p99&lt;50ms: <span class=\"invalid\">crossed</span>, 61.0 ms; 63 of 1,000 over it",
        "<td>http://b:2</td>",
        "300 us an event, 1 process",
        "saturated",
        "TTFT p99: </strong>61.0 ms = client at most",
    ] {
        assert!(page.contains(words), "{words}");
    }
}
