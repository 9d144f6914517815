"""Sets what a capture shows beside lowrho's records: how far they differ, and whether that lies inside the stated bounds.

The pure half of `pcap-verify`. It must not correct anything: a value that the capture shows otherwise is counted as
outside, whatever the reason. Spans are compared as spans, so no clock is mapped; instants only with `realtime_ns`.
"""

import accuracy


class Kind:
    """Errors of one kind, and how far those outside their bounds lie beyond them."""

    def __init__(self, name):
        self.name, self.errors, self.beyond = name, [], []

    def add(self, error_ns, least_ns, most_ns, index):
        """`index` is the request's, kept where its error lies outside."""
        self.errors.append(error_ns)
        by_ns = max(error_ns - most_ns, least_ns - error_ns, 0)
        if by_ns:
            self.beyond.append((by_ns, index))

    def share_inside(self, allowance_ns=0):
        return 1 - sum(by_ns > allowance_ns for by_ns, _ in self.beyond) / len(self.errors)

    def row(self, allowance_ns):
        if not self.errors:
            return [self.name, "0"] + ["-"] * 7
        signed = sorted(self.errors)
        size = sorted(map(abs, self.errors))
        points = [accuracy.quantile(signed, 0.5), *(accuracy.quantile(size, q) for q in (0.5, 0.99, 1.0))]
        worst = max((by_ns for by_ns, _ in self.beyond), default=0)
        shares = [f"{100 * self.share_inside(allowed):.3f} %" for allowed in (0, allowance_ns)]
        return [self.name, str(len(signed)), *(f"{point / 1e3:.2f}" for point in points), *shares, f"{worst / 1e3:.2f}"]


HEADING = ["us", "count", "p50", "|p50|", "|p99|", "|max|", "inside bounds", "or by the lead", "most beyond"]


class Comparison:
    """The errors of one run against its capture, lowrho's value less the packets'."""

    def __init__(self, clock_ns, realtime_ns=None, lead_ns=0):
        self.clock_ns = clock_ns
        """How far a mapped stamp can be off."""
        self.realtime_ns = realtime_ns
        """CLOCK_REALTIME at the run's start; None leaves instants uncompared."""
        self.lead_ns = lead_ns
        """How much earlier the tap may have stamped a segment than the kernel stamped it for its socket."""
        self.ttft = Kind("TTFT")
        self.itl = Kind("ITL")
        self.e2e = Kind("E2E")
        self.sent = Kind("request: sent less its packet")
        self.exact = Kind("exact event: stamp less its packet")
        self.unsure = Kind("coalesced event: stamp less its packet")
        self.joined = self.unseen = self.unequal = self.skipped = 0

    def kinds(self):
        instants = [self.sent, self.exact, self.unsure]
        return [self.ttft, self.itl, self.e2e] + (instants if self.realtime_ns is not None else [])

    def add(self, record, seen):
        """One record, of a run with --record-gaps, with its exchange (packets.Exchange), or None."""
        if not record["ok"] or record["first_ns"] is None:
            self.skipped += 1
            return
        if seen is None:
            self.unseen += 1
            return
        if len(seen.tokens_ns) != record["events"]:
            self.unequal += 1
            return
        self.joined += 1
        index, clock = record["index"], self.clock_ns
        gaps, unsure, departure = record["gaps_ns"], record["uncertainties_ns"], record["sent_uncertainty_ns"]
        wire = seen.tokens_ns
        for kind, key, place in ((self.ttft, "first_ns", 0), (self.e2e, "last_ns", -1)):
            error_ns = record[key] - record["sent_ns"] - (wire[place] - seen.sent_ns)
            kind.add(error_ns, -clock, unsure[place] + departure + clock, index)
        for place, gap_ns in enumerate(gaps):
            error_ns = gap_ns - (wire[place + 1] - wire[place])
            # Both ends are mapped by one clock: its bound counts only where it was narrowed in between.
            self.itl.add(error_ns, -unsure[place] - clock, unsure[place + 1] + clock, index)
        if self.realtime_ns is not None:
            error_ns = record["sent_ns"] + self.realtime_ns - seen.sent_ns
            self.sent.add(error_ns, -departure - clock, clock, index)
            at_ns = record["first_ns"] + self.realtime_ns
            for gap_ns, packet_ns, earlier_ns in zip([0, *gaps], wire, unsure):
                at_ns += gap_ns
                kind = self.unsure if earlier_ns else self.exact
                kind.add(at_ns - packet_ns, -clock, earlier_ns + clock, index)

    def table(self):
        rows = [HEADING, *(kind.row(self.lead_ns) for kind in self.kinds())]
        widths = [max(map(len, column)) for column in zip(*rows)]
        for row in rows:
            cells = [cell.rjust(width) for cell, width in zip(row[1:], widths[1:])]
            yield "  ".join([row[0].ljust(widths[0]), *cells])

    def account(self):
        yield f"{self.joined} requests compared; {self.skipped} left out (failed, or without a token)"
        if self.unseen:
            yield f"{self.unseen} requests are not in the capture"
        if self.unequal:
            yield f"{self.unequal} requests have another number of token-bearing events than the capture shows"
        for kind in self.kinds():
            for by_ns, index in sorted(kind.beyond, reverse=True)[:3]:
                if by_ns > self.lead_ns:
                    yield f"outside: {kind.name} of request {index}, {by_ns} ns beyond its bounds"

    def is_sound(self, least_share):
        """Whether everything was found, and so large a share of every kind lies inside its bounds, or by the lead beyond."""
        whole = self.joined > 0 and not self.unseen and not self.unequal
        return whole and all(kind.share_inside(self.lead_ns) >= least_share for kind in self.kinds() if kind.errors)


def coalesced(records):
    """How many reads of a run's successes were coalesced, how many of their token-bearing events are not certain, of how many."""
    reads = unsure = events = 0
    for record in records:
        if record["ok"]:
            reads += record["coalesced"]
            unsure += sum(ns > 0 for ns in record["uncertainties_ns"])
            events += record["events"]
    return reads, unsure, events
