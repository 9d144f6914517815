//! `--fail-if`: differences that a comparison must not show, such as `ttft_p99>+5%`.
//!
//! It must not pass what it cannot judge: a term on a figure without an interval is an error.

use super::difference::Difference;
use super::quantity::{Quantity, Statistic, Unit};
use super::reading::{Figure, Reading};
use std::fmt;
use std::str::FromStr;

/// One term: crossed when the whole 95 % interval of the relative difference lies beyond the limit.
#[derive(Clone, PartialEq, Debug)]
pub struct Term {
    text: String,
    quantity: Quantity,
    statistic: Statistic,
    rises: bool,
    limit: f64,
}

/// All terms.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Gate {
    terms: Vec<Term>,
}

/// Why a text is no term, or a term cannot be judged.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GateError(String);

impl fmt::Display for GateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for GateError {}

const FORMS: &str =
    "QUANTITY_STATISTIC>+PERCENT% or <-PERCENT%, such as ttft_p99>+5%,e2e_mean>+3%,requests_per_s<-2%";

const FAILED_WITHOUT_ROWS: &str =
    "where requests failed it takes a row of every request (--records all), and enough of them";

impl FromStr for Gate {
    type Err = GateError;

    fn from_str(text: &str) -> Result<Self, GateError> {
        let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
        let terms = parts.map(str::parse).collect::<Result<Vec<Term>, _>>()?;
        if terms.is_empty() {
            return Err(GateError(format!("{text:?} holds no term; accepted: {FORMS}")));
        }
        Ok(Self { terms })
    }
}

impl FromStr for Term {
    type Err = GateError;

    fn from_str(text: &str) -> Result<Self, GateError> {
        let refuse = |accepted: &str| GateError(format!("{text:?} is no term; accepted: {accepted}"));
        let at = text.find(['<', '>']).ok_or_else(|| refuse(FORMS))?;
        let (name, rises) = (text[..at].trim(), text[at..].starts_with('>'));
        let percent = text[at + 1..].trim().strip_suffix('%').ok_or_else(|| refuse(FORMS))?;
        let percent: f64 = percent.trim().parse().map_err(|_| refuse(FORMS))?;
        // A difference of a rise is at least 0, of a fall at most: the other sign would cross where nothing changed.
        let sound =
            percent.is_finite() && if rises { percent >= 0.0 } else { percent <= 0.0 && percent > -100.0 };
        if !sound {
            return Err(refuse("> with a limit of 0% or more, < with one from -100% to 0%"));
        }
        let (quantity, statistic) = figure(name).ok_or_else(|| {
            let names: Vec<&str> = Quantity::ALL.into_iter().map(Quantity::name).collect();
            refuse(&format!(
                "{FORMS}; a quantity of {} and, but for rates and shares, one of mean, p50, p90, p95, p99, p99.9",
                names.join(", ")
            ))
        })?;
        Ok(Self { text: text.to_owned(), quantity, statistic, rises, limit: percent / 100.0 })
    }
}

/// The figure of a name such as `ttft_p99` or `requests_per_s`.
fn figure(name: &str) -> Option<(Quantity, Statistic)> {
    let named = |name: &str| Quantity::ALL.into_iter().find(|quantity| quantity.name() == name);
    if let Some(quantity) = named(name).filter(|quantity| quantity.is_single()) {
        return Some((quantity, Statistic::Value));
    }
    let bare = name.strip_suffix("_p99_9").map(|bare| (bare, "p99.9"));
    let (bare, word) = bare.or_else(|| name.rsplit_once('_'))?;
    // The spread and the extremes of a run have no interval in any file.
    let told = |one: &Statistic| !matches!(one, Statistic::Sd | Statistic::Min | Statistic::Max);
    let statistic = Statistic::named(word).filter(told)?;
    named(bare).filter(|quantity| !quantity.is_single()).map(|quantity| (quantity, statistic))
}

impl Gate {
    /// Whether nothing is asked for.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// The terms that are crossed by `new` against `base`, in words.
    ///
    /// # Errors
    /// A term on a figure that one of the two does not have, or that has no interval: it cannot be judged.
    pub fn crossed(&self, base: &Reading, new: &Reading) -> Result<Vec<String>, GateError> {
        let mut crossed = Vec::new();
        for term in &self.terms {
            let [low, high] = term.interval(base, new)?;
            let beyond = if term.rises { low > term.limit } else { high < term.limit };
            if beyond {
                let percent = |share: f64| share * 100.0;
                crossed.push(format!(
                    "{} of {}: the difference lies between {:+.1} % and {:+.1} %",
                    term.text,
                    new.name,
                    percent(low),
                    percent(high)
                ));
            }
        }
        Ok(crossed)
    }
}

impl Term {
    fn interval(&self, base: &Reading, new: &Reading) -> Result<[f64; 2], GateError> {
        let refuse = |why: String| GateError(format!("--fail-if {}: {why}", self.text));
        let (one, other) = (self.figure(base)?, self.figure(new)?);
        if !one.value.is_finite() {
            return Err(refuse(format!(
                "so many requests of {} failed that it is infinite there",
                base.name
            )));
        }
        let of = |figure: &Figure| figure.interval.unwrap_or([figure.value; 2]);
        if !of(&other)[1].is_finite() {
            // No logarithm is left: what is sure is that it is above its own lower end.
            let ([_, base_high], [new_low, _]) = (of(&one), of(&other));
            return Ok([new_low / base_high - 1.0, f64::INFINITY]);
        }
        let found = Difference::of(&one, &other, self.quantity.better()).and_then(|found| found.interval);
        found.ok_or_else(|| {
            refuse("a value or its interval reaches 0, so that there is no relative difference".into())
        })
    }

    /// The figure of a run, failures as infinity where there were any, with an interval.
    fn figure(&self, reading: &Reading) -> Result<Figure, GateError> {
        let refuse = |why: &str| GateError(format!("--fail-if {}: {}: {why}", self.text, reading.name));
        let figure = reading.figure(self.quantity, self.statistic).copied();
        let failed =
            reading.figure(Quantity::Failed, Statistic::Value).is_some_and(|failed| failed.value > 0.0);
        // What was begun late was late whether it failed or not, and a rate counts successes anyway.
        let counts = failed && self.quantity.unit() == Unit::Ns && self.quantity != Quantity::Lateness;
        let figure = match (counts, self.statistic) {
            (true, Statistic::Mean | Statistic::Value) => {
                return Err(refuse(
                    "requests failed, and a mean with a failure in it is infinite: name a quantile",
                ));
            }
            (true, _) => reading.with_failures.get(&(self.quantity, self.statistic)).copied().or(figure.map(
                |figure| {
                    // Without rows nothing tells where the failures lie.
                    Figure { interval: None, ..figure }
                },
            )),
            (false, _) => figure,
        };
        let seen = reading.figure(self.quantity, Statistic::Max).is_some();
        let figure = figure.ok_or_else(|| {
            refuse(if reading.is_ours && seen {
                "has too few independent observations for that quantile (3 must be expected above it): make a longer run \
                 (--duration), or name a lower quantile"
            } else {
                "has no such figure"
            })
        })?;
        if figure.at_least {
            return Err(refuse("requests were cancelled below it, so that it is only a lower bound"));
        }
        if figure.interval.is_none() {
            let why =
                if counts { FAILED_WITHOUT_ROWS } else { reading.why_unsure(self.quantity, self.statistic) };
            return Err(refuse(&format!("it has no interval: {why}")));
        }
        Ok(figure)
    }
}

#[cfg(test)]
mod tests {
    use super::super::reading::Figure;
    use super::*;

    fn run(name: &str, value: f64, interval: Option<[f64; 2]>) -> Reading {
        let mut reading = Reading::of(name, "lowrho");
        reading.is_ours = true;
        let figure = Figure { value, interval, at_least: false };
        reading.figures.insert((Quantity::Ttft, Statistic::P99), figure);
        reading
    }

    #[test]
    fn a_rise_is_crossed_only_when_even_its_lower_end_is_above_the_limit() {
        let gate: Gate = "ttft_p99>+5%".parse().unwrap();
        let base = run("a", 100.0, Some([99.0, 101.0]));
        let of = |value, low, high| gate.crossed(&base, &run("b", value, Some([low, high]))).unwrap().len();
        assert_eq!(of(110.0, 109.0, 111.0), 1);
        assert_eq!(of(110.0, 104.0, 120.0), 0);
        assert_eq!(of(90.0, 89.0, 91.0), 0);
        let falls: Gate = "ttft_p99<-5%".parse().unwrap();
        assert_eq!(falls.crossed(&base, &run("b", 90.0, Some([89.0, 91.0]))).unwrap().len(), 1);
    }

    #[test]
    fn what_cannot_be_judged_is_an_error() {
        let gate: Gate = "ttft_p99>+5%".parse().unwrap();
        let base = run("a", 100.0, Some([99.0, 101.0]));
        let why = gate.crossed(&base, &run("b", 110.0, None)).unwrap_err().to_string();
        assert!(why.contains("b: it has no interval"), "{why}");
        let other: Gate = "tpot_p99>5%".parse().unwrap();
        assert!(other.crossed(&base, &base).unwrap_err().to_string().contains("no such figure"));
        let mut short = run("short", 100.0, None);
        short.figures = [((Quantity::Ttft, Statistic::Max), Figure::plain(120.0))].into();
        let why = gate.crossed(&base, &short).unwrap_err().to_string();
        assert!(
            why.contains("short: has too few independent observations") && why.contains("--duration"),
            "{why}"
        );
    }

    #[test]
    fn failures_count_as_infinite() {
        let gate: Gate = "ttft_p99>+5%".parse().unwrap();
        let base = run("a", 100.0, Some([99.0, 101.0]));
        // Its successes alone look faster.
        let mut new = run("b", 80.0, Some([79.0, 81.0]));
        assert_eq!(gate.crossed(&base, &new).unwrap().len(), 0);
        new.figures.insert((Quantity::Failed, Statistic::Value), Figure::plain(30.0));
        assert!(gate.crossed(&base, &new).unwrap_err().to_string().contains("no interval"));
        let key = (Quantity::Ttft, Statistic::P99);
        let infinite =
            |low| Figure { value: f64::INFINITY, interval: Some([low, f64::INFINITY]), at_least: false };
        new.with_failures.insert(key, infinite(f64::INFINITY));
        assert_eq!(gate.crossed(&base, &new).unwrap().len(), 1);
        new.with_failures.insert(key, infinite(90.0));
        assert_eq!(gate.crossed(&base, &new).unwrap().len(), 0);
        assert!(gate.crossed(&new, &base).unwrap_err().to_string().contains("infinite there"));
    }

    #[test]
    fn terms_are_read_or_refused_with_what_is_accepted() {
        for good in
            ["ttft_p99>+5%", "e2e_due_p99.9>0%", "ttft_p99_9 > 1.5%", "requests_per_s<-2%", "itl_mean>1%"]
        {
            assert!(good.parse::<Gate>().is_ok(), "{good}");
        }
        for bad in [
            "",
            "ttft>5%",
            "ttft_p99>5",
            "ttft_p99=5%",
            "ttft_p42>5%",
            "ttft_p99<5%",
            "ttft_p99>-1%",
            "requests_per_s_p99>1%",
            "ttft_p99>NaN%",
            "ttft_p99>inf%",
            "ttft_p99<-200%",
            "ttft_>1%",
        ] {
            let error = bad.parse::<Gate>().expect_err(bad).to_string();
            assert!(error.contains("accepted"), "{error}");
        }
    }
}
