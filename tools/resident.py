"""Starts a simulator and a run of lowrho as two processes and watches the run's resident memory.

What `open-streams` and `steady-memory` share. It must not judge: it starts, samples and stops.
"""

import json
import os
import signal
import socket
import statistics
import subprocess
import time


class Died(Exception):
    """A process ended before its time; the message holds its last words."""


def free_port():
    """A port of 127.0.0.1 that nobody listens on now."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def resident_kib(pid):
    """VmRSS of a process, in KiB."""
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        for line in status:
            if line.startswith("VmRSS:"):
                return int(line.split()[1])
    raise Died(f"process {pid} has ended")


def established(port):
    """Connections to a local server's port that are up, counted at the client's end."""
    wanted = f":{port:04X}"
    with open("/proc/net/tcp", encoding="ascii") as table:
        next(table)
        return sum(1 for row in map(str.split, table) if row[2].endswith(wanted) and row[3] == "01")


class Program:
    """One running lowrho; ended when the `with` block is left."""

    def __init__(self, arguments, log_path):
        self.log_path = log_path
        with open(log_path, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(arguments, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.pid = self.process.pid

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for number in (signal.SIGINT, signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            if self.process.poll() is not None:
                return
            self.process.send_signal(number)
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                pass

    def check(self):
        if self.process.poll() is not None:
            with open(self.log_path, encoding="utf-8", errors="replace") as log:
                words = log.read()[-2000:]
            raise Died(f"{' '.join(self.process.args)}\nended with status {self.process.returncode}:\n{words}")

    def median_kib(self, samples=5, apart_s=1.0):
        """The median of a few samples of resident memory."""
        seen = []
        for _ in range(samples):
            time.sleep(apart_s)
            self.check()
            seen.append(resident_kib(self.pid))
        return statistics.median(seen)


def simulator(lowrho, port, folder, *more, tls=False):
    """A simulator on 127.0.0.1:port, ready to be asked."""
    more = [*more, "--tls"] if tls else more
    program = Program([lowrho, "sim", "--listen", f"127.0.0.1:{port}", *more], os.path.join(folder, "sim.log"))
    deadline_s = time.monotonic() + 15
    while time.monotonic() < deadline_s:
        program.check()
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return program
        except OSError:
            time.sleep(0.05)
    program.__exit__()
    raise Died(f"the simulator did not listen on port {port} within 15 s")


def run(lowrho, port, folder, name, *more, tls=False):
    """A run of lowrho against that port; its results go to folder/name."""
    common = [lowrho, "run", "--url", f"{'https' if tls else 'http'}://127.0.0.1:{port}"]
    common += ["--out", os.path.join(folder, name)] + (["--insecure"] if tls else [])
    return Program([*common, *more], os.path.join(folder, name + ".log"))


def load_of(folder, name):
    """The `load` part of a run's summary, over all its stages."""
    with open(os.path.join(folder, name, "summary.json"), encoding="utf-8") as file:
        return json.load(file)["load"]
