//! What the streams promise: the same bits for ever, no shared numbers, and the laws they are named for.

use super::*;

const TEST: Purpose = Purpose::named("test");

/// From a separate implementation of FNV-1a, `SplitMix64` and xoshiro256++ after their papers.
#[test]
fn the_first_numbers_of_a_stream_never_change() {
    for (seed, purpose, index, golden) in [
        (0, "test", 0, [0xc323_3ca5_e8ff_0b84, 0x4e30_9b65_612e_223e, 0xa7f4_4200_9869_ebf3_u64]),
        (42, "arrivals", 7, [0x94ed_7673_48c9_a46c, 0xb10a_7c46_1fa8_e093, 0x9660_de6b_6a04_6929]),
        (u64::MAX, "test", u64::MAX, [0x48c3_bd61_bafb_6283, 0x9070_1a69_d767_e3b6, 0x70fc_b43c_e1f9_47f0]),
    ] {
        let mut stream = Stream::new(seed, Purpose::named(purpose), index);
        assert_eq!(golden, [(); 3].map(|()| stream.next_u64()), "{seed} {purpose} {index}");
    }
}

/// Agreed with another implementation to the last digits of `f64` when recorded; a change of a bit here changes every published run, on one machine or between two.
#[test]
fn the_first_variates_of_a_stream_never_change() {
    let first = |draw: fn(&mut Stream) -> f64| {
        let mut stream = Stream::new(0, TEST, 0);
        [draw(&mut stream).to_bits(), draw(&mut stream).to_bits()]
    };
    let drawn = [
        first(Stream::uniform),
        first(Stream::exponential),
        first(Stream::normal),
        first(|s| s.gamma(0.25)),
        first(|s| s.gamma(4.0)),
    ];
    assert_eq!(
        drawn,
        [
            [0x3fe8_6467_94bd_1fe1, 0x3fd3_8c26_d958_4b88],
            [0x3ff6_fc29_0e5f_d928, 0x3fd7_5354_e1c4_0ba4],
            [0x3ff0_c628_8684_26bb, 0x3fda_55b4_91ec_d85e],
            [0x3ff3_bf77_237a_7818, 0x4004_305b_80f3_0b75],
            [0x4018_4051_b0ed_addb, 0x4001_1a77_0e04_8f18]
        ]
    );
}

#[test]
fn streams_of_other_seeds_purposes_and_indexes_differ_from_the_first_number_on() {
    let mut first = std::collections::HashSet::new();
    for seed in 0..20 {
        for purpose in ["a", "b", "c"] {
            for index in 0..200 {
                assert!(first.insert(Stream::new(seed, Purpose::named(purpose), index).next_u64()));
            }
        }
    }
}

/// The k-th numbers of neighbouring streams, taken as a sample, are as uniform as those within one stream.
#[test]
fn neighbouring_streams_are_not_correlated() {
    let n = 100_000;
    let firsts: Vec<f64> = (0..n).map(|i| Stream::new(0, TEST, i).uniform() - 0.5).collect();
    let product: f64 = firsts.windows(2).map(|pair| pair[0] * pair[1]).sum();
    // Var(XY) = 1/144 for uniforms of variance 1/12; five deviations of the sum.
    let bound = 5.0 * (100_000.0_f64 / 144.0).sqrt();
    assert!(product.abs() < bound, "{product} against {bound}");
}

#[test]
fn uniform_numbers_fill_the_unit_interval_and_stay_below_one() {
    let mut stream = Stream::new(0, TEST, 1);
    let mut bins = [0_u32; 64];
    for _ in 0..640_000 {
        let u = stream.uniform();
        assert!((0.0..1.0).contains(&u));
        bins[bin(u * 64.0)] += 1;
    }
    let chi2: f64 = bins.iter().map(|n| (f64::from(*n) - 1e4).powi(2) / 1e4).sum();
    // 63 degrees of freedom: mean 63, deviation 11.2; both tails at about 1 in 10^5.
    assert!((25.0..122.0).contains(&chi2), "{chi2}");
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a bin of a test")]
fn bin(x: f64) -> usize {
    x as usize
}

#[test]
fn a_choice_favours_no_candidate() {
    let mut stream = Stream::new(0, TEST, 2);
    let mut seen = [0_u32; 3];
    for _ in 0..300_000 {
        seen[usize::try_from(stream.below(3)).unwrap()] += 1;
    }
    // A binomial's deviation is 258; five of them.
    assert!(seen.iter().all(|n| n.abs_diff(100_000) < 1_290), "{seen:?}");
    assert_eq!(stream.below(1), 0);
    // A bound over half the range rejects nearly half of the draws, and still ends.
    assert!((0..1_000).all(|_| stream.below((1 << 63) + 1) <= 1 << 63));
}

/// Mean, variance, third central moment of `n` draws.
fn moments(n: u32, mut draw: impl FnMut() -> f64) -> [f64; 3] {
    let drawn: Vec<f64> = (0..n).map(|_| draw()).collect();
    let mean = drawn.iter().sum::<f64>() / f64::from(n);
    let central = |k: i32| drawn.iter().map(|x| (x - mean).powi(k)).sum::<f64>() / f64::from(n);
    [mean, central(2), central(3)]
}

#[test]
fn a_gamma_has_its_shape_as_mean_and_variance_below_one_too() {
    for shape in [0.05, 0.25, 0.9, 1.0, 2.5, 40.0] {
        let mut stream = Stream::new(0, TEST, 3);
        let [mean, variance, third] = moments(1_000_000, || stream.gamma(shape));
        // Cumulants of a gamma: k, k, 2k, 6k, 24k, 120k. Var(mean) = k/n, Var(variance) = (6k + 2k^2)/n,
        // Var(third) <= (m6 + 9 m2^3)/n with m6 = 120k + 130k^2 + 15k^3. Five deviations each.
        let (k, n) = (shape, 1e6);
        let m6 = 120.0 * k + 130.0 * k * k + 15.0 * k * k * k;
        assert!((mean - k).abs() < 5.0 * (k / n).sqrt(), "shape {k}: mean {mean}");
        assert!((variance - k).abs() < 5.0 * ((6.0 * k + 2.0 * k * k) / n).sqrt(), "shape {k}: {variance}");
        assert!((third - 2.0 * k).abs() < 5.0 * ((m6 + 9.0 * k * k * k) / n).sqrt(), "shape {k}: {third}");
    }
}

/// Kolmogorov-Smirnov distance of `n` draws from a distribution function, times sqrt(n).
fn distance(n: u32, mut draw: impl FnMut() -> f64, below: impl Fn(f64) -> f64) -> f64 {
    let mut drawn: Vec<f64> = (0..n).map(|_| draw()).collect();
    drawn.sort_by(f64::total_cmp);
    let worst = drawn.iter().zip(0_u32..).map(|(x, i)| {
        let (p, i) = (below(*x), f64::from(i));
        (p - i / f64::from(n)).max((i + 1.0) / f64::from(n) - p)
    });
    worst.fold(0.0, f64::max) * f64::from(n).sqrt()
}

/// P(sqrt(n) D > 2.3) = 2 exp(-2 2.3^2) = 5 in 100,000.
const DISTANCE_LIMIT: f64 = 2.3;

#[test]
fn exponentials_and_normals_follow_their_distribution_functions() {
    let mut stream = Stream::new(0, TEST, 4);
    let exponential = distance(100_000, || stream.exponential(), |x| -libm::expm1(-x));
    assert!(exponential < DISTANCE_LIMIT, "{exponential}");
    let normal = distance(100_000, || stream.normal(), |x| libm::erfc(-x / std::f64::consts::SQRT_2) / 2.0);
    assert!(normal < DISTANCE_LIMIT, "{normal}");
}

#[test]
fn a_gamma_of_shape_two_follows_the_erlang_law() {
    let mut stream = Stream::new(0, TEST, 5);
    let gamma = distance(100_000, || stream.gamma(2.0), |x| 1.0 - (1.0 + x) * libm::exp(-x));
    assert!(gamma < DISTANCE_LIMIT, "{gamma}");
    // And one of shape 1/2, which is half the square of a normal.
    let gamma = distance(100_000, || stream.gamma(0.5), |x| libm::erf(libm::sqrt(x)));
    assert!(gamma < DISTANCE_LIMIT, "{gamma}");
}
