//! Server-sent events: from body bytes, cut anywhere, to the data of each event (WHATWG HTML, 9.2.6).
//!
//! It must not look into the data. Data that lies whole in a read is borrowed from it; only what a read cuts, or what
//! comes in several lines, is carried over.

use std::ops::Range;

/// An event larger than this is refused, in bytes: log probabilities of a long prompt fit, a runaway does not.
const LARGEST_EVENT: usize = 8 << 20;

/// The scanner of one body.
#[derive(Debug)]
pub(super) struct Sse {
    /// The event's data lines so far, joined with LF, then the piece of a line that the last read ended in.
    carry: Vec<u8>,
    /// Where in `carry` the data ends.
    data: usize,
    /// Whether a data line has come.
    has_data: bool,
    /// Whether `carry` was given out as an event, and goes at the next call.
    spent: bool,
    /// The event's name is `error`.
    named_error: bool,
    /// The last byte was the CR of a possible CRLF.
    after_cr: bool,
    /// The first line has not ended yet: it may begin with a byte order mark.
    at_start: bool,
    /// Whether the first line has to prove that this is an event stream at all.
    doubtful: bool,
}

/// What the scanner found.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Found<'a> {
    /// An event with data.
    Event {
        /// The data, not empty.
        data: &'a [u8],
        /// Whether the event's name is `error`.
        named_error: bool,
    },
    /// A field of the name `error`, with its value.
    ErrorField(&'a [u8]),
    /// A line that begins like a JSON object: data without framing.
    Unframed(&'a [u8]),
    /// The first line is of no event stream.
    Alien,
    /// An event that is too large.
    TooLarge,
}

/// Where the found thing lies.
enum Place {
    Read(Range<usize>),
    Carry(Range<usize>),
}

enum Line {
    Blank,
    Data(usize),
    Error(usize),
    Unframed,
    Alien,
    Ignored,
}

/// A thing found, before its bytes are borrowed.
enum Seen {
    Event(Place, bool),
    ErrorField(Place),
    Unframed(Place),
    Alien,
    TooLarge,
}

impl Sse {
    /// With `doubtful`, the first line decides whether this is an event stream.
    pub(super) const fn new(doubtful: bool) -> Self {
        Self {
            carry: Vec::new(),
            data: 0,
            has_data: false,
            spent: false,
            named_error: false,
            after_cr: false,
            at_start: true,
            doubtful,
        }
    }

    /// Finds the next thing in `read`, from `at` on, which moves behind it. `None`: all was taken in.
    #[inline]
    pub(super) fn next<'s>(&'s mut self, read: &'s [u8], at: &mut usize) -> Option<Found<'s>> {
        if *at == read.len() {
            return None;
        }
        self.drop_spent();
        if let Some(data) = self.whole_event(read, at) {
            return Some(Found::Event { data: &read[data], named_error: false });
        }
        let seen = self.seek(read, at);
        self.borrow(read, seen)
    }

    /// Finds what the body's clean end leaves: the event that no blank line has closed. Call it until `None`.
    pub(super) fn finish(&mut self) -> Option<Found<'_>> {
        self.drop_spent();
        let mut seen = None;
        if self.carry.len() > self.data {
            seen = self.take_line(&[], 0..0);
        }
        let seen = seen.or_else(|| self.dispatch());
        self.borrow(&[], seen)
    }

    fn borrow<'s>(&'s self, read: &'s [u8], seen: Option<Seen>) -> Option<Found<'s>> {
        let bytes = |place| match place {
            Place::Read(range) => &read[range],
            Place::Carry(range) => &self.carry[range],
        };
        Some(match seen? {
            Seen::Event(place, named_error) => Found::Event { data: bytes(place), named_error },
            Seen::ErrorField(place) => Found::ErrorField(bytes(place)),
            Seen::Unframed(place) => Found::Unframed(bytes(place)),
            Seen::Alien => Found::Alien,
            Seen::TooLarge => Found::TooLarge,
        })
    }

    /// The usual case: an event of one data line and nothing else, whole in this read, its lines ended alike.
    #[inline]
    fn whole_event(&mut self, read: &[u8], at: &mut usize) -> Option<Range<usize>> {
        let rest = &read[*at..];
        if !self.carry.is_empty() || self.has_data || self.after_cr || self.named_error {
            return None;
        }
        let value = rest.strip_prefix(b"data: ")?;
        let length = memchr::memchr2(b'\n', b'\r', value)?;
        let closing = match &value[length..] {
            [b'\n', b'\n', ..] => 2,
            [b'\r', b'\n', b'\r', b'\n', ..] => 4,
            _ => return None,
        };
        if value[0] <= b' ' {
            return None;
        }
        (self.at_start, self.doubtful) = (false, false);
        let start = *at + b"data: ".len();
        let end = start + length;
        *at = end + closing;
        Some(start..end)
    }

    #[inline(never)]
    fn seek(&mut self, read: &[u8], at: &mut usize) -> Option<Seen> {
        while *at < read.len() {
            if self.after_cr {
                self.after_cr = false;
                if read[*at] == b'\n' {
                    *at += 1;
                    continue;
                }
            }
            let Some(length) = memchr::memchr2(b'\n', b'\r', &read[*at..]) else {
                self.carry.extend_from_slice(&read[*at..]);
                *at = read.len();
                return self.is_too_large().then_some(Seen::TooLarge);
            };
            let line = *at..*at + length;
            *at = self.pass_line_end(read, line.end);
            let seen = self.take_line(read, line);
            if seen.is_some() {
                return seen;
            }
        }
        None
    }

    /// Moves behind the line end at `at`; the LF of a CRLF may still be to come.
    #[inline]
    fn pass_line_end(&mut self, read: &[u8], at: usize) -> usize {
        if read[at] == b'\n' {
            return at + 1;
        }
        match read.get(at + 1) {
            Some(b'\n') => at + 2,
            Some(_) => at + 1,
            None => {
                self.after_cr = true;
                at + 1
            }
        }
    }

    /// Takes a whole line: what is carried of it and its end in `read`.
    fn take_line(&mut self, read: &[u8], rest: Range<usize>) -> Option<Seen> {
        let carried = self.carry.len() > self.data;
        if carried {
            self.carry.extend_from_slice(&read[rest.clone()]);
        }
        let from = if carried { self.data } else { rest.start };
        let line = if carried { &self.carry[from..] } else { &read[rest.clone()] };
        let to = from + line.len();
        let place = |range| if carried { Place::Carry(range) } else { Place::Read(range) };
        let bom = if std::mem::take(&mut self.at_start) && line.starts_with(BOM) { BOM.len() } else { 0 };
        let from = from + bom;
        let kind = classify(&line[bom..]);
        let mut alien = false;
        if self.doubtful && !matches!(kind, Line::Blank) {
            self.doubtful = false;
            alien = matches!(kind, Line::Alien);
        }
        let seen = match kind {
            Line::Blank => {
                self.carry.truncate(self.data);
                return self.dispatch();
            }
            Line::Data(skip) => {
                self.add_data(read, from + skip..to, carried);
                return self.is_too_large().then_some(Seen::TooLarge);
            }
            Line::Error(skip) => Some(Seen::ErrorField(place(from + skip..to))),
            Line::Unframed => Some(Seen::Unframed(place(from..to))),
            Line::Alien if alien => Some(Seen::Alien),
            Line::Alien => None,
            Line::Ignored => {
                self.note_name(read, from..to, carried);
                None
            }
        };
        match seen {
            // Its bytes may lie in the carry: they go at the next call.
            Some(_) if carried => self.spent = true,
            _ => self.carry.truncate(self.data),
        }
        seen
    }

    /// Appends a data line's value to the event's data.
    fn add_data(&mut self, read: &[u8], value: Range<usize>, carried: bool) {
        if carried {
            // The value lies behind the data already; close the gap that its field name leaves.
            let joined = self.data + usize::from(self.has_data);
            let length = value.len();
            self.carry.copy_within(value, joined);
            self.carry.truncate(joined + length);
            if self.has_data {
                self.carry[joined - 1] = b'\n';
            }
        } else {
            if self.has_data {
                self.carry.push(b'\n');
            }
            self.carry.extend_from_slice(&read[value]);
        }
        self.data = self.carry.len();
        self.has_data = true;
    }

    fn note_name(&mut self, read: &[u8], line: Range<usize>, carried: bool) {
        let line = if carried { &self.carry[line] } else { &read[line] };
        if let Some(name) = line.strip_prefix(b"event:") {
            self.named_error = name.strip_prefix(b" ").unwrap_or(name) == b"error";
        }
    }

    /// Closes the event that a blank line ends; empty data is not dispatched.
    fn dispatch(&mut self) -> Option<Seen> {
        let named_error = std::mem::take(&mut self.named_error);
        if !std::mem::take(&mut self.has_data) {
            return None;
        }
        let data = 0..std::mem::take(&mut self.data);
        if is_blank(&self.carry) {
            self.carry.clear();
            return None;
        }
        self.spent = true;
        Some(Seen::Event(Place::Carry(data), named_error))
    }

    /// Forgets what was given out.
    #[inline]
    fn drop_spent(&mut self) {
        if std::mem::take(&mut self.spent) {
            self.carry.truncate(self.data);
        }
    }

    fn is_too_large(&self) -> bool {
        self.carry.len() > LARGEST_EVENT
    }

    /// Bytes of memory kept between reads.
    pub(super) fn kept(&self) -> usize {
        self.carry.capacity()
    }

    /// Gives memory back that nothing is carried in. Call it at the end of a read.
    pub(super) fn settle(&mut self) {
        self.drop_spent();
        if self.carry.is_empty() {
            self.carry = Vec::new();
        }
    }
}

/// Whether something stands in these bytes that is no line end.
#[inline]
pub(super) fn has_more_than_line_ends(bytes: &[u8]) -> bool {
    bytes.iter().any(|byte| !matches!(byte, b'\r' | b'\n'))
}

const BOM: &[u8] = b"\xef\xbb\xbf";

#[inline]
fn is_blank(data: &[u8]) -> bool {
    data.first().is_none_or(u8::is_ascii_whitespace) && data.trim_ascii().is_empty()
}

/// What a line is; for data and error fields, where the value begins.
#[inline]
fn classify(line: &[u8]) -> Line {
    let value = |name: &[u8]| match line[name.len()..] {
        [] => Some(name.len()),
        [b':', b' ', ..] => Some(name.len() + 2),
        [b':', ..] => Some(name.len() + 1),
        _ => None,
    };
    let named = |name: &'static [u8]| if line.starts_with(name) { value(name) } else { None };
    match line.first() {
        None => Line::Blank,
        Some(b'd') => named(b"data").map_or(Line::Alien, Line::Data),
        Some(b'e') if named(b"event").is_some() => Line::Ignored,
        Some(b'e') => named(b"error").map_or(Line::Alien, Line::Error),
        Some(b':') => Line::Ignored,
        Some(b'{') => Line::Unframed,
        Some(b'i' | b'r') if named(b"id").or(named(b"retry")).is_some() => Line::Ignored,
        Some(_) => Line::Alien,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(reads: &[&[u8]]) -> Vec<String> {
        let mut sse = Sse::new(false);
        let mut all = Vec::new();
        let mut keep = |found: Found<'_>| {
            all.push(match found {
                Found::Event { data, named_error: false } => String::from_utf8_lossy(data).into_owned(),
                Found::Event { data, named_error: true } => format!("!{}", String::from_utf8_lossy(data)),
                other => format!("{other:?}"),
            })
        };
        for read in reads {
            let mut at = 0;
            while let Some(found) = sse.next(read, &mut at) {
                keep(found);
            }
            sse.settle();
        }
        while let Some(found) = sse.finish() {
            keep(found);
        }
        all
    }

    #[test]
    fn any_cut_gives_the_same_events() {
        let stream = b"\xef\xbb\xbfdata: a\r\n\r\n: note\r\ndata: b\rdata:  c\r\revent: error\ndata\ndata:d\n\n\
            data\n\nid: 1\nretry\ndata: e\nerror: f\nfoo: bar\n\nevent: error\n\ndata: g\n\n{h\ndata: i\nevent:error\ndata: j\n\ndata: k";
        let whole = events(&[stream]);
        assert_eq!(
            whole,
            ["a", "b\n c", "!\nd", "ErrorField([102])", "e", "g", "Unframed([123, 104])", "!i\nj", "k"]
        );
        for cut in 0..=stream.len() {
            for second in [cut, stream.len().min(cut + 1), stream.len().min(cut + 7)] {
                let reads = [&stream[..cut], &stream[cut..second], &stream[second..]];
                assert_eq!(events(&reads), whole, "cut at {cut} and {second}");
            }
        }
        let bytes: Vec<&[u8]> = stream.chunks(1).collect();
        assert_eq!(events(&bytes), whole);
    }

    #[test]
    fn nothing_is_kept_of_events_that_are_whole() {
        let mut sse = Sse::new(false);
        // Not even behind an event that was cut.
        for read in [&b"data: a\n\ndata: b\r\n\r\ndata: c"[..], b"\n\ndata: d\n\ndata: e\n\n"] {
            let (mut at, mut borrowed) = (0, 0);
            while let Some(Found::Event { data, .. }) = sse.next(read, &mut at) {
                borrowed += usize::from(read.as_ptr_range().contains(&data.as_ptr()));
            }
            assert_eq!(borrowed, 2);
            sse.settle();
        }
        assert_eq!(sse.carry.capacity(), 0);
    }

    #[test]
    fn a_doubtful_first_line_must_be_of_an_event_stream() {
        for (text, alien) in
            [(&b"please log in\n"[..], true), (b"\n: hi\nwhatever\n", false), (b"data\n", false)]
        {
            let mut sse = Sse::new(true);
            let mut at = 0;
            assert_eq!(sse.next(text, &mut at) == Some(Found::Alien), alien);
        }
    }

    #[test]
    fn an_endless_event_is_refused() {
        let mut sse = Sse::new(false);
        let piece = vec![b'x'; 1 << 20];
        let found = (0..16).find_map(|_| sse.next(&piece, &mut 0).map(|found| found == Found::TooLarge));
        assert_eq!(found, Some(true));
    }
}
