"""Pings a server a thousand times a second and reports the longest round trip, which shows how long its event loop stood still.

A round trip ends with the kernel's own timestamp of the response (SO_TIMESTAMPNS). It therefore does not matter that this process shares
its core with a busy load generator and wakes up late.

    python -m benchmarks.workers.bystander HOST PORT    # prints a line at the first response, JSON on SIGTERM
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
"""A Linux socket option that Python's socket module does not name. The ancillary message carries the same number."""
PING = struct.pack(">ihhih", 10, 18, 0, 7, -1)
"""An ApiVersions v0 request without a client id."""
PERIOD = 0.001


def connect(host: str, port: int) -> socket.socket:
    """Connect, and ask the kernel for timestamps of the received data."""
    sock = socket.create_connection((host, port), 30)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    sock.settimeout(None)
    return sock


def stamp(ancillary: list[tuple[int, int, bytes]]) -> int:
    """Return when the kernel received the data just read, in ns of the wall clock."""
    for level, kind, content in ancillary:
        if level == socket.SOL_SOCKET and kind == SO_TIMESTAMPNS:
            seconds, nanoseconds = struct.unpack("qq", content[:16])
            return int(seconds) * 1_000_000_000 + int(nanoseconds)
    return time.clock_gettime_ns(time.CLOCK_REALTIME)


def ping(sock: socket.socket) -> int:
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
    """Take real-time priority where it is allowed: pings that are sent late miss short pauses."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except PermissionError:
        print("probe: no real-time priority here; short pauses may be missed", file=sys.stderr)


def main() -> None:
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
    readings = {"pings": len(trips), "longest_ms": max(trips) / 1e6, "p99_ms": p99 / 1e6, "median_ms": statistics.median(trips) / 1e6}
    print(json.dumps(readings), flush=True)


if __name__ == "__main__":
    main()
