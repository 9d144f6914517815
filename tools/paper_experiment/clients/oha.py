"""oha: a general HTTP load generator in Rust that knows no tokens."""

import json

from ..client import Cannot, Client, Command, Reported
from .k6 import body


def command(load, place, _high):
    argv = [place.program, "-n", str(load.requests), "-m", "POST", "-T", "application/json", "-d", body(load, place)]
    argv += ["--no-tui", "--output-format", "json"]
    argv += ["-q", str(load.amount)] if load.is_rate else ["-c", str(load.amount)]
    return Command([*argv, place.completions])


def read(_folder, stdout):
    try:
        found = json.loads(stdout)
    except ValueError as wrong:
        raise Cannot(f"what it printed is no JSON: {wrong}") from wrong
    statuses = found["statusCodeDistribution"]
    well = sum(count for status, count in statuses.items() if status.startswith("2"))
    failed = sum(statuses.values()) - well + sum(found.get("errorDistribution", {}).values())
    percentiles = found["latencyPercentiles"]
    return Reported(
        completed=well, failed=failed, rate=found["summary"]["requestsPerSec"],
        e2e_mean=found["summary"]["average"] * 1e3, e2e_p99=percentiles["p99"] * 1e3,
    )


CLIENT = Client(
    name="oha", title="oha", environment="oha", command=command, read=read, arrivals="constant", ttft="",
    version=("--version",),
)
