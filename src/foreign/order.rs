//! What single values say together, where a file has rows instead of statistics.
//!
//! It must not tell a quantile that too few values tell.

use super::quantity::Statistic;
use super::reading::float;

/// Values expected above a quantile at least (`docs/METHOD.md`).
const LEAST_ABOVE: f64 = 3.0;

/// Mean, extremes and order statistics (the least value that at least q of all do not exceed).
pub(super) fn statistics(values: &mut [f64]) -> Vec<(Statistic, f64)> {
    values.sort_by(f64::total_cmp);
    let ([least, ..], [.., most]) = (&*values, &*values) else { return Vec::new() };
    let n = float(values.len() as u64);
    let mut found = vec![
        (Statistic::Mean, values.iter().sum::<f64>() / n),
        (Statistic::Min, *least),
        (Statistic::Max, *most),
    ];
    for (statistic, q) in [
        (Statistic::P50, 0.5),
        (Statistic::P90, 0.9),
        (Statistic::P95, 0.95),
        (Statistic::P99, 0.99),
        (Statistic::P99_9, 0.999),
    ] {
        if n * (1.0 - q) >= LEAST_ABOVE * (1.0 - 1e-9) {
            found.push((statistic, values[place(q, values.len())]));
        }
    }
    found
}

/// The first place among `n` sorted values that at least q of them do not lie after.
fn place(q: f64, n: usize) -> usize {
    let all = float(n as u64);
    // By bisection: a cast of q n would be a lossy one.
    let (mut low, mut high) = (0, n - 1);
    while low < high {
        let middle = low + (high - low) / 2;
        if float(middle as u64 + 1) >= q * all - 1e-9 { high = middle } else { low = middle + 1 }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_order_statistics_and_few_values_have_none() {
        let mut values: Vec<f64> = (1..=100_u8).map(f64::from).rev().collect();
        let found = statistics(&mut values);
        let of = |statistic| found.iter().find(|(has, _)| *has == statistic).map(|(_, value)| *value);
        assert_eq!(
            (of(Statistic::P50), of(Statistic::P90), of(Statistic::P95)),
            (Some(50.0), Some(90.0), Some(95.0))
        );
        assert_eq!((of(Statistic::P99), of(Statistic::Max)), (None, Some(100.0)));
        assert!(statistics(&mut []).is_empty());
    }
}
