//! The Universal Scalability Law, fitted to closed loops only where it deserves it (Gunther 2007, "Guerrilla Capacity Planning").
//!
//! It must not be used to tell a limit: those are measured.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// X(N) = lambda N / (1 + sigma (N - 1) + kappa N (N - 1)).
#[derive(Copy, Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Usl {
    /// Throughput of one slot, per second.
    pub lambda_per_s: f64,
    /// The share that is serial: contention.
    pub sigma: f64,
    /// The cost of keeping each with every other: coherency.
    pub kappa: f64,
    /// The slots of the greatest throughput; none where it never falls.
    pub peak_slots: Option<f64>,
    /// The worst relative miss of the fit.
    pub worst_miss: f64,
}

/// Fewer points than this fit anything: there are three coefficients.
const POINTS: usize = 6;

/// A fit that misses a point by more is no law of this server. A queue before fixed servers has a kink that no such curve has.
const MISS: f64 = 0.05;

/// The fit to (slots, throughput); `None` where there are too few points, a point is missed, or a coefficient makes no sense.
#[must_use]
pub fn fit(points: &[(f64, f64)]) -> Option<Usl> {
    if points.len() < POINTS || points.iter().any(|(_, x)| *x <= 0.0) {
        return None;
    }
    // N / X is linear in the coefficients: a + b (N - 1) + c N (N - 1), a = 1 / lambda. Weighted so that relative misses of X count.
    let mut rows = [[0.0; 4]; 3];
    for (n, x) in points {
        let y = n / x;
        let basis = [1.0, n - 1.0, n * (n - 1.0)];
        for (i, row) in rows.iter_mut().enumerate() {
            for (j, cell) in row.iter_mut().take(3).enumerate() {
                *cell += basis[i] * basis[j] / (y * y);
            }
            row[3] += basis[i] / y;
        }
    }
    let [a, b, c] = solve(rows)?;
    let (lambda, sigma, kappa) = (1.0 / a, b / a, c / a);
    if !(lambda > 0.0 && (0.0..=1.0).contains(&sigma) && kappa >= 0.0) {
        return None;
    }
    let told = |n: f64| lambda * n / (1.0 + sigma * (n - 1.0) + kappa * n * (n - 1.0));
    let worst_miss = points.iter().map(|(n, x)| (told(*n) / x - 1.0).abs()).fold(0.0, f64::max);
    let peak_slots = (kappa > 0.0).then(|| libm::sqrt((1.0 - sigma) / kappa));
    (worst_miss <= MISS).then_some(Usl { lambda_per_s: lambda, sigma, kappa, peak_slots, worst_miss })
}

/// Gauss's elimination with pivots; `None` where the rows depend on each other.
fn solve(mut rows: [[f64; 4]; 3]) -> Option<[f64; 3]> {
    for column in 0..3 {
        let pivot = (column..3).max_by(|a, b| rows[*a][column].abs().total_cmp(&rows[*b][column].abs()))?;
        rows.swap(column, pivot);
        if rows[column][column].abs() < 1e-300 {
            return None;
        }
        for below in column + 1..3 {
            let share = rows[below][column] / rows[column][column];
            let above = rows[column];
            rows[below].iter_mut().zip(above).for_each(|(cell, above)| *cell -= share * above);
        }
    }
    let mut found = [0.0; 3];
    for row in (0..3).rev() {
        let known: f64 = (row + 1..3).map(|column| rows[row][column] * found[column]).sum();
        found[row] = (rows[row][3] - known) / rows[row][row];
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(of: impl Fn(f64) -> f64) -> Vec<(f64, f64)> {
        (0..8).map(|power| f64::from(1 << power)).map(|n| (n, of(n))).collect()
    }

    #[test]
    fn a_planted_law_is_found_through_small_noise() {
        let noise = |n: f64| 1.0 + 0.01 * libm::sin(n * 7.0);
        let law = |n: f64| 40.0 * n / (1.0 + 0.03 * (n - 1.0) + 0.000_4 * n * (n - 1.0)) * noise(n);
        let fit = fit(&points(law)).unwrap();
        assert!((fit.lambda_per_s / 40.0 - 1.0).abs() < 0.03, "{fit:?}");
        assert!((fit.sigma - 0.03).abs() < 0.006 && (fit.kappa / 0.000_4 - 1.0).abs() < 0.2, "{fit:?}");
        assert!((fit.peak_slots.unwrap() / 49.2 - 1.0).abs() < 0.15, "{fit:?}");
    }

    #[test]
    fn a_kink_is_no_such_law() {
        assert_eq!(fit(&points(|n| 50.0 * n.min(8.0))), None);
    }

    #[test]
    fn too_few_points_and_senseless_ones_have_no_fit() {
        assert_eq!(fit(&points(|n| 50.0 * n)[..5]), None);
        assert_eq!(fit(&points(|n| n * n)), None);
        assert_eq!(fit(&points(|_| 0.0)), None);
    }
}
