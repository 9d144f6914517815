//! A list that is written as a bare value while it has one entry: `url = "..."`, or `url = ["...", "..."]`.
//! Gives no entry a meaning.

use super::Text;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub(super) fn serialize<S: Serializer>(list: &[Text], to: S) -> Result<S::Ok, S::Error> {
    match list {
        // Not given at all, like any other option.
        [] => to.serialize_none(),
        [only] => only.serialize(to),
        list => list.serialize(to),
    }
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Text>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "a text, or a list of texts")]
    enum Written {
        One(Text),
        Many(Vec<Text>),
    }
    Ok(match Option::<Written>::deserialize(from)? {
        None => Vec::new(),
        Some(Written::One(only)) => vec![only],
        Some(Written::Many(list)) => list,
    })
}
