"""Tests of model.py: a planted queue must come out of the figures that it would have left."""

import math
import os
import random
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from paper_experiment import model


class Fitted(unittest.TestCase):
    def test_a_planted_cost_and_start_up_are_found(self):
        found = model.fit([(800, 23 + 800 * 0.001), (2400, 23 + 2400 * 0.001), (8000, 23 + 8000 * 0.001)])
        self.assertAlmostEqual(found.mu, 1000)
        self.assertAlmostEqual(found.start_s, 23)
        self.assertEqual(found.points, 3)

    def test_noise_moves_it_a_little(self):
        noise = random.Random(7)
        for _ in range(200):
            points = [(count, 5 + count * 0.002 + noise.uniform(-0.2, 0.2)) for count in (1000, 3000, 10_000)]
            self.assertTrue(450 < model.fit(points).mu < 560)

    def test_what_tells_no_slope_is_not_fitted(self):
        for points in ([], [(800, 3.0)], [(800, 3.0), (900, 3.5)], [(800, 3.0), (8000, 2.9)]):
            self.assertIsNone(model.fit(points))


class Queued(unittest.TestCase):
    def test_rho_is_shared_by_the_processes(self):
        self.assertEqual(model.rho(500, 1000), 0.5)
        self.assertEqual(model.rho(500, 1000, 5), 0.1)

    def test_the_wait_is_that_of_the_textbooks(self):
        # M/M/1 at rho 0.8: rho / (mu - lambda); M/D/1 waits half of that.
        self.assertAlmostEqual(model.wait_s(800, 1000), 0.8 / 200)
        self.assertAlmostEqual(model.wait_s(800, 1000, variation=0), 0.4 / 200)
        self.assertAlmostEqual(model.wait_s(1600, 1000, 2), 0.8 / 200)
        self.assertEqual(model.wait_s(1000, 1000), math.inf)

    def test_a_simulated_queue_waits_as_long(self):
        chance, mu, rate = random.Random(3), 1000.0, 600.0
        free = now = waited = 0.0
        for _ in range(200_000):
            now += chance.expovariate(rate)
            waited += max(0.0, free - now)
            free = max(free, now) + chance.expovariate(mu)
        self.assertAlmostEqual(waited / 200_000 / model.wait_s(rate, mu), 1, delta=0.1)

    def test_the_processes_keep_rho_at_its_bound(self):
        for rate in (10, 300, 301, 599, 600, 601, 10_000):
            k = model.processes_for(rate, 1000)
            self.assertLessEqual(model.rho(rate, 1000, k), model.SOUND_RHO + 1e-12)
            self.assertTrue(k == 1 or model.rho(rate, 1000, k - 1) > model.SOUND_RHO)

    def test_saturation_is_seen_only_where_it_fell_behind(self):
        self.assertEqual(model.observed_saturation([(100, 99.0), (5000, 610.0), (1000, 640.0)]), (610.0, True))
        # One that paces itself by sleeping a little too long is late at every rate, and not saturated by it.
        self.assertEqual(model.observed_saturation([(100, 90.0), (1000, 998.0)]), (998.0, False))
        self.assertEqual(model.observed_saturation([(100, 99.0), (1000, 998.0)]), (998.0, False))
        self.assertEqual(model.observed_saturation([]), (None, False))


if __name__ == "__main__":
    unittest.main()
