//! A cursor over JSON bytes: one pass over the structure, values borrowed, nothing allocated.
//!
//! It is lenient where servers are sloppy (NaN, lone surrogates, invalid UTF-8, control characters in strings) and
//! inside what is skipped; it never builds a tree and must not know what a key means.

/// Deeper nesting than this is refused, as by serde_json.
const DEEPEST: u32 = 128;

/// The longest key, in bytes, that is looked at when it is written with escapes: no key we know is longer.
const LONGEST_KEY: usize = 40;

/// One value, as it stands on the wire.
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug)]
pub(super) enum Value<'a> {
    /// `null`, or no value at all.
    #[default]
    Null,
    /// The inside of a string, escapes unresolved.
    Text(&'a [u8]),
    /// A number, `true` or `false`.
    Scalar(&'a [u8]),
    /// An object with its braces.
    Object(&'a [u8]),
    /// An array with its brackets.
    Array(&'a [u8]),
}

/// A position in JSON bytes. `None` from any method means: this is no JSON.
#[derive(Debug)]
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    /// At most `bytes.len()`.
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// The next byte that is no white space, not consumed.
    #[inline]
    pub(super) fn peek(&mut self) -> Option<u8> {
        loop {
            let byte = *self.bytes.get(self.at)?;
            if byte > b' ' {
                return Some(byte);
            }
            if !matches!(byte, b' ' | b'\n' | b'\r' | b'\t') {
                return None;
            }
            self.at += 1;
        }
    }

    /// Consumes `byte` if it is next.
    #[inline]
    fn eat(&mut self, byte: u8) -> bool {
        let next = self.peek() == Some(byte);
        self.at += usize::from(next);
        next
    }

    /// What lies ahead.
    pub(super) fn rest(&self) -> &'a [u8] {
        &self.bytes[self.at..]
    }

    /// Whether nothing but white space is left.
    pub(super) fn is_at_end(&mut self) -> bool {
        self.peek().is_none() && self.at == self.bytes.len()
    }

    /// Walks an object: `member` is given each key, escapes resolved, and consumes exactly the value.
    #[inline]
    pub(super) fn object(&mut self, mut member: impl FnMut(&[u8], &mut Self) -> Option<()>) -> Option<()> {
        if !self.eat(b'{') {
            return None;
        }
        if self.eat(b'}') {
            return Some(());
        }
        loop {
            let key = self.string()?;
            if !self.eat(b':') {
                return None;
            }
            if key.contains(&b'\\') {
                let mut resolved = [0; LONGEST_KEY];
                let length = resolve_key(key, &mut resolved);
                member(&resolved[..length], self)?;
            } else {
                member(key, self)?;
            }
            if self.eat(b',') {
                continue;
            }
            return self.eat(b'}').then_some(());
        }
    }

    /// Walks an array: `element` consumes exactly one value.
    #[inline]
    pub(super) fn array(&mut self, mut element: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        if !self.eat(b'[') {
            return None;
        }
        if self.eat(b']') {
            return Some(());
        }
        loop {
            element(self)?;
            if self.eat(b',') {
                continue;
            }
            return self.eat(b']').then_some(());
        }
    }

    /// Consumes any value.
    #[inline]
    pub(super) fn value(&mut self) -> Option<Value<'a>> {
        Some(match self.peek()? {
            b'"' => Value::Text(self.string()?),
            b'{' => Value::Object(self.nested()?),
            b'[' => Value::Array(self.nested()?),
            _ => match self.scalar()? {
                b"null" => Value::Null,
                scalar => Value::Scalar(scalar),
            },
        })
    }

    /// Consumes a string and gives its inside.
    #[inline]
    fn string(&mut self) -> Option<&'a [u8]> {
        if !self.eat(b'"') {
            return None;
        }
        let start = self.at;
        self.pass_string()?;
        Some(&self.bytes[start..self.at - 1])
    }

    /// Moves behind the quote that ends the string we are in.
    #[inline]
    fn pass_string(&mut self) -> Option<()> {
        loop {
            self.at += quote_or_backslash(&self.bytes[self.at..])?;
            if self.bytes[self.at] == b'"' {
                self.at += 1;
                return Some(());
            }
            if self.at + 2 > self.bytes.len() {
                return None;
            }
            self.at += 2;
        }
    }

    /// Consumes a number or a word. Servers write `NaN` and `-Infinity`, so its spelling is not checked.
    #[inline]
    fn scalar(&mut self) -> Option<&'a [u8]> {
        let rest = &self.bytes[self.at..];
        if !matches!(rest.first()?, b'0'..=b'9' | b'-' | b't' | b'f' | b'n' | b'N' | b'I') {
            return None;
        }
        let in_word = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.');
        let length = rest.iter().position(|b| !in_word(b)).unwrap_or(rest.len());
        self.at += length;
        Some(&rest[..length])
    }

    /// Consumes an object or an array by its brackets and strings alone.
    fn nested(&mut self) -> Option<&'a [u8]> {
        let start = self.at;
        let mut depth = 0_u32;
        // One bit for each open level, the innermost lowest: 1 = object.
        let mut kinds = 0_u128;
        loop {
            match *self.bytes.get(self.at)? {
                b'"' => {
                    self.at += 1;
                    self.pass_string()?;
                    continue;
                }
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
                        self.at += 1;
                        return Some(&self.bytes[start..self.at]);
                    }
                }
                _ => {}
            }
            self.at += 1;
        }
    }
}

impl<'a> Value<'a> {
    /// The number it stands for, also when written as a string or with a fraction (which is dropped).
    pub(super) fn count(self) -> Option<u64> {
        let (Self::Scalar(digits) | Self::Text(digits)) = self else { return None };
        let digits = digits.trim_ascii();
        if digits.is_empty() {
            return None;
        }
        let plain = digits.iter().try_fold(0_u64, |sum, &digit| {
            digit.is_ascii_digit().then(|| sum.checked_mul(10)?.checked_add(u64::from(digit - b'0')))?
        });
        plain.or_else(|| whole(str::from_utf8(digits).ok()?.parse().ok()?))
    }

    /// Whether there is something in it: not null, not false, not zero, not empty.
    pub(super) fn is_something(self) -> bool {
        match self {
            Self::Null => false,
            Self::Text(text) => !text.is_empty(),
            Self::Scalar(scalar) => scalar != b"false" && self.count() != Some(0),
            Self::Object(nested) | Self::Array(nested) => {
                nested.len() > 2 && !nested[1..nested.len() - 1].trim_ascii().is_empty()
            }
        }
    }

    /// Whether it is a string with something in it.
    pub(super) const fn has_text(self) -> bool {
        matches!(self, Self::Text(text) if !text.is_empty())
    }

    /// Takes `later` in its place, unless that is null: the last non-null of a repeated key wins.
    #[inline]
    pub(super) fn update(&mut self, later: Self) {
        if later != Self::Null {
            *self = later;
        }
    }
}

/// Above 2^53 a float no longer tells whole numbers apart, so such a count is no count.
const LARGEST_EXACT: f64 = 9_007_199_254_740_992.0;

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range was checked")]
fn whole(number: f64) -> Option<u64> {
    (0.0..=LARGEST_EXACT).contains(&number).then_some(number as u64)
}

/// How far the first quote or backslash is.
#[inline]
fn quote_or_backslash(bytes: &[u8]) -> Option<usize> {
    /// Past this, the set-up of the wide search pays.
    const SHORT: usize = 32;
    const LOW: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let mut at = 0;
    while at < SHORT {
        let Some(eight) = bytes[at..].first_chunk() else {
            return bytes[at..].iter().position(|&b| b == b'"' || b == b'\\').map(|i| at + i);
        };
        // A byte of x is zero where (x - 1) borrows into its high bit; the lowest such bit is never wrong
        // (Hacker's Delight, "Find First 0-Byte").
        let word = u64::from_le_bytes(*eight);
        let quote = word ^ (LOW * b'"' as u64);
        let slash = word ^ (LOW * b'\\' as u64);
        let found = ((quote.wrapping_sub(LOW) & !quote) | (slash.wrapping_sub(LOW) & !slash)) & HIGH;
        if found != 0 {
            return Some(at + (found.trailing_zeros() / 8) as usize);
        }
        at += 8;
    }
    memchr::memchr2(b'"', b'\\', &bytes[at..]).map(|i| at + i)
}

/// Writes a key without its escapes; one that is too long, or not ASCII where escaped, is none of ours: length 0.
fn resolve_key(raw: &[u8], into: &mut [u8; LONGEST_KEY]) -> usize {
    let text = super::unescape(&raw[..raw.len().min(6 * LONGEST_KEY)]);
    let Some(place) = into.get_mut(..text.len()) else { return 0 };
    place.copy_from_slice(text.as_bytes());
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &[u8]) -> Option<Value<'_>> {
        let mut cursor = Cursor::new(text);
        let value = cursor.value()?;
        cursor.is_at_end().then_some(value)
    }

    #[test]
    fn values_are_told_apart_without_being_parsed() {
        assert_eq!(value(b" null "), Some(Value::Null));
        assert_eq!(value(br#""a\"b""#), Some(Value::Text(br#"a\"b"#)));
        assert_eq!(value(b"-Infinity"), Some(Value::Scalar(b"-Infinity")));
        assert_eq!(value(br#"[{"]":1}]"#), Some(Value::Array(br#"[{"]":1}]"#)));
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
            for end in [b'"', b'\\'] {
                // 0x23 and 0x5d are the neighbours that a borrow could mistake.
                for filler in [b'x', b'#', b']', 0x00, 0x80, 0xff, 0xa2, 0xdc] {
                    let mut bytes = vec![filler; length];
                    assert_eq!(quote_or_backslash(&bytes), None);
                    bytes.push(end);
                    bytes.extend_from_slice(b"\"\\######");
                    assert_eq!(quote_or_backslash(&bytes), Some(length));
                }
            }
        }
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
        let walked = Cursor::new(object).object(|key, cursor| {
            keys.push(String::from_utf8_lossy(key).into_owned());
            cursor.value().map(|_| ())
        });
        assert_eq!((walked, keys), (Some(()), vec!["content".into(), "a\nb".into(), "plain".into()]));
    }
}
