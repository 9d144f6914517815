//! One response from its first byte to its end: head, framing, decoding, and what is done with the body.
//!
//! It must not know clocks or sockets: whoever drives it says what was read and how the connection ended.

use super::body::{Framing, Step};
use super::content::{self, Content};
use super::gzip::Gunzip;
use super::head::{self, Coding, Head, HeadEnd, Parsed};
use super::openai::Event;
use super::retry_after::RetryAfter;
use super::sse::{Sse, has_more_than_line_ends};
use super::stream::{Failure, Stream};
use super::{Closed, Counters, ErrorClass, Expect, Heard, Listener, Progress};

mod reply;

/// Bytes that are read on once the outcome is known, for the body's end and a connection that can be reused.
const LONGEST_DRAIN: usize = 64 << 10;
/// The reading of one response.
///
/// It keeps no byte between reads but those of a head, an event or an error's body that is not whole yet.
#[derive(Debug)]
pub struct Response {
    phase: Phase,
    content: Content,
    framing: Framing,
    sse: Sse,
    stream: Stream,
    gzip: Option<Box<Gunzip>>,
    /// A head or a collected body that is not whole yet.
    carry: Vec<u8>,
    head_end: HeadEnd,
    bytes: u64,
    reads: u32,
    /// Bytes read since the outcome was known.
    drained: usize,
    keep_alive_s: Option<u32>,
    retry_after: Option<RetryAfter>,
    status: Option<u16>,
    expect: Expect,
    unary: bool,
    /// The head allows another request on this connection.
    persistent: bool,
    /// The body ended by its own framing.
    whole: bool,
    /// Bytes came that belong to nothing.
    surplus: bool,
    /// Bytes of the latest read stand behind the latest event of it.
    trails: bool,
    counters: Counters,
    failure: Option<Box<Failure>>,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Phase {
    Head,
    Body,
    Over,
}

impl Response {
    /// A stream is expected.
    #[must_use]
    pub fn new(expect: Expect) -> Self {
        Self {
            phase: Phase::Head,
            content: Content::Sniffed { promised: false },
            framing: Framing::Empty,
            sse: Sse::new(false),
            stream: Stream::new(expect.choices),
            gzip: None,
            carry: Vec::new(),
            head_end: HeadEnd::default(),
            bytes: 0,
            reads: 0,
            drained: 0,
            keep_alive_s: None,
            retry_after: None,
            status: None,
            expect,
            unary: false,
            persistent: false,
            whole: false,
            surplus: false,
            trails: false,
            counters: Counters::default(),
            failure: None,
        }
    }

    /// A whole body is expected (`GET /v1/models`, a completion without `stream`): [`Response::body`] has it.
    #[must_use]
    pub fn unary(expect: Expect) -> Self {
        Self { unary: true, ..Self::new(expect) }
    }

    /// Takes what one read brought.
    pub fn read(&mut self, bytes: &[u8], hear: &mut impl Listener) -> Progress {
        self.bytes += bytes.len() as u64;
        self.reads = self.reads.saturating_add(1);
        if self.stream.done || self.content == Content::Ignored {
            self.drained += bytes.len();
        }
        self.trails = false;
        let mut at = 0;
        while self.phase == Phase::Head && self.read_head(bytes, &mut at, hear) {}
        if self.phase == Phase::Body {
            self.read_body(bytes, &mut at, hear);
            self.sse.settle();
        }
        if self.phase == Phase::Over {
            self.surplus |= at < bytes.len();
        } else if self.drained > LONGEST_DRAIN {
            self.end_dirty(Closed::Cancelled);
        }
        match self.phase {
            Phase::Over => Progress::Over,
            _ if self.stream.done => Progress::Draining,
            _ => Progress::More,
        }
    }

    /// Takes the connection's end, or ours.
    pub fn closed(&mut self, how: Closed, hear: &mut impl Listener) {
        match self.phase {
            Phase::Over => {}
            _ if how == Closed::Unasked => {
                self.fail(Failure::because(
                    ErrorClass::HttpProtocol,
                    "an answer came before its request was sent",
                ));
            }
            Phase::Head => self.fail(Failure::new(how.in_head(self.bytes == 0, self.expect.reused))),
            Phase::Body if self.framing == Framing::UntilClose && how == Closed::Fin => self.end_clean(hear),
            Phase::Body => self.end_dirty(how),
        }
    }

    /// Reads on in a head; true when another head may follow in the same read.
    fn read_head(&mut self, read: &[u8], at: &mut usize, hear: &mut impl Listener) -> bool {
        if self.carry.is_empty() {
            // Empty lines before a status line are a leftover of the reply before (RFC 9112, 2.2).
            *at += read[*at..].iter().take_while(|b| matches!(b, b'\r' | b'\n')).count();
        }
        let before = self.carry.len();
        let carried = before > 0;
        if carried {
            self.carry.extend_from_slice(&read[*at..]);
        }
        let so_far = if carried { &self.carry[..] } else { &read[*at..] };
        if !head::may_be_a_head(so_far) {
            self.fail(Failure::because(ErrorClass::HttpProtocol, head::what_instead(so_far)));
            return false;
        }
        let end = self.head_end.find(so_far);
        if end.unwrap_or(so_far.len()) > head::LARGEST_HEAD {
            self.fail(Failure::because(ErrorClass::HeadTooLarge, "the response head is larger than 256 KiB"));
            return false;
        }
        let Some(end) = end else {
            if !carried {
                self.carry.extend_from_slice(&read[*at..]);
            }
            *at = read.len();
            return false;
        };
        let parsed = head::parse(&so_far[..end]);
        *at += end - before;
        self.carry = Vec::new();
        self.head_end = HeadEnd::default();
        match parsed {
            Parsed::Interim => return *at < read.len(),
            Parsed::Broken(why) => self.fail(Failure::because(ErrorClass::HttpProtocol, why)),
            Parsed::TooLarge => {
                self.fail(Failure::because(ErrorClass::HeadTooLarge, "more than 512 response headers"));
            }
            Parsed::Final(head) => self.begin_body(head, hear),
        }
        false
    }

    fn begin_body(&mut self, head: Head, hear: &mut impl Listener) {
        self.phase = Phase::Body;
        self.status = Some(head.status);
        self.framing = head.framing;
        self.persistent = head.persistent;
        (self.keep_alive_s, self.retry_after) = (head.keep_alive_s, head.retry_after);
        hear.heard(Heard::Head { status: head.status });
        let refusal = content::refusal(head.status);
        self.content = Content::promised(refusal, head.media, self.unary);
        if let (Some(class @ ErrorClass::HttpRedirect), Some(location)) = (refusal, head.location) {
            self.refuse(Failure::because(class, &format!("to {location}")));
        }
        match head.coding {
            Coding::Identity => {}
            Coding::Gzip => {
                self.gzip = Some(Gunzip::new().into());
                self.counters.compressed = true;
            }
            Coding::Unsupported(coding) => {
                let detail = format!("the body is encoded ({coding}) though identity was asked for");
                match refusal {
                    Some(class) => self.refuse(Failure::because(class, &detail)),
                    None => self.fail(Failure::because(ErrorClass::UnsupportedEncoding, &detail)),
                }
            }
        }
    }

    /// The head tells how this fails: the body is read only so that the connection can be reused.
    fn refuse(&mut self, failure: Failure) {
        self.content = Content::Ignored;
        self.failure.get_or_insert_with(|| failure.into());
    }

    #[inline]
    fn read_body(&mut self, read: &[u8], at: &mut usize, hear: &mut impl Listener) {
        let mut data_end = *at;
        while self.phase == Phase::Body {
            match self.framing.step(read, at) {
                Step::Data(data) => {
                    data_end = data.end;
                    if self.gzip.is_none() {
                        self.take(&read[data], hear);
                    } else {
                        self.take_coded(&read[data], hear);
                    }
                }
                Step::More => {
                    // The line end of its chunk is the event's own; the size of the next one is not.
                    self.trails |= has_more_than_line_ends(&read[data_end..]);
                    return;
                }
                Step::End => {
                    self.whole = true;
                    self.end_clean(hear);
                }
                Step::Broken(why) => self.end_broken(why),
            }
        }
    }

    #[cold]
    fn take_coded(&mut self, mut coded: &[u8], hear: &mut impl Listener) {
        while !coded.is_empty() && self.phase == Phase::Body {
            let Some(gzip) = &mut self.gzip else { return };
            match gzip.decode(&mut coded) {
                Ok(plain) => self.take(&plain, hear),
                Err(why) => self.end_broken(why),
            }
        }
    }

    /// Takes bytes of the decoded body.
    #[inline]
    fn take(&mut self, mut plain: &[u8], hear: &mut impl Listener) {
        if let Content::Sniffed { promised } = self.content {
            plain = self.sniff(plain, promised);
        }
        match self.content {
            Content::Events => self.take_events(plain, hear),
            Content::Sniffed { .. } | Content::Ignored => {}
            _ => self.keep(plain),
        }
    }

    #[cold]
    fn sniff<'a>(&mut self, plain: &'a [u8], promised: bool) -> &'a [u8] {
        let Some((content, start)) = Content::sniff(promised, plain) else { return &[] };
        self.content = content;
        if content == Content::Events && !promised {
            self.sse = Sse::new(true);
            self.counters.wrong_content_type = true;
        }
        &plain[start..]
    }

    #[inline]
    fn take_events(&mut self, plain: &[u8], hear: &mut impl Listener) {
        let (mut at, mut event_end) = (0, 0);
        while let Some(found) = self.sse.next(plain, &mut at) {
            event_end = at;
            self.trails = false;
            if let Err(failure) = self.stream.take(found, true, &mut self.counters, hear) {
                if failure.class == ErrorClass::NotAStream {
                    self.content = Content::NotAStream;
                }
                self.fail(failure);
                return;
            }
        }
        self.trails |= has_more_than_line_ends(&plain[event_end..]);
    }

    fn keep(&mut self, plain: &[u8]) {
        let room = self.content.most_kept() - self.carry.len();
        self.carry.extend_from_slice(&plain[..plain.len().min(room)]);
        if plain.len() <= room {
            return;
        }
        if self.content == Content::Unary {
            self.fail(Failure::because(ErrorClass::EventTooLarge, "the reply is larger than 16 MiB"));
        } else {
            self.judge_kept();
            self.phase = Phase::Over;
        }
    }

    /// Decides what a body that is no stream says.
    fn judge_kept(&mut self) {
        if let Some(failure) = self.content.judge(&self.carry) {
            self.fail(failure);
        } else if self.content == Content::Unary
            && let Some(reply) = Event::of(&self.carry)
        {
            self.stream.tally.add_whole(&reply);
        }
    }

    /// The body's end by its own framing.
    fn end_clean(&mut self, hear: &mut impl Listener) {
        self.phase = Phase::Over;
        if self.gzip.as_mut().is_some_and(|gzip| !gzip.ended_well()) {
            self.phase = Phase::Body;
            self.end_dirty(Closed::Fin);
            return;
        }
        if self.content == Content::Events {
            while let Some(found) = self.sse.finish() {
                if let Err(failure) = self.stream.take(found, false, &mut self.counters, hear) {
                    self.fail(failure);
                    break;
                }
            }
        }
        self.judge_kept();
        hear.heard(Heard::End);
        if self.failure.is_none() && self.content != Content::Unary {
            let stream = &self.stream;
            if stream.tally.aborted {
                self.fail_aborted();
            } else if !stream.tally.proves_tokens() {
                self.fail(Failure::new(ErrorClass::EmptyResponse));
            } else if !stream.is_complete() {
                self.fail(Failure::new(ErrorClass::IncompleteStream));
            }
        }
    }

    /// Any other end.
    fn end_dirty(&mut self, how: Closed) {
        self.phase = Phase::Over;
        self.whole = false;
        let class = how.in_body();
        match self.content {
            Content::Unary => self.fail(Failure::new(class)),
            // Words that are cut say nothing.
            Content::Unframed if Event::of(&self.carry).is_none() => self.fail(Failure::new(class)),
            _ => self.judge_kept(),
        }
        if self.failure.is_some() {
            return;
        }
        if self.stream.tally.aborted {
            self.fail_aborted();
        } else if !self.stream.is_complete() {
            self.fail(Failure::new(class));
        } else if !self.stream.tally.proves_tokens() {
            self.fail(Failure::new(ErrorClass::EmptyResponse));
        } else {
            self.counters.unclean_end = true;
        }
    }

    /// The framing or the coding is broken. Where the outcome is known already, that is only one more dirty end.
    #[cold]
    fn end_broken(&mut self, why: &'static str) {
        let known = self.failure.is_some() || matches!(self.content, Content::Words(_) | Content::NotAStream);
        if known || self.stream.is_complete() {
            self.end_dirty(Closed::Cancelled);
        } else {
            self.fail(Failure::because(ErrorClass::HttpProtocol, why));
        }
    }

    fn fail_aborted(&mut self) {
        let word = self.stream.tally.finish_reason.as_ref().map_or("", |reason| reason.name());
        self.fail(Failure::because(ErrorClass::Aborted, &format!("finish_reason {word}")));
    }

    /// Ends the reading with a failure. The first one stands.
    #[cold]
    fn fail(&mut self, failure: Failure) {
        self.phase = Phase::Over;
        self.failure.get_or_insert_with(|| failure.into());
    }

    /// The body of a unary reply, decoded, as far as it has come.
    #[must_use]
    pub fn body(&self) -> &[u8] {
        if self.content == Content::Unary { &self.carry } else { &[] }
    }

    /// Whether the latest read went on behind its latest event: with a part of another, with a comment, with the size of the
    /// next chunk. Then its stamp is theirs, and the event may have come before.
    #[must_use]
    pub const fn trails(&self) -> bool {
        self.trails
    }

    /// Bytes of memory kept between reads: of a head, an event, or an error's words that are not whole yet.
    #[must_use]
    pub fn kept(&self) -> usize {
        self.carry.capacity() + self.sse.kept()
    }

    /// Whether the head was a refusal: its class is known, and the body can only add words.
    #[must_use]
    pub const fn is_refused(&self) -> bool {
        matches!(self.content, Content::Words(_) | Content::Ignored)
    }

    /// Bytes read so far, head included.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Reads so far.
    #[must_use]
    pub const fn reads(&self) -> u32 {
        self.reads
    }

    /// Seconds that the server keeps an idle connection open, where it says so.
    #[must_use]
    pub const fn keep_alive_s(&self) -> Option<u32> {
        self.keep_alive_s
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_is_small_for_every_stream_has_one() {
        let size = size_of::<Response>();
        assert!(size <= 448, "{size} bytes");
    }
}
