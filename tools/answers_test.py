"""Tests of answers.py: heads, chunks and events wherever they are cut, and what an event bears."""

import json
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import answers

CAPTURES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "wire", "captures")


def chunked(*parts):
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


def delta(**of):
    return json.dumps({"choices": [{"index": 0, "delta": of, "finish_reason": None}]}).encode()


class Bearing(unittest.TestCase):
    def test_text_reasoning_and_calls_bear_tokens(self):
        call = {"index": 0, "function": {"arguments": "{"}}
        for of in ({"content": "a"}, {"reasoning_content": "a"}, {"reasoning": "a"}, {"tool_calls": [call]}):
            self.assertEqual(answers.event_of(delta(**of), 1).what, "token", of)
        self.assertEqual(answers.event_of(b'{"choices":[{"index":0,"text":"a"}]}', 1).what, "token")

    def test_roles_ends_usage_and_nonsense_do_not(self):
        for data in (delta(role="assistant", content=""), delta(), b'{"choices":[],"usage":{}}', b"not JSON", b"[1]"):
            self.assertEqual(answers.event_of(data, 1).what, "other", data)
        self.assertEqual(answers.event_of(b"[DONE]", 1).what, "done")

    def test_an_empty_text_bears_a_token_only_where_usage_has_room_for_it(self):
        for count, meant in ((2, "token"), (1, "other"), (None, "other")):
            said = [delta(content="a"), delta(content=""), json.dumps({"usage": {"completion_tokens": count}}).encode()]
            found = answers.decided(answers.event_of(data, place) for place, data in enumerate(said))
            self.assertEqual([event.what for event in found], ["token", meant, "other"], count)

    def test_lines_of_an_event_are_joined_and_comments_are_none(self):
        self.assertEqual(answers.data_of(b"event: a\ndata: b\ndata:c"), b"b\nc")
        self.assertIsNone(answers.data_of(b": ping"))


class Framing(unittest.TestCase):
    def body(self, framed, fields):
        head = answers.Head(b"HTTP/1.1 200 OK", fields, 0, 10)
        return answers.Body(b"h" * 10 + framed, head)

    def test_an_events_end_is_the_offset_behind_its_last_byte_across_chunks(self):
        whole = b"data: [DONE]\n\n"
        for cut in range(1, len(whole)):
            first = b"%x\r\n%s\r\n" % (cut, whole[:cut])
            framed = first + chunked(whole[cut:])
            body = self.body(framed, {b"transfer-encoding": b"chunked"})
            event, = body.events()
            size_line = len(b"%x\r\n" % (len(whole) - cut))
            self.assertEqual((event.what, event.end), ("done", 10 + len(first) + size_line + len(whole) - cut))
            self.assertEqual(body.end, 10 + len(framed))

    def test_a_cut_body_has_no_end_and_the_events_that_are_whole(self):
        framed = chunked(b"data: [DONE]\n\n", b"data: [DO")
        for length in range(len(framed)):
            body = self.body(framed[:length], {b"transfer-encoding": b"chunked"})
            self.assertIsNone(body.end, length)
            self.assertEqual(len(list(body.events())), 1 if length >= 3 + 14 else 0, length)

    def test_a_length_ends_a_body_too(self):
        body = self.body(b"abcdef", {b"content-length": b"4"})
        self.assertEqual((bytes(body.content), body.end), (b"abcd", 14))
        self.assertIsNone(self.body(b"ab", {b"content-length": b"4"}).end)

    def test_no_chunk_size_is_unreadable(self):
        with self.assertRaises(answers.Unreadable):
            self.body(b"zz\r\nabc\r\n", {b"transfer-encoding": b"chunked"})

    def test_a_head_is_read_when_it_is_whole(self):
        data = b"xxPOST / HTTP/1.1\r\nHost: a\r\nX-Request-Id:  r-1 \r\n\r\nbody"
        head = answers.head_at(data, 2)
        self.assertEqual((head.line, head.fields[b"x-request-id"], head.begin), (b"POST / HTTP/1.1", b"r-1", 2))
        self.assertEqual(data[head.end:], b"body")
        self.assertIsNone(answers.head_at(data[:-5], 2))

    def test_real_captures_are_read_to_their_end(self):
        # The numbers are those that `tests/wire/captures` is tested against by lowrho too.
        for name, tokens in (("vllm-0.32-chat.http", 6), ("vllm-0.32-completions.http", 6)):
            with open(os.path.join(CAPTURES, name), "rb") as file:
                data = file.read()
            body = answers.Body(data, answers.head_at(data, 0))
            self.assertEqual(body.end, len(data), name)
            kinds = [event.what for event in body.events()]
            self.assertEqual((kinds.count("token"), kinds.count("done"), kinds[-1]), (tokens, 1, "done"), name)


if __name__ == "__main__":
    unittest.main()
