"""Grafana's k6: a general HTTP load generator in Go that knows no tokens."""

import json

from ..client import Client, Command, Reported, at, load_json

RESULT = "summary.json"

SCRIPT = """import http from 'k6/http';
export const options = %(options)s;
const body = %(body)s;
const params = { headers: { 'Content-Type': 'application/json' }, timeout: '300s' };
export default function () { http.post('%(url)s', body, params); }
"""


def prompt(load):
    """Text of about the asked number of tokens, for clients that send a body as it is."""
    return " ".join(["word"] * load.input_tokens)


def body(load, place):
    return json.dumps({"model": place.model, "prompt": prompt(load), "max_tokens": load.tokens, "stream": True,
                       "stream_options": {"include_usage": True}, "ignore_eos": True})


def scenario(load, high):
    if not load.is_rate:
        return {"executor": "per-vu-iterations", "vus": load.amount, "iterations": load.requests // load.amount,
                "maxDuration": "10m"}
    ready = max(100, load.amount // 4) if high else 100
    return {"executor": "constant-arrival-rate", "rate": load.amount, "timeUnit": "1s", "duration": f"{load.seconds}s",
            "preAllocatedVUs": ready, "maxVUs": 10 * ready}


def command(load, place, high):
    options = {"scenarios": {"load": scenario(load, high)}, "discardResponseBodies": bool(high)}
    text = SCRIPT % {"options": json.dumps(options), "body": json.dumps(body(load, place)), "url": place.completions}
    with open(place.file("load.js"), "w", encoding="utf-8") as file:
        file.write(text)
    argv = [place.program, "run", "--quiet", "--no-usage-report", "--address", "", "--summary-export", place.file(RESULT)]
    argv += ["--summary-trend-stats", "avg,min,med,max,p(90),p(99)", place.file("load.js")]
    return Command(argv)


def read(folder, _stdout):
    metrics = load_json(folder, RESULT)["metrics"]
    sent = metrics["http_reqs"]["count"]
    # Of a rate metric of failures, `passes` counts the requests that failed.
    failed = at(metrics, "http_req_failed", "passes") or 0
    dropped = at(metrics, "dropped_iterations", "count") or 0
    return Reported(
        completed=sent - failed, failed=failed, rate=metrics["http_reqs"]["rate"],
        e2e_mean=metrics["http_req_duration"]["avg"], e2e_p99=at(metrics, "http_req_duration", "p(99)"),
        words=f"{dropped} iterations dropped" if dropped else "",
    )


CLIENT = Client(
    name="k6", title="k6", environment="k6", command=command, read=read, arrivals="constant", ttft="",
    high="discardResponseBodies, preAllocatedVUs a quarter of the rate",
    version=("version",),
)
