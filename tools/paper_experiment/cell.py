"""One cell of the experiment: one client, with one kind of settings, on some cores, against one server, under one load."""

import contextlib
import datetime
import json
import os
import platform
import re
import subprocess
import tempfile
from dataclasses import asdict, dataclass

import resident

from . import environments, servers, truth, usage
from .client import Cannot, Load, Place
from .clients import ALL


@dataclass(frozen=True)
class Cell:
    client: str
    setting: str
    """`default` or `high`."""
    cores: str
    """`one` or `all`."""
    server: str
    """`sim`, `uvicorn` or `url`."""
    load: Load
    tokens_per_s: int = 0
    """Of each stream; 0 = at once."""

    def key(self):
        """What makes it the same cell: done once, it is not done again."""
        load = f"{self.load.kind} {self.load.amount} x {self.load.tokens} for {self.load.seconds} s"
        return f"{self.client}, {self.setting}, {self.cores}, {self.server}, {load} at {self.tokens_per_s}/s"


class Bench:
    """Where cells are measured: the programs, the CPUs, the environments."""

    def __init__(self, options, made):
        self.options, self.made = options, made
        self.cpus = sorted(os.sched_getaffinity(0))
        self.server_cpu = self.cpus[-1]

    def cores(self, which):
        """The client's CPUs. `all` leaves the server's out, unless that would leave one: then it is shared."""
        if which == "one" or len(self.cpus) == 1:
            return (self.cpus[0],)
        return tuple(self.cpus if len(self.cpus) == 2 else self.cpus[:-1])

    def program(self, client):
        if client.name in self.options.programs:
            return self.options.programs[client.name]
        if client.environment is None:
            raise Cannot(client.missing or "no program")
        if client.environment == "lowrho":
            return os.path.abspath(self.options.lowrho)
        if self.made.versions(client.environment) is None:
            why = self.made.why_not(client.environment)
            raise Cannot(f"could not be installed: {why}" if why else "not installed (--install)")
        return self.made.path(client.environment, environments.ALL[client.environment].program)

    def version(self, client):
        """Of the client's own package, or what its program says; None where neither can be asked."""
        if client.environment in environments.ALL and client.name not in self.options.programs:
            return (self.made.versions(client.environment) or {}).get(client.environment)
        try:
            said = subprocess.run([self.program(client), *client.version], stdin=subprocess.DEVNULL, capture_output=True,
                                  text=True, check=False, timeout=20).stdout
        except (Cannot, OSError, subprocess.SubprocessError):
            return None
        found = re.search(r"\d+\.\d+[^\s,)]*", said)
        return found.group(0) if client.version and found else None

    @contextlib.contextmanager
    def server(self, cell, folder):
        itl = f"{1000 / cell.tokens_per_s:g}ms" if cell.tokens_per_s else "0s"
        if cell.server == "sim":
            with servers.simulator(os.path.abspath(self.options.lowrho), folder, self.server_cpu, itl=itl) as server:
                yield server
        elif cell.server == "uvicorn":
            if self.made.versions("uvicorn") is None:
                raise Cannot(f"no uvicorn: {self.made.why_not('uvicorn') or 'not installed (--install)'}")
            python = self.made.path("uvicorn", "bin/python")
            life_s = round(self.options.limit) + 60
            with servers.uvicorn(python, folder, self.server_cpu, life_s, itl=itl) as server:
                yield server
        else:
            with servers.running(self.options.url, self.options.url_model) as server:
                yield server

    def measure(self, cell):
        """The cell's row, whatever happens: a failure is a row with its reason."""
        row = {"key": cell.key(), "cell": asdict(cell), "when": datetime.datetime.now().isoformat(timespec="seconds"),
               "machine": machine(), "version": self.version(ALL[cell.client])}
        try:
            client = ALL[cell.client]
            if client.missing and cell.client not in self.options.programs:
                raise Cannot(client.missing)
            if cell.setting == "high" and client.high is None:
                raise Cannot("its documentation has no settings for high rates")
            with tempfile.TemporaryDirectory(prefix="paper-") as folder:
                return row | self.run(cell, client, folder)
        except Cannot as why:
            return row | {"outcome": "not had", "reason": str(why)}
        except (resident.Died, OSError, KeyError, TypeError, ValueError) as wrong:
            return row | {"outcome": "failed", "reason": first_line(f"{type(wrong).__name__}: {wrong}")}

    def run(self, cell, client, folder):
        program = self.program(client)
        os.mkdir(os.path.join(folder, "server"))
        os.mkdir(os.path.join(folder, "client"))
        cores = self.cores(cell.cores)
        with self.server(cell, os.path.join(folder, "server")) as server:
            place = Place(
                folder=os.path.join(folder, "client"), url=server.url, model=server.model, cores=cores,
                program=program, tokenizer=self.made.tokenizer, hf_home=self.made.hf_home,
            )
            command = client.command(cell.load, place, cell.setting == "high")
            before_s, stolen = server.cpu_s(), steal_s()
            used = usage.run(command.argv, offline(place) | command.env, place.folder, self.options.limit, cores)
            after_s = server.cpu_s()
            row = {"client_cpus": list(cores), "server_cpu": self.server_cpu, "usage": asdict(used),
                   "stolen_s": steal_s() - stolen}
            if before_s is not None:
                row["server_cpu_s"] = after_s - before_s
        # The server has ended: its log is whole.
        if server.log and os.path.exists(server.log):
            row["truth"] = truth.read(server.log)
        return row | outcome(client, used, place.folder, self.options.limit)


def outcome(client, used, folder, limit_s):
    """What became of the client: its own figures, or why there are none."""
    if used.status is None:
        return {"outcome": "failed", "reason": f"not finished after {limit_s:g} s"}
    with open(os.path.join(folder, "stdout"), encoding="utf-8", errors="replace") as file:
        stdout = file.read()
    if used.status not in client.good:
        with open(os.path.join(folder, "stderr"), encoding="utf-8", errors="replace") as file:
            return {"outcome": "failed", "reason": f"exit status {used.status}: {last_error(file.read() or stdout)}"}
    try:
        reported = client.read(folder, stdout)
    except Cannot as why:
        return {"outcome": "failed", "reason": str(why)}
    if not reported.completed:
        return {"outcome": "failed", "reason": "none of its requests succeeded", "reported": reported.plain()}
    return {"outcome": "measured", "reported": reported.plain()}


def offline(place):
    """For clients that would look a tokenizer up, or tell somebody of their run."""
    return {"HF_HOME": place.hf_home, "HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1",
            "TOKENIZERS_PARALLELISM": "false", "DO_NOT_TRACK": "1", "VLLM_NO_USAGE_STATS": "1", "PYTHONWARNINGS": "ignore",
            "NO_COLOR": "1"}


def machine():
    """The processor, how many CPUs may be used, and the kernel."""
    with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
        names = [line.partition(":")[2].strip() for line in file if line.startswith("model name")]
    return f"{names[0] if names else platform.machine()}, {len(os.sched_getaffinity(0))} CPUs, kernel {platform.release()}"


def steal_s():
    """Time that the hypervisor took from all CPUs since the machine began."""
    with open("/proc/stat", encoding="ascii") as file:
        return int(file.readline().split()[8]) / os.sysconf("SC_CLK_TCK")


ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def first_line(text, most=200):
    lines = [line.strip() for line in ESCAPES.sub("", text).splitlines() if line.strip()]
    return lines[0][:most] if lines else ""


def last_error(text, most=200):
    """The line that most likely says why: the last that names an error, else the last."""
    lines = [line.strip() for line in ESCAPES.sub("", text).splitlines() if line.strip()]
    named = [line for line in lines if re.search(r"error|exception|cannot|not found", line, re.IGNORECASE)]
    return (named or lines or ["it said nothing"])[-1][:most]


def done(path):
    """The rows of a file of cells by their keys, the later ones first; a last line that was cut off is left out."""
    rows = {}
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            for line in file:
                if line.endswith("\n"):
                    row = json.loads(line)
                    rows[row["key"]] = row
    return rows
