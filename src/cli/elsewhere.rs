//! What the flags of other load generators are called here, for whoever types them out of habit.
//!
//! It must not take such a flag: values differ, and a guess would send another load than was meant.

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// A flag of other tools, without its dashes: whose it is, and what does it here.
const FLAGS: [(&str, &str, &str); 24] = [
    ("request-rate", "vllm bench serve", "--rate"),
    ("num-prompts", "vllm bench serve", "--requests"),
    ("base-url", "vllm bench serve", "--url"),
    ("host", "vllm bench serve", "--url, as in --url http://127.0.0.1:8000"),
    ("port", "vllm bench serve", "--url, as in --url http://127.0.0.1:8000"),
    ("backend", "vllm bench serve", "--api"),
    ("burstiness", "vllm bench serve", "--arrival gamma:SHAPE"),
    ("goodput", "vllm bench serve", "--slo"),
    ("num-warmups", "vllm bench serve", "--warmup, a span of time"),
    ("random-input-len", "vllm bench serve", "--input-tokens"),
    ("random-output-len", "vllm bench serve", "--output-tokens"),
    ("dataset-path", "vllm bench serve", "--prompts, a file of JSON lines"),
    ("result-dir", "vllm bench serve", "--out"),
    ("save-result", "vllm bench serve", "lowrho export DIR --as vllm after the run"),
    ("vus", "k6", "--concurrency"),
    ("iterations", "k6", "--requests"),
    ("summary-export", "k6", "lowrho export DIR --as k6 after the run"),
    ("target", "GuideLLM", "--url"),
    ("max-seconds", "GuideLLM", "--duration"),
    ("max-requests", "GuideLLM", "--requests"),
    ("request-count", "AIPerf", "--requests"),
    ("benchmark-duration", "AIPerf", "--duration"),
    ("synthetic-input-tokens-mean", "AIPerf", "--input-tokens"),
    ("output-tokens-mean", "AIPerf", "--output-tokens"),
];

/// The same error; for an unknown flag that another tool has, with what it is here in place of a flag that is only spelt alike.
pub(super) fn explained(mut error: clap::Error) -> clap::Error {
    let unknown = match (error.kind(), error.get(ContextKind::InvalidArg)) {
        (ErrorKind::UnknownArgument, Some(ContextValue::String(flag))) => {
            flag.trim_start_matches("--").to_owned()
        }
        _ => return error,
    };
    let name = unknown.split(['=', ' ']).next().unwrap_or_default();
    let Some((flag, tool, here)) = FLAGS.iter().find(|(flag, ..)| *flag == name) else { return error };
    // The usage is that of the flag that was suggested.
    for misleading in [ContextKind::SuggestedArg, ContextKind::TrailingArg, ContextKind::Usage] {
        error.remove(misleading);
    }
    let mut tips = vec![format!("--{flag} of {tool} is here {here}").into()];
    if *tool == "vllm bench serve" {
        tips.push(
            "lowrho import-config -- vllm bench serve ... makes a config file of a whole command line".into(),
        );
    }
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
    error
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::shape;

    fn said(arguments: &str) -> String {
        let parsed = shape::command(false).try_get_matches_from(arguments.split_whitespace());
        explained(parsed.expect_err(arguments)).to_string()
    }

    #[test]
    fn a_flag_of_another_tool_is_led_to_ours() {
        let error = said("lowrho run --request-rate 5");
        assert!(error.contains("--request-rate of vllm bench serve is here --rate"), "{error}");
        assert!(
            !error.contains("similar") && !error.contains("--requests") && error.contains("import-config"),
            "{error}"
        );
        assert!(said("lowrho run --num-prompts=5").contains("is here --requests"));
        assert!(said("lowrho run --vus 5").contains("--vus of k6 is here --concurrency"));
    }

    #[test]
    fn a_typing_error_keeps_its_tip() {
        assert!(said("lowrho run --duratoin 5s").contains("'--duration'"));
    }

    #[test]
    fn what_is_pointed_to_exists_and_what_is_pointed_from_does_not() {
        let command = shape::command(true);
        let run = command.find_subcommand("run").unwrap();
        let has = |long: &str| run.get_arguments().any(|arg| arg.get_long() == Some(long));
        for (flag, _, here) in FLAGS {
            assert!(!has(flag), "--{flag} is ours");
            if let Some(ours) = here.strip_prefix("--") {
                assert!(has(ours.split([' ', ',']).next().unwrap()), "{here}");
            }
        }
    }
}
