"""Tests of accuracy.py: planted errors must come out, and nothing that does not fit may pass unseen."""

import json
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import accuracy

START_NS = 1_000_000


def record(index, first_ns, gaps_ns, **more):
    last_ns = first_ns + sum(gaps_ns)
    whole = {"index": index, "phase": "measured", "ok": True, "sent_ns": 0, "first_ns": first_ns, "last_ns": last_ns,
             "events": len(gaps_ns) + 1, "gaps_ns": gaps_ns, "stamp": "software"}
    return {**whole, **more}


def truth(request_id, first_ns, gap_ns, count, received_ns=0):
    sent_ns = [START_NS + first_ns + i * gap_ns for i in range(count)]
    return accuracy.Truth(request_id, START_NS + received_ns, sent_ns, [0] * count)


class Joined(unittest.TestCase):
    def compare(self, records, truths, phase=None, summary=True):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "records.jsonl")
            with open(path, "w", encoding="utf-8") as file:
                file.writelines(json.dumps(each) + "\n" for each in records)
                file.write('{"index": 99, "cut of')
            if summary:
                with open(os.path.join(folder, "summary.json"), "w", encoding="utf-8") as file:
                    json.dump({"run": {"id": "r-a", "start_mono_ns": START_NS}}, file)
            return accuracy.compare(path, truths, phase)

    def test_planted_errors_are_found(self):
        found = self.compare([record(7, 20_030, [5_000, 5_004])], [truth("r-a-7", 20_020, 5_000, 3, received_ns=15)])
        self.assertEqual(found.joined, 1)
        self.assertEqual(found.ttft.values, [20_030 - (20_020 - 15)])
        self.assertEqual(found.itl.values, [0, 4])
        self.assertEqual(found.mean_itl.values, [2])
        self.assertEqual(found.request_way.values, [15])
        self.assertEqual(found.first_way.values, [10])
        self.assertEqual(found.last_way.values, [14])

    def test_without_a_summary_the_index_joins_and_ways_are_unknown(self):
        found = self.compare([record(7, 20, [5])], [truth("r-a-7", 20, 5, 2)], summary=False)
        self.assertEqual((found.joined, found.request_way.values), (1, []))

    def test_another_run_is_not_joined(self):
        found = self.compare([record(7, 20, [5])], [truth("r-b-7", 20, 5, 2)])
        self.assertEqual((found.joined, found.unknown), (0, 1))

    def test_another_number_of_events_is_told(self):
        found = self.compare([record(7, 20, [5])], [truth("r-a-7", 20, 5, 3)])
        self.assertEqual((found.unequal, found.itl.values), (1, []))

    def test_failures_and_other_phases_are_left_out(self):
        records = [record(1, 20, [5], ok=False), record(2, 20, [5], phase="warmup")]
        found = self.compare(records, [truth("r-a-1", 20, 5, 2), truth("r-a-2", 20, 5, 2)], phase="measured")
        self.assertEqual((found.joined, found.skipped), (0, 1))

    def test_a_log_of_two_runs_is_refused(self):
        with self.assertRaises(SystemExit):
            self.compare([record(7, 20, [5])], [truth("r-a-7", 20, 5, 2)] * 2)

    def test_a_line_of_the_log_becomes_a_truth_of_its_tokens_alone(self):
        def event(what, planned_ns):
            return {"what": what, "planned_ns": planned_ns, "before_ns": planned_ns + 1, "after_ns": planned_ns + 3}

        events = [event("role", 10), event("token", 20), event("token", 30), event("usage", 30)]
        line = {"x_request_id": "r-a-7", "received_ns": 5, "events": events}
        self.assertEqual(accuracy.truth_of(line), accuracy.Truth("r-a-7", 5, [21, 31], [1, 1], [2, 2]))
        self.assertIsNone(accuracy.truth_of({**line, "events": events[:1]}))
        self.assertIsNone(accuracy.truth_of({**line, "x_request_id": None}))

    def test_quantiles_are_of_the_nearest_rank(self):
        hundred = list(range(1, 101))
        self.assertEqual([accuracy.quantile(hundred, q) for q in (0.01, 0.5, 0.99, 1.0)], [1, 50, 99, 100])
        self.assertEqual(accuracy.quantile([4], 0.01), 4)


if __name__ == "__main__":
    unittest.main()
