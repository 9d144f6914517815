"""Holds the records of a client that was held up to what its server knows: is every value within the bounds it states?

The pure half of `stall-proof`. The simulator's log brackets the send of each event by two readings of the clock, and on
loopback an event reaches its socket between them; so what the client says must leave that possible. It must not judge
how wide the bounds are: that is the verdict's part.
"""

import accuracy
import witness


class Held:
    """One run against the log of its server."""

    def __init__(self, start_mono_ns, clock_ns):
        self.start_mono_ns, self.clock_ns = start_mono_ns, clock_ns
        self.ttft = witness.Kind("TTFT")
        self.itl = witness.Kind("ITL")
        self.arrival = witness.Kind("arrival")
        self.true_ttft, self.true_itl = [], []
        """What each was, at least and at most: the log knows no better when bytes left."""
        self.joined = self.unknown = self.unequal = self.failed = 0

    def kinds(self):
        return [self.ttft, self.itl, self.arrival]

    def add(self, record, truth):
        """One record, of a run with --record-gaps, with its accuracy.Truth, or None."""
        if not record["ok"]:
            self.failed += 1
            return
        if truth is None:
            self.unknown += 1
            return
        if record["events"] != len(truth.sent_ns):
            self.unequal += 1
            return
        self.joined += 1
        index, clock = record["index"], self.clock_ns
        gaps, unsure, bracket = record["gaps_ns"], record["uncertainties_ns"], truth.bracket_ns
        least_ns = truth.sent_ns[0] - truth.received_ns
        departed_ns = self.start_mono_ns + record["sent_ns"]
        self.true_ttft.append((least_ns, truth.sent_ns[0] + bracket[0] - departed_ns))
        error_ns = record["first_ns"] - record["sent_ns"] - least_ns
        self.ttft.add(error_ns, -clock, unsure[0] + bracket[0] + record["sent_uncertainty_ns"] + clock, index)
        for place, gap_ns in enumerate(gaps):
            apart_ns = truth.sent_ns[place + 1] - truth.sent_ns[place]
            self.true_itl.append((apart_ns - bracket[place], apart_ns + bracket[place + 1]))
            most_ns = unsure[place + 1] + bracket[place + 1] + clock
            self.itl.add(gap_ns - apart_ns, -unsure[place] - bracket[place] - clock, most_ns, index)
        at_ns = self.start_mono_ns + record["first_ns"]
        for gap_ns, sent_ns, earlier_ns, late_ns in zip([0, *gaps], truth.sent_ns, unsure, bracket):
            at_ns += gap_ns
            self.arrival.add(at_ns - sent_ns, -clock, earlier_ns + late_ns + clock, index)

    def is_whole(self):
        """Whether every request was answered, and every answer is in the log as the records have it."""
        return self.joined > 0 and not (self.unknown or self.unequal or self.failed)


def held(records, truths, summary):
    """The Held of a run's measured requests."""
    run, stamps = summary["run"], summary["client"]["stamps"]
    found = Held(run["start_mono_ns"], stamps["clock_bound_ns"] or 0)
    by_id = {truth.request_id: truth for truth in truths}
    for record in records:
        if record["phase"] == "measured":
            found.add(record, by_id.get(f"{run['id']}-{record['index']}"))
    return found


def quantile_rows(found, summary):
    """Of TTFT and ITL at some quantiles: name, quantile, reported, true at least and at most, bias bound (all ns), and
    whether truth lies within the bias bound of what was reported, but for the histograms' three digits."""
    for key, name, true in (("ttft_ns", "TTFT", found.true_ttft), ("itl_ns", "ITL", found.true_itl)):
        for word, q in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99)):
            reported_ns, bias_ns = summary["latency"][key][word], summary["client"]["bias"][key][word]
            if reported_ns is None or bias_ns is None or not true:
                continue
            least_ns, most_ns = (accuracy.quantile(sorted(ends), q) for ends in zip(*true))
            allowed_ns = bias_ns + reported_ns / 500
            inside = reported_ns - allowed_ns <= most_ns and least_ns <= reported_ns + allowed_ns
            yield name, word, reported_ns, least_ns, most_ns, bias_ns, inside
