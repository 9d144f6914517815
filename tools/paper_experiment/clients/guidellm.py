"""GuideLLM: worker processes around asyncio, a scheduler in the main process."""

from ..client import Client, Command, Reported, at, load_json, scaled

RESULT = "result.json"


def command(load, place, high):
    profile = f"kind=poisson,rate={load.amount}" if load.is_rate else f"kind=concurrent,streams={load.amount}"
    argv = [place.program, "run"]
    argv += ["--backend", f"kind=openai_http,target={place.url},model={place.model},request_format=/v1/completions"]
    argv += ["--profile", profile, "--constraint", f"kind=max_requests,count={load.requests}"]
    argv += ["--tokenizer", f"kind=huggingface_auto,model={place.tokenizer}"]
    argv += ["--data", f"kind=synthetic_text,prompt_tokens={load.input_tokens},output_tokens={load.tokens}"]
    argv += ["--output", f"kind=json,path={place.file(RESULT)}", "--disable-console-interactive"]
    env = {}
    if high:
        env = {"GUIDELLM__MAX_WORKER_PROCESSES": str(len(place.cores))}
    return Command(argv, env)


def read(folder, _stdout):
    benchmarks = load_json(folder, RESULT)["benchmarks"]
    metrics = benchmarks[0]["metrics"]

    def of(name, *path):
        return at(metrics, name, "successful", *path)

    return Reported(
        completed=at(metrics, "request_totals", "successful"), failed=at(metrics, "request_totals", "errored"),
        rate=of("requests_per_second", "mean"),
        ttft_mean=of("time_to_first_token_ms", "mean"), ttft_p99=of("time_to_first_token_ms", "percentiles", "p99"),
        # Its time_per_output_token has the prefill in it; its inter_token_latency is (last - first) / (N - 1).
        tpot_mean=of("inter_token_latency_ms", "mean"),
        e2e_mean=scaled(of("request_latency", "mean"), 1e3),
        e2e_p99=scaled(of("request_latency", "percentiles", "p99"), 1e3),
        late_mean=scaled(of("request_dispatch_delay", "mean"), 1e3),
    )


CLIENT = Client(
    name="guidellm", title="GuideLLM", environment="guidellm", command=command, read=read,
    high="GUIDELLM__MAX_WORKER_PROCESSES, one for each core (it takes 10)",
)
