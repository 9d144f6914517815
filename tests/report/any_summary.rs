//! Any summary at all: a real one in which every leaf may be replaced by an extreme of its kind.

use crate::sample;
use lowrho::report::Summary;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::TestRng;
use serde_json::{Value, json};

/// Any summary at all.
pub fn any_summary() -> impl Strategy<Value = Summary> {
    (select(vec![0, 1, 2]), 0..120_usize).prop_perturb(|(which, replacements), mut rng| {
        let start = [sample::steady, sample::broken, sample::staged][which]();
        let mut value = serde_json::to_value(&start).unwrap();
        let mut places = Vec::new();
        leaves(&value, &mut String::new(), &mut places);
        for _ in 0..replacements {
            let place = &places[below(places.len(), &mut rng)];
            replace(&mut value, place, &mut rng);
        }
        serde_json::from_value(value).expect("every replacement was tried alone")
    })
}

fn below(n: usize, rng: &mut TestRng) -> usize {
    usize::try_from(rng.random::<u32>()).unwrap() % n
}

/// The pointers of everything that is no object.
fn leaves(value: &Value, at: &mut String, found: &mut Vec<String>) {
    let length = at.len();
    match value {
        Value::Object(object) => {
            for (key, inner) in object {
                at.push('/');
                at.push_str(key);
                leaves(inner, at, found);
                at.truncate(length);
            }
        }
        Value::Array(array) => {
            for (n, inner) in array.iter().enumerate() {
                at.push_str(&format!("/{n}"));
                leaves(inner, at, found);
                at.truncate(length);
            }
            found.push(at.clone());
        }
        _ => found.push(at.clone()),
    }
}

/// Puts something else in one place, if a summary may have it there.
fn replace(value: &mut Value, place: &str, rng: &mut TestRng) {
    let candidates = [
        Value::Null,
        json!(0),
        json!(-1),
        json!(i64::MIN),
        json!(i64::MAX),
        json!(u64::MAX),
        json!(1e308),
        json!(-1e-308),
        json!([]),
        json!(["p50", "p99", "p99_9"]),
        json!(""),
        json!("\u{1b}[31m\n\u{202e}wide \u{4e16}\u{754c} and long ".repeat(20)),
        json!("invalid"),
        json!(true),
    ];
    let candidate = candidates[below(candidates.len(), rng)].clone();
    let Some(old) = value.pointer_mut(place).map(|leaf| std::mem::replace(leaf, candidate)) else { return };
    if serde_json::from_value::<Summary>(value.clone()).is_err() {
        *value.pointer_mut(place).expect("it was there") = old;
    }
}
