//! Faults, as a client sees them.

use crate::client::{Answer, Client};
use crate::{script, start_with};
use lowrho::sim::SimHandle;
use lowrho::wire::ErrorClass;

fn faulty(fault: &str) -> SimHandle {
    start_with(script("2ms", "2ms").with_faults(&[fault]).expect("a fault"))
}

fn first_answer(fault: &str) -> Answer {
    let sim = faulty(fault);
    let mut client = Client::new(sim.address());
    client.chat(6, "")
}

#[test]
fn each_fault_is_what_it_says() {
    for (fault, status, error, tokens) in [
        ("status=503@0", Some(503), ErrorClass::Http5xx, 0),
        ("status=429@0", Some(429), ErrorClass::Http429, 0),
        ("reset=3@0", Some(200), ErrorClass::Reset, 3),
        ("reset=head@0", None, ErrorClass::Reset, 0),
        ("truncate=2@0", Some(200), ErrorClass::TruncatedBody, 2),
        ("truncate=head@0", None, ErrorClass::EofBeforeHead, 0),
        ("error=4@0", Some(200), ErrorClass::StreamError, 4),
    ] {
        let answer = first_answer(fault);
        assert_eq!(
            (answer.reply.status, answer.reply.error, answer.tokens),
            (status, Some(error), tokens),
            "{fault}: {}",
            answer.text
        );
    }
}

#[test]
fn a_stalled_stream_says_nothing_more() {
    let sim = faulty("stall=2@0");
    let mut client = Client::new(sim.address());
    client.patience(300);
    let answer = client.chat(6, "");
    assert_eq!((answer.reply.error, answer.tokens), (Some(ErrorClass::TimeoutTotal), 2));
}

#[test]
fn drips_and_comments_change_no_outcome() {
    for fault in ["drip=40:1", "comment:1"] {
        let sim = faulty(fault);
        let mut client = Client::new(sim.address());
        for _ in 0..2 {
            let answer = client.chat(6, "");
            assert_eq!(
                (answer.reply.error, answer.tokens, answer.reply.reusable),
                (None, 6, true),
                "{fault}"
            );
        }
    }
}

#[test]
fn only_those_named_are_befallen() {
    let sim = faulty("status=500@1");
    let mut client = Client::new(sim.address());
    let statuses: Vec<_> = (0..4).map(|_| client.chat(2, "").reply.status).collect();
    assert_eq!(statuses, [Some(200), Some(500), Some(200), Some(200)]);
    let report = sim.join();
    assert_eq!((report.shards[0].succeeded, report.shards[0].failed), (3, 1));
}

#[test]
fn a_client_that_asked_for_it_is_closed_after_its_answer() {
    let sim = faulty("comment@9");
    let mut client = Client::new(sim.address());
    client.send("GET /health HTTP/1.0\r\n\r\n");
    let answer = client.hear(lowrho::wire::Response::unary(client.expect(lowrho::wire::Api::Chat)));
    assert_eq!((answer.reply.status, answer.reply.reusable), (Some(200), false));
    assert!(client.is_at_its_end());
}
