//! A timeline against a model that keeps everything and thinks slowly.

use crate::made::{START, asked, at_ms, exactly, reply, token};
use lowrho::record::{Metric, Metrics, Timeline};
use lowrho::time::{Arrival, Instant, Span, StampClass};
use lowrho::wire::{Bears, Delta, ErrorClass, Heard};
use proptest::collection::vec;
use proptest::prelude::*;

/// What a model keeps of one delta.
#[derive(Clone, Debug)]
struct Kept {
    at: Instant,
    uncertainty: Span,
    read: usize,
    delta: Delta,
}

/// Everything that was heard, read by read.
fn kept(reads: &[(Arrival, Vec<Heard>)], undecided_count: bool) -> Vec<Vec<Kept>> {
    let mut events: Vec<Vec<Kept>> = Vec::new();
    for (read, (arrival, heard)) in reads.iter().enumerate() {
        for (place, one) in heard.iter().enumerate() {
            let Heard::Delta(delta) = one else { continue };
            let met = heard[place + 1..].iter().any(|later| match later {
                Heard::Delta(delta) => delta.opens_event,
                Heard::Head { .. } => false,
                Heard::Other | Heard::Done | Heard::End => true,
            });
            // A stamp of our own is uncertain even for the last event of a read.
            let by_us = arrival.class == StampClass::User;
            let uncertainty = if met || by_us { arrival.stamp - arrival.earliest } else { Span::ZERO };
            if delta.opens_event {
                events.push(Vec::new());
            }
            let bears = match delta.bears {
                Bears::Token => true,
                Bears::Undecided => undecided_count,
                Bears::Nothing => false,
            };
            if bears {
                let one = Kept { at: arrival.stamp, uncertainty, read, delta: *delta };
                events.last_mut().unwrap().push(one);
            }
        }
    }
    events.retain(|event| !event.is_empty());
    events
}

fn heard() -> impl Strategy<Value = Heard> {
    let bears = prop_oneof![3 => Just(Bears::Token), 1 => Just(Bears::Undecided), 1 => Just(Bears::Nothing)];
    let delta = (0_u16..3, any::<bool>(), bears, any::<bool>(), prop_oneof![Just(0_u32), Just(1), 2_u32..9]);
    prop_oneof![
        12 => delta.prop_map(|(choice, opens_event, bears, answer, tokens)| {
            Heard::Delta(Delta { choice, opens_event, bears, answer, tokens })
        }),
        1 => Just(Heard::Other),
    ]
}

fn reads() -> impl Strategy<Value = Vec<(Arrival, Vec<Heard>)>> {
    let class = prop_oneof![4 => Just(StampClass::Software), 1 => Just(StampClass::User)];
    vec((1_i64..50_000_000, 0_i64..300_000, class, vec(heard(), 0..5)), 0..20).prop_map(|reads| {
        let mut stamp = START;
        let mut opened = false;
        reads
            .into_iter()
            .map(|(after, early, class, mut heard)| {
                let before = stamp;
                stamp += Span::from_ns(after);
                let earliest = before.max(stamp - Span::from_ns(early));
                for one in &mut heard {
                    if let Heard::Delta(delta) = one {
                        // Nothing joins an event that was never opened, or one of an earlier read.
                        delta.opens_event |= !opened;
                        opened = true;
                    } else {
                        opened = false;
                    }
                }
                opened = false;
                (Arrival { stamp, earliest, class }, heard)
            })
            .collect()
    })
}

proptest! {
    #[test]
    fn a_timeline_tells_what_the_naive_model_tells(
        reads in reads(), undecided_count: bool, tokens in 0_u64..40, done: bool
    ) {
        let mut timeline = Timeline::new(asked(0, START), vec![1, 2, 3]);
        timeline.begun(START);
        timeline.departed(START, START + Span::from_us(3));
        for (arrival, heard) in &reads {
            timeline.read(*arrival, 100);
            for one in heard {
                timeline.hear(one);
            }
        }
        let over = at_ms(5_000);
        if done {
            timeline.read(exactly(over), 10);
            timeline.hear(&Heard::Done);
            timeline.hear(&Heard::End);
        }
        let mut reply = reply(tokens, None);
        reply.undecided_count = undecided_count;
        let mut finished = timeline.finish(reply, over);
        finished.keep_gaps();

        let events = kept(&reads, undecided_count);
        let flat: Vec<&Kept> = events.iter().flatten().collect();
        let record = finished.record();
        prop_assert_eq!(record.events as usize, events.len());
        prop_assert_eq!(record.first, flat.first().map(|one| one.at));
        prop_assert_eq!(record.answer, flat.iter().find(|one| one.delta.answer).map(|one| one.at));
        prop_assert_eq!(record.last, flat.last().map(|one| one.at).or(done.then_some(over)));
        prop_assert_eq!(record.uncertainty, flat.iter().map(|one| one.uncertainty).max().unwrap_or(Span::ZERO));
        prop_assert_eq!(finished.first_uncertainty(), flat.first().map_or(Span::ZERO, |one| one.uncertainty));
        prop_assert_eq!(finished.last_uncertainty(), flat.last().map_or(Span::ZERO, |one| one.uncertainty));
        let n_first = events.first().map_or(0, |event| event.iter().map(|one| one.delta.tokens).sum());
        prop_assert_eq!(record.n_first, n_first.max(1));
        prop_assert_eq!(record.streamed_tokens, flat.iter().map(|one| u64::from(one.delta.tokens.max(1))).sum::<u64>());
        let first_choice_event = reads.iter().find(|(_, heard)| heard.iter().any(|one| matches!(one, Heard::Delta(_))));
        prop_assert_eq!(record.event, first_choice_event.map(|(arrival, _)| arrival.stamp));

        // A read is coalesced when one of its bearing events met a later one; its width may be zero.
        let coalesced = reads.iter().enumerate().filter(|(read, (_, heard))| {
            flat.iter().any(|one| one.read == *read) && {
                let last_opening = heard.iter().rposition(|one| !matches!(one, Heard::Delta(d) if !d.opens_event));
                let bearing = |one: &Heard| matches!(one, Heard::Delta(d) if d.bears == Bears::Token
                    || (d.bears == Bears::Undecided && undecided_count));
                last_opening.is_some_and(|last| heard[..last].iter().any(bearing))
            }
        }).count();
        prop_assert_eq!(record.coalesced as usize, coalesced);

        let mut gaps = Vec::new();
        for (place, one) in flat.iter().enumerate() {
            let before = flat[..place].iter().rev().find(|other| other.delta.choice == one.delta.choice);
            if let Some(before) = before {
                gaps.push((one.at - before.at, before.uncertainty, one.uncertainty));
            }
        }
        prop_assert_eq!(record.stall, gaps.iter().map(|gap| gap.0).max());
        prop_assert_eq!(record.gaps.as_deref(), Some(&*gaps.iter().map(|gap| gap.0).collect::<Vec<_>>()));
        let uncertainties: Vec<Span> = flat.iter().map(|one| one.uncertainty).collect();
        prop_assert_eq!(record.uncertainties.as_deref(), Some(&*uncertainties));
        let told: Vec<_> = finished.gaps().collect();
        prop_assert_eq!(told.len(), gaps.len());
        for (told, (span, earlier, later)) in told.iter().zip(&gaps) {
            prop_assert_eq!(told.span, *span);
            prop_assert_eq!(told.longest, *span + *earlier);
            prop_assert_eq!(told.shortest, (*span - *later).max(Span::ZERO));
        }
    }
}

#[test]
fn tens_of_thousands_of_timelines_fit_in_memory() {
    let bytes = size_of::<Timeline>();
    assert!(bytes < 400, "{bytes} bytes");
}

#[test]
fn an_answer_that_came_in_one_read_cannot_have_come_before_its_request_was_sent() {
    let mut timeline = Timeline::new(asked(0, START), Vec::new());
    timeline.departed(at_ms(10), at_ms(10));
    // The harvest before was half a millisecond ago; the whole answer came 60 us after the request.
    let stamp = at_ms(10) + Span::from_us(60);
    let arrival = Arrival { stamp, earliest: stamp - Span::from_us(500), class: StampClass::Software };
    timeline.read(arrival, 600);
    for heard in [token(0, true, 1), token(0, true, 1), Heard::Done, Heard::End] {
        timeline.hear(&heard);
    }
    let finished = timeline.finish(reply(2, None), stamp);
    assert_eq!((finished.record().coalesced, finished.record().uncertainty), (1, Span::from_us(60)));
}

#[test]
fn the_usual_end_of_last_token_usage_and_done_in_one_read_is_uncertain_by_that_read() {
    let mut timeline = Timeline::new(asked(0, START), Vec::new());
    timeline.departed(START, START);
    timeline.read(exactly(at_ms(10)), 250);
    timeline.hear(&token(0, true, 1));
    let last =
        Arrival { stamp: at_ms(20), earliest: at_ms(20) - Span::from_us(90), class: StampClass::Software };
    timeline.read(last, 600);
    for heard in [token(0, true, 1), Heard::Other, Heard::Done, Heard::End] {
        timeline.hear(&heard);
    }
    let finished = timeline.finish(reply(2, None), at_ms(21));
    let record = finished.record();
    assert_eq!((record.coalesced, record.uncertainty), (1, Span::from_us(90)));
    assert_eq!(
        (record.last, record.done, record.end, record.over),
        (Some(at_ms(20)), Some(at_ms(20)), Some(at_ms(20)), at_ms(20))
    );
    let gap = finished.gaps().next().unwrap();
    assert_eq!((gap.shortest, gap.longest), (Span::from_ms(10) - Span::from_us(90), Span::from_ms(10)));
}

#[test]
fn a_unary_reply_has_e2e_and_ntpot_but_no_ttft() {
    let mut timeline = Timeline::new(asked(0, START), Vec::new());
    timeline.begun(at_ms(0));
    timeline.departed(at_ms(2), at_ms(2));
    timeline.read(exactly(at_ms(82)), 900);
    timeline.hear(&Heard::Head { status: 200 });
    timeline.hear(&Heard::End);
    let metrics = Metrics::of(timeline.finish(reply(8, None), at_ms(90)).record());
    for none in [Metric::Ttft, Metric::TtftDue, Metric::Tpot, Metric::Stall, Metric::Ttfo, Metric::E2eDone] {
        assert_eq!(metrics.get(none), None, "{none:?}");
    }
    assert_eq!(metrics.get(Metric::E2e), Some(Span::from_ms(80)));
    assert_eq!(metrics.get(Metric::E2eEnd), Some(Span::from_ms(80)));
    assert_eq!(metrics.get(Metric::Ntpot), Some(Span::from_us(10_250)));
    assert_eq!(metrics.get(Metric::NtpotSent), Some(Span::from_ms(10)));
}

#[test]
fn tpot_is_null_where_the_stream_showed_under_half_of_the_tokens() {
    let tpot = |tokens: u64, per_event: u32| {
        let mut timeline = Timeline::new(asked(0, START), Vec::new());
        timeline.departed(START, START);
        for ms in [10, 20, 40] {
            timeline.read(exactly(at_ms(ms)), 250);
            timeline.hear(&token(0, true, per_event));
        }
        Metrics::of(timeline.finish(reply(tokens, None), at_ms(41)).record()).get(Metric::Tpot)
    };
    assert_eq!(tpot(3, 0), Some(Span::from_ms(15)));
    assert_eq!(tpot(6, 0), Some(Span::from_ms(6)));
    assert_eq!(tpot(7, 0), None);
    assert_eq!(tpot(1, 0), None);
    assert_eq!(tpot(12, 4), Some(Span::from_us(3_750)));
}

#[test]
fn each_choice_has_gaps_and_a_tpot_of_its_own() {
    let mut asked = asked(0, START);
    asked.choices = 2;
    let mut timeline = Timeline::new(asked, Vec::new());
    timeline.departed(START, START);
    for (ms, choice) in [(10, 0), (11, 1), (20, 0), (41, 1), (30, 0)] {
        timeline.read(exactly(at_ms(ms)), 250);
        timeline.hear(&token(choice, true, 1));
    }
    let finished = timeline.finish(reply(5, None), at_ms(50));
    let ms = |spans: Vec<Span>| spans.iter().map(|s| s.as_ns() / 1_000_000).collect::<Vec<_>>();
    assert_eq!(ms(finished.gaps().map(|gap| gap.span).collect()), [10, 30, 10]);
    assert_eq!(ms(finished.tpot_by_choice().collect()), [10, 30]);
    assert_eq!(Metrics::of(finished.record()).get(Metric::Tpot), None);
}

#[test]
fn a_retried_request_keeps_its_due_and_begun_and_forgets_the_rest() {
    let mut timeline = Timeline::new(asked(0, START), Vec::new());
    timeline.begun(at_ms(1));
    timeline.reused();
    timeline.departed(at_ms(1), at_ms(1));
    timeline.retry();
    timeline.begun(at_ms(3));
    timeline.connected(at_ms(4));
    timeline.departed(at_ms(5), at_ms(5));
    timeline.read(exactly(at_ms(9)), 100);
    timeline.hear(&token(0, true, 1));
    let (record, log) = timeline.finish(reply(1, None), at_ms(10)).into_parts();
    assert_eq!((record.begun, record.sent, record.first), (Some(at_ms(1)), Some(at_ms(5)), Some(at_ms(9))));
    assert!((record.retries, record.reused, record.bytes) == (1, false, 100));
    assert!(log.capacity() > 0, "the log's memory can be used again");
}

#[test]
fn a_failed_request_is_over_when_it_failed() {
    let mut timeline = Timeline::new(asked(0, START), Vec::new());
    timeline.departed(START, START);
    timeline.read(exactly(at_ms(10)), 250);
    timeline.hear(&Heard::Head { status: 200 });
    let finished = timeline.finish(reply(0, Some(ErrorClass::TruncatedBody)), at_ms(12));
    let record = finished.record();
    assert_eq!((record.over, record.end, record.last, record.first), (at_ms(12), None, None, None));
}

#[test]
fn an_end_that_the_connections_close_tells_casts_no_doubt_on_the_last_token() {
    let mut timeline = Timeline::new(asked(0, START), Vec::new());
    timeline.departed(START, START);
    let wide = Arrival { stamp: at_ms(10), earliest: START, class: StampClass::Software };
    timeline.read(wide, 250);
    timeline.hear(&token(0, true, 1));
    timeline.closed(at_ms(30));
    timeline.hear(&Heard::End);
    let finished = timeline.finish(reply(1, None), at_ms(30));
    let record = finished.record();
    assert_eq!((record.uncertainty, record.coalesced), (Span::ZERO, 0));
    assert_eq!((record.end, record.stamp), (Some(at_ms(30)), StampClass::Software));
}
