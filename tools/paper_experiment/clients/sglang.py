"""SGLang's `bench_serving`: the client in Python, one asyncio process, and the one in Rust that is in the same wheel."""

from ..client import Client, Command, Reported, last_line, one

RESULT = "result.jsonl"


def options(load, place):
    argv = ["--backend", "vllm", "--base-url", place.url, "--model", place.model, "--tokenizer", place.tokenizer]
    argv += ["--dataset-name", "random-ids", "--num-prompts", str(load.requests)]
    argv += ["--random-input-len", str(load.input_tokens), "--random-output-len", str(load.tokens)]
    argv += ["--random-range-ratio", "1.0", "--warmup-requests", "1", "--output-file", place.file(RESULT)]
    argv += ["--disable-tqdm"]
    if load.is_rate:
        return [*argv, "--request-rate", str(load.amount)]
    return [*argv, "--max-concurrency", str(load.amount)]


def command(load, place, _high):
    return Command([place.program, "-m", "sglang.benchmark.serving", *options(load, place)])


def rust(load, place, high):
    argv = [place.program, "-m", "sglang.benchmark.rust_client", *options(load, place)]
    if high:
        argv += ["--worker-threads", str(len(place.cores)), "--disable-retokenize"]
    return Command(argv)


def read(folder, _stdout):
    found = last_line(folder, RESULT)
    return Reported(
        completed=found["completed"], rate=found["request_throughput"],
        ttft_mean=found["mean_ttft_ms"], ttft_p99=found["p99_ttft_ms"], tpot_mean=found["mean_tpot_ms"],
        e2e_mean=found["mean_e2e_latency_ms"], e2e_p99=found.get("p99_e2e_latency_ms"),
    )


CLIENT = Client(
    name="sglang", title="SGLang bench_serving", environment="sglang", command=command, read=read, spreads=one,
    ttft="first text; a new connection is in it",
)

RUST = Client(
    name="sglang-rust", title="SGLang bench_serving, Rust", environment="sglang", command=rust, read=read,
    high="--worker-threads, one for each core, --disable-retokenize", ttft="first text",
)
