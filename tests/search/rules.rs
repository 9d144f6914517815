//! The rules of a search against a server of paper: order of trials, spoiled ones, failures, going on from a file.

use lowrho::search::{
    Ask, End, Ended, Lengths, Next, Offer, Outcome, Purpose, Search, Settings, TermOutcome, Trial, Trust,
};
use lowrho::time::Span;

const LIMIT: f64 = 400.0;
const CAPACITY: f64 = 340.0;

fn settings() -> Settings {
    Settings {
        slo: "ttft_p99<60ms".parse().unwrap(),
        lengths: Lengths { warmup: Span::from_s(1), window: Span::from_s(20) },
        ..Settings::default()
    }
}

/// A server that does what it should: eight at once, 20 ms each, and service levels that hold up to the capacity and no further.
fn paper(ask: &Ask) -> Outcome {
    let offered = match ask.offer {
        Offer::Rate(rate) => rate,
        Offer::Slots(slots) => f64::from(slots.min(8)) * LIMIT / 8.0,
    };
    let done = offered.min(LIMIT);
    let share = if offered > CAPACITY { 0.05 } else { 0.001 };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count")]
    let count = |rate: f64| (rate * ask.window.as_s_f64() / 20.0).round() as u64;
    let (of, missed) = (vec![count(offered); 20], vec![count(offered * share); 20]);
    let requests = of.iter().sum();
    Outcome {
        client: Trust::Valid,
        ended: Ended::Whole,
        window: ask.window,
        completed: vec![count(done); 20],
        in_flight: vec![8.0; 20],
        grew: offered > LIMIT,
        detectable_per_s: 0.5,
        terms: vec![TermOutcome { missed, of, requests, crossed: Some(share > 0.01) }],
        goodput_per_s: None,
        succeeded: requests,
        failed: 0,
        output_tokens_per_s: None,
        shown: Vec::new(),
    }
}

/// The search to its end, each outcome as `of` gives it for the trial's number.
fn run(mut search: Search, of: impl Fn(usize, &Ask) -> Outcome) -> (End, Search) {
    for _ in 0..200 {
        match search.next() {
            Next::Trial(ask) => {
                let outcome = of(search.trials().len(), &ask);
                search.take(ask, outcome);
            }
            Next::End(end) => return (end, search),
        }
    }
    panic!("no end after 200 trials");
}

fn purposes(search: &Search) -> Vec<Purpose> {
    let mut purposes: Vec<Purpose> = search.trials().iter().map(|trial| trial.ask.purpose).collect();
    purposes.dedup();
    purposes
}

#[test]
fn closed_loops_then_overload_then_service_levels_then_the_profile() {
    let (end, search) = run(Search::new(settings()), |_, ask| paper(ask));
    assert_eq!(end, End::Found);
    assert_eq!(purposes(&search), [Purpose::Ladder, Purpose::Overload, Purpose::Level, Purpose::Profile]);
    let slots: Vec<Offer> = search
        .trials()
        .iter()
        .take_while(|trial| trial.ask.purpose == Purpose::Ladder)
        .map(|t| t.ask.offer)
        .collect();
    assert_eq!(slots, [1, 2, 4, 8, 16].map(Offer::Slots), "twice the slots that gain nothing are the last");
    let found = search.findings();
    let limit = found.stability_limit.unwrap();
    assert_eq!(limit.estimate, Some(LIMIT));
    let capacity = found.slo_capacity.unwrap();
    assert!(capacity.low.unwrap() <= CAPACITY && CAPACITY <= capacity.high.unwrap(), "{capacity:?}");
    assert_eq!((capacity.passed, capacity.failed), (Some((3, 3)), Some((2, 2))));
    let profile: Vec<f64> = search
        .trials()
        .iter()
        .filter(|trial| trial.ask.purpose == Purpose::Profile)
        .map(|trial| trial.ask.offer.rate().unwrap() / capacity.low.unwrap())
        .collect();
    assert_eq!(profile.len(), 7);
    assert!((profile[0] - 0.1).abs() < 1e-9 && (profile[6] - 1.1).abs() < 1e-9, "{profile:?}");
}

#[test]
fn a_spoiled_trial_is_no_evidence_and_is_made_again_twice() {
    let clean = run(Search::new(settings()), |_, ask| paper(ask)).1;
    let spoil = |nth: usize, ask: &Ask, spoiled: &[usize]| {
        let client = if spoiled.contains(&nth) { Trust::Invalid } else { Trust::Valid };
        // What an invalid client says is nonsense.
        let outcome = paper(ask);
        if client == Trust::Invalid {
            Outcome { client, grew: true, completed: vec![0; 20], ..outcome }
        } else {
            outcome
        }
    };
    let (end, search) = run(Search::new(settings()), |nth, ask| spoil(nth, ask, &[3, 4, 8]));
    assert_eq!(end, End::Found);
    assert_eq!(search.trials().len(), clean.trials().len() + 3);
    assert_eq!(search.trials()[3].ask, search.trials()[5].ask);
    let (mine, theirs) = (search.findings().slo_capacity.unwrap(), clean.findings().slo_capacity.unwrap());
    assert_eq!((mine.low, mine.high), (theirs.low, theirs.high));
    let (end, search) = run(Search::new(settings()), |nth, ask| spoil(nth, ask, &[7, 8, 9]));
    assert_eq!((end, search.trials().len()), (End::ClientLimit, 10));
}

#[test]
fn an_undecided_trial_is_doubled_until_it_may_not_be_any_longer() {
    // So few requests that only the third look has enough of them.
    let few = |ask: &Ask| {
        let mut outcome = paper(ask);
        if ask.purpose == Purpose::Level {
            let term = &mut outcome.terms[0];
            let of = 12 << ask.look;
            (term.of, term.missed, term.requests) = (vec![of; 20], vec![0; 20], of * 20);
        }
        outcome
    };
    let (_, search) = run(Search::new(Settings { max_trials: 1, ..settings() }), |_, ask| few(ask));
    let looks: Vec<(u32, i64)> = search
        .trials()
        .iter()
        .filter(|trial| trial.ask.purpose == Purpose::Level)
        .map(|trial| (trial.ask.look, trial.ask.window.as_ns() / 1_000_000_000))
        .collect();
    assert_eq!(looks, [(0, 20), (1, 40)], "240 clean ones prove nothing, 720 do");
}

#[test]
fn a_target_that_fails_outright_ends_it_with_what_was_measured() {
    let (end, search) = run(Search::new(settings()), |nth, ask| {
        let ended = if nth == 9 { Ended::Failed } else { Ended::Whole };
        Outcome { ended, ..paper(ask) }
    });
    assert_eq!((end, search.trials().len()), (End::TargetFailed, 10));
    assert!(search.findings().stability_limit.is_some());
}

#[test]
fn a_server_that_never_keeps_its_levels_has_no_capacity() {
    let (end, search) = run(Search::new(Settings { profile: Vec::new(), ..settings() }), |_, ask| {
        let mut outcome = paper(ask);
        let term = &mut outcome.terms[0];
        term.missed.clone_from(&term.of);
        outcome
    });
    assert_eq!(end, End::Nowhere);
    assert_eq!(search.findings().slo_capacity.unwrap().estimate, None);
}

#[test]
fn without_service_levels_the_stability_limit_is_all_there_is_to_find() {
    let settings = Settings { slo: Default::default(), ..settings() };
    let (end, search) = run(Search::new(settings), |_, ask| Outcome { terms: Vec::new(), ..paper(ask) });
    assert_eq!(end, End::Found);
    assert_eq!(purposes(&search), [Purpose::Ladder, Purpose::Overload, Purpose::Profile]);
    assert_eq!(search.findings().slo_capacity, None);
}

#[test]
fn a_server_that_thrashes_beyond_its_limit_is_said_to_collapse() {
    let (_, search) = run(Search::new(settings()), |_, ask| {
        let mut outcome = paper(ask);
        if outcome.grew {
            outcome.completed.iter_mut().for_each(|part| *part = *part * 4 / 5);
        }
        outcome
    });
    let collapse = search.findings().collapse.unwrap();
    assert!((collapse.overloaded_per_s / collapse.best_per_s - 0.8).abs() < 0.01, "{collapse:?}");
}

#[test]
fn a_search_goes_on_from_its_file_as_if_it_had_not_been_broken_off() {
    let whole = run(Search::new(settings()), |_, ask| paper(ask)).1;
    for made in [1, 5, 7, 12] {
        let text = serde_json::to_string(&whole.trials()[..made]).unwrap();
        let trials: Vec<Trial> = serde_json::from_str(&text).unwrap();
        let (_, resumed) = run(Search::resumed(settings(), trials), |_, ask| paper(ask));
        assert_eq!(resumed.trials(), whole.trials(), "broken off after {made}");
    }
}
