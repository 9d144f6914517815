"""Sets a server's own log of its sends beside lowrho's records and prints how far they differ.

What `stream-server/compare` and `sim-accuracy` share: both servers log one JSON line a request, {x_request_id,
received_ns, events: [{what, planned_ns, before_ns, after_ns}]}, in nanoseconds of CLOCK_MONOTONIC. It must not
correct anything: an error that is the server's or the network's is printed like one of ours.
"""

import argparse
import json
import os
import sys
from dataclasses import dataclass, field


@dataclass
class Truth:
    """One request as its server saw it, in nanoseconds of CLOCK_MONOTONIC."""

    request_id: str
    received_ns: int
    """The last byte of the request was there."""
    sent_ns: list = field(default_factory=list)
    """Just before each token-bearing event was sent."""
    late_ns: list = field(default_factory=list)
    """By how much each of these was sent later than the server meant to."""
    bracket_ns: list = field(default_factory=list)
    """How long each of these sends took: its bytes left within that time."""


def truth_of(line):
    """The Truth of one line of a server's log; None where no token was sent or nobody named the request."""
    tokens = [event for event in line["events"] if event["what"] == "token"]
    if not tokens or line["x_request_id"] is None:
        return None
    return Truth(
        request_id=line["x_request_id"],
        received_ns=line["received_ns"],
        sent_ns=[event["before_ns"] for event in tokens],
        late_ns=[event["before_ns"] - event["planned_ns"] for event in tokens],
        bracket_ns=[event["after_ns"] - event["before_ns"] for event in tokens],
    )


class Errors:
    """Differences in nanoseconds, lowrho's value less the server's."""

    def __init__(self, name):
        self.name = name
        self.values = []

    def row(self):
        if not self.values:
            return None
        signed = sorted(self.values)
        size = sorted(map(abs, self.values))
        points = [quantile(signed, q) for q in (0.01, 0.5, 0.99)]
        points += [quantile(size, q) for q in (0.5, 0.9, 0.99, 1.0)]
        return [self.name, str(len(signed))] + [f"{point / 1e3:.1f}" for point in points]

    def median_size_us(self):
        return quantile(sorted(map(abs, self.values)), 0.5) / 1e3


HEADING = ["us", "count", "p1", "p50", "p99", "|p50|", "|p90|", "|p99|", "|max|"]


def quantile(ordered, q):
    """The nearest-rank quantile of sorted values."""
    rank = max(1, -(-len(ordered) * round(q * 1000) // 1000))
    return ordered[rank - 1]


def lines(path):
    """The JSON lines of a file; a last line that was cut off is left out."""
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if not line.endswith("\n"):
                return
            try:
                yield json.loads(line)
            except ValueError as wrong:
                raise SystemExit(f"{path}:{number}: not JSON: {wrong}")


def run_of(records_path):
    """The run's id and start, from the summary beside the records; (None, None) where there is none yet."""
    path = os.path.join(os.path.dirname(os.path.abspath(records_path)), "summary.json")
    if not os.path.exists(path):
        return None, None
    with open(path, encoding="utf-8") as file:
        run = json.load(file)["run"]
    return run["id"], run["start_mono_ns"]


class Comparison:
    """The errors of one run; `add` takes one record with its truth."""

    def __init__(self, start_mono_ns):
        self.start_mono_ns = start_mono_ns
        self.ttft = Errors("TTFT error")
        self.itl = Errors("ITL error")
        self.mean_itl = Errors("mean ITL error")
        self.request_way = Errors("request: sent to received")
        self.first_way = Errors("first token: written to stamped")
        self.last_way = Errors("last token: written to stamped")
        self.late = Errors("server: planned to before its send")
        self.bracket = Errors("server: before to after its send")
        self.joined = self.unknown = self.unequal = self.skipped = 0
        self.stamps = {}

    def add(self, record, truth):
        if not record["ok"] or record["first_ns"] is None:
            self.skipped += 1
            return
        if truth is None or not truth.sent_ns:
            self.unknown += 1
            return
        self.joined += 1
        self.stamps[record["stamp"]] = self.stamps.get(record["stamp"], 0) + 1
        self.late.values += truth.late_ns
        self.bracket.values += truth.bracket_ns
        self.ttft.values.append(record["first_ns"] - record["sent_ns"] - (truth.sent_ns[0] - truth.received_ns))
        if record["events"] != len(truth.sent_ns):
            self.unequal += 1
            return
        gaps = len(truth.sent_ns) - 1
        if gaps:
            reported = record["last_ns"] - record["first_ns"]
            self.mean_itl.values.append((reported - (truth.sent_ns[-1] - truth.sent_ns[0])) / gaps)
        true_gaps = [after - before for before, after in zip(truth.sent_ns, truth.sent_ns[1:])]
        for reported, true in zip(record.get("gaps_ns") or [], true_gaps):
            self.itl.values.append(reported - true)
        if self.start_mono_ns is not None:
            self.request_way.values.append(truth.received_ns - record["sent_ns"] - self.start_mono_ns)
            self.first_way.values.append(record["first_ns"] + self.start_mono_ns - truth.sent_ns[0])
            self.last_way.values.append(record["last_ns"] + self.start_mono_ns - truth.sent_ns[-1])

    def table(self):
        kinds = (self.ttft, self.itl, self.mean_itl, self.request_way, self.first_way, self.last_way)
        kinds += (self.late, self.bracket)
        rows = [HEADING] + [row for row in (kind.row() for kind in kinds) if row]
        widths = [max(map(len, column)) for column in zip(*rows)]
        for row in rows:
            cells = [row[0].ljust(widths[0])] + [cell.rjust(width) for cell, width in zip(row[1:], widths[1:])]
            yield "  ".join(cells)

    def account(self):
        yield f"{self.joined} requests compared; {self.skipped} left out (failed, or without a token)"
        yield "stamps: " + ", ".join(f"{count} {kind}" for kind, count in sorted(self.stamps.items()))
        if not self.itl.values:
            yield "no single gaps: they are in the records only under --record-gaps"
        if self.unknown:
            yield f"{self.unknown} requests are not in the server's log"
        if self.unequal:
            yield f"{self.unequal} requests have another number of token-bearing events than the server sent"


def compare(records_path, truths, phase):
    """Joins the records of `phase` (None = all) with the truths; returns a Comparison."""
    run_id, start_mono_ns = run_of(records_path)
    by_id = {}
    for truth in truths:
        # Without a summary only the index can be matched, so a log of one run is needed.
        key = truth.request_id if run_id else truth.request_id.rpartition("-")[2]
        if key in by_id:
            raise SystemExit(f"the log holds {truth.request_id} twice: keep one log for each run")
        by_id[key] = truth
    comparison = Comparison(start_mono_ns)
    for record in lines(records_path):
        if phase is None or record["phase"] == phase:
            key = f"{run_id}-{record['index']}" if run_id else str(record["index"])
            comparison.add(record, by_id.get(key))
    return comparison


def main(description, arguments=None):
    """The whole command; returns its exit status."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("log", metavar="LOG", help="the server's log")
    parser.add_argument("records", metavar="RECORDS_JSONL", help="lowrho's records.jsonl")
    parser.add_argument("--phase", choices=["warmup", "measured", "cooldown"], help="only requests of this phase")
    parser.add_argument("--median-within", type=float, metavar="US",
                        help="fail where the median size of the TTFT or ITL error is larger")
    options = parser.parse_args(arguments)
    truths = (truth for truth in map(truth_of, lines(options.log)) if truth)
    comparison = compare(options.records, truths, options.phase)
    for line in [*comparison.table(), *comparison.account()]:
        print(line)
    if not comparison.joined:
        print("nothing could be compared", file=sys.stderr)
        return 1
    if options.median_within is not None:
        for errors in (comparison.ttft, comparison.itl if comparison.itl.values else comparison.mean_itl):
            if errors.values and errors.median_size_us() > options.median_within:
                print(f"{errors.name}: median {errors.median_size_us():.1f} us, over {options.median_within} us")
                return 1
    return 1 if comparison.unknown or comparison.unequal else 0
