"""What a load generator is to this experiment: data, how it is called, and how its result is read.

It must not judge: a client that cannot do a thing raises `Cannot`, and the reason becomes a row of the table.
"""

import json
import os
from dataclasses import asdict, dataclass, field


class Cannot(Exception):
    """This cell cannot be measured; the message is the row's reason."""


@dataclass(frozen=True)
class Load:
    """What is asked of a client: so many requests/s, or so many streams kept open."""

    kind: str
    """`rate` or `streams`."""
    amount: int
    seconds: int
    """How long the load is to last, if the client keeps up."""
    tokens: int
    """Of each answer."""
    requests: int
    input_tokens: int = 32

    @classmethod
    def rate(cls, per_s, seconds, tokens):
        return cls("rate", per_s, seconds, tokens, per_s * seconds)

    @classmethod
    def streams(cls, count, seconds, tokens_per_s, rounds=2):
        """Each of the streams carries so many answers in turn, all of the same length."""
        return cls("streams", count, seconds, max(2, tokens_per_s * seconds // rounds), count * rounds)

    @property
    def is_rate(self):
        return self.kind == "rate"


@dataclass(frozen=True)
class Place:
    """Where a client runs, and whom it asks."""

    folder: str
    """Of this cell alone, empty at first."""
    url: str
    """http://HOST:PORT, without a path."""
    model: str
    cores: tuple
    """The CPUs that it may use."""
    program: str
    """The client's program, or the interpreter of its environment."""
    tokenizer: str
    """The folder of a tokenizer of our own making."""
    hf_home: str
    """A Hugging Face cache that holds the same as `local/tok`."""

    def file(self, name):
        return os.path.join(self.folder, name)

    @property
    def completions(self):
        return self.url + "/v1/completions"


@dataclass(frozen=True)
class Command:
    argv: list
    env: dict = field(default_factory=dict)


@dataclass(frozen=True)
class Reported:
    """What a client says of its own run. Milliseconds; None is what it does not tell."""

    completed: int | None = None
    failed: int | None = None
    rate: float | None = None
    """Requests/s by its own account."""
    ttft_mean: float | None = None
    ttft_p99: float | None = None
    e2e_mean: float | None = None
    e2e_p99: float | None = None
    tpot_mean: float | None = None
    late_mean: float | None = None
    """How long after they were due its requests were sent, where it says so."""
    words: str = ""
    """What it says of its own trustworthiness."""

    def plain(self):
        return {key: value for key, value in asdict(self).items() if value not in (None, "")}


def every(_high, cores):
    """A client of several processes or threads: it can send from every core that it is given."""
    return cores


def one(_high, _cores):
    """A client of one process and one thread: it sends from one core, however many there are."""
    return 1


@dataclass(frozen=True)
class Client:
    name: str
    title: str
    environment: str | None
    """The name of its environment (environments.py); None where a program is enough."""
    command: object = None
    """(Load, Place, high) -> Command; `high`: with the settings that its documentation gives for high rates."""
    read: object = None
    """(folder, stdout) -> Reported."""
    high: str | None = None
    """What its documentation advises for high rates, in words; None where it advises nothing."""
    spreads: object = every
    """(high, cores) -> on how many of them it can send at once."""
    arrivals: str = "Poisson"
    """Of an open loop, as it makes them unless told otherwise."""
    ttft: str = "first token"
    """What its TTFT ends with, in a word or two; empty where it has none."""
    good: tuple = (0,)
    """Exit statuses of a run that measured."""
    missing: str | None = None
    """Why it is not here; then nothing else of it is used."""
    version: tuple = ()
    """Arguments with which its program prints its version, where its environment does not tell it."""


def load_json(folder, name):
    """A result file; Cannot where the client did not leave it."""
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        raise Cannot(f"it left no {name}")
    with open(path, encoding="utf-8") as file:
        try:
            return json.load(file)
        except ValueError as wrong:
            raise Cannot(f"its {name} is no JSON: {wrong}") from wrong


def last_line(folder, name):
    """The last run of a file of JSON lines."""
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        raise Cannot(f"it left no {name}")
    with open(path, encoding="utf-8") as file:
        lines = [line for line in file if line.strip()]
    if not lines:
        raise Cannot(f"its {name} is empty")
    try:
        return json.loads(lines[-1])
    except ValueError as wrong:
        raise Cannot(f"its {name} is no JSON: {wrong}") from wrong


def scaled(value, factor):
    return None if value is None else value * factor


def at(tree, *path):
    """What lies at that path of nested objects, or None."""
    for key in path:
        if not isinstance(tree, dict) or key not in tree:
            return None
        tree = tree[key]
    return tree
