//! The latency limits of MLPerf Inference 6.1 for its server scenarios of language models, as service levels.
//!
//! It must not claim a result: accuracy, data set and submission are none of ours.

use crate::time::Span;

/// (preset, TTFT, TPOT) in milliseconds, of the rules' table. First tokens count from the scheduled time.
const TOKENS: [(&str, u32, u32); 13] = [
    ("llama2-70b-server", 2_000, 200),
    ("llama2-70b-interactive", 450, 40),
    ("mixtral-8x7b-server", 2_000, 200),
    ("llama3.1-8b-server", 2_000, 100),
    ("llama3.1-8b-interactive", 500, 30),
    ("llama3.1-405b-server", 6_000, 175),
    ("llama3.1-405b-interactive", 4_500, 80),
    ("deepseek-r1-server", 2_000, 80),
    ("deepseek-r1-interactive", 1_500, 15),
    ("gpt-oss-120b-server", 3_000, 80),
    // The rules say 20, mlperf.conf says 15: what passes the stricter passes both.
    ("gpt-oss-120b-interactive", 2_000, 15),
    ("gptj-server", 0, 0),
    ("qwen3-vl-235b-a22b-server", 0, 0),
];

/// The end-to-end limits of those that bound no tokens, in milliseconds.
const WHOLE: [(&str, u32); 2] = [("gptj-server", 20_000), ("qwen3-vl-235b-a22b-server", 12_000)];

/// The shortest window, on the schedule.
pub(super) const DURATION: Span = Span::from_s(600);

/// Early stopping asks for 99 % confidence.
pub(super) const ALPHA: f64 = 0.01;

/// The terms of a preset.
pub(super) fn terms(preset: &str) -> Option<String> {
    if let Some((_, e2e)) = WHOLE.iter().find(|(name, _)| *name == preset) {
        return Some(format!("e2e_due_p99<={e2e}ms"));
    }
    let (_, ttft, tpot) = TOKENS.iter().find(|(name, ..)| *name == preset)?;
    Some(format!("ttft_due_p99<={ttft}ms,tpot_p99<={tpot}ms"))
}

/// Every preset.
pub(super) fn presets() -> Vec<&'static str> {
    TOKENS.iter().map(|(name, ..)| *name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::Slo;

    #[test]
    fn every_preset_is_service_levels_counted_from_the_schedule() {
        for preset in presets() {
            let terms = terms(preset).unwrap();
            assert!(terms.contains("_due_p99<="), "{preset}: {terms}");
            assert!(!terms.contains("<=0ms") && terms.parse::<Slo>().is_ok(), "{preset}: {terms}");
        }
        assert_eq!(terms("llama2-70b-server").as_deref(), Some("ttft_due_p99<=2000ms,tpot_p99<=200ms"));
        assert_eq!(terms("gptj-server").as_deref(), Some("e2e_due_p99<=20000ms"));
        assert_eq!(terms("bert"), None);
    }
}
