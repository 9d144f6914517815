//! Faults befall whom they should, where they should.

use super::*;

fn faulty(fault: &str) -> Server {
    server(script("20ms", "5ms").with_faults(&[fault]).unwrap())
}

fn hear(fault: &str, request: &str) -> Vec<Sent> {
    let mut server = faulty(fault);
    server.read(0, request.as_bytes(), us(0));
    play(&mut server, 10_000_000)
}

fn four() -> String {
    chat(r#","max_tokens":4"#)
}

fn unary() -> String {
    unary_chat(r#","max_tokens":4"#)
}

fn tokens(sent: &[Sent]) -> usize {
    sent.iter()
        .map(|sent| sent.text.matches("\"content\":\"").count() - sent.text.matches("\"role\"").count())
        .sum()
}

#[test]
fn a_status_comes_at_once_and_the_connection_stays() {
    let sent = hear("status=503:1", &four());
    assert_eq!((sent.len(), sent[0].due_us, sent[0].then), (1, 0, Then::Stay));
    assert!(sent[0].text.starts_with("HTTP/1.1 503 Service Unavailable\r\n"), "{}", sent[0].text);
    assert!(hear("status=429:1", &unary())[0].text.contains("retry-after: 1\r\n"));
}

#[test]
fn a_reset_comes_in_the_place_of_the_event() {
    let sent = hear("reset=2:1", &four());
    assert_eq!((tokens(&sent), sent.last().map(|s| (s.due_us, s.then))), (2, Some((30_000, Then::Reset))));
    let sent = hear("reset=head:1", &four());
    assert_eq!((sent.len(), sent[0].text.len(), sent[0].then), (1, 0, Then::Reset));
    assert_eq!(hear("reset:1", &unary()).last().map(|s| (s.due_us, s.then)), Some((35_000, Then::Reset)));
}

#[test]
fn a_stalled_answer_says_no_more_until_its_client_goes() {
    let mut server = faulty("stall=1@0");
    server.read(0, four().as_bytes(), us(0));
    let sent = play(&mut server, 10_000_000);
    assert_eq!((tokens(&sent), sent.last().map(|s| s.then)), (1, Some(Then::Stay)));
    assert_eq!((server.running(), server.next_due()), (1, None));
    server.gone(0, us(50_000_000));
    assert_eq!(server.running(), 0);
    assert!(hear("stall=head:1", &four()).iter().all(|sent| sent.text.is_empty()));
}

#[test]
fn a_truncated_answer_ends_within_an_event() {
    let sent = hear("truncate=2:1", &four());
    let last = sent.last().unwrap();
    assert_eq!((tokens(&sent[..3]), last.then), (2, Then::Close));
    assert!(!last.text.ends_with('\n') && !last.text.is_empty());
    assert!(!last.marks.iter().any(|mark| matches!(mark, Mark::Said { .. })), "half an event is not said");
    let whole = hear("comment@9", &unary()).concat_text();
    let cut = hear("truncate:1", &unary()).concat_text();
    assert!(cut.len() < whole.len() && whole.starts_with(&cut) && cut.contains("\r\n\r\n{"));
}

#[test]
fn an_error_event_ends_the_stream_and_not_the_connection() {
    let sent = hear("error=1:1", &four());
    let last = sent.last().unwrap();
    assert!(last.text.contains("data: {\"error\": {") && last.text.ends_with("[DONE]\n\n\r\n0\r\n\r\n"));
    assert_eq!((tokens(&sent), last.then), (1, Then::Stay));
    assert!(hear("error:1", &unary()).concat_text().starts_with("HTTP/1.1 500 "));
}

#[test]
fn dripping_changes_when_bytes_leave_and_not_which() {
    let whole = hear("comment@9", &four());
    let dripping = hear("drip=100:1", &four());
    assert_eq!(dripping.concat_text(), whole.concat_text());
    assert!(dripping.iter().all(|sent| sent.text.len() <= 100));
    assert!(dripping.windows(2).all(|pair| pair[1].due_us - pair[0].due_us >= 1_000));
    let marks = |sent: &[Sent]| -> Vec<(Said, Instant)> {
        let marks = sent.iter().flat_map(|sent| sent.marks.clone());
        marks
            .filter_map(|mark| match mark {
                Mark::Said { what, planned, .. } => Some((what, planned)),
                _ => None,
            })
            .collect()
    };
    assert_eq!(marks(&dripping), marks(&whole));
}

#[test]
fn a_dripping_connection_is_used_again_when_it_is_dry() {
    let mut server = faulty("drip=100@0");
    server.read(0, format!("{}{}", four(), four()).as_bytes(), us(0));
    let all = play(&mut server, 60_000_000).concat_text();
    assert_eq!((all.matches("[DONE]").count(), all.matches("HTTP/1.1 200 OK").count()), (2, 2));
}

#[test]
fn comments_come_before_every_event_and_nothing_else_changes() {
    let (plain, commented) =
        (hear("comment@9", &four()).concat_text(), hear("comment:1", &four()).concat_text());
    assert_eq!(commented.matches(": keep-alive\n\n").count(), 4);
    assert_eq!(commented.replace("e\r\n: keep-alive\n\n\r\n", ""), plain);
}

#[test]
fn faults_are_counted_as_errors_and_free_their_places() {
    for fault in ["status=500:1", "reset:1", "truncate:1", "error:1", "reset=head:1"] {
        let mut server =
            server(Script { max_running: Some(1), ..script("20ms", "5ms") }.with_faults(&[fault]).unwrap());
        server.read(0, four().as_bytes(), us(0));
        play(&mut server, 10_000_000);
        assert_eq!((server.running(), server.waiting()), (0, 0), "{fault}");
        let error = "vllm:request_success_total{engine=\"0\",finished_reason=\"error\",model_name=\"tiny\"}";
        assert_eq!(metric(&mut server, error), "1.0", "{fault}");
    }
}

trait ConcatText {
    fn concat_text(&self) -> String;
}

impl ConcatText for Vec<Sent> {
    fn concat_text(&self) -> String {
        self.iter().map(|sent| sent.text.as_str()).collect()
    }
}
