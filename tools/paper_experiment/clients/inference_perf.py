"""inference-perf of Kubernetes' serving group: worker processes around asyncio that take due requests from one queue."""

import json

from ..client import Client, Command, Reported, at, load_json, scaled


def settings(load, place, high):
    if load.is_rate:
        shape = {"type": "constant", "stages": [{"rate": load.amount, "duration": load.seconds}]}
    else:
        stage = {"num_requests": load.requests, "concurrency_level": load.amount}
        shape = {"type": "concurrent", "stages": [stage]}
    if high:
        shape |= {"num_workers": workers(len(place.cores)), "worker_max_tcp_connections": 2500}
        if load.is_rate:
            shape |= {"worker_max_concurrency": 1000}

    def fixed(tokens):
        return {"min": tokens, "max": tokens, "mean": tokens, "std_dev": 0, "total_count": load.requests + 10}

    return {
        "load": shape,
        "api": {"type": "completion", "streaming": True},
        "server": {"type": "vllm", "model_name": place.model, "base_url": place.url, "ignore_eos": True},
        "tokenizer": {"pretrained_model_name_or_path": place.tokenizer},
        "data": {"type": "random", "input_distribution": fixed(load.input_tokens),
                 "output_distribution": fixed(load.tokens)},
        "storage": {"local_storage": {"path": place.file("out")}},
    }


def workers(cores):
    return 4 * cores


def command(load, place, high):
    # What is JSON is YAML too.
    with open(place.file("config.yml"), "w", encoding="utf-8") as file:
        json.dump(settings(load, place, high), file)
    return Command([place.program, "-c", place.file("config.yml")])


def read(folder, _stdout):
    found = load_json(folder, "out/summary_lifecycle_metrics.json")
    latency = at(found, "successes", "latency") or {}

    def ms(*path):
        return scaled(at(latency, *path), 1e3)

    return Reported(
        completed=at(found, "successes", "count"), failed=at(found, "failures", "count"),
        rate=at(found, "successes", "throughput", "requests_per_sec"),
        ttft_mean=ms("time_to_first_token", "mean"), ttft_p99=ms("time_to_first_token", "p99"),
        tpot_mean=ms("time_per_output_token", "mean"),
        e2e_mean=ms("request_latency", "mean"), e2e_p99=ms("request_latency", "p99"),
        late_mean=scaled(at(found, "load_summary", "schedule_delay", "mean"), 1e3),
    )


CLIENT = Client(
    name="inference-perf", title="inference-perf", environment="inference-perf", command=command, read=read,
    high="num_workers four times the cores, worker_max_concurrency 1000",
    arrivals="random (its `constant`)",
)
