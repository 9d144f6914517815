"""Freezes one thread of a process that we started, while its others go on: no signal can, so it is done as a debugger does.

It must not end the thread: when the time is over it goes on where it was.
"""

import ctypes
import os
import threading
import time

SEIZE, INTERRUPT, DETACH = 0x4206, 0x4207, 17
"""Requests of ptrace(2)."""
WALL = 0x40000000
"""waitpid(2): threads too."""

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]


def thread_of(pid, name):
    """The number of a process's thread of that name; LookupError when there is none."""
    for number in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{number}/comm", encoding="ascii") as comm:
            if comm.read().strip() == name:
                return int(number)
    raise LookupError(f"process {pid} has no thread {name}")


def ptrace(request, thread):
    if libc.ptrace(request, thread, None, None) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"ptrace of thread {thread}: {os.strerror(number)}")


class Freezer(threading.Thread):
    """Freezes the thread `name` of a child process for so long, so long from now. `frozen_ns` are the instants between which
    it stood, on the clock of the records (CLOCK_MONOTONIC); `failed` is what kept us from it."""

    def __init__(self, pid, name, after_s, for_s):
        super().__init__(daemon=True)
        self.pid, self.name_of, self.after_s, self.for_s = pid, name, after_s, for_s
        self.frozen_ns, self.failed = None, None

    def run(self):
        # All by one thread: the kernel knows the tracer by its thread.
        time.sleep(self.after_s)
        try:
            thread = thread_of(self.pid, self.name_of)
            ptrace(SEIZE, thread)
            ptrace(INTERRUPT, thread)
            os.waitpid(thread, WALL)
            begun_ns = time.monotonic_ns()
            time.sleep(self.for_s)
            self.frozen_ns = (begun_ns, time.monotonic_ns())
            ptrace(DETACH, thread)
        except (OSError, LookupError) as failed:
            self.failed = failed
