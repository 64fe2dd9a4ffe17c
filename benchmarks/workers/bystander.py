"""Pings a server a thousand times a second and tells the longest round trip: how long its loop stood still.

The end of a round trip is the kernel's own stamp on the answer (SO_TIMESTAMPNS), so it does not matter that this process
shares its core with a busy load generator and wakes up late.

    python -m benchmarks.workers.bystander HOST PORT    # a line when the first answer came; JSON on SIGTERM
"""

from __future__ import annotations

import json
import os
import signal
import socket
import statistics
import struct
import sys
import time

SO_TIMESTAMPNS = 35
"""Linux; Python's socket module does not name it. The ancillary message carries the same number."""
PING = struct.pack(">ihhih", 10, 18, 0, 7, -1)
"""ApiVersions v0, no client id."""
PERIOD = 0.001


def connect(host: str, port: int) -> socket.socket:
    """A connection whose received data is stamped by the kernel."""
    sock = socket.create_connection((host, port), 30)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    sock.settimeout(None)
    return sock


def stamp(ancillary: list[tuple[int, int, bytes]]) -> int:
    """When the kernel received what was just read, in ns of the wall clock."""
    for level, kind, content in ancillary:
        if level == socket.SOL_SOCKET and kind == SO_TIMESTAMPNS:
            seconds, nanoseconds = struct.unpack("qq", content[:16])
            return int(seconds) * 1_000_000_000 + int(nanoseconds)
    return time.clock_gettime_ns(time.CLOCK_REALTIME)


def ping(sock: socket.socket) -> int:
    """One round trip in ns."""
    sent = time.clock_gettime_ns(time.CLOCK_REALTIME)
    sock.sendall(PING)
    received, at, size = b"", sent, 4
    while len(received) < size:
        chunk, ancillary, _, _ = sock.recvmsg(65536, 64)
        if not chunk:
            sys.exit("the server closed the probe's connection")
        received += chunk
        at = stamp(ancillary)
        if len(received) >= 4:
            size = 4 + int.from_bytes(received[:4], "big")
    return at - sent


def first_in_line() -> None:
    """Real-time priority where we may: pings that are sent late miss short pauses."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except PermissionError:
        print("probe: no real-time priority here; short pauses may be missed", file=sys.stderr)


def main() -> None:
    """Pings until SIGTERM."""
    stopping: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _frame: stopping.append(number))
    first_in_line()
    sock = connect(sys.argv[1], int(sys.argv[2]))
    trips = [ping(sock)]
    print("ready", flush=True)
    while not stopping:
        trips.append(ping(sock))
        time.sleep(PERIOD)
    p99 = sorted(trips)[len(trips) * 99 // 100]
    told = {"pings": len(trips), "longest_ms": max(trips) / 1e6, "p99_ms": p99 / 1e6, "median_ms": statistics.median(trips) / 1e6}
    print(json.dumps(told), flush=True)


if __name__ == "__main__":
    main()
