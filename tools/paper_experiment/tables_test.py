"""Tests of the tables, the truth and the cells: failures are rows, a planted log comes out, and what was done is not done again."""

import argparse
import json
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from paper_experiment import cell, environments, tables, truth
from paper_experiment.client import Cannot, Load


def row(client, asked, outcome="measured", setting="default", **more):
    one = cell.Cell(client, setting, "one", "sim", Load.rate(asked, 8, 8))
    whole = {"key": one.key(), "cell": cell.asdict(one), "outcome": outcome, "when": "2026-11-30T01:02:03",
             "machine": "2 CPUs", "version": "1.2", "client_cpus": [0], "server_cpu_s": 0.8,
             "usage": {"cpu_s": 2 + asked * 8 * 0.001, "resident_mib": 50, "wall_s": 10.0, "status": 0, "processes": 1},
             "truth": {"requests": asked * 8, "rate": asked * 0.999, "ttft_mean": 0.1, "ttft_p99": 0.2, "e2e_mean": 0.2,
                       "e2e_p99": 0.4},
             "reported": {"completed": asked * 8, "rate": asked * 0.99, "ttft_mean": 1.1, "ttft_p99": 2.2, "e2e_mean": 1.2,
                          "e2e_p99": 2.4}}
    return {**whole, **more}


class Tables(unittest.TestCase):
    def test_failures_are_rows_with_their_reason(self):
        rows = [row("vllm", 100), row("vllm", 1000, outcome="failed", reason="not finished after 60 s", reported={}),
                row("inferencex", 100, outcome="not had", reason="in no registry")]
        text = "\n".join(tables.everything(rows))
        self.assertIn("not finished after 60 s; 8,000 of 8,000 requests came", text)
        self.assertIn("| InferenceX bench_serving | default | in no registry |", text)

    def test_added_latency_is_what_it_says_less_the_truth(self):
        line = next(line for line in tables.rates([row("vllm", 100)]) if "vLLM" in line)
        self.assertIn("| 1.00 / 2.00 |", line)
        self.assertIn("| 10 % |", line)

    def test_the_model_is_fitted_from_the_slope(self):
        line = next(line for line in tables.models([row("vllm", 100), row("vllm", 500)]) if "vLLM" in line)
        cells = [each.strip() for each in line.strip("|").split("|")]
        # 1 ms a request, 2 s of start-up: mu = 1,000/s on the one core that a single process takes.
        self.assertEqual(cells[5:9], ["1.000", "2.0", "1,000", "1,000"])
        self.assertEqual(cells[9:11], ["above 500", "0.50 (500/s)"])
        self.assertEqual(cells[-3:], ["4", "17", "34"])

    def test_answers_of_another_length_are_another_model(self):
        rows = [row("vllm", 100), row("vllm", 500)]
        for asked in (100, 500):
            longer = row("vllm", asked)
            longer["cell"]["load"]["tokens"] = 64
            longer["usage"]["cpu_s"] = 2 + asked * 8 * 0.004
            rows.append(longer)
        found = [[each.strip() for each in line.strip("|").split("|")] for line in tables.models(rows) if "vLLM" in line]
        self.assertEqual([(cells[1], cells[5]) for cells in found], [("8", "1.000"), ("64", "4.000")])

    def test_what_was_not_finished_in_time_tells_what_was_achieved(self):
        late = row("vllm", 5000, outcome="failed", reason="not finished after 60 s", reported={})
        late["truth"]["rate"] = 700.0
        line = next(line for line in tables.models([row("vllm", 100), row("vllm", 500), late]) if "vLLM" in line)
        self.assertIn("| 1.000 | 2.0 | 1,000 | 1,000 | 700 |", line)

    def test_one_rate_has_no_model(self):
        self.assertEqual(list(tables.models([row("vllm", 100)])), [])

    def test_a_client_that_fell_behind_has_a_saturation_and_a_mark(self):
        behind = row("vllm", 5000)
        behind["truth"]["rate"] = 900.0
        text = "\n".join(tables.models([row("vllm", 100), behind]))
        self.assertIn("| 900 |", text)
        self.assertIn("1.000 *", text)
        self.assertIn("fewer than two rates", text)
        behind["server_cpu_s"] = 43.0
        self.assertIn("| 900 (the server's) |", "\n".join(tables.models([row("vllm", 100), behind])))

    def test_without_a_truth_nothing_is_called_added(self):
        plain = row("vllm", 100, truth=None)
        found = tables.cells(plain)
        self.assertEqual({name for name, text in found.items() if text == "-"},
                         {"TTFT, truth", "E2E, truth", "added to E2E", "server busy"})

    def test_every_line_of_a_table_has_its_columns(self):
        lines = [line for line in tables.everything([row("vllm", 100), row("k6", 100, reported={"completed": 1})]) if "|" in line]
        widths = [line.count("|") for line in lines]
        rated = next(at for at, line in enumerate(lines) if line.startswith("| asked"))
        self.assertEqual(len(set(widths[rated:rated + 4])), 1)


class Put(unittest.TestCase):
    def test_only_what_stands_between_the_marks_changes(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "page.md")
            with open(path, "w", encoding="utf-8") as file:
                file.write(f"above\n{tables.BEGIN}\nold\n{tables.END}\nbelow\n")
            for _ in range(2):
                tables.put(path, "new")
                with open(path, encoding="utf-8") as file:
                    self.assertEqual(file.read(), f"above\n{tables.BEGIN}\n\nnew\n\n{tables.END}\nbelow\n")
            with open(path, "w", encoding="utf-8") as file:
                file.write("no marks")
            with self.assertRaises(Cannot):
                tables.put(path, "new")


class Truth(unittest.TestCase):
    def test_a_planted_log_comes_out(self):
        def line(at):
            events = [{"what": "role", "before_ns": at + 1}] + [
                {"what": "token", "before_ns": at + 2_000_000 + i * 1_000_000} for i in range(3)]
            return json.dumps({"received_ns": at, "events": events}) + "\n"

        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "log")
            with open(path, "w", encoding="utf-8") as file:
                file.writelines(line(i * 10_000_000) for i in range(100))
                file.write('{"received_ns": 5, "cut of')
            found = truth.read(path)
        self.assertEqual((found["requests"], found["in_flight"]), (100, 1))
        self.assertAlmostEqual(found["rate"], 100)
        self.assertEqual([found[key] for key in ("ttft_mean", "ttft_p99", "e2e_mean", "tpot_mean")], [2, 2, 4, 1])

    def test_a_probe_before_the_run_does_not_lower_the_rate(self):
        received = [0] + [60_000_000_000 + i * 1_000_000 for i in range(1000)]
        self.assertAlmostEqual(truth.middle_rate(received), 1000)

    def test_streams_at_once_are_counted(self):
        self.assertEqual(truth.most_at_once([(0, 1, 10, 2), (5, 6, 15, 2), (10, 11, 20, 2)]), 2)

    def test_nothing_asked_is_no_truth(self):
        self.assertIsNone(truth.of([], []))


class Cells(unittest.TestCase):
    def test_the_last_row_of_a_cell_counts_and_a_cut_line_is_left_out(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "cells.jsonl")
            self.assertEqual(cell.done(path), {})
            with open(path, "w", encoding="utf-8") as file:
                file.write('{"key": "a", "n": 1}\n{"key": "b", "n": 2}\n{"key": "a", "n": 3}\n{"key": "c"')
            self.assertEqual({key: value["n"] for key, value in cell.done(path).items()}, {"a": 3, "b": 2})

    def test_what_makes_a_cell_another_is_in_its_key(self):
        base = ("vllm", "default", "one", "sim", Load.rate(100, 8, 8))
        others = [("oha", *base[1:]), ("vllm", "high", *base[2:]), (*base[:4], Load.rate(300, 8, 8)),
                  (*base[:4], Load.rate(100, 9, 8)), (*base[:4], Load.streams(100, 8, 2))]
        keys = {cell.Cell(*each).key() for each in [base, *others]}
        self.assertEqual(len(keys), len(others) + 1)

    def test_a_client_that_is_not_here_is_a_row(self):
        with tempfile.TemporaryDirectory() as folder:
            options = argparse.Namespace(programs={}, lowrho="lowrho", limit=1)
            bench = cell.Bench(options, environments.Environments(folder))
            for name, setting, why in (("inferencex", "default", "registry"), ("vllm", "default", "not installed"),
                                       ("vllm", "high", "no settings for high rates")):
                found = bench.measure(cell.Cell(name, setting, "one", "sim", Load.rate(100, 1, 8)))
                self.assertEqual(found["outcome"], "not had")
                self.assertIn(why, found["reason"])

    def test_the_reason_is_the_line_that_says_it(self):
        words = "Traceback (most recent call last):\n  File x\nValueError: no such model\n\x1b[0m[INFO] done\n"
        self.assertEqual(cell.last_error(words), "ValueError: no such model")
        self.assertEqual(cell.last_error(""), "it said nothing")


class Serving(unittest.TestCase):
    def test_what_only_a_server_needs_is_told_from_what_a_client_needs(self):
        for name in ("torch", "torchvision", "nvidia_cublas-cu12", "flashinfer-python", "sglang-kernel", "opencv-python-headless"):
            self.assertTrue(environments.serving(name), name)
        for name in ("aiohttp", "transformers", "tokenizers", "numpy", "openai", "tqdm", "xgrammar", "ray-something"):
            self.assertFalse(environments.serving(name), name)


if __name__ == "__main__":
    unittest.main()
