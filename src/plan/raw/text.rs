//! One value as it was written, by flag or in TOML; gives it no meaning.

use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

/// The text of a value. TOML's numbers are taken as their text, so that a flag and a key are read, and refused,
/// by the same words; a text that looks like a number is written as a number again.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Text(pub String);

impl Text {
    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl FromStr for Text {
    type Err = Infallible;
    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for Text {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        // Only where the number's own text is the same: a model may be called `1.10` or `007`.
        if let Ok(whole) = self.0.parse::<i64>()
            && whole.to_string() == self.0
        {
            return to.serialize_i64(whole);
        }
        if let Ok(number) = self.0.parse::<f64>()
            && number.is_finite()
            && number.to_string() == self.0
            && self.0.contains('.')
        {
            return to.serialize_f64(number);
        }
        to.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Scalar;
        impl Visitor<'_> for Scalar {
            type Value = Text;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text or a number")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Text, E> {
                Ok(Text(text.to_owned()))
            }
            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Text, E> {
                Ok(Text(number.to_string()))
            }
            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Text, E> {
                Ok(Text(number.to_string()))
            }
            fn visit_f64<E: de::Error>(self, number: f64) -> Result<Text, E> {
                Ok(Text(number.to_string()))
            }
        }
        from.deserialize_any(Scalar)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn there_and_back(text: &str) -> Text {
        let json = serde_json::to_value(Text::from(text)).unwrap();
        serde_json::from_value(json).unwrap()
    }

    #[test]
    fn a_number_is_written_as_a_number() {
        for (text, json) in [("1000", "1000"), ("2.5", "2.5"), ("10s", "\"10s\""), ("007", "\"007\"")] {
            assert_eq!(serde_json::to_string(&Text::from(text)).unwrap(), json);
        }
    }

    #[test]
    fn names_that_look_like_numbers_keep_their_spelling() {
        for text in ["1.10", "1e3", "18446744073709551615", "+5", "-0", "1.0", "0.1", "NaN", "inf", ""] {
            assert_eq!(there_and_back(text).as_str(), text);
        }
    }

    proptest! {
        #[test]
        fn every_text_comes_back_as_it_was(text in ".*") {
            prop_assert_eq!(there_and_back(&text).0, text);
        }

        #[test]
        fn every_number_comes_back_as_it_was(number in any::<f64>()) {
            let text = number.to_string();
            prop_assert_eq!(there_and_back(&text).0, text);
        }
    }
}
