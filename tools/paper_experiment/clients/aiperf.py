"""NVIDIA's AIPerf: worker processes for the requests, others for the records, ZeroMQ between them."""

from ..client import Client, Command, Reported, at, load_json

RESULT = "profile_export_aiperf.json"


def command(load, place, high):
    argv = [place.program, "profile", "-m", place.model, "--url", place.url, "--endpoint-type", "completions"]
    # Without a network it takes a tokenizer only by a name of the Hugging Face cache.
    argv += ["--streaming", "--tokenizer", "local/tok", "--request-count", str(load.requests)]
    argv += ["--isl", str(load.input_tokens), "--isl-stddev", "0", "--osl", str(load.tokens), "--osl-stddev", "0"]
    argv += ["--extra-inputs", "ignore_eos:true", "--extra-inputs", f"min_tokens:{load.tokens}"]
    argv += ["--use-server-token-count", "--no-server-metrics", "--no-gpu-telemetry", "--ui", "none"]
    argv += ["--artifact-dir", place.folder]
    argv += ["--request-rate", str(load.amount)] if load.is_rate else ["--concurrency", str(load.amount)]
    env = {}
    if high:
        argv += ["--workers-max", str(workers(len(place.cores)))]
        env = {"AIPERF_HTTP_CONNECTION_LIMIT": "5000", "AIPERF_RECORD_PROCESSOR_SCALE_FACTOR": "2"}
    return Command(argv, env)


def workers(cores):
    return 2 * cores


def read(folder, _stdout):
    found = load_json(folder, RESULT)
    return Reported(
        completed=int(found["request_count"]["avg"]), failed=int(at(found, "error_request_count", "avg") or 0),
        rate=at(found, "request_throughput", "avg"),
        ttft_mean=at(found, "time_to_first_token", "avg"), ttft_p99=at(found, "time_to_first_token", "p99"),
        tpot_mean=at(found, "inter_token_latency", "avg"),
        e2e_mean=at(found, "request_latency", "avg"), e2e_p99=at(found, "request_latency", "p99"),
    )


CLIENT = Client(
    name="aiperf", title="AIPerf", environment="aiperf", command=command, read=read,
    high="--workers-max twice the cores, AIPERF_HTTP_CONNECTION_LIMIT=5000, AIPERF_RECORD_PROCESSOR_SCALE_FACTOR=2",
)
