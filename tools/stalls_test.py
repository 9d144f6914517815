"""Tests of stalls.py: a value that its own bounds do not allow must be found."""

import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import accuracy
import stalls

START_NS = 1_000_000


def record(**more):
    whole = {"index": 7, "phase": "measured", "ok": True, "sent_ns": 100, "sent_uncertainty_ns": 20, "first_ns": 1_000,
             "events": 3, "gaps_ns": [500, 400], "uncertainties_ns": [0, 300, 0]}
    return {**whole, **more}


def truth(sent_ns=(995, 1_490, 1_890), received_ns=110):
    return accuracy.Truth("r-7", START_NS + received_ns, [START_NS + at for at in sent_ns], [0] * 3, [10] * 3)


def summary(p50_ns=890, bias_ns=0):
    quantiles = {"p50": p50_ns, "p90": None, "p99": None}
    bias = {"p50": bias_ns, "p90": None, "p99": None}
    client = {"stamps": {"clock_bound_ns": 2}, "bias": {"ttft_ns": bias, "itl_ns": bias}}
    return {"run": {"id": "r", "start_mono_ns": START_NS}, "client": client,
            "latency": {"ttft_ns": quantiles, "itl_ns": {**quantiles, "p50": None}}}


class HeldUp(unittest.TestCase):
    def beyond(self, record, truth):
        found = stalls.held([record], [truth], summary())
        self.assertTrue(found.is_whole())
        return {kind.name: [by for by, _ in kind.beyond] for kind in found.kinds() if kind.beyond}

    def test_arrivals_between_the_brackets_of_their_sends_are_inside(self):
        self.assertEqual(self.beyond(record(), truth()), {})

    def test_an_uncertain_event_may_have_been_sent_earlier_and_an_exact_one_not(self):
        self.assertEqual(self.beyond(record(), truth(sent_ns=(995, 1_200, 1_890))), {})
        self.assertEqual(self.beyond(record(), truth(sent_ns=(895, 1_490, 1_890))), {"TTFT": [83], "ITL": [83], "arrival": [93]})

    def test_an_event_is_never_stamped_before_it_was_sent(self):
        self.assertEqual(self.beyond(record(), truth(sent_ns=(1_003, 1_490, 1_890)))["arrival"], [1])

    def test_what_is_missing_is_told(self):
        for found in (stalls.held([record(ok=False)], [truth()], summary()), stalls.held([record()], [], summary()),
                      stalls.held([record(events=4)], [truth()], summary()), stalls.held([], [truth()], summary())):
            self.assertFalse(found.is_whole())

    def test_a_quantile_is_inside_where_truth_lies_within_its_bias_bound(self):
        # By the log the TTFT was 885 at least (995 - 110) and 905 at most (1,005 - 100).
        for p50_ns, bias_ns, inside in ((890, 0, True), (1_000, 0, False), (1_000, 100, True), (800, 0, False)):
            found = stalls.held([record()], [truth()], summary())
            row, = stalls.quantile_rows(found, summary(p50_ns, bias_ns))
            self.assertEqual(row, ("TTFT", "p50", p50_ns, 885, 905, bias_ns, inside))


if __name__ == "__main__":
    unittest.main()
