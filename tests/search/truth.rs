//! The limits that searches must find, by means that share nothing with the engines: recursions in plain seconds, and closed forms.

use lowrho::random::{Purpose, Stream};

/// The rate at which a share `miss` of requests waits longer than `wait_s` before one of `servers` that each take `service_s`:
/// by bisection over long runs with the same random numbers. First come, first served, and all services alike, so request n
/// begins when it is there and request n - servers is done.
pub fn mdc_capacity(servers: usize, service_s: f64, wait_s: f64, miss: f64) -> f64 {
    let limit = f64::from(u32::try_from(servers).unwrap()) / service_s;
    let gaps: Vec<f64> = {
        let mut stream = Stream::new(99, Purpose::named("truth"), 0);
        (0..3_000_000).map(|_| stream.exponential()).collect()
    };
    let missed = |rate: f64| {
        let mut begins = vec![f64::NEG_INFINITY; servers];
        let (mut now, mut missed) = (0.0, 0_u32);
        for (n, gap) in gaps.iter().enumerate() {
            now += gap / rate;
            let before = &mut begins[n % servers];
            *before = f64::max(now, *before + service_s);
            missed += u32::from(*before - now > wait_s);
        }
        f64::from(missed) / 3_000_000.0
    };
    bisect(0.3 * limit, limit, |rate| missed(rate) <= miss)
}

/// The chance that a request of an M/D/1 queue waits longer than `wait` services, at this load (Erlang 1909).
pub fn md1_waits_longer(load: f64, wait: f64) -> f64 {
    let mut sum = 0.0;
    let mut k = 0.0;
    while k <= wait {
        let x = load * (k - wait);
        let mut term = libm::exp(-x);
        let mut n = 1.0;
        while n <= k {
            term *= x / n;
            n += 1.0;
        }
        sum += term;
        k += 1.0;
    }
    1.0 - (1.0 - load) * sum
}

/// The rate at which a share `miss` of first tokens comes later than `ttft_s`, of an engine in steps: simulated again with plain
/// counters in seconds.
pub fn batch_capacity(steps: &crate::steps::Steps, limit: f64, ttft_s: f64, miss: f64) -> f64 {
    bisect(0.3 * limit, limit, |rate| steps.late_share(rate, ttft_s, 300_000) <= miss)
}

fn bisect(mut low: f64, mut high: f64, holds: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..14 {
        let middle = f64::midpoint(low, high);
        if holds(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}

#[test]
fn the_recursion_agrees_with_erlangs_formula() {
    let capacity = mdc_capacity(1, 0.02, 0.06, 0.05);
    let there = md1_waits_longer(capacity * 0.02, 3.0);
    assert!((there / 0.05 - 1.0).abs() < 0.05, "{capacity}: {there}");
}
