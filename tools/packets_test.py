"""Tests of packets.py: segments in any order make the same stream, and each event gets the packet that completed it."""

import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import packets

PORT = 8000
TOKEN = b'data: {"choices":[{"delta":{"content":"a"}}]}\n\n'
DONE = b"data: [DONE]\n\n"
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"


def chunk(part):
    return b"%x\r\n%s\r\n" % (len(part), part)


def request(name):
    return b"POST / HTTP/1.1\r\nx-request-id: %s\r\ncontent-length: 2\r\n\r\n{}" % name


def down(at_ns, sequence, payload, flags=0x18, stream=0):
    return packets.Packet(at_ns, stream, PORT, 40000, sequence, flags, payload)


def up(at_ns, sequence, payload, flags=0x18, stream=0):
    return packets.Packet(at_ns, stream, 40000, PORT, sequence, flags, payload)


class Segments(unittest.TestCase):
    def direction(self, *segments, origin=100):
        taken = packets.Direction()
        taken.take(down(0, origin - 1, b"", packets.SYN))
        for at_ns, sequence, payload in segments:
            taken.take(down(at_ns, sequence, payload))
        return taken

    def test_bytes_are_there_when_their_segment_is(self):
        taken = self.direction((5, 100, b"abc"), (7, 103, b"d"))
        self.assertEqual(bytes(taken.data), b"abcd")
        self.assertEqual([taken.at_ns(offset) for offset in range(4)], [5, 5, 5, 7])

    def test_a_segment_before_its_turn_waits_for_the_one_that_is_missing(self):
        taken = self.direction((5, 103, b"de"), (6, 105, b"f"), (9, 100, b"abc"))
        self.assertEqual(bytes(taken.data), b"abcdef")
        self.assertEqual([taken.at_ns(offset) for offset in (0, 3, 5)], [9, 9, 9])
        self.assertEqual((taken.out_of_order, taken.early), (2, []))

    def test_what_is_repeated_changes_nothing_and_what_overlaps_adds_its_rest(self):
        taken = self.direction((5, 100, b"abc"), (6, 100, b"abc"), (7, 101, b"bcde"))
        self.assertEqual((bytes(taken.data), taken.repeated), (b"abcde", 1))
        self.assertEqual((taken.at_ns(2), taken.at_ns(3)), (5, 7))

    def test_sequence_numbers_wrap(self):
        taken = self.direction((5, 2**32 - 2, b"ab"), (6, 0, b"c"), (7, 1, b"d"), origin=2**32 - 2)
        self.assertEqual(bytes(taken.data), b"abcd")

    def test_a_stream_whose_beginning_was_missed_stays_empty(self):
        taken = packets.Direction()
        taken.take(down(5, 100, b"abc"))
        self.assertEqual(bytes(taken.data), b"")


class Exchanges(unittest.TestCase):
    def setUp(self):
        self.capture = packets.Capture(PORT)
        self.sequence = {"up": 1, "down": 1}
        self.capture.take(up(0, 0, b"", packets.SYN))
        self.capture.take(down(0, 0, b"", packets.SYN | 0x10))

    def send(self, at_ns, side, payload):
        make = up if side == "up" else down
        self.capture.take(make(at_ns, self.sequence[side], payload))
        self.sequence[side] += len(payload)

    def test_a_request_is_joined_with_its_answer_and_every_event_with_its_packet(self):
        self.send(10, "up", request(b"r-1"))
        self.send(12, "down", HEAD)
        self.send(20, "down", chunk(TOKEN))
        self.send(30, "down", chunk(TOKEN)[:9])
        self.send(31, "down", chunk(TOKEN)[9:] + chunk(TOKEN))
        self.send(40, "down", chunk(DONE))
        self.send(41, "down", b"0\r\n\r\n")
        self.send(50, "up", request(b"r-2"))
        self.send(60, "down", HEAD + chunk(TOKEN) + chunk(DONE))
        found = self.capture.exchanges()
        self.assertEqual(found["r-1"], packets.Exchange("r-1", 10, [20, 31, 31], 40, 41))
        self.assertEqual(found["r-2"], packets.Exchange("r-2", 50, [60], 60, None))

    def test_a_request_without_a_name_takes_its_answer_with_it(self):
        self.send(10, "up", b"GET /v1/models HTTP/1.1\r\n\r\n")
        self.send(11, "down", b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")
        self.send(20, "up", request(b"r-1"))
        self.send(21, "down", HEAD + chunk(TOKEN))
        self.assertEqual(self.capture.exchanges(), {"r-1": packets.Exchange("r-1", 20, [21])})

    def test_an_interim_answer_is_not_the_answer(self):
        self.send(20, "up", request(b"r-1"))
        self.send(21, "down", b"HTTP/1.1 100 Continue\r\n\r\n")
        self.send(22, "down", HEAD + chunk(TOKEN))
        self.assertEqual(self.capture.exchanges()["r-1"].tokens_ns, [22])

    def test_a_request_without_an_answer_is_seen_nevertheless(self):
        self.send(20, "up", request(b"r-1"))
        self.assertEqual(self.capture.exchanges()["r-1"], packets.Exchange("r-1", 20))

    def test_what_is_no_http_is_counted(self):
        self.send(20, "up", request(b"r-1"))
        self.send(21, "down", b"HTTP/1.1 200 OK\r\nnonsense\r\n\r\n")
        self.assertEqual((self.capture.exchanges(), self.capture.unreadable), ({}, 1))


class Rows(unittest.TestCase):
    def test_a_row_of_tshark_becomes_a_packet(self):
        row = "1795983520.371028184\t3\t56900\t18771\t346647872\t0x0018\t4745\n"
        expected = packets.Packet(1795983520371028184, 3, 56900, 18771, 346647872, 0x18, b"GE")
        self.assertEqual(packets.packet_of(row), expected)
        self.assertEqual(packets.packet_of(row.replace(".371028184", "").replace("4745\n", "\n")).at_ns, 1795983520 * 10**9)


if __name__ == "__main__":
    unittest.main()
