"""Puts captured TCP segments together again and reads the requests and answers in them, each byte with its packet's stamp.

It must not know of lowrho's records: what it finds stands on the packets alone. tshark has taken the packets apart
(addresses, sequence numbers, payload); order, repetition and everything above TCP are read here.
"""

from bisect import bisect_right
from dataclasses import dataclass, field

from answers import Body, Unreadable, head_at

FIELDS = ["frame.time_epoch", "tcp.stream", "tcp.srcport", "tcp.dstport", "tcp.seq_raw", "tcp.flags", "tcp.payload"]
SYN = 0x02


@dataclass
class Packet:
    """One row of tshark with FIELDS."""

    at_ns: int
    """CLOCK_REALTIME, since 1970."""
    stream: int
    source: int
    target: int
    sequence: int
    flags: int
    payload: bytes


def packet_of(row):
    """The packet of one tab-separated row."""
    time, stream, source, target, sequence, flags, payload = row.rstrip("\n").split("\t")
    seconds, _, fraction = time.partition(".")
    at_ns = int(seconds) * 1_000_000_000 + int(fraction.ljust(9, "0")[:9])
    return Packet(at_ns, int(stream), int(source), int(target), int(sequence), int(flags, 16), bytes.fromhex(payload))


class Direction:
    """What one side of a connection sent: its bytes in order, and when each could first be read."""

    def __init__(self):
        self.data = bytearray()
        self.origin = None
        """The sequence number of the first byte; None before SYN was seen."""
        self.ends = []
        self.stamps = []
        """The bytes up to ends[i] were there at stamps[i]."""
        self.early = []
        self.repeated = self.out_of_order = 0

    def take(self, packet):
        if packet.flags & SYN:
            self.origin = (packet.sequence + 1) % 2**32
        if self.origin is None or not packet.payload:
            return
        if self.ahead(packet.sequence) > 0:
            self.out_of_order += 1
            self.early.append((packet.sequence, packet.payload))
            return
        self.append(packet.sequence, packet.payload, packet.at_ns)
        # What had come before its turn can be read only now.
        for sequence, payload in sorted(self.early, key=lambda segment: self.ahead(segment[0])):
            if self.ahead(sequence) <= 0:
                self.early.remove((sequence, payload))
                self.append(sequence, payload, packet.at_ns)

    def ahead(self, sequence):
        """How far a sequence number lies behind the last byte in order; it wraps at 4 GiB."""
        distance = (sequence - self.origin - len(self.data)) % 2**32
        return distance - 2**32 if distance >= 2**31 else distance

    def append(self, sequence, payload, at_ns):
        new = payload[-self.ahead(sequence):]
        if not new:
            self.repeated += 1
            return
        self.data += new
        self.ends.append(len(self.data))
        self.stamps.append(at_ns)

    def at_ns(self, offset):
        """When the byte at `offset` was there."""
        return self.stamps[bisect_right(self.ends, offset)]


@dataclass
class Exchange:
    """One request and its answer, as the packets show them."""

    request_id: str
    sent_ns: int
    """The packet with the request's first byte."""
    tokens_ns: list = field(default_factory=list)
    """Of each token-bearing event the packet with its last byte."""
    done_ns: int = None
    end_ns: int = None


class Connection:
    """Both directions of one connection."""

    def __init__(self):
        self.up = Direction()
        self.down = Direction()

    def exchanges(self):
        """Requests that say who they are, each with as much of its answer as was seen."""
        answers = self.answers()
        for head, _ in messages(self.up.data):
            answer = next(answers, None)
            request_id = head.fields.get(b"x-request-id")
            if request_id is None:
                continue
            seen = Exchange(request_id.decode("latin-1"), self.up.at_ns(head.begin))
            if answer:
                self.hear(seen, *answer)
            yield seen

    def answers(self):
        for head, body in messages(self.down.data):
            if not head.line.split(b" ")[1].startswith(b"1"):
                yield head, body

    def hear(self, seen, head, body):
        if body.end is not None:
            seen.end_ns = self.down.at_ns(body.end - 1)
        if b"text/event-stream" not in head.fields.get(b"content-type", b""):
            return
        for event in body.events():
            at_ns = self.down.at_ns(event.end - 1)
            if event.what == "token":
                seen.tokens_ns.append(at_ns)
            elif event.what == "done":
                seen.done_ns = at_ns


def messages(data):
    """The messages of one direction, each head with its body; the last may be cut off."""
    offset = 0
    while offset is not None and (head := head_at(data, offset)):
        body = Body(data, head)
        yield head, body
        offset = body.end


class Capture:
    """All connections to one port."""

    def __init__(self, port):
        self.port = port
        self.connections = {}
        self.packets = self.unreadable = 0

    def take(self, packet):
        self.packets += 1
        connection = self.connections.setdefault(packet.stream, Connection())
        (connection.up if packet.target == self.port else connection.down).take(packet)

    def exchanges(self):
        """Every exchange by its request's id; of a request that went out again, the later try."""
        seen = {}
        for connection in self.connections.values():
            try:
                for exchange in connection.exchanges():
                    earlier = seen.get(exchange.request_id)
                    if earlier is None or earlier.sent_ns < exchange.sent_ns:
                        seen[exchange.request_id] = exchange
            except Unreadable:
                self.unreadable += 1
        return seen

    def odd(self):
        """Segments that were repeated or out of order."""
        sides = [side for each in self.connections.values() for side in (each.up, each.down)]
        return sum(side.repeated for side in sides), sum(side.out_of_order for side in sides)
