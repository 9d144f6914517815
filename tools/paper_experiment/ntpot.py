"""Why NTPOT: long prompts at a server that has their prefixes cached, and at one that has not.

Nothing changes between two tokens, so TPOT is the same; the prefill that the cache saves is in TTFT, in E2E, and in
NTPOT, which is E2E over the tokens. Both servers are lowrho's simulator, the client is lowrho.
"""

import json
import os
import subprocess

import resident

from .client import Cannot, at
from .tables import markdown, number, NONE

COLUMNS = [("TTFT", "ttft_ns"), ("TPOT", "tpot_ns"), ("NTPOT", "ntpot_ns"), ("E2E", "e2e_ns")]


def measure(lowrho, folder, cpus, options, rate, seconds, prefix_tokens, input_tokens, output_tokens):
    """The latencies of one run against a simulator with these options, in ms: {name: (mean, p99)}."""
    port = resident.free_port()
    with resident.simulator(lowrho, port, folder, "--cpus", str(cpus[-1]), *options):
        out = os.path.join(folder, "out")
        argv = [lowrho, "run", "--url", f"http://127.0.0.1:{port}", "--rate", str(rate), "--duration", f"{seconds}s"]
        argv += ["--prefix-tokens", str(prefix_tokens), "--input-tokens", str(input_tokens), "--output-tokens", str(output_tokens)]
        argv += ["--cpus", str(cpus[0]), "--warmup", "1s", "--quiet", "--require", "any", "--out", out]
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise Cannot(f"{' '.join(argv[:4])} ...: status {done.returncode}: {done.stderr.strip()[-300:]}")
    with open(os.path.join(out, "summary.json"), encoding="utf-8") as file:
        latency = json.load(file)["latency"]
    return {name: tuple(ms(at(latency, key, which)) for which in ("mean", "p99")) for name, key in COLUMNS}


def ms(ns):
    return None if ns is None else ns / 1e6


def table(found):
    """{the cache's state: {name: (mean, p99)}} as Markdown, and how many times as much the first has as the last."""
    yield from markdown(["ms, mean / p99", *(name for name, _ in COLUMNS)], (
        [state, *(f"{number(mean)} / {number(p99)}" for mean, p99 in (values[name] for name, _ in COLUMNS))]
        for state, values in found.items()
    ))
    first, last = next(iter(found.values())), list(found.values())[-1]
    ratios = []
    for name, _ in COLUMNS:
        mean, other = first[name][0], last[name][0]
        ratios.append(f"{name} {mean / other:.2f}" if mean is not None and other else f"{name} {NONE}")
    yield ""
    yield f"Mean of the first row over the last: {', '.join(ratios)}."
