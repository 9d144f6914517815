//! The table: what stands side by side, what is marked, what is told apart, and what a page may not be made of.

use super::{one, sample};
use lowrho::foreign::{Comparison, Gate, Reading, Scope, ours};

fn mine(name: &str) -> Reading {
    ours(&sample::steady(), Err("no rows were kept"), name)
}

/// The cells of a row of a Markdown table.
fn row(markdown: &str, label: &str) -> Vec<String> {
    let line = markdown.lines().find(|line| line.starts_with(&format!("| {label} |")));
    let line = line.unwrap_or_else(|| panic!("no row {label} in\n{markdown}"));
    line.trim_matches('|').split('|').skip(1).map(|cell| cell.trim().to_owned()).collect()
}

#[test]
fn a_number_stands_only_in_the_row_of_what_it_is() {
    let readings = [mine("a"), one("k6-2.2-export.json"), one("guidellm-0.8.json"), one("vllm-0.33.json")];
    let markdown = Comparison::of(&readings, Scope::Usual).markdown();
    let ttft = row(&markdown, "ttft p99");
    assert!(ttft[0].ends_with("ms") && ttft[1].starts_with("n/a [") && ttft[2].contains("ms"), "{ttft:?}");
    assert!(row(&markdown, "tpot p50")[2].starts_with("n/a ["), "{markdown}");
    assert!(row(&markdown, "itl p50")[3].starts_with("n/a ["), "{markdown}");
    assert!(row(&markdown, "head p99")[1].starts_with("20.6 ms ["), "{markdown}");
    for told in ["http_req_waiting is not ttft", "time_per_output_token_ms is not tpot", "itl is not itl"] {
        assert!(markdown.contains(told), "{told} in\n{markdown}");
    }
    assert!(markdown.contains("**Not lined up**"), "{markdown}");
}

#[test]
fn two_runs_of_ours_have_differences_and_a_peer_beside_them_has_none() {
    let (base, mut after) = (mine("before"), mine("after"));
    for figure in after.figures.values_mut() {
        figure.value *= 1.5;
        figure.interval = figure.interval.map(|ends| ends.map(|end| end * 1.5));
    }
    let readings = [base.clone(), one("wrk-4.1.txt"), after.clone()];
    let comparison = Comparison::of(&readings, Scope::Usual);
    let p99 = row(&comparison.markdown(), "ttft p99");
    assert_eq!(p99.len(), 4);
    assert!(p99[3].starts_with("+50.0 % [") && p99[3].ends_with("worse"), "{p99:?}");
    let p50 = row(&comparison.markdown(), "ttft p50");
    assert!(p50[3].contains("% [n/a] ["), "{p50:?}");
    let gate: Gate = "ttft_p99>+5%".parse().unwrap();
    assert_eq!(gate.crossed(&base, &after).unwrap().len(), 1);
    assert_eq!(gate.crossed(&base, &base).unwrap().len(), 0);
    assert!("ttft_p50>+5%".parse::<Gate>().unwrap().crossed(&base, &after).is_err());
    let text = comparison.text();
    assert_eq!(text.matches("] no interval: no rows were kept").count(), 1, "{text}");
    assert!(text.contains("] no interval: lowrho makes none of this figure"), "{text}");
}

#[test]
fn names_from_files_cannot_break_out_of_a_page() {
    let mut evil = mine("a|b\n\u{1b}[31m<script>");
    evil.notes.push("<b>".into());
    let comparison = Comparison::of(&[evil, mine("c")], Scope::All);
    let page = comparison.html();
    assert!(!page.contains("<script>") && page.contains("&lt;script&gt;"));
    assert!(comparison.markdown().lines().all(|line| !line.starts_with('<') && !line.contains('\u{1b}')));
    assert!(!comparison.text().contains('\u{1b}'));
}

#[test]
fn a_page_of_many_files_scrolls_inside_its_tables_box_and_keeps_the_first_column() {
    let readings: Vec<Reading> = (0..22).map(|n| mine(&format!("run-{n}"))).collect();
    let page = Comparison::of(&readings, Scope::All).html();
    let (before, table) = page.split_once("<table>").expect("there is a table");
    assert!(before.ends_with("<div class=\"scroll\">") && table.contains("</table></div>"), "{page}");
    assert!(before.contains(".scroll{overflow-x:auto}"));
    let column = "th:first-child,td:first-child{";
    let style = before.split_once(column).and_then(|(_, rest)| rest.split_once('}')).expect(column).0;
    for told in ["position:sticky", "left:0", "z-index:1", "background:Canvas"] {
        assert!(style.contains(told), "{told} in {style}");
    }
}

#[test]
fn settings_that_differ_are_told() {
    let (one, mut other) = (mine("one"), mine("two"));
    other.settings.insert("load.rate".into(), "7".into());
    let text = Comparison::of(&[one, other], Scope::Usual).text();
    let at = |words: &str| text.find(words).unwrap_or_else(|| panic!("no {words} in {text}"));
    assert!(at("one and two were asked for differently: load.rate - / 7") < at("ttft p50"), "{text}");
}
