"""Runs a program with all that it starts, and tells their CPU time and their largest memory together.

The larger of two readings: what wait4(2) tells is only of children that were waited for, what /proc tells twice a
second lacks the last moments of those that ended.
"""

import os
import signal
import subprocess
import time
from dataclasses import dataclass

TICK_S = 0.05
LOOK_S = 0.5
PAGE = os.sysconf("SC_PAGE_SIZE")
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Used:
    status: int | None
    """Exit status; None where the time was up."""
    wall_s: float
    cpu_s: float
    """User and system time of the program and everything it started."""
    resident_mib: float
    """The most of all resident sets together; pages that they share are counted in each."""
    processes: int
    """The most at once."""


def session(leader):
    """(pid, CPU s, resident bytes) of each process of a session."""
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                fields = file.read().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == leader and fields[0] != "Z":
            yield int(name), (int(fields[11]) + int(fields[12])) / TICKS, int(fields[21]) * PAGE


def end(leader, reap):
    """Ends what is left of a session, by a signal that can be heard first."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        left = [pid for pid, _, _ in session(leader)]
        for pid in left:
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass
        for _ in range(30):
            reap()
            if not list(session(leader)):
                return
            time.sleep(TICK_S)


def run(argv, env, folder, limit_s, cores):
    """Runs it on those CPUs, in a session of its own, at most so long; what it prints is in folder/stdout and stderr."""
    argv = ["taskset", "-c", ",".join(map(str, cores)), *argv]
    begun_s = time.monotonic()
    with open(os.path.join(folder, "stdout"), "w", encoding="utf-8") as stdout, \
            open(os.path.join(folder, "stderr"), "w", encoding="utf-8") as stderr:
        process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr, cwd=folder,
                                   env={**os.environ, **env}, start_new_session=True)
    waited, seen, most_bytes, most, look_s = None, {}, 0, 0, begun_s

    def reap():
        nonlocal waited
        if waited is None:
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            if pid:
                waited = (os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime)
                process.returncode = waited[0]

    try:
        while waited is None and time.monotonic() - begun_s < limit_s:
            if time.monotonic() >= look_s:
                look_s += LOOK_S
                now = list(session(process.pid))
                seen |= {pid: cpu_s for pid, cpu_s, _ in now}
                most_bytes, most = max(most_bytes, sum(size for _, _, size in now)), max(most, len(now))
            reap()
            if waited is None:
                time.sleep(TICK_S)
        status = waited[0] if waited else None
        wall_s = time.monotonic() - begun_s
    finally:
        end(process.pid, reap)
    looked_s = sum(seen.values())
    cpu_s = max(waited[1] if waited else 0, looked_s)
    return Used(status, wall_s, cpu_s, most_bytes / (1 << 20), most)
