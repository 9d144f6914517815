//! The thresholds of the verdict as options, each by its name; judges nothing.

use super::raw::{Raw, nearest};
use super::reading::{Reading, option};
use crate::analysis::Thresholds;
use crate::time::{Span, format_span, parse_span};

/// A threshold's place in the structure.
enum Field {
    Share(fn(&mut Thresholds) -> &mut f64),
    Span(fn(&mut Thresholds) -> &mut Span),
}

/// Every threshold by the name it has in options: the field's own, in dashes.
const FIELDS: [(&str, Field); 15] = [
    ("rho-valid", Field::Share(|t| &mut t.rho_valid)),
    ("rho-invalid", Field::Share(|t| &mut t.rho_invalid)),
    ("lateness-share", Field::Share(|t| &mut t.lateness_share)),
    ("lateness-least", Field::Span(|t| &mut t.lateness_least)),
    ("lateness-most", Field::Span(|t| &mut t.lateness_most)),
    ("on-schedule-valid", Field::Share(|t| &mut t.on_schedule_valid)),
    ("on-schedule-invalid", Field::Share(|t| &mut t.on_schedule_invalid)),
    ("begun-invalid", Field::Share(|t| &mut t.begun_invalid)),
    ("bias-valid-share", Field::Share(|t| &mut t.bias_valid_share)),
    ("bias-valid", Field::Span(|t| &mut t.bias_valid)),
    ("bias-invalid-share", Field::Share(|t| &mut t.bias_invalid_share)),
    ("bias-invalid", Field::Span(|t| &mut t.bias_invalid)),
    ("lost-invalid", Field::Share(|t| &mut t.lost_invalid)),
    ("delivered-valid", Field::Share(|t| &mut t.delivered_valid)),
    ("delivered-other-workload", Field::Share(|t| &mut t.delivered_other_workload)),
];

/// Pairs of which the first may not be above the second: beyond it a worse value would be judged better.
const ORDERED: [(&str, &str); 6] = [
    ("rho-valid", "rho-invalid"),
    ("lateness-least", "lateness-most"),
    ("on-schedule-invalid", "on-schedule-valid"),
    ("bias-valid-share", "bias-invalid-share"),
    ("bias-valid", "bias-invalid"),
    ("delivered-other-workload", "delivered-valid"),
];

/// Reads every `--threshold NAME=VALUE` over the defaults.
pub(super) fn read(r: &mut Reading, raw: &Raw) -> Thresholds {
    let mut thresholds = Thresholds::default();
    for text in &raw.verdict.threshold {
        if let Err((accepted, remedy)) = set(&mut thresholds, text.as_str()) {
            r.note(option!(@place verdict.threshold), Some(text.0.clone()), accepted, remedy);
        }
    }
    for (low, high) in crossed(thresholds) {
        let given = raw.verdict.threshold.iter().rev();
        let given = given.map(|text| text.as_str()).find(|text| [low, high].contains(&name_of(text)));
        let [low_text, high_text] = [low, high].map(|name| Value::of(thresholds, name).text());
        r.note(
            option!(@place verdict.threshold),
            given.map(str::to_owned),
            format!("{low} at most {high}, and they would be {low_text} and {high_text}"),
            "set both, or neither",
        );
    }
    thresholds
}

/// The pairs that stand the wrong way round.
fn crossed(thresholds: Thresholds) -> Vec<(&'static str, &'static str)> {
    let is_crossed = |(low, high): &(&str, &str)| Value::of(thresholds, low) > Value::of(thresholds, high);
    ORDERED.into_iter().filter(is_crossed).collect()
}

fn name_of(text: &str) -> &str {
    text.split_once('=').map_or("", |(name, _)| name.trim())
}

/// A threshold's value; those of a pair are of one kind.
#[derive(PartialEq, PartialOrd)]
enum Value {
    Share(f64),
    Span(Span),
}

impl Value {
    fn of(mut thresholds: Thresholds, name: &str) -> Self {
        let (_, field) = FIELDS.iter().find(|(known, _)| *known == name).expect("pairs are of known names");
        match field {
            Field::Share(place) => Self::Share(*place(&mut thresholds)),
            Field::Span(place) => Self::Span(*place(&mut thresholds)),
        }
    }

    /// As an option gives it.
    fn text(&self) -> String {
        match self {
            Self::Share(share) => share.to_string(),
            Self::Span(span) => format_span(*span),
        }
    }
}

fn set(thresholds: &mut Thresholds, text: &str) -> Result<(), (String, String)> {
    let names = FIELDS.iter().map(|(name, _)| *name);
    let refuse = |remedy: String| {
        let accepted = format!("NAME=VALUE, NAME one of {}", names.clone().collect::<Vec<_>>().join(", "));
        Err((accepted, remedy))
    };
    let Some((name, value)) = text.split_once('=').map(|(name, value)| (name.trim(), value.trim())) else {
        return refuse(String::new());
    };
    let Some((_, field)) = FIELDS.iter().find(|(known, _)| *known == name) else {
        return refuse(
            nearest(name, names.clone()).map_or(String::new(), |near| format!("did you mean {near}?")),
        );
    };
    match field {
        Field::Share(place) => match value.parse::<f64>() {
            Ok(share) if (0.0..=1.0).contains(&share) => *place(thresholds) = share,
            _ => return Err((format!("{name}=SHARE, a number from 0 to 1"), String::new())),
        },
        Field::Span(place) => match parse_span(value) {
            Ok(span) => *place(thresholds) = span,
            Err(why) => {
                return Err((
                    format!("{name}=SPAN, such as {}", format_span(*place(thresholds))),
                    why.to_string(),
                ));
            }
        },
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_threshold_can_be_set_by_its_name_and_no_other_moves() {
        for (name, field) in &FIELDS {
            let mut thresholds = Thresholds::default();
            match field {
                Field::Share(place) => {
                    set(&mut thresholds, &format!("{name}=0.123")).unwrap();
                    assert!((*place(&mut thresholds) - 0.123).abs() < 1e-12, "{name}");
                    *place(&mut thresholds) = *place(&mut Thresholds::default());
                }
                Field::Span(place) => {
                    set(&mut thresholds, &format!("{name} = 123us")).unwrap();
                    assert_eq!(*place(&mut thresholds), Span::from_us(123), "{name}");
                    *place(&mut thresholds) = *place(&mut Thresholds::default());
                }
            }
            assert_eq!(thresholds, Thresholds::default(), "{name} moved another");
        }
    }

    #[test]
    fn every_field_of_the_thresholds_has_a_name() {
        let fields = format!("{:?}", Thresholds::default());
        for (name, _) in &FIELDS {
            assert!(fields.contains(&format!("{}: ", name.replace('-', "_"))), "{name} in {fields}");
        }
        assert_eq!(fields.matches(": ").count(), FIELDS.len());
    }

    #[test]
    fn thresholds_that_stand_the_wrong_way_round_are_told() {
        assert_eq!(crossed(Thresholds::default()), []);
        for (low, high) in ORDERED {
            let mut thresholds = Thresholds::default();
            let (more, less) = match Value::of(thresholds, low) {
                Value::Share(_) => ("0.99", "0.98"),
                Value::Span(_) => ("60s", "59s"),
            };
            set(&mut thresholds, &format!("{low}={more}")).unwrap();
            set(&mut thresholds, &format!("{high}={less}")).unwrap();
            assert_eq!(crossed(thresholds), [(low, high)]);
            set(&mut thresholds, &format!("{high}={more}")).unwrap();
            assert_eq!(crossed(thresholds), [], "equal ones leave nothing between");
        }
    }

    #[test]
    fn a_wrong_threshold_is_refused_with_what_is_accepted() {
        let refusal = |text: &str| {
            let (accepted, remedy) = set(&mut Thresholds::default(), text).expect_err(text);
            format!("{accepted}\n{remedy}")
        };
        assert!(refusal("rho-valid").contains("NAME one of rho-valid, rho-invalid"));
        assert!(refusal("rho-vald=0.5").contains("did you mean rho-valid?"));
        assert!(refusal("rho-valid=1.5").contains("a number from 0 to 1"));
        assert!(refusal("bias-valid=500").contains("write 500s or 500ms"));
    }
}
