"""Measures by how much the tap that a capture hangs on stamps a TCP segment earlier than the kernel stamps it for its socket.

What `pcap-verify` allows a packet's stamp for: taken on a plain socket of this tool, so that nothing of lowrho is in it.
On loopback and veth a segment arrives with its sender's pacing time in the field of the stamp; so the tap reads the
clock for itself, and IP a little later once more, for the socket. It must not judge how long that may take.
"""

import ctypes
import os
import socket
import struct
import threading
import time

CLONE_NEWNET = 0x40000000
SO_TIMESTAMPNS = 35
MESSAGE = b"x" * 225
"""About as long as a usual event."""


def enter(namespace):
    """Moves this thread, and no other, into a network namespace; its sockets are made there."""
    if namespace is not None:
        with open(f"/run/netns/{namespace}", "rb") as file:
            if ctypes.CDLL(None, use_errno=True).setns(file.fileno(), CLONE_NEWNET):
                raise OSError(ctypes.get_errno(), f"setns {namespace}")


class Sampler(threading.Thread):
    """Sends itself a message every few milliseconds, from address:port to a socket beside the client, until it is stopped."""

    def __init__(self, way, cpu, apart_s=0.005):
        super().__init__(daemon=True)
        self.way, self.cpu, self.apart_s = way, cpu, apart_s
        self.stamps = []
        """The socket's, in nanoseconds of CLOCK_REALTIME, one a message; None where the kernel gave none (the first can be)."""
        self.failed = None
        self.ending = threading.Event()

    def run(self):
        try:
            os.sched_setaffinity(0, {self.cpu})
            enter(self.way.server_namespace)
            with socket.create_server((self.way.address, self.way.lead_port)) as listener:
                enter(self.way.client_namespace)
                with socket.socket() as receiver:
                    receiver.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
                    receiver.connect((self.way.address, self.way.lead_port))
                    with listener.accept()[0] as sender:
                        while not self.ending.wait(self.apart_s):
                            self.stamps.append(stamp_of_one(sender, receiver))
        except OSError as wrong:
            self.failed = wrong

    def stop(self):
        self.ending.set()
        self.join()


def stamp_of_one(sender, receiver):
    sender.sendall(MESSAGE)
    size = 0
    while size < len(MESSAGE):
        data, control, _, _ = receiver.recvmsg(4096, 512)
        size += len(data)
    for level, kind, value in control:
        if (level, kind) == (socket.SOL_SOCKET, SO_TIMESTAMPNS):
            seconds, ns = struct.unpack("qq", value[:16])
            return seconds * 1_000_000_000 + ns
    return None


def leads(stamps, sent):
    """Of each message the socket's stamp less the packet's; `sent` is the Direction of the sender."""
    ends = [(place + 1) * len(MESSAGE) for place in range(len(stamps))]
    seen = [(stamp, end) for stamp, end in zip(stamps, ends) if stamp is not None and end <= len(sent.data)]
    return [stamp - sent.at_ns(end - 1) for stamp, end in seen]
