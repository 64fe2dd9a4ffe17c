"""Probes the health of a server: exit code 0 if the address answers an ApiVersions request, else 1 with a sentence.

Usage: health.py HOST:PORT. It needs only the standard library and starts in a few milliseconds, because it runs every few seconds.
"""

from __future__ import annotations

import socket
import struct
import sys

API_VERSIONS, VERSION, CORRELATION, NO_CLIENT_ID = 18, 0, 20100, -1
REQUEST = struct.pack(">ihhih", 10, API_VERSIONS, VERSION, CORRELATION, NO_CLIENT_ID)
ANSWER = struct.Struct(">iihi")  # The answer begins with length, correlation id, error code and the number of APIs.
SECONDS = 2.0


def probe(address: str) -> str | None:
    """Return the problem of the server at HOST:PORT, or None."""
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host, int(port)), SECONDS) as connection:
            connection.sendall(REQUEST)
            with connection.makefile("rb") as stream:
                answer = stream.read(ANSWER.size)
    except (OSError, ValueError) as trouble:
        return f"{address}: {trouble}"
    if len(answer) < ANSWER.size:
        return f"{address}: closed the connection before it had answered"
    _length, correlation, error, count = ANSWER.unpack(answer)
    if (correlation, error) != (CORRELATION, 0) or count < 1:
        return f"{address}: answered with correlation id {correlation}, error {error}, {count} APIs"
    return None


def main(arguments: list[str]) -> int:
    """Return the exit code for a container engine."""
    if len(arguments) != 1:
        print("usage: health.py HOST:PORT", file=sys.stderr)
        return 1
    trouble = probe(arguments[0])
    if trouble:
        print(trouble, file=sys.stderr)
    return 1 if trouble else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
