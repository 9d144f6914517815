//! User info of a URL to the value of a basic `Authorization` header (RFC 7617); sends nothing.

/// The header's value for `user:password` as it stands in a URL, percent-encoded.
pub(super) fn authorization(user_info: &str) -> String {
    let mut bytes = percent_decoded(user_info);
    if !bytes.contains(&b':') {
        bytes.push(b':');
    }
    format!("Basic {}", base64(&bytes))
}

/// RFC 3986, 2.1; a `%` that no two hex digits follow stands for itself.
fn percent_decoded(text: &str) -> Vec<u8> {
    let hex = |b: u8| char::from(b).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let mut rest = text.as_bytes();
    let mut decoded = Vec::with_capacity(rest.len());
    while let Some((&first, tail)) = rest.split_first() {
        match (first, tail) {
            (b'%', [high, low, after @ ..]) if hex(*high).is_some() && hex(*low).is_some() => {
                decoded.push(hex(*high).unwrap_or(0) * 16 + hex(*low).unwrap_or(0));
                rest = after;
            }
            _ => {
                decoded.push(first);
                rest = tail;
            }
        }
    }
    decoded
}

/// RFC 4648, 4.
fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let at = |i: usize| u32::from(group.get(i).copied().unwrap_or(0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for i in 0..4_usize {
            let sextet = usize::try_from(bits >> (18 - 6 * i) & 63).expect("six bits");
            text.push(if i <= group.len() { char::from(ALPHABET[sextet]) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_the_rfcs_own_vectors() {
        for (plain, coded) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(base64(plain.as_bytes()), coded);
        }
    }

    #[test]
    fn user_and_password_are_decoded_then_encoded() {
        assert_eq!(authorization("Aladdin:open%20sesame"), "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
        assert_eq!(authorization("me"), format!("Basic {}", base64(b"me:")));
        assert_eq!(percent_decoded("50%"), b"50%");
        assert_eq!(percent_decoded("%zz%41"), b"%zzA");
    }
}
