"""The paper's model of a client: a queue with one server for each process, fitted to what was measured.

A request costs a process the CPU time 1/mu. At lambda requests/s on k processes each is busy a share
rho_k = lambda / (k mu) of the time, and above rho = 1 nothing that it reports depends on the server any more.
"""

import math
from dataclasses import dataclass

KEPT_UP = 0.95
"""A client that sent at least this share of what was asked has kept up."""
SOUND_RHO = 0.3
"""The load at which a process still waits little: the bound that `--shards auto` takes too."""


@dataclass(frozen=True)
class Fit:
    """CPU seconds = start + cost x requests."""

    cost_s: float
    start_s: float
    points: int

    @property
    def mu(self):
        """Requests/s that one busy core carries."""
        return 1 / self.cost_s


def fit(points):
    """The line of least squares through (requests, CPU s); None where the points do not tell a slope.

    Start-up is in the intercept. Two different amounts are the least, the larger at least twice the smaller.
    """
    xs = [x for x, _ in points]
    if len(xs) < 2 or max(xs) < 2 * min(xs):
        return None
    mean_x, mean_y = sum(xs) / len(xs), sum(y for _, y in points) / len(points)
    cost_s = sum((x - mean_x) * (y - mean_y) for x, y in points) / sum((x - mean_x) ** 2 for x in xs)
    # Noise can outweigh a cheap client's cost where there were few requests.
    return Fit(cost_s, mean_y - cost_s * mean_x, len(points)) if cost_s > 0 else None


def rho(rate, mu, processes=1):
    return rate / (processes * mu)


def wait_s(rate, mu, processes=1, variation=1.0):
    """The mean wait of M/G/1 (Pollaczek and Khinchine), the arrivals split over the processes; infinite from rho = 1.

    `variation` is the squared coefficient of variation of the service time: 0 never varies, 1 is exponential.
    """
    busy = rho(rate, mu, processes)
    return math.inf if busy >= 1 else busy / mu * (1 + variation) / (2 * (1 - busy))


def processes_for(rate, mu, at_most=SOUND_RHO):
    """The fewest processes, each on a core of its own, that are busy at most so large a share of the time."""
    # A quotient that is whole must not be carried over it by its last bit.
    return max(1, math.ceil(rate / (at_most * mu) - 1e-9))


def saturation(mu, cores):
    """Requests/s beyond which so many cores are always busy."""
    return mu * cores


def observed_saturation(cells):
    """(requests/s, whether it is the limit) of (asked, achieved): what was achieved where the most was asked.

    It is the limit where that was less than was asked.
    """
    if not cells:
        return None, False
    asked, achieved = max(cells)
    return achieved, achieved < KEPT_UP * asked
