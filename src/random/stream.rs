//! One stream of random numbers for each (seed, purpose, index), and the variates drawn from it.
//! It must not depend on anything that may differ between machines: `ln`, `exp` and their kin come from `libm`.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// What a stream is for. Two purposes share no numbers, so that drawing more for one changes nothing of another.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct Purpose(u64);

impl Purpose {
    /// The purpose of this name. Names are part of what makes a run repeatable: never rename one.
    #[must_use]
    pub const fn named(name: &str) -> Self {
        // FNV-1a, 64 bits: usable in a constant.
        let bytes = name.as_bytes();
        let mut hash: u64 = 0xCBF2_9CE4_8422_2325;
        let mut i = 0;
        while i < bytes.len() {
            hash = (hash ^ bytes[i] as u64).wrapping_mul(0x0000_0100_0000_01B3);
            i += 1;
        }
        Self(hash)
    }
}

/// The increment of `SplitMix64`: 2^64 over the golden ratio, odd.
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// The finalizer of `SplitMix64` (Steele, Lea, Flood 2014): a bijection in which every bit depends on every other.
const fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// A stream of random numbers: xoshiro256++, seeded by `SplitMix64` as its authors advise.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stream(Xoshiro256PlusPlus);

impl Stream {
    /// The stream of (seed, purpose, index). For one seed and purpose, different indexes never share a stream.
    #[must_use]
    pub fn new(seed: u64, purpose: Purpose, index: u64) -> Self {
        let mut state = Self::key(seed, purpose, index);
        let mut bytes = [0; 32];
        for word in bytes.chunks_exact_mut(8) {
            state = state.wrapping_add(GOLDEN);
            word.copy_from_slice(&mix(state).to_le_bytes());
        }
        Self(Xoshiro256PlusPlus::from_seed(bytes))
    }

    /// 64 bits that name (seed, purpose, index): for one seed and purpose, a bijection of the index.
    #[must_use]
    pub const fn key(seed: u64, purpose: Purpose, index: u64) -> u64 {
        let room = mix(mix(seed.wrapping_add(GOLDEN)) ^ purpose.0);
        mix(room ^ mix(index.wrapping_add(GOLDEN)))
    }

    /// 64 bits, each as likely 0 as 1.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform in [0, 1): a multiple of 2^-53, the finest that all have in common.
    #[inline]
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit the mantissa")]
    pub fn uniform(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / 9_007_199_254_740_992.0)
    }

    /// A whole number in `0..bound`, each as likely (Lemire 2019, with rejection: no bias).
    ///
    /// # Panics
    /// When `bound` is 0: there is nothing to choose from.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        assert!(bound > 0, "a choice needs at least one candidate");
        loop {
            let wide = u128::from(self.next_u64()) * u128::from(bound);
            let [high, low] = [wide >> 64, wide & u128::from(u64::MAX)];
            // The lowest 2^64 mod bound low halves would favour some results; the division is rarely needed.
            if low >= u128::from(bound) || low >= u128::from(bound.wrapping_neg() % bound) {
                return u64::try_from(high).expect("the product is below bound * 2^64");
            }
        }
    }

    /// Exponential with mean 1.
    #[inline]
    pub fn exponential(&mut self) -> f64 {
        // 1 - u lies in (0, 1], so that the logarithm is finite.
        -libm::log(1.0 - self.uniform())
    }

    /// Normal with mean 0 and deviation 1 (Marsaglia's polar method). The second variate of each pair is thrown away,
    /// so that a stream has no state besides its generator.
    pub fn normal(&mut self) -> f64 {
        loop {
            let x = 2.0 * self.uniform() - 1.0;
            let y = 2.0 * self.uniform() - 1.0;
            let r2 = x * x + y * y;
            if r2 > 0.0 && r2 < 1.0 {
                return x * libm::sqrt(-2.0 * libm::log(r2) / r2);
            }
        }
    }

    /// Gamma with this shape and scale 1: mean and variance are both `shape` (Marsaglia and Tsang 2000).
    ///
    /// # Panics
    /// When `shape` is not positive and finite.
    pub fn gamma(&mut self, shape: f64) -> f64 {
        assert!(shape > 0.0 && shape.is_finite(), "a gamma's shape is positive, not {shape}");
        if shape < 1.0 {
            // The paper's section 6: a gamma of shape + 1, times U^(1/shape).
            let boosted = self.gamma(shape + 1.0);
            return boosted * libm::pow(1.0 - self.uniform(), 1.0 / shape);
        }
        let d = shape - 1.0 / 3.0;
        let c = 1.0 / libm::sqrt(9.0 * d);
        loop {
            let x = self.normal();
            let v = 1.0 + c * x;
            if v <= 0.0 {
                continue;
            }
            let v = v * v * v;
            let u = 1.0 - self.uniform();
            if u < 1.0 - 0.0331 * x * x * x * x || libm::log(u) < 0.5 * x * x + d * (1.0 - v + libm::log(v)) {
                return d * v;
            }
        }
    }
}

#[cfg(test)]
mod tests;
