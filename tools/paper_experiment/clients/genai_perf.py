"""NVIDIA's GenAI-Perf: a front end in Python to the C++ program perf_analyzer, which sends and stamps."""

from ..client import Client, Command, Reported, at, load_json

RESULT = "profile_export_genai_perf.json"


def command(load, place, _high):
    argv = [place.program, "profile", "-m", place.model, "--endpoint-type", "completions", "--streaming"]
    argv += ["--url", place.url.removeprefix("http://"), "--tokenizer", place.tokenizer]
    argv += ["--synthetic-input-tokens-mean", str(load.input_tokens), "--synthetic-input-tokens-stddev", "0"]
    argv += ["--output-tokens-mean", str(load.tokens), "--output-tokens-stddev", "0"]
    argv += ["--extra-inputs", f"max_tokens:{load.tokens}", "--extra-inputs", "ignore_eos:true"]
    argv += ["--request-count", str(load.requests), "--artifact-dir", place.folder]
    argv += ["--request-rate", str(load.amount)] if load.is_rate else ["--concurrency", str(load.amount)]
    return Command(argv)


def read(folder, _stdout):
    found = load_json(folder, RESULT)
    return Reported(
        completed=int(at(found, "request_count", "avg") or 0) or None, rate=at(found, "request_throughput", "avg"),
        ttft_mean=at(found, "time_to_first_token", "avg"), ttft_p99=at(found, "time_to_first_token", "p99"),
        tpot_mean=at(found, "inter_token_latency", "avg"),
        e2e_mean=at(found, "request_latency", "avg"), e2e_p99=at(found, "request_latency", "p99"),
    )


CLIENT = Client(
    name="genai-perf", title="GenAI-Perf", environment="genai-perf", command=command, read=read,
    arrivals="constant", ttft="first response, any",
)
