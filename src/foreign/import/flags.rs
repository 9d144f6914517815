//! The options of `vllm bench serve` 0.33.0: how many words each takes, and what each is here if it is nothing to map.
//!
//! It must not give an option a meaning of ours: `vllm` does.

/// How many words follow an option.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Takes {
    /// None.
    Nothing,
    /// One.
    One,
    /// All up to the next option.
    Many,
}

/// What becomes of an option that is not mapped.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Fate {
    /// It is mapped.
    Mapped,
    /// It needs no saying: why.
    Unneeded(&'static str),
    /// It cannot be said: why, or what to do.
    Missing(&'static str),
}

use Fate::{Mapped, Missing, Unneeded};
use Takes::{Many, Nothing, One};

const ALL_TOLD: &str = "every metric and quantile is always told";
const NO_TOKENIZER: &str = "lowrho has no tokenizer: lengths are the server's counts";
const EXPORT: &str =
    "a run always leaves a results directory; lowrho export DIR --as vllm writes this format";
const DATA: &str = "this data set is not read; --prompts takes a file of prompts";
const MEDIA: &str = "images, audio and video are not sent";

/// Every option, without its dashes.
pub(super) const FLAGS: &[(&str, Takes, Fate)] = &[
    ("append-result", Nothing, Unneeded(EXPORT)),
    ("asr-max-audio-len-sec", One, Missing(MEDIA)),
    ("asr-min-audio-len-sec", One, Missing(MEDIA)),
    ("backend", One, Mapped),
    ("base-url", One, Mapped),
    ("best-of", One, Unneeded("one answer is asked for")),
    ("bfcl-categories", Many, Missing(DATA)),
    ("blazedit-max-distance", One, Missing(DATA)),
    ("blazedit-min-distance", One, Missing(DATA)),
    ("burstiness", One, Mapped),
    ("chat-template-kwargs", One, Mapped),
    ("custom-ensure-client-side-data", Nothing, Missing(DATA)),
    ("custom-output-len", One, Mapped),
    ("dataset-name", One, Mapped),
    ("dataset-path", One, Mapped),
    ("disable-shuffle", Nothing, Unneeded("prompts are sent in the file's order")),
    ("disable-tqdm", Nothing, Mapped),
    ("enable-multimodal-chat", Nothing, Missing(MEDIA)),
    ("endpoint", One, Mapped),
    ("extra-body", One, Mapped),
    ("frequency-penalty", One, Mapped),
    ("goodput", Many, Mapped),
    ("header", Many, Mapped),
    ("hf-name", One, Missing(DATA)),
    ("hf-output-len", One, Missing(DATA)),
    ("hf-split", One, Missing(DATA)),
    ("hf-subset", One, Missing(DATA)),
    ("host", One, Mapped),
    ("ignore-eos", Nothing, Mapped),
    ("input-len", One, Mapped),
    ("insecure", Nothing, Mapped),
    ("label", One, Mapped),
    ("logprobs", One, Mapped),
    ("lora-assignment", One, Missing("one model is driven")),
    ("lora-modules", Many, Missing("one model is driven")),
    ("max-concurrency", One, Mapped),
    ("metadata", Many, Mapped),
    ("metric-percentiles", One, Unneeded(ALL_TOLD)),
    ("min-p", One, Mapped),
    ("model", One, Mapped),
    (
        "no-oversample",
        Nothing,
        Missing("a file's prompts are sent again from its start when they are used up"),
    ),
    ("no-reranker", Nothing, Missing(DATA)),
    ("no-stream", Nothing, Missing("answers are streamed")),
    ("num-prompts", One, Mapped),
    ("num-warmups", One, Mapped),
    ("output-len", One, Mapped),
    ("percentile-metrics", One, Unneeded(ALL_TOLD)),
    ("plot-dataset-stats", Nothing, Missing("no such plot")),
    ("plot-timeline", Nothing, Unneeded("report.html has the course of the run")),
    ("port", One, Mapped),
    ("prefix-repetition-num-prefixes", One, Missing(DATA)),
    ("prefix-repetition-output-len", One, Missing(DATA)),
    ("prefix-repetition-prefix-len", One, Missing(DATA)),
    ("prefix-repetition-suffix-len", One, Missing(DATA)),
    ("presence-penalty", One, Mapped),
    ("probe-request-rate", One, Missing("the probe runs before the load, not beside it")),
    ("profile", Nothing, Missing("the server's profiler is not started")),
    ("ramp-up-end-rps", One, Mapped),
    ("ramp-up-start-rps", One, Mapped),
    ("ramp-up-strategy", One, Mapped),
    ("random-batch-size", One, Missing(DATA)),
    ("random-input-len", One, Mapped),
    ("random-mm-base-items-per-request", One, Missing(MEDIA)),
    ("random-mm-bucket-config", One, Missing(MEDIA)),
    ("random-mm-limit-mm-per-prompt", One, Missing(MEDIA)),
    ("random-mm-num-mm-items-range-ratio", One, Missing(MEDIA)),
    ("random-output-len", One, Mapped),
    ("random-prefix-len", One, Mapped),
    ("random-range-ratio", One, Mapped),
    ("ready-check-timeout-sec", One, Mapped),
    ("repetition-penalty", One, Mapped),
    ("request-id-prefix", One, Missing("x-request-id is RUN-INDEX")),
    ("request-rate", One, Mapped),
    ("result-dir", One, Unneeded(EXPORT)),
    ("result-filename", One, Unneeded(EXPORT)),
    ("save-detailed", Nothing, Unneeded("records.jsonl has a row of every request")),
    ("save-result", Nothing, Unneeded(EXPORT)),
    ("seed", One, Mapped),
    ("self-timed", Nothing, Missing("a trace's own times are not read")),
    ("no-self-timed", Nothing, Unneeded("a trace's own times are not read")),
    ("served-model-name", One, Mapped),
    ("sharegpt-output-len", One, Missing(DATA)),
    ("skip-chat-template", Nothing, Unneeded("prompts are sent as they are")),
    ("skip-tokenizer-init", Nothing, Unneeded(NO_TOKENIZER)),
    ("sonnet-input-len", One, Missing(DATA)),
    ("sonnet-output-len", One, Missing(DATA)),
    ("sonnet-prefix-len", One, Missing(DATA)),
    ("spec-bench-category", One, Missing(DATA)),
    ("spec-bench-output-len", One, Missing(DATA)),
    ("speed-bench-category", One, Missing(DATA)),
    ("speed-bench-dataset-subset", One, Missing(DATA)),
    ("speed-bench-output-len", One, Missing(DATA)),
    ("temperature", One, Mapped),
    ("timed-trace-chunk-hash-size", One, Missing(DATA)),
    ("timed-trace-label-hash-ids", One, Missing(DATA)),
    ("timed-trace-label-input-length", One, Missing(DATA)),
    ("timed-trace-label-output-length", One, Missing(DATA)),
    ("timed-trace-label-timestamp", One, Missing(DATA)),
    ("timed-trace-sec-multiplier", One, Missing(DATA)),
    ("timeline-itl-thresholds", One, Unneeded(ALL_TOLD)),
    ("tokenizer", One, Unneeded(NO_TOKENIZER)),
    ("tokenizer-mode", One, Unneeded(NO_TOKENIZER)),
    ("top-k", One, Mapped),
    ("top-p", One, Mapped),
    ("trust-remote-code", Nothing, Unneeded(NO_TOKENIZER)),
    ("use-beam-search", Nothing, Missing(SERVER_SIDE)),
    ("use-chat-template", Nothing, Missing("chat templates are the server's: drive its chat API")),
];

const SERVER_SIDE: &str = "say it by --extra-body, if the server knows it";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_is_there_once() {
        let mut names: Vec<&str> = FLAGS.iter().map(|(name, _, _)| *name).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }
}
