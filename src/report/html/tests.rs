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

/// A run whose shards were busy so much in each half second.
fn busy(shards: &[&[f64]]) -> Told {
    use crate::report::{BusyOverTime, ShardAudit};
    let shard = |(nth, rho): (usize, &&[f64])| ShardAudit {
        shard: nth as u64,
        over_time: BusyOverTime { step_ns: 500_000_000, rho_busy: rho.to_vec() },
        ..ShardAudit::default()
    };
    let mut one = told("one");
    one.summary.client.shards = shards.iter().enumerate().map(shard).collect();
    one
}

fn of_shards(told: Told) -> Option<Figure> {
    figures(&[told]).into_iter().find(|figure| figure.name == "rho-course")
}

#[test]
fn how_busy_each_shard_was_is_drawn_without_any_row_too() {
    use crate::report::{Check, Good, Unit, Verdict};
    let mut one = busy(&[&[0.1, 0.2, 0.95], &[0.1, 0.1]]);
    one.summary.client.checks = vec![Check {
        name: "rho_busy".into(),
        verdict: Verdict::Valid,
        value: Some(0.4),
        unit: Unit::Ratio,
        good: Good::AtMost,
        valid: Some(0.45),
        invalid: Some(0.85),
    }];
    let page = page(std::slice::from_ref(&one));
    assert_eq!(page.matches("Over time").count(), 1);
    for words in [
        "</span>shard 0</li>",
        "</span>shard 1</li>",
        "0.3: what --shards auto keeps to",
        "0.45: valid up to here",
        "0.85: invalid above",
        "in stretches of 500 ms",
    ] {
        assert!(page.contains(words), "{words}");
    }
    let svg = of_shards(one).unwrap().svg;
    for shard in 0..2 {
        assert_eq!(svg.matches(&format!("stroke=\"var(--series-{shard})\"")).count(), 1, "{svg}");
    }
    assert!(svg.contains("1.5"), "the axis holds the whole of it: {svg}");
}

#[test]
fn shards_that_kept_no_course_have_no_line() {
    assert!(of_shards(busy(&[])).is_none());
    assert!(of_shards(busy(&[&[], &[0.5]])).is_none());
    let broken = busy(&[&[0.5, 0.5]]);
    let with_step = |step_ns| {
        let mut told = broken.clone();
        told.summary.client.shards[0].over_time.step_ns = step_ns;
        of_shards(told)
    };
    assert!(with_step(0).is_none() && with_step(i64::MIN).is_none() && with_step(i64::MAX).is_some());
}

#[test]
fn many_shards_are_counted_and_not_named() {
    let many: Vec<&[f64]> = vec![&[0.5, 0.25]; 40];
    let page = page(&[busy(&many)]);
    assert!(page.contains("One line for each of 40 shards.") && !page.contains("</span>shard 7</li>"));
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
