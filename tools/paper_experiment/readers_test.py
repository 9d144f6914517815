"""Tests of the clients: each reads a file that the real tool wrote, and asks for the load that is meant."""

import json
import os
import shutil
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
from paper_experiment.client import Cannot, Load, Place
from paper_experiment.clients import ALL, aiperf, guidellm, inference_perf, k6, lowrho, oha, sglang, vllm

SAMPLES = os.path.join(HERE, "..", "..", "tests", "foreign", "samples")


def read(client, sample, name):
    """What the client reads from a sample that lies where the tool would have left it."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        shutil.copy(os.path.join(SAMPLES, sample), path)
        return client.read(folder, "")


class Readers(unittest.TestCase):
    def near(self, found, **wanted):
        for key, value in wanted.items():
            self.assertAlmostEqual(getattr(found, key), value, places=2, msg=key)

    def test_vllm(self):
        found = read(vllm.CLIENT, "vllm-0.33.json", vllm.RESULT)
        self.near(found, completed=3000, failed=0, rate=296.88)
        self.assertTrue(20 < found.ttft_mean < 23 and 95 < found.e2e_mean < 98 and found.e2e_p99 > found.e2e_mean)

    def test_sglang_in_both_languages(self):
        found = read(sglang.CLIENT, "sglang-0.5.23.jsonl", sglang.RESULT)
        self.near(found, completed=3000, rate=269.04, ttft_mean=21.46, ttft_p99=24.12, e2e_mean=96.45, tpot_mean=5.0)
        found = read(sglang.RUST, "sglang-rust-0.5.23.jsonl", sglang.RESULT)
        self.near(found, completed=3000, rate=227.74, ttft_mean=20.27, e2e_mean=95.25)

    def test_aiperf(self):
        found = read(aiperf.CLIENT, "aiperf-0.13.json", aiperf.RESULT)
        self.near(found, completed=3000, failed=0, rate=297.08, ttft_mean=22.2, ttft_p99=35.72, tpot_mean=4.97, e2e_p99=107.9)

    def test_guidellm(self):
        found = read(guidellm.CLIENT, "guidellm-0.8.json", guidellm.RESULT)
        self.near(found, completed=60, failed=0, rate=29.98, e2e_mean=6.05)
        self.assertTrue(found.ttft_mean <= found.e2e_mean)

    def test_inference_perf(self):
        found = read(inference_perf.CLIENT, "inference-perf-0.7-summary.json", "out/summary_lifecycle_metrics.json")
        self.near(found, completed=2999, failed=0, rate=297.35, e2e_mean=97.81, e2e_p99=161.94, late_mean=2.43)

    def test_k6(self):
        found = read(k6.CLIENT, "k6-1.1-export.json", k6.RESULT)
        self.near(found, completed=501, failed=0, rate=99.09, e2e_mean=55.22, e2e_p99=55.47)
        self.assertIsNone(found.ttft_mean)

    def test_oha(self):
        with open(os.path.join(SAMPLES, "oha-1.16.json"), encoding="utf-8") as file:
            found = oha.CLIENT.read("", file.read())
        self.near(found, completed=495, failed=6, rate=100.16, e2e_mean=55.21, e2e_p99=56.04)
        with self.assertRaises(Cannot):
            oha.CLIENT.read("", "Summary: ...")

    def test_lowrho(self):
        summary = {
            "load": {"completed": 7, "failed": 1, "achieved_rate": 99.5, "lateness_ns": {"mean": 2e5}},
            "latency": {"ttft_ns": {"mean": 2e7, "p99": None}, "tpot_ns": {"mean": 5e6, "p99": 6e6},
                        "e2e_ns": {"mean": 5.5e7, "p99": 5.6e7}},
            "client": {"verdict": "valid"},
        }
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(os.path.join(folder, "out"))
            with open(os.path.join(folder, "out", "summary.json"), "w", encoding="utf-8") as file:
                json.dump(summary, file)
            found = lowrho.CLIENT.read(folder, "")
        self.near(found, completed=7, failed=1, rate=99.5, ttft_mean=20, tpot_mean=5, e2e_mean=55, e2e_p99=56, late_mean=0.2)
        self.assertEqual((found.ttft_p99, found.words), (None, "valid"))

    def test_a_result_that_is_not_there_or_no_json_is_a_reason(self):
        for client in ALL.values():
            if client.missing or client is oha.CLIENT:
                continue
            with tempfile.TemporaryDirectory() as folder, self.assertRaises(Cannot, msg=client.name):
                client.read(folder, "")


class Commands(unittest.TestCase):
    def commands(self, load, high):
        for client in ALL.values():
            if client.missing or (high and client.high is None):
                continue
            with tempfile.TemporaryDirectory() as folder:
                place = Place(folder, "http://127.0.0.1:9", "m", (0, 1), "program", "tok", "hf")
                made = client.command(load, place, high)
                files = ""
                for name in os.listdir(folder):
                    with open(os.path.join(folder, name), encoding="utf-8") as file:
                        files += file.read()
                yield client, made, " ".join(made.argv) + " " + files + json.dumps(made.env)

    def test_every_client_is_asked_for_the_load(self):
        for load in (Load.rate(777, 5, 13), Load.streams(555, 8, 50)):
            for client, made, text in self.commands(load, high=False):
                with self.subTest(client=client.name, load=load.kind):
                    self.assertEqual(made.argv[0], "program")
                    self.assertTrue(all(isinstance(word, str) for word in made.argv))
                    for wanted in (str(load.amount), str(load.tokens)):
                        self.assertIn(wanted, text)
                    self.assertIn("127.0.0.1:9", text)

    def test_settings_for_high_rates_differ_where_there_are_some(self):
        load = Load.rate(5000, 5, 8)
        plain = {client.name: text for client, _, text in self.commands(load, high=False)}
        for client, _, text in self.commands(load, high=True):
            self.assertNotEqual(text, plain[client.name], client.name)

    def test_a_stream_carries_its_answers_for_the_time(self):
        load = Load.streams(1000, 8, 20)
        self.assertEqual((load.tokens, load.requests), (80, 2000))

    def test_what_is_not_here_says_why(self):
        for client in ALL.values():
            self.assertTrue(client.missing or (client.command and client.read and client.environment), client.name)


if __name__ == "__main__":
    unittest.main()
