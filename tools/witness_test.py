"""Tests of witness.py: what lies outside its bounds must be found, and what lies inside must not be."""

import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import packets
import tap_lead
import witness

START_NS = 1_000_000_000_000


def record(**more):
    whole = {"index": 7, "ok": True, "sent_ns": 100, "sent_uncertainty_ns": 20, "first_ns": 1_000, "last_ns": 1_900,
             "events": 3, "gaps_ns": [500, 400], "uncertainties_ns": [0, 0, 50], "coalesced": 1}
    return {**whole, **more}


def seen(sent_ns=110, tokens_ns=(1_000, 1_500, 1_900)):
    return packets.Exchange("r-7", START_NS + sent_ns, [START_NS + at_ns for at_ns in tokens_ns])


class Compared(unittest.TestCase):
    def compare(self, record, seen, **more):
        comparison = witness.Comparison(**{"clock_ns": 2, "realtime_ns": START_NS, **more})
        comparison.add(record, seen)
        return comparison

    def beyond(self, comparison):
        return {kind.name.split(":")[0]: [by for by, _ in kind.beyond] for kind in comparison.kinds() if kind.beyond}

    def test_what_agrees_is_sound_and_its_errors_are_told(self):
        found = self.compare(record(), seen())
        self.assertEqual(self.beyond(found), {})
        self.assertEqual((found.ttft.errors, found.itl.errors, found.e2e.errors), ([10], [0, 0], [10]))
        self.assertEqual((found.sent.errors, found.exact.errors, found.unsure.errors), ([-10], [0, 0], [0]))
        self.assertTrue(found.is_sound(1))

    def test_a_coalesced_event_may_have_come_earlier_by_its_uncertainty_and_no_more(self):
        self.assertEqual(self.beyond(self.compare(record(), seen(tokens_ns=(1_000, 1_500, 1_850)))), {})
        found = self.compare(record(), seen(tokens_ns=(1_000, 1_500, 1_840)))
        self.assertEqual(self.beyond(found), {"ITL": [8], "coalesced event": [8]})
        self.assertFalse(found.is_sound(1))

    def test_an_exact_event_may_differ_by_the_clock_alone_unless_the_lead_is_allowed(self):
        found = self.compare(record(), seen(tokens_ns=(990, 1_500, 1_900)))
        self.assertEqual(self.beyond(found)["exact event"], [8])
        self.assertFalse(found.is_sound(1))
        self.assertTrue(self.compare(record(), seen(tokens_ns=(990, 1_500, 1_900)), lead_ns=8).is_sound(1))

    def test_an_event_is_never_stamped_before_its_packet(self):
        found = self.compare(record(), seen(tokens_ns=(1_003, 1_500, 1_900)))
        self.assertEqual(self.beyond(found)["exact event"], [1])

    def test_the_request_leaves_within_its_uncertainty(self):
        self.assertEqual(self.beyond(self.compare(record(), seen(sent_ns=122))), {})
        self.assertEqual(self.beyond(self.compare(record(), seen(sent_ns=130)))["request"], [8])
        self.assertEqual(self.beyond(self.compare(record(), seen(sent_ns=90)))["request"], [8])

    def test_without_a_clock_spans_are_compared_all_the_same(self):
        found = self.compare(record(), seen(), realtime_ns=None)
        self.assertEqual([kind.name for kind in found.kinds()], ["TTFT", "ITL", "E2E"])

    def test_what_cannot_be_compared_is_counted_and_nothing_is_not_sound(self):
        self.assertEqual(self.compare(record(), None).unseen, 1)
        self.assertEqual(self.compare(record(events=4), seen()).unequal, 1)
        self.assertEqual(self.compare(record(ok=False), seen()).skipped, 1)
        for found in (self.compare(record(), None), self.compare(record(ok=False), seen())):
            self.assertFalse(found.is_sound(0.1))

    def test_the_table_has_a_row_for_each_kind(self):
        rows = list(self.compare(record(), seen()).table())
        self.assertEqual(len(rows), 7)
        self.assertIn("100.000 %", rows[1])

    def test_coalescing_is_counted_over_successes(self):
        self.assertEqual(witness.coalesced([record(), record(ok=False)]), (1, 1, 3))


class Lead(unittest.TestCase):
    def test_each_stamp_is_set_beside_the_packet_that_completed_its_message(self):
        sent = packets.Direction()
        sent.take(packets.Packet(0, 0, 1, 2, 0, packets.SYN, b""))
        half = tap_lead.MESSAGE[:100], tap_lead.MESSAGE[100:]
        for at_ns, sequence, payload in ((10, 1, half[0]), (11, 101, half[1]), (20, 226, tap_lead.MESSAGE)):
            sent.take(packets.Packet(at_ns, 0, 1, 2, sequence, 0x18, payload))
        self.assertEqual(tap_lead.leads([12, 23, 30], sent), [1, 3])
        self.assertEqual(tap_lead.leads([None, 23], sent), [3])


if __name__ == "__main__":
    unittest.main()
