"""lowrho itself."""

from ..client import Client, Command, Reported, at, load_json, scaled


def command(load, place, high):
    argv = [place.program, "run", "--url", place.url, "--api", "completions", "--model", place.model]
    argv += ["--requests", str(load.requests), "--input-tokens", str(load.input_tokens)]
    argv += ["--output-tokens", str(load.tokens), "--cpus", ",".join(map(str, place.cores))]
    argv += ["--quiet", "--out", place.file("out")]
    argv += ["--rate", str(load.amount)] if load.is_rate else ["--concurrency", str(load.amount)]
    if high:
        argv += ["--records", "none", "--shards", str(len(place.cores))]
    # Not this user's capacity card: what the defaults do depends on it.
    return Command(argv, {"XDG_CONFIG_HOME": place.folder})


def read(folder, _stdout):
    summary = load_json(folder, "out/summary.json")
    latency, load = summary["latency"], summary["load"]

    def ms(*path):
        return scaled(at(latency, *path), 1e-6)

    return Reported(
        completed=load["completed"], failed=load["failed"], rate=load["achieved_rate"],
        ttft_mean=ms("ttft_ns", "mean"), ttft_p99=ms("ttft_ns", "p99"), tpot_mean=ms("tpot_ns", "mean"),
        e2e_mean=ms("e2e_ns", "mean"), e2e_p99=ms("e2e_ns", "p99"),
        late_mean=scaled(at(load, "lateness_ns", "mean"), 1e-6), words=summary["client"]["verdict"],
    )


CLIENT = Client(
    name="lowrho", title="lowrho", environment="lowrho", command=command, read=read, good=(0, 3),
    high="--records none, --shards one for each core", version=("--version",),
)
