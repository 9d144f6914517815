//! What holds for any bytes at all. The fuzz targets feed it, and so does a plain test with mutated cases.

use crate::agreement::disagreement;
use crate::replay::play;
use lowrho::wire::{Api, Closed, ErrorClass, Expect, Progress, Reply, Response};

/// Longer inputs meet the budgets of bytes, which count by reads.
const LONGEST: usize = 32 << 10;

/// Reads `input` as two bytes of plan and a response: it comes out the same however it is cut, and what failed in
/// its framing is not reused.
pub fn response(input: &[u8]) {
    let [plan, stride, wire @ ..] = input else { return };
    if wire.len() > LONGEST {
        return;
    }
    let expect = Expect {
        api: if plan & 1 == 0 { Api::Chat } else { Api::Completions },
        choices: u16::from(plan >> 1 & 3) + 1,
        reused: plan & 8 != 0,
    };
    let end = match plan >> 4 & 7 {
        0 => Closed::Reset,
        1 => Closed::Unannounced,
        2 => Closed::TimedOut(ErrorClass::TimeoutIdle),
        3 => Closed::Cancelled,
        _ => Closed::Fin,
    };
    let whole = play(expect, [wire], end);
    let stride = usize::from(*stride).max(1);
    // How much comes out before a fault in compressed bytes depends on how much went in at once.
    let compressed = whole.reply.counters.compressed;
    for reads in [wire.chunks(stride), wire.chunks(1)] {
        let cut = play(expect, reads, end);
        assert!(compressed || cut == whole, "cut otherwise it comes out otherwise:\n{cut:?}\n{whole:?}");
    }
    let reply = &whole.reply;
    let broken = matches!(
        reply.error,
        Some(
            ErrorClass::HttpProtocol
                | ErrorClass::TruncatedBody
                | ErrorClass::TruncatedHead
                | ErrorClass::HeadTooLarge
                | ErrorClass::EofBeforeHead
                | ErrorClass::StaleConnection
                | ErrorClass::Reset
                | ErrorClass::TimeoutIdle
                | ErrorClass::Cancelled
        )
    );
    assert!(!(broken && reply.reusable), "a broken connection was to be reused");
    assert!(reply.error.is_some() || whole.done || reply.finish_reason.is_some(), "ok, yet nothing ended it");
    assert!(reply.detail.as_ref().is_none_or(|detail| detail.len() <= 512));
    let (cut, whole) = (unary(expect, wire.chunks(stride), end), unary(expect, [wire], end));
    assert!(compressed || cut == whole, "cut otherwise it comes out otherwise:\n{cut:?}\n{whole:?}");
}

fn unary<'a>(expect: Expect, reads: impl IntoIterator<Item = &'a [u8]>, end: Closed) -> (Reply, Vec<u8>) {
    let mut response = Response::unary(expect);
    let mut over = false;
    for read in reads {
        let progress = response.read(read, &mut |_| {});
        assert!(!over || progress == Progress::Over, "what is over stays over");
        over = progress == Progress::Over;
    }
    response.closed(end, &mut |_| {});
    (response.reply(), response.body().to_vec())
}

/// Reads `input` as one event's payload: the fast decoder and the slow one agree.
pub fn event(input: &[u8]) {
    let one_line = !input.iter().any(|byte| b"\r\n".contains(byte));
    if one_line && input.starts_with(b"{") {
        let difference = disagreement(input);
        assert!(difference.is_none(), "{}", difference.unwrap_or_default());
    }
}
