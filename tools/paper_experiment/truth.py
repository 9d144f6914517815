"""What the server's own log says of a run: rate on the wire, TTFT, E2E, gaps, streams in flight. Milliseconds and 1/s.

Requests are not matched with the client's: few clients name theirs. Means and quantiles are of all that were answered.
"""

import json
import statistics

import accuracy


def read(path):
    """The truth of one log, as a plain dictionary; None where nothing was asked."""
    received, spans = [], []
    with open(path, encoding="utf-8") as file:
        for line in file:
            # A row that was being written when the server was stopped.
            if not line.endswith("\n"):
                break
            row = json.loads(line)
            received.append(row["received_ns"])
            tokens = [event["before_ns"] for event in row["events"] if event["what"] == "token"]
            if tokens:
                spans.append((row["received_ns"], tokens[0], tokens[-1], len(tokens)))
    return of(received, spans)


def of(received_ns, spans):
    """The same of instants: when each request was there, and (received, first, last, tokens) of each answer."""
    if not received_ns:
        return None
    found = {"requests": len(received_ns), "answered": len(spans), "rate": middle_rate(sorted(received_ns)),
             "in_flight": most_at_once(spans)}
    if spans:
        found |= of_values("ttft", [(first - at) / 1e6 for at, first, _, _ in spans])
        found |= of_values("e2e", [(last - at) / 1e6 for at, _, last, _ in spans])
        gaps = [(last - first) / (count - 1) / 1e6 for _, first, last, count in spans if count > 1]
        if gaps:
            found["tpot_mean"] = statistics.fmean(gaps)
    return found


def of_values(name, values):
    return {f"{name}_mean": statistics.fmean(values), f"{name}_p99": accuracy.quantile(sorted(values), 0.99)}


def middle_rate(ordered_ns):
    """Requests/s over the middle nine tenths of the requests: probes before a run and stragglers after it are outside."""
    skipped = len(ordered_ns) // 20
    inner = ordered_ns[skipped:len(ordered_ns) - skipped]
    span_ns = inner[-1] - inner[0]
    return (len(inner) - 1) / (span_ns / 1e9) if span_ns > 0 else None


def most_at_once(spans):
    """The most requests that were in flight at the server at one instant."""
    steps = sorted([(at, 1) for at, _, _, _ in spans] + [(last, -1) for _, _, last, _ in spans])
    most = now = 0
    for _, step in steps:
        now += step
        most = max(most, now)
    return most
