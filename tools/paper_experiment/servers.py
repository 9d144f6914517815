"""The servers that are asked: lowrho's simulator, an application under uvicorn whose HTTP is not ours, or one that runs.

The first two write the truth of each request to a log. It must not judge: it starts, tells and stops.
"""

import contextlib
import os
import socket
import time

import resident

MODEL = "paper"


class Server:
    """One that answers, and what it costs."""

    def __init__(self, url, model, pid=None, log=None):
        self.url, self.model, self.pid, self.log = url, model, pid, log

    def cpu_s(self):
        """CPU time that it has used; None where it is not ours to ask."""
        return None if self.pid is None else process_cpu_s(self.pid)


def process_cpu_s(pid):
    """User and system time of a process, all threads, in seconds."""
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        after_name = file.read().rpartition(")")[2].split()
    return (int(after_name[11]) + int(after_name[12])) / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def simulator(lowrho, folder, cpu, ttft="0s", itl="0s", more=()):
    port, log = resident.free_port(), os.path.join(folder, "truth.jsonl")
    options = ["--model", MODEL, "--ttft", ttft, "--itl", itl, "--cpus", str(cpu), "--log", log, *more]
    with resident.simulator(lowrho, port, folder, *options) as program:
        yield Server(f"http://127.0.0.1:{port}", MODEL, program.pid, log)


@contextlib.contextmanager
def uvicorn(python, folder, cpu, life_s, ttft="0s", itl="0s"):
    port, log = resident.free_port(), os.path.join(folder, "truth.jsonl")
    app = os.path.join(os.path.dirname(os.path.abspath(resident.__file__)), "stream-server", "app.py")
    options = ["--port", str(port), "--cpu", str(cpu), "--model", MODEL, "--ttft", ttft, "--itl", itl, "--log", log]
    argv = [python, app, *options, "--for", f"{life_s}s"]
    with resident.Program(argv, os.path.join(folder, "uvicorn.log")) as program:
        await_port(program, port)
        yield Server(f"http://127.0.0.1:{port}", MODEL, program.pid, log)


@contextlib.contextmanager
def running(url, model):
    yield Server(url.rstrip("/"), model)


def await_port(program, port, patience_s=15):
    deadline_s = time.monotonic() + patience_s
    while True:
        program.check()
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            if time.monotonic() > deadline_s:
                raise resident.Died(f"nothing listens on port {port} after {patience_s} s") from None
            time.sleep(0.05)
