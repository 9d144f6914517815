//! What a server sends without end is not read without end.

use lowrho::wire::{Api, Closed, ErrorClass, Expect, Progress, Reply, Response};

const EXPECT: Expect = Expect { api: Api::Chat, choices: 1, reused: false };
const HEAD: &[u8] =
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
const ANSWER: &[u8] = b"data: {\"choices\":[{\"delta\":{\"content\":\"A\"},\"finish_reason\":\"stop\"}]}\n\n";

fn chunk(bytes: &[u8]) -> Vec<u8> {
    [format!("{:x}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat()
}

/// Sends `begin`, then `more` again and again until the response has enough of it; the bytes that took.
fn flood(mut response: Response, begin: &[u8], more: &[u8]) -> (Reply, u64) {
    let mut read = begin.to_vec();
    loop {
        if response.read(&read, &mut |_| {}) == Progress::Over {
            return (response.reply(), response.bytes());
        }
        assert!(response.bytes() < 64 << 20, "64 MiB were read and more was wanted");
        read = more.to_vec();
    }
}

#[test]
fn heads_end_at_256_kib() {
    let (reply, bytes) = flood(Response::new(EXPECT), b"HTTP/1.1 200 OK\r\n", &[b'x'; 1000]);
    assert_eq!(reply.error, Some(ErrorClass::HeadTooLarge));
    assert!(bytes < 258 << 10);
}

#[test]
fn interim_heads_may_come_without_number() {
    let hint = [&b"HTTP/1.1 103 Early Hints\r\nLink: "[..], &[b'x'; 5000], b"\r\n\r\n"].concat();
    let mut response = Response::new(EXPECT);
    for _ in 0..100 {
        assert_eq!(response.read(&hint, &mut |_| {}), Progress::More);
    }
    let rest = [HEAD, &chunk(ANSWER), b"0\r\n\r\n"].concat();
    assert_eq!(response.read(&rest, &mut |_| {}), Progress::Over);
    assert_eq!(response.reply().error, None);
}

#[test]
fn an_event_ends_at_8_mib() {
    let begin = [HEAD, b"fffffffff\r\ndata: {\"choices\":[{\"delta\":{\"content\":\""].concat();
    let (reply, bytes) = flood(Response::new(EXPECT), &begin, &[b'x'; 1 << 16]);
    assert_eq!(reply.error, Some(ErrorClass::EventTooLarge));
    assert!(bytes < 9 << 20);
}

#[test]
fn a_refusals_body_ends_at_64_kib_and_its_words_are_kept() {
    let begin = b"HTTP/1.1 503 No\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nfull: \r\n";
    let (reply, bytes) = flood(Response::new(EXPECT), begin, &chunk(&[b'x'; 1000]));
    assert_eq!((reply.error, reply.reusable), (Some(ErrorClass::Http5xx), false));
    assert!(reply.detail.is_some_and(|detail| detail.starts_with("full: xxx") && detail.len() <= 512));
    assert!(bytes < 70 << 10);
}

#[test]
fn json_where_a_stream_was_promised_ends_at_64_kib() {
    let (reply, bytes) =
        flood(Response::new(EXPECT), &[HEAD, &chunk(b"{\"a\":\"")].concat(), &chunk(&[b'x'; 1000]));
    assert_eq!(reply.error, Some(ErrorClass::SseParse));
    assert!(bytes < 70 << 10);
}

#[test]
fn a_server_that_goes_on_after_the_terminal_event_is_left() {
    let begin = [HEAD, &chunk(ANSWER), &chunk(b"data: [DONE]\n\n")].concat();
    let mut response = Response::new(EXPECT);
    assert_eq!(response.read(&begin, &mut |_| {}), Progress::Draining);
    let (reply, bytes) = flood(response, b"", &chunk(b": still here\n\n"));
    assert_eq!((reply.error, reply.reusable, reply.counters.unclean_end), (None, false, true));
    assert!(bytes < 66 << 10);
}

#[test]
fn a_crowded_client_gives_up_what_is_not_whole_and_nothing_else() {
    let crowded = |wire: &[u8]| {
        let mut response = Response::new(EXPECT);
        assert_ne!(response.read(wire, &mut |_| {}), Progress::Over);
        assert!(response.kept() > 0 || wire.ends_with(b"[DONE]\n\n\r\n"), "{} bytes kept", response.kept());
        response.closed(Closed::Crowded, &mut |_| {});
        response.reply()
    };
    let event = [HEAD, b"fffffff\r\ndata: {\"choices\":[{\"delta\":{\"content\":\"", &[b'x'; 9_000]].concat();
    let reply = crowded(&event);
    assert_eq!((reply.error, reply.reusable), (Some(ErrorClass::EventTooLarge), false));
    assert_eq!(crowded(b"HTTP/1.1 200 OK\r\nX: yyy").error, Some(ErrorClass::HeadTooLarge));
    let refused = crowded(b"HTTP/1.1 500 Oops\r\nContent-Length: 9999\r\n\r\nout of memory");
    assert_eq!(
        (refused.error, refused.detail.as_deref()),
        (Some(ErrorClass::Http5xx), Some("out of memory"))
    );
    let done = crowded(&[HEAD, &chunk(ANSWER), &chunk(b"data: [DONE]\n\n")].concat());
    assert_eq!((done.error, done.counters.unclean_end), (None, true));
}

#[test]
fn a_unary_reply_ends_at_16_mib() {
    let begin = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
    let (reply, bytes) = flood(Response::unary(EXPECT), begin, &chunk(&[b'x'; 1 << 16]));
    assert_eq!(reply.error, Some(ErrorClass::EventTooLarge));
    assert!(bytes < 17 << 20);
}

#[test]
fn a_head_in_many_reads_is_looked_at_once() {
    // Quadratic work on 250 KB byte by byte would be 31 G steps: this test would not end.
    let mut response = Response::new(EXPECT);
    let head = [HEAD.strip_suffix(b"\r\n").expect("a head"), b"X: ", &[b'y'; 250_000], b"\r\n\r\n"].concat();
    for byte in head.chunks(1) {
        assert_eq!(response.read(byte, &mut |_| {}), Progress::More);
    }
    response.closed(Closed::Fin, &mut |_| {});
    assert_eq!(
        (response.reply().status, response.reply().error),
        (Some(200), Some(ErrorClass::TruncatedBody))
    );
}

#[test]
fn a_large_event_in_small_reads_is_scanned_once() {
    let text = "x".repeat(4 << 20);
    let event = format!(
        "data: {{\"choices\":[{{\"delta\":{{\"content\":\"{text}\"}},\"finish_reason\":\"stop\"}}]}}\n\n"
    );
    let wire = [HEAD, &chunk(event.as_bytes()), b"0\r\n\r\n"].concat();
    let mut response = Response::new(EXPECT);
    let progress = wire.chunks(16).map(|read| response.read(read, &mut |_| {})).last();
    assert_eq!((progress, response.reply().error), (Some(Progress::Over), None));
}

#[test]
fn what_a_head_says_is_kept_at_most_in_512_bytes() {
    let long = "x".repeat(5000);
    for header in [format!("Location: /{long}"), format!("Content-Encoding: {long}")] {
        let mut response = Response::new(EXPECT);
        let status = if header.starts_with("Location") { "302 Found" } else { "200 OK" };
        let wire = format!("HTTP/1.1 {status}\r\n{header}\r\nContent-Length: 0\r\n\r\n");
        assert_eq!(response.read(wire.as_bytes(), &mut |_| {}), Progress::Over);
        let detail = response.reply().detail.expect("a detail");
        assert!(detail.len() <= 512 && detail.contains("xxx"), "{detail}");
    }
}
