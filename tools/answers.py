"""Reads HTTP/1.1 requests and streamed answers out of bytes that know their offsets: heads, chunks, events, and what each bears.

What `packets.py` reads captures with, and what `replay-capture` knows its own parts by. It shares no code with lowrho,
so that one can be held against the other; and it reads no clock: where a byte lies is all it says.
"""

import json
import re
from bisect import bisect_right
from dataclasses import dataclass, replace

END_OF_EVENT = re.compile(rb"\r\n\r\n|\n\n|\r\r")
TEXTS = ("content", "text", "reasoning_content", "reasoning", "refusal")


class Unreadable(Exception):
    """The bytes are no HTTP/1.1 exchange as LLM servers have it; the message says where."""


@dataclass
class Event:
    """One server-sent event: what it is ('token', 'empty', 'done', 'other') and the offset behind its last byte."""

    what: str
    end: int
    usage: int = None
    """The output tokens that it counts, where it does."""


@dataclass
class Head:
    """A request's or a response's head: its first line, its fields by lower-case name, the offsets around it."""

    line: bytes
    fields: dict
    begin: int
    end: int


def event_of(data, end):
    """What an event's data is: 'token' where a choice has text or a tool call, 'empty' where one has an empty text before
    its end and names no role (which may bear a token, see `decided`), 'done' for [DONE], else 'other'."""
    if data.strip() == b"[DONE]":
        return Event("done", end)
    try:
        said = json.loads(data)
        choices = said.get("choices") or []
    except (ValueError, AttributeError):
        return Event("other", end)
    what = "token" if any(map(bears_token, choices)) else "empty" if any(map(is_empty, choices)) else "other"
    return Event(what, end, (said.get("usage") or {}).get("completion_tokens"))


def bears_token(choice):
    delta = choice.get("delta") or choice
    calls = [call.get("function") or {} for call in delta.get("tool_calls") or []]
    said = [delta.get(key) for key in TEXTS] + [call.get(key) for call in calls for key in ("name", "arguments")]
    return any(isinstance(text, str) and text for text in said)


def is_empty(choice):
    delta = choice.get("delta") or choice
    ended = choice.get("finish_reason") is not None
    return not ended and "role" not in delta and any(delta.get(key) == "" for key in TEXTS)


def decided(events):
    """The events of a whole answer, empty ones made 'token' where usage has room for them (docs/METHOD.md)."""
    events = list(events)
    counts = [event.usage for event in events if event.usage is not None]
    bearing = sum(event.what in ("token", "empty") for event in events)
    meant = "token" if counts and counts[-1] >= bearing else "other"
    return [replace(event, what=meant) if event.what == "empty" else event for event in events]


def data_of(event):
    """The data of one event's lines, joined; None where it has none (a comment)."""
    lines = [line[5:].removeprefix(b" ") for line in re.split(rb"\r\n|\n|\r", event) if line.startswith(b"data:")]
    return b"\n".join(lines) if lines else None


def events_of(body):
    """The complete events of an event stream, each with the offset behind its blank line."""
    begin = 0
    for end in END_OF_EVENT.finditer(body):
        data = data_of(body[begin:end.start()])
        begin = end.end()
        if data is not None:
            yield event_of(data, begin)


def head_at(data, offset):
    """The head that begins at `offset`; None where it is not complete."""
    end = data.find(b"\r\n\r\n", offset)
    if end < 0:
        return None
    line, *rest = bytes(data[offset:end]).split(b"\r\n")
    fields = {}
    for field in rest:
        name, colon, value = field.partition(b":")
        if not colon:
            raise Unreadable(f"a header field without a colon before byte {end}")
        fields[name.strip().lower()] = value.strip()
    return Head(line, fields, offset, end + 4)


class Body:
    """A message's content and where it lay: `end` is the offset behind the message; None where that was not seen."""

    def __init__(self, data, head):
        self.content = bytearray()
        self.starts = []
        """Of each piece: where it begins in the content, and where in the stream."""
        self.end = None
        if b"chunked" in head.fields.get(b"transfer-encoding", b"").lower():
            self.read_chunks(data, head.end)
        else:
            length = int(head.fields.get(b"content-length", b"0"))
            self.take(data, head.end, length)
            self.end = head.end + length if len(data) >= head.end + length else None

    def take(self, data, offset, length):
        self.starts.append((len(self.content), offset))
        self.content += data[offset:offset + length]

    def read_chunks(self, data, offset):
        while (line_end := data.find(b"\r\n", offset)) >= 0:
            try:
                length = int(bytes(data[offset:line_end]).split(b";")[0], 16)
            except ValueError:
                raise Unreadable(f"no chunk size at byte {offset}") from None
            begin, offset = line_end + 2, line_end + 2 + length + 2
            if length == 0:
                # Trailers are nothing that LLM servers send: the zero chunk ends the message.
                self.end = offset if len(data) >= offset else None
                return
            self.take(data, begin, length)
            if len(data) < offset:
                return

    def offset_behind(self, content_offset):
        """The stream's offset behind the content's byte before `content_offset`."""
        piece = bisect_right(self.starts, (content_offset - 1, float("inf"))) - 1
        content_start, start = self.starts[piece]
        return start + content_offset - content_start

    def events(self):
        """The events of a streamed content, their ends as offsets of the stream."""
        events = decided(events_of(bytes(self.content)))
        return [replace(event, end=self.offset_behind(event.end)) for event in events]
