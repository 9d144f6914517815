//! What a server says of itself on its page of metrics: vLLM's names and SGLang's.
//!
//! It must not fetch the page.

/// Requests that run.
const RUNNING: [&str; 2] = ["vllm:num_requests_running", "sglang:num_running_reqs"];
/// Requests that wait.
const WAITING: [&str; 2] = ["vllm:num_requests_waiting", "sglang:num_queue_reqs"];
/// The share of the KV cache that is taken.
const CACHE: [&str; 3] = ["vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc", "sglang:token_usage"];
/// Requests whose cache was taken away from them.
const PREEMPTIONS: [&str; 2] = ["vllm:num_preemptions_total", "sglang:num_retracted_reqs_total"];

/// From this share on a cache has no room for one request more.
const FULL: f64 = 0.95;

/// A page's sums over engines; `None` where it does not say.
#[derive(Copy, Clone, PartialEq, Default, Debug)]
pub(super) struct Gauges {
    pub(super) running: Option<f64>,
    pub(super) waiting: Option<f64>,
    /// The fullest engine's.
    cache: Option<f64>,
    preemptions: Option<f64>,
}

impl Gauges {
    /// Reads a page of metrics.
    pub(super) fn read(page: &str) -> Self {
        let mut gauges = Self::default();
        for line in page.lines().filter(|line| !line.starts_with('#')) {
            let Some(name) = line.split(['{', ' ']).next() else { continue };
            let Some(value) = line.rsplit(' ').next().and_then(|value| value.parse::<f64>().ok()) else {
                continue;
            };
            let add = |sum: &mut Option<f64>| *sum = Some(sum.unwrap_or(0.0) + value);
            if RUNNING.contains(&name) {
                add(&mut gauges.running);
            } else if WAITING.contains(&name) {
                add(&mut gauges.waiting);
            } else if PREEMPTIONS.contains(&name) {
                add(&mut gauges.preemptions);
            } else if CACHE.contains(&name) {
                gauges.cache = Some(gauges.cache.map_or(value, |fullest| fullest.max(value)));
            }
        }
        gauges
    }

    /// Requests that run or wait.
    pub(super) fn busy(&self) -> Option<f64> {
        Some(self.running? + self.waiting.unwrap_or(0.0))
    }

    /// What bounds a server that says this under overload, `before` being what it said idle.
    pub(super) fn limit(&self, before: &Self) -> Option<String> {
        let waiting = self.waiting.filter(|waiting| *waiting > 0.0);
        let mut words = Vec::new();
        if let Some(cache) = self.cache.filter(|cache| *cache >= FULL) {
            words.push(format!("its KV cache is {:.0} % full", cache * 100.0));
        }
        if let (Some(now), Some(then)) = (self.preemptions, before.preemptions)
            && now > then
        {
            words.push(format!("it preempted {:.0} times", now - then));
        }
        // Who waits though the cache has room waits for a place among the running.
        if let (Some(running), Some(waiting), true) = (self.running, waiting, words.is_empty()) {
            words.push(format!("{running:.0} run at once, its maximum, and {waiting:.0} wait"));
        }
        (!words.is_empty()).then(|| words.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn running_and_waiting_are_added_up_over_engines() {
        let page = "# HELP vllm:num_requests_running Number\n# TYPE vllm:num_requests_running gauge\n\
                    vllm:num_requests_running{engine=\"0\",model_name=\"a b\"} 3.0\n\
                    vllm:num_requests_running{engine=\"1\",model_name=\"a b\"} 2.0\n\
                    vllm:num_requests_waiting{engine=\"0\"} 7.0\nvllm:num_requests_waiting_by_reason{r=\"x\"} 9.0\n\
                    vllm:prompt_tokens_total{engine=\"0\"} 800.0\n";
        assert_eq!(Gauges::read(page).busy(), Some(12.0));
        assert_eq!(Gauges::read("sglang:num_running_reqs 4\nsglang:num_queue_reqs 1\n").busy(), Some(5.0));
        assert_eq!(Gauges::read("up 1\n"), Gauges::default());
    }

    #[test]
    fn the_limit_is_named_by_what_is_short() {
        let page = |running: u32, waiting: u32, cache: f64, preempted: u32| {
            Gauges::read(&format!(
                "vllm:num_requests_running 9\nvllm:num_requests_running {running}\nvllm:num_requests_waiting {waiting}\n\
                 vllm:kv_cache_usage_perc {cache}\nvllm:num_preemptions_total {preempted}\n"
            ))
        };
        let idle = page(0, 0, 0.0, 5);
        assert_eq!(
            page(55, 300, 0.4, 5).limit(&idle).as_deref(),
            Some("64 run at once, its maximum, and 300 wait")
        );
        assert_eq!(
            page(30, 300, 0.99, 17).limit(&idle).as_deref(),
            Some("its KV cache is 99 % full, it preempted 12 times")
        );
        assert_eq!(page(30, 0, 0.4, 5).limit(&idle), None);
    }
}
