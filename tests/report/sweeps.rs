//! The report of a sweep: its schema, its table, its page, its figures and its CSV, all of one sample.

use crate::assert_is_file;
use lowrho::report::html::{ToldSweep, sweep_figures, sweep_page};
use lowrho::report::terminal::{self, Style};
use lowrho::report::{GpuCost, Reason, SWEEP_VERSION, Sweep, SweepTrial, Verdict, csv, sweep_schema};
use lowrho::search::{
    Ask, End, Ended, Findings, Limit, Offer, Outcome, Purpose, Shown, TermOutcome, Trial, Trust,
};
use lowrho::time::Span;
use serde_json::Value;

const METRICS: [&str; 8] =
    ["ttft", "ttft_due", "itl", "tpot", "ntpot", "ntpot_waiting", "ntpot_decoding", "e2e"];

fn trial(purpose: Purpose, offer: Offer, done_per_s: u64) -> SweepTrial {
    let load = i64::try_from(done_per_s).unwrap();
    let shown = |metric: &str| Shown {
        metric: metric.into(),
        mean_ns: Some(10_000_000 + load * 10_000),
        p50_ns: Some(9_000_000 + load * 10_000),
        p95_ns: Some(20_000_000 + load * 20_000),
        p99_ns: Some(30_000_000 + load * 40_000),
        p50_ci: Some([8_000_000, 40_000_000]),
        p99_ci: Some([25_000_000, 90_000_000]),
    };
    let outcome = Outcome {
        client: Trust::Valid,
        ended: Ended::Whole,
        window: Span::from_s(10),
        completed: (0..20).map(|part| done_per_s / 2 + part % 2).collect(),
        in_flight: vec![3.0; 20],
        grew: false,
        detectable_per_s: 0.5,
        terms: vec![TermOutcome {
            missed: vec![0; 20],
            of: vec![5; 20],
            requests: 100,
            crossed: Some(false),
        }],
        goodput_per_s: Some(99.0),
        succeeded: done_per_s * 10,
        failed: 0,
        output_tokens_per_s: Some(1_600.0),
        shown: METRICS.map(shown).into(),
    };
    let ask = Ask { purpose, offer, warmup: Span::from_s(1), window: Span::from_s(10), look: 0 };
    SweepTrial {
        dir: "trials/000".into(),
        judgement: None,
        reasons: Vec::new(),
        trial: Trial { ask, outcome },
    }
}

/// A search that found both limits; one of its trials was INVALID.
fn search() -> Sweep {
    let mut trials: Vec<SweepTrial> =
        [1, 2, 4].map(|slots| trial(Purpose::Ladder, Offer::Slots(slots), u64::from(slots) * 50)).into();
    trials.push(trial(Purpose::Overload, Offer::Rate(240.0), 200));
    for (rate, judgement) in [(140.0, "passes"), (167.0, "fails"), (153.0, "undecided")] {
        trials.push(trial(Purpose::Level, Offer::Rate(rate), 150));
        trials.last_mut().unwrap().judgement = Some(judgement.into());
    }
    trials.extend(
        [15_u32, 75, 150].map(|rate| trial(Purpose::Profile, Offer::Rate(f64::from(rate)), rate.into())),
    );
    trials[8].trial.outcome.client = Trust::Invalid;
    trials[5].trial.outcome.grew = true;
    let limit = |low: f64, high: f64| Limit {
        estimate: Some((low * high).sqrt()),
        low: Some(low),
        high: Some(high),
        passed: Some((3, 3)),
        failed: Some((2, 2)),
        trials: vec![4, 5, 6],
    };
    Sweep {
        schema_version: SWEEP_VERSION,
        version: "0.1.0".into(),
        start_unix_ns: 1_790_000_000_000_000_000,
        url: "http://server.example:8000/<b>".into(),
        model: "a \"model\" & <more>".into(),
        slo: vec!["ttft_p99<60ms".into()],
        warmup_ns: 1_000_000_000,
        window_ns: 10_000_000_000,
        mlperf: None,
        config: serde_json::json!({"sweep": {"auto": true}}),
        gpus: Some(GpuCost { count: 2, price_per_hour: Some(3.6) }),
        end: Some(End::Found),
        why: None,
        found: Findings {
            stability_limit: Some(limit(199.0, 201.0)),
            slo_capacity: Some(limit(140.0, 167.0)),
            collapse: None,
            efficient_rate: Some(150.0),
            usl: None,
        },
        limited_by: Some("16 run at once, its maximum, and 90 wait".into()),
        trials,
    }
}

/// A list of loads, of which the last crosses the service levels, broken off.
fn profile() -> Sweep {
    let mut trials: Vec<SweepTrial> = [10_u32, 20, 40]
        .map(|rate| trial(Purpose::Profile, Offer::Rate(f64::from(rate)), rate.into()))
        .into();
    trials[2].trial.outcome.terms[0].crossed = Some(true);
    Sweep { trials, found: Findings::default(), limited_by: None, gpus: None, end: None, ..search() }
}

fn told(name: &str, sweep: Sweep) -> ToldSweep {
    ToldSweep { name: name.into(), sweep }
}

fn names(told: &[ToldSweep]) -> Vec<String> {
    sweep_figures(told).into_iter().map(|figure| figure.name).collect()
}

#[test]
fn the_published_schema_is_that_of_the_code() {
    assert_is_file("docs/sweep.schema.json", &sweep_schema());
}

#[test]
fn every_sweep_that_is_written_fits_the_schema_and_survives_its_text() {
    let schema: Value = serde_json::from_str(&sweep_schema()).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    for sweep in [search(), profile(), Sweep { trials: Vec::new(), ..profile() }] {
        let mut value: Value = serde_json::from_str(&sweep.to_json()).unwrap();
        let errors: Vec<String> = validator.iter_errors(&value).map(|error| error.to_string()).collect();
        assert_eq!(errors, Vec::<String>::new());
        assert_eq!(Sweep::from_json(&sweep.to_json()).unwrap(), sweep);
        value["window_ns"] = "long".into();
        assert_eq!(validator.iter_errors(&value).count(), 1);
    }
    let newer = search().to_json().replace("\"schema_version\": 2", "\"schema_version\": 99");
    assert!(Sweep::from_json(&newer).unwrap_err().to_string().contains("newer lowrho"));
}

#[test]
fn both_limits_have_an_estimate_bounds_and_their_trials() {
    let value: Value = serde_json::from_str(&search().to_json()).unwrap();
    for limit in ["stability_limit", "slo_capacity"] {
        let keys: Vec<&String> = value[limit].as_object().unwrap().keys().collect();
        assert_eq!(keys, ["estimate", "low", "high", "passed", "failed", "trials"], "{limit}");
    }
}

#[test]
fn one_sentence_says_what_was_found() {
    assert_eq!(
        search().sentence(),
        "Capacity under ttft_p99<60ms: between 140.0 (passed 3 of 3) and 167.0 (failed 2 of 2) requests/s; \
         stability limit 200.0 requests/s (199.0 to 201.0); there 16 run at once, its maximum, and 90 wait; most \
         throughput per response time at 150.0 requests/s."
    );
    let sentence = profile().sentence();
    assert_eq!(
        sentence,
        "At most 41.00 requests/s done, at 40.00 offered; ttft_p99<60ms kept up to 20.00 requests/s and crossed at \
         40.00 requests/s."
    );
    assert_eq!(Sweep { trials: Vec::new(), ..profile() }.sentence(), "");
    let (verdict, words) = profile().ending();
    assert!(verdict == Verdict::Suspect && words.contains("--resume"), "{words}");
}

#[test]
fn a_terminal_of_any_width_shows_the_profile_with_its_chart() {
    for width in [60, 80, 120, 200] {
        let text = terminal::sweep(&search(), &Style { width, ..Style::default() });
        assert!(text.lines().all(|line| line.chars().count() <= width), "{width}:\n{text}");
        for words in ["Offered", "TTFT p99", "INVALID", "Capacity under", "15.00/s"] {
            assert!(text.contains(words), "{words} at {width}:\n{text}");
        }
        assert!(width < 80 || text.contains("####"), "{text}");
    }
}

#[test]
fn the_page_needs_no_network_and_takes_nothing_for_markup() {
    let page = sweep_page(&[told("one", search())]);
    let links = page.replace("http://www.w3.org/2000/svg", "").replace("http://server.example:8000/", "");
    for word in ["<script", "src=", "@import", "url(", "http", "<more>", "<b>", "#A1"] {
        assert!(!links.contains(word), "{word}");
    }
    for words in [
        "a &quot;model&quot; &amp; &lt;more&gt;",
        "Capacity under",
        "3 of 3",
        "INVALID",
        "undecided",
        "1.250",
    ] {
        assert!(page.contains(words), "{words}");
    }
    assert_eq!(page.matches("<tr>").count(), 1 + 2 + 1 + 10, "a row for each limit and each trial");
}

#[test]
fn a_search_has_its_profile_its_limits_and_its_closed_loops() {
    let all = [
        "throughput-profile",
        "ttft-profile",
        "tpot-profile",
        "ntpot-profile",
        "e2e-profile",
        "ntpot-parts",
        "tokens-per-user",
        "price",
        "closed-loops",
    ];
    assert_eq!(names(&[told("one", search())]), all);
    // Without GPUs there is no price, and a list has no closed loops.
    assert_eq!(names(&[told("one", profile())]), all[..7]);
    assert_eq!(names(&[told("none", Sweep { trials: Vec::new(), ..profile() })]), Vec::<String>::new());
    assert!(sweep_page(&[told("none", Sweep { trials: Vec::new(), ..profile() })]).contains("</html>"));
}

#[test]
fn what_cannot_be_trusted_is_a_ring_beside_the_line() {
    let rings = |sweep: Sweep| {
        let figure = sweep_figures(&[told("one", sweep)]).swap_remove(1);
        let circles: Vec<&str> =
            figure.svg.split("<circle").skip(1).filter_map(|rest| rest.split("/>").next()).collect();
        let hollow = circles.iter().filter(|circle| circle.contains("fill=\"none\"")).count();
        (circles.len(), hollow, figure.note.contains("INVALID"))
    };
    // Six loads, two quantiles each.
    assert_eq!(rings(search()), (12, 2, true));
    assert_eq!(rings(profile()), (6, 0, false));
}

#[test]
fn several_sweeps_share_their_charts_unless_their_loads_have_no_axis_in_common() {
    let both = [told("before", search()), told("after", profile())];
    let page = sweep_page(&both);
    assert!(page.contains("2 sweeps side by side") && page.contains("after p99"));
    assert!(!names(&both).contains(&"closed-loops".to_owned()) && names(&both).len() == 6);
    let mut closed = profile();
    closed.trials.iter_mut().for_each(|trial| trial.trial.ask.offer = Offer::Slots(4));
    let apart = [told("open", profile()), told("closed", closed)];
    assert!(names(&apart).is_empty() && sweep_page(&apart).contains("no axis in common"));
}

#[test]
fn the_csv_has_a_line_a_trial_and_a_field_for_each_heading() {
    let (one, two) = (search(), profile());
    let text = csv::trials([("a,b", &one), ("c", &two)].into_iter());
    let mut reader = ::csv::Reader::from_reader(text.as_bytes());
    let head = reader.headers().unwrap().clone();
    let rows: Vec<::csv::StringRecord> = reader.records().collect::<Result<_, _>>().unwrap();
    assert_eq!(rows.len(), 10 + 3);
    let field = |row: usize, name: &str| {
        rows[row].get(head.iter().position(|heading| heading == name).expect(name)).unwrap().to_owned()
    };
    assert_eq!((field(0, "sweep").as_str(), field(0, "concurrency").as_str()), ("a,b", "1"));
    assert_eq!((field(4, "purpose").as_str(), field(4, "judgement").as_str()), ("level", "passes"));
    assert_eq!((field(8, "client").as_str(), field(8, "offered_rate").as_str()), ("invalid", "75"));
    assert_eq!(field(9, "output_tokens_per_s_per_gpu"), "800");
    assert_eq!(field(9, "ttft_p99_ns"), "36000000");
    assert_eq!(field(10, "price_per_million_output_tokens"), "");
}

/// A search that our own side broke off among its closed loops.
fn client_limit() -> Sweep {
    let mut sweep = search();
    sweep.trials.truncate(3);
    sweep.trials.extend([8, 8, 8].map(|slots| trial(Purpose::Ladder, Offer::Slots(slots), 210)));
    for (nth, trial) in sweep.trials.iter_mut().enumerate().skip(3) {
        trial.dir = format!("trials/00{nth}");
        trial.trial.outcome.client = Trust::Invalid;
        trial.reasons = vec![Reason {
            verdict: Verdict::Invalid,
            check: "rho_busy".into(),
            words: format!("shard 0 was busy 9{nth}.0 % of the time"),
            remedy: "more shards: --shards 2".into(),
        }];
    }
    (sweep.end, sweep.found, sweep.limited_by) = (Some(End::ClientLimit), Findings::default(), None);
    sweep
}

#[test]
fn a_client_limit_passes_on_the_latest_trials_own_reasons_and_remedies() {
    let sweep = client_limit();
    let style = Style { width: 100, colour: false, verbose: false };
    let text = terminal::sweep(&sweep, &style);
    let told = "client limit: three trials running were INVALID\ntrials/005:\n  invalid: shard 0 was busy 95.0 % of \
                the time\n    remedy: more shards: --shards 2\n";
    assert!(text.ends_with(told), "{text}");
    assert_eq!(Sweep::from_json(&sweep.to_json()).unwrap(), sweep);
    let page = sweep_page(&[self::told("one", sweep.clone())]);
    for words in ["shard 0 was busy 95.0 % of the time", "more shards: --shards 2"] {
        assert_eq!(page.matches(words).count(), 1, "{words}");
    }
    // Of a search that found what it looked for, a trial made again is no news; of a list every load is told.
    assert!(Sweep { end: Some(End::Found), ..sweep }.untrusted().is_none());
    let mut list = profile();
    list.trials[1].reasons = client_limit().trials[4].reasons.clone();
    assert_eq!(list.untrusted(), Some(&list.trials[1]));
}

#[test]
fn a_search_that_came_no_further_than_its_closed_loops_has_a_profile_of_them() {
    let names = names(&[told("one", client_limit())]);
    assert_eq!(names[..2], ["throughput-profile", "ttft-profile"]);
    // The same again, without a law to draw, would say nothing new.
    assert!(!names.contains(&"closed-loops".to_owned()), "{names:?}");
    let page = sweep_page(&[told("one", client_limit())]);
    assert!(page.contains("requests in flight") && page.contains("Rings: INVALID"));
}

#[test]
fn what_ended_a_sweep_is_made_again_when_it_goes_on() {
    let mut failed = profile();
    (failed.end, failed.trials[2].trial.outcome.ended) = (Some(End::TargetFailed), Ended::Failed);
    assert_eq!(failed.worth_keeping().len(), 2);
    let mut limit = search();
    limit.trials.iter_mut().skip(7).for_each(|trial| trial.trial.outcome.client = Trust::Invalid);
    limit.end = Some(End::ClientLimit);
    assert_eq!(limit.worth_keeping().len(), 7);
    assert_eq!(profile().worth_keeping().len(), 3);
}
