"""`vllm bench serve`: vLLM's client in Python, one asyncio process, and the one in Rust that is in the same wheel."""

from ..client import Client, Command, Reported, load_json, one

RESULT = "result.json"


def options(load, place):
    """What its options are called in vLLM's client and in those that came from it."""
    argv = ["--base-url", place.url, "--endpoint", "/v1/completions", "--model", place.model]
    argv += ["--tokenizer", place.tokenizer, "--dataset-name", "random", "--num-prompts", str(load.requests)]
    argv += ["--random-input-len", str(load.input_tokens), "--random-output-len", str(load.tokens), "--ignore-eos"]
    argv += ["--percentile-metrics", "ttft,tpot,itl,e2el", "--metric-percentiles", "50,99", "--disable-tqdm"]
    argv += ["--save-result", "--result-dir", place.folder, "--result-filename", RESULT]
    if load.is_rate:
        return [*argv, "--request-rate", str(load.amount)]
    return [*argv, "--max-concurrency", str(load.amount)]


def command(load, place, _high):
    return Command([place.program, "bench", "serve", "--backend", "openai", *options(load, place)])


def rust(load, place, high):
    return Command(command(load, place, high).argv, {"VLLM_USE_RUST_BENCH": "1"})


def read(folder, _stdout):
    found = load_json(folder, RESULT)
    return Reported(
        completed=found["completed"], failed=found.get("failed"), rate=found["request_throughput"],
        ttft_mean=found["mean_ttft_ms"], ttft_p99=found.get("p99_ttft_ms"), tpot_mean=found.get("mean_tpot_ms"),
        e2e_mean=found.get("mean_e2el_ms"), e2e_p99=found.get("p99_e2el_ms"),
    )


CLIENT = Client(
    name="vllm", title="vLLM bench serve", environment="vllm", command=command, read=read, spreads=one,
    ttft="first event with choices",
)

RUST = Client(
    name="vllm-rust", title="vLLM bench serve, Rust", environment="vllm", command=rust, read=read,
    ttft="first event with choices",
)
