//! JSON bytes, walked in one pass over their structure: values borrowed, nothing allocated, no tree.
//!
//! It is lenient where servers are sloppy (NaN, lone surrogates, invalid UTF-8, control characters in strings) and
//! inside what is skipped. It must not know what a key means.

/// Deeper nesting than this is refused, as by serde_json.
const DEEPEST: u32 = 128;

/// The longest key, in bytes, that is looked at when it is written with escapes: no key we know is longer.
const LONGEST_KEY: usize = 40;

/// What lies ahead in bytes that are to be JSON. Each step takes it by value and gives what lies ahead then, so
/// that it stays in registers; `None` = this is no JSON.
#[derive(Copy, Clone, Default, Debug)]
pub(super) struct Json<'a>(&'a [u8]);

impl<'a> Json<'a> {
    #[inline(always)]
    pub(super) const fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// What lies ahead behind white space.
    #[inline(always)]
    pub(super) fn solid(self) -> Self {
        if let [..=b' ', ..] = self.0 { self.solid_after_space() } else { self }
    }

    #[cold]
    fn solid_after_space(self) -> Self {
        let space = self.0.iter().take_while(|b| matches!(b, b' ' | b'\n' | b'\r' | b'\t')).count();
        Self(&self.0[space..])
    }

    /// Whether nothing but white space lies ahead.
    pub(super) fn is_at_end(self) -> bool {
        self.solid().0.is_empty()
    }

    /// Whether an object begins here.
    #[inline(always)]
    pub(super) const fn is_object(self) -> bool {
        matches!(self.0, [b'{', ..])
    }

    /// Whether an array begins here.
    #[inline(always)]
    pub(super) const fn is_array(self) -> bool {
        matches!(self.0, [b'[', ..])
    }

    /// Passes `byte`, and the white space before and after it.
    #[inline(always)]
    fn pass(self, byte: u8) -> Option<Self> {
        match self.solid().0 {
            [next, rest @ ..] if *next == byte => Some(Self(rest).solid()),
            _ => None,
        }
    }

    /// Walks an object: `member` is given each key, escapes resolved, and passes its value. Nulls are not told: they
    /// say nothing, also where a key is repeated.
    #[inline(always)]
    pub(super) fn object(self, mut member: impl FnMut(&[u8], Self) -> Option<Self>) -> Option<Self> {
        let mut resolved = [0; LONGEST_KEY];
        let mut inside = match self.pass(b'{')?.0 {
            [b'"', inside @ ..] => inside,
            [b'}', after @ ..] => return Some(Self(after)),
            _ => return None,
        };
        loop {
            // What servers write, without white space and escapes, is told from what they may write by one look.
            let (key, behind) = inside.split_at_checked(quote_or_backslash(inside)?)?;
            let (key, value) = match behind {
                [b'"', b':', value @ ..] if value.first() > Some(&b' ') => (key, Self(value)),
                _ => unusual_member(inside, &mut resolved)?,
            };
            let after = match value.0.split_first_chunk() {
                Some((b"null", after)) => Self(after),
                _ => member(key, value)?,
            };
            inside = match after.0 {
                [b',', b'"', inside @ ..] => inside,
                [b'}', after @ ..] => return Some(Self(after)),
                _ => match after.solid().0 {
                    [b',', next @ ..] => Self(next).solid().0.strip_prefix(b"\"")?,
                    [b'}', after @ ..] => return Some(Self(after)),
                    _ => return None,
                },
            };
        }
    }

    /// Walks an array likewise: `element` passes each value, nulls too.
    #[inline(always)]
    pub(super) fn array(self, mut element: impl FnMut(Self) -> Option<Self>) -> Option<Self> {
        let mut rest = self.pass(b'[')?;
        if let [b']', after @ ..] = rest.0 {
            return Some(Self(after));
        }
        loop {
            match element(rest)?.solid().0 {
                [b',', next @ ..] => rest = Self(next).solid(),
                [b']', after @ ..] => return Some(Self(after)),
                _ => return None,
            }
        }
    }

    /// Passes any value.
    #[inline]
    pub(super) fn skip(self) -> Option<Self> {
        match self.0 {
            [b'"', inside @ ..] => Some(Self(&string_end(inside)?[1..])),
            [b'{' | b'[', ..] => self.skip_nested(),
            [b'0'..=b'9' | b'-' | b't' | b'f' | b'n' | b'N' | b'I', rest @ ..] => Some(skip_word(rest)),
            _ => None,
        }
    }

    /// Passes any value and gives it.
    #[inline(always)]
    pub(super) fn value(self) -> Option<(Value<'a>, Self)> {
        let rest = self.skip()?;
        Some((Value(&self.0[..self.0.len() - rest.0.len()]), rest))
    }

    /// Passes any value and gives it to `to`.
    #[inline(always)]
    pub(super) fn give(self, to: impl FnOnce(Value<'a>)) -> Option<Self> {
        let (value, rest) = self.value()?;
        to(value);
        Some(rest)
    }

    /// Passes an object or an array by its brackets and strings alone.
    fn skip_nested(self) -> Option<Self> {
        let mut depth = 0_u32;
        // One bit for each open level, the innermost lowest: 1 = object.
        let mut kinds = 0_u128;
        let mut rest = self.0;
        while let [byte, after @ ..] = rest {
            rest = after;
            match *byte {
                b'"' => rest = &string_end(after)?[1..],
                open @ (b'{' | b'[') => {
                    depth += 1;
                    if depth > DEEPEST {
                        return None;
                    }
                    kinds = (kinds << 1) | u128::from(open == b'{');
                }
                close @ (b'}' | b']') => {
                    if (kinds & 1 == 1) != (close == b'}') {
                        return None;
                    }
                    kinds >>= 1;
                    depth -= 1;
                    if depth == 0 {
                        return Some(Self(rest));
                    }
                }
                _ => {}
            }
        }
        None
    }
}

/// From the inside of a key, the key without its escapes, and its value behind any white space.
#[cold]
fn unusual_member<'k, 'a: 'k>(
    inside: &'a [u8],
    resolved: &'k mut [u8; LONGEST_KEY],
) -> Option<(&'k [u8], Json<'a>)> {
    let behind = string_end(inside)?;
    let key = &inside[..inside.len() - behind.len()];
    let key = if key.contains(&b'\\') { resolve_key(key, resolved) } else { key };
    Some((key, Json(&behind[1..]).pass(b':')?))
}

/// The bytes that numbers and words are made of. Servers write `NaN` and `-Infinity`, so spelling is not checked.
const IN_WORDS: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        table[byte as usize] = byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
        byte += 1;
    }
    table
};

/// Passes the rest of a number or a word.
#[inline(always)]
fn skip_word(mut rest: &[u8]) -> Json<'_> {
    while let [byte, after @ ..] = rest
        && IN_WORDS[usize::from(*byte)]
    {
        rest = after;
    }
    Json(rest)
}

/// From the inside of a string to the quote that ends it.
#[inline(always)]
fn string_end(inside: &[u8]) -> Option<&[u8]> {
    let (text, behind) = inside.split_at_checked(quote(inside)?)?;
    if let [.., b'\\'] = text { string_end_behind(inside, behind) } else { Some(behind) }
}

/// Likewise, where a backslash stands before the first quote: an odd run of them escapes it.
#[cold]
fn string_end_behind<'a>(inside: &'a [u8], mut behind: &'a [u8]) -> Option<&'a [u8]> {
    loop {
        let text = &inside[..inside.len() - behind.len()];
        let run = text.iter().rev().take_while(|b| **b == b'\\').count();
        if run % 2 == 0 {
            return Some(behind);
        }
        let after = &behind[1..];
        behind = &after[quote(after)?..];
    }
}

/// One value as it stands on the wire, quotes and brackets included; empty where there is none.
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct Value<'a>(&'a [u8]);

impl<'a> Value<'a> {
    /// Whether there is one.
    #[inline(always)]
    pub(super) const fn is_there(self) -> bool {
        !self.0.is_empty()
    }

    /// The inside of a string, escapes unresolved.
    #[inline]
    pub(super) const fn text(self) -> Option<&'a [u8]> {
        if let [b'"', inside @ .., b'"'] = self.0 { Some(inside) } else { None }
    }

    /// Whether it is a string with something in it.
    #[inline(always)]
    pub(super) const fn has_text(self) -> bool {
        self.0.len() > 2 && self.0[0] == b'"'
    }

    /// The bytes of an array.
    #[inline(always)]
    pub(super) const fn as_array(self) -> Option<Json<'a>> {
        if let [b'[', ..] = self.0 { Some(Json(self.0)) } else { None }
    }

    /// The bytes of an object.
    #[inline(always)]
    pub(super) const fn as_object(self) -> Option<Json<'a>> {
        if let [b'{', ..] = self.0 { Some(Json(self.0)) } else { None }
    }

    /// The bytes as they stand, without the quotes of a string.
    pub(super) const fn word(self) -> &'a [u8] {
        if let Some(text) = self.text() { text } else { self.0 }
    }

    /// The number it stands for, also when written as a string or with a fraction (which is dropped).
    #[inline]
    pub(super) fn count(self) -> Option<u64> {
        /// So many digits never overflow.
        const SAFE_DIGITS: usize = 19;
        if self.0.len() <= SAFE_DIGITS && self.0.iter().all(u8::is_ascii_digit) && !self.0.is_empty() {
            return Some(self.0.iter().fold(0, |sum, digit| sum * 10 + u64::from(digit - b'0')));
        }
        self.unusual_count()
    }

    #[cold]
    fn unusual_count(self) -> Option<u64> {
        let digits = str::from_utf8(self.word()).ok()?.trim();
        digits.parse().ok().or_else(|| whole(digits.parse().ok()?))
    }

    /// Whether there is something in it: not null, not false, not zero, not empty.
    pub(super) fn is_something(self) -> bool {
        match self.0 {
            [] | b"null" | b"false" => false,
            [b'"', ..] => self.has_text(),
            [b'{' | b'[', inside @ .., _] => !inside.trim_ascii().is_empty(),
            _ => self.count() != Some(0),
        }
    }
}

/// Above 2^53 a float no longer tells whole numbers apart, so such a count is no count.
const LARGEST_EXACT: f64 = 9_007_199_254_740_992.0;

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range was checked")]
fn whole(number: f64) -> Option<u64> {
    (0.0..=LARGEST_EXACT).contains(&number).then_some(number as u64)
}

const LOW: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x8080_8080_8080_8080;

/// The high bit of each byte of `word` that equals `byte`. Bits above the lowest may be wrong, the lowest never is:
/// (x - 1) borrows into the high bit of a zero byte (Hacker's Delight, "Find First 0-Byte").
#[inline(always)]
const fn equal(word: u64, byte: u8) -> u64 {
    let zero = word ^ (LOW * byte as u64);
    zero.wrapping_sub(LOW) & !zero & HIGH
}

/// How far the first quote is.
#[inline(always)]
fn quote(bytes: &[u8]) -> Option<usize> {
    // Most strings are short: the set-up of the wide search pays behind three words only.
    near::<3>(bytes, |word| equal(word, b'"'), |rest| memchr::memchr(b'"', rest))
}

/// How far the first quote or backslash is, in bytes that are to be a key.
#[inline(always)]
fn quote_or_backslash(bytes: &[u8]) -> Option<usize> {
    near::<2>(bytes, |word| equal(word, b'"') | equal(word, b'\\'), |rest| memchr::memchr2(b'"', b'\\', rest))
}

/// How far the first byte is that `find` finds in one of the first `WORDS` words, or else `wide` in the rest.
#[inline(always)]
fn near<const WORDS: usize>(
    bytes: &[u8],
    find: impl Fn(u64) -> u64,
    wide: impl Fn(&[u8]) -> Option<usize>,
) -> Option<usize> {
    let mut passed = 0;
    for _ in 0..WORDS {
        let Some(eight) = bytes.get(passed..).and_then(<[u8]>::first_chunk) else { break };
        let found = find(u64::from_le_bytes(*eight));
        if found != 0 {
            return Some(passed + (found.trailing_zeros() / 8) as usize);
        }
        passed += 8;
    }
    Some(passed + wide(&bytes[passed..])?)
}

/// A key without its escapes; one that is too long is none of ours.
#[cold]
fn resolve_key<'k>(raw: &[u8], into: &'k mut [u8; LONGEST_KEY]) -> &'k [u8] {
    let text = super::unescape(&raw[..raw.len().min(6 * LONGEST_KEY)]);
    let Some(place) = into.get_mut(..text.len()) else { return b"" };
    place.copy_from_slice(text.as_bytes());
    place
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &[u8]) -> Option<Value<'_>> {
        let (value, rest) = Json::new(text).solid().value()?;
        rest.is_at_end().then_some(value)
    }

    #[test]
    fn values_are_told_apart_without_being_parsed() {
        assert_eq!(value(b" null ").unwrap().word(), b"null");
        assert_eq!(value(br#""a\"b""#).unwrap().text(), Some(&br#"a\"b"#[..]));
        assert_eq!(value(b"-Infinity").unwrap().word(), b"-Infinity");
        assert!(value(br#"[{"]":1}]"#).unwrap().as_array().is_some());
        for wrong in ["", "ping", "\"a", "\"a\\", "\"a\\\"", "[1", "{\"a\":1]", "[}", "1 2", "{} {}", "'a'"] {
            assert_eq!(value(wrong.as_bytes()), None, "{wrong}");
        }
    }

    #[test]
    fn counts_survive_sloppy_servers() {
        for (text, count) in [
            ("4", Some(4)),
            ("\"4\"", Some(4)),
            ("2.0", Some(2)),
            ("1e3", Some(1000)),
            ("-1", None),
            ("NaN", None),
            ("true", None),
            ("null", None),
            ("\"\"", None),
            ("18446744073709551615", Some(u64::MAX)),
            ("18446744073709551616", None),
        ] {
            assert_eq!(value(text.as_bytes()).unwrap().count(), count, "{text}");
        }
    }

    #[test]
    fn the_end_of_a_string_is_found_at_any_length_and_alignment() {
        for length in 0..80 {
            // 0x23 and 0x5d are the neighbours that a borrow could mistake.
            for filler in [b'x', b'#', b']', 0x00, 0x80, 0xff, 0xa2, 0xdc] {
                let mut bytes = vec![filler; length];
                assert_eq!((quote(&bytes), quote_or_backslash(&bytes)), (None, None));
                for end in [b'"', b'\\'] {
                    bytes.truncate(length);
                    bytes.push(end);
                    bytes.extend_from_slice(b"\"\\######");
                    assert_eq!(quote_or_backslash(&bytes), Some(length));
                    assert_eq!(quote(&bytes), Some(length + usize::from(end == b'\\')));
                }
            }
        }
    }

    #[test]
    fn backslashes_escape_a_quote_in_odd_runs_only() {
        for (text, inside) in [
            (&br#""a\"b""#[..], &br#"a\"b"#[..]),
            (br#""a\\""#, br"a\\"),
            (br#""\\\"\\""#, br#"\\\"\\"#),
            (br#""\"\"\"""#, br#"\"\"\""#),
            (br#""\n""#, br"\n"),
        ] {
            assert_eq!(value(text).unwrap().text(), Some(inside));
        }
        assert_eq!(value(br#""a\\\""#), None);
    }

    #[test]
    fn nesting_has_a_bound() {
        let nest = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(value(nest(128).as_bytes()).is_some());
        assert_eq!(value(nest(129).as_bytes()), None);
    }

    #[test]
    fn escaped_keys_are_resolved() {
        let mut keys = Vec::new();
        let object = br#"{"cont\u0065nt":1,"a\nb":2,"plain":[3]}"#;
        let rest = Json::new(object).object(|key, value| {
            keys.push(String::from_utf8_lossy(key).into_owned());
            value.skip()
        });
        assert_eq!(
            (rest.map(Json::is_at_end), keys),
            (Some(true), vec!["content".into(), "a\nb".into(), "plain".into()])
        );
    }

    #[test]
    fn something_is_what_a_program_would_call_true() {
        for (text, something) in [
            ("null", false),
            ("false", false),
            ("0", false),
            ("0.0", false),
            ("\"\"", false),
            ("{ }", false),
            ("[]", false),
            ("true", true),
            ("-1", true),
            ("\"x\"", true),
            ("{\"a\":null}", true),
            ("[0]", true),
        ] {
            assert_eq!(value(text.as_bytes()).unwrap().is_something(), something, "{text}");
        }
    }
}
