"""Sends heartbeats over TLS and checks the answers: `python tls_load.py HOST PORT CA CONNECTIONS DEPTH COUNT PAYLOADS`.

Each connection has DEPTH requests in flight, which it writes and reads together. Each line of the file PAYLOADS is a request in hex, whose
correlation ids are counted up. It prints how many were answered.
"""

from __future__ import annotations

import socket
import ssl
import sys
from pathlib import Path

ANSWER = 16
"""The size of a Heartbeat v4 answer, with its length."""
OK = bytes(8)
"""The end of that answer: no tags in the header, throttle time 0, error 0, no tags."""


def connected(host: str, port: int, ca: str) -> ssl.SSLSocket:
    context = ssl.create_default_context(cafile=ca)
    return context.wrap_socket(socket.create_connection((host, port), 30), server_hostname="localhost")


def burst(frame: bytes, depth: int) -> bytes:
    """Return this many requests with different correlation ids."""
    size = (len(frame)).to_bytes(4, "big")
    return b"".join(size + frame[:4] + number.to_bytes(4, "big") + frame[8:] for number in range(depth))


def read(client: ssl.SSLSocket, depth: int) -> None:
    """Read the answers to a burst. Ends the process if one is an error."""
    data = b""
    while len(data) < ANSWER * depth:
        piece = client.recv(65_536)
        if not piece:
            raise SystemExit("the server closed the connection")
        data += piece
    for number in range(depth):
        answer = data[number * ANSWER : (number + 1) * ANSWER]
        if answer[4:] != number.to_bytes(4, "big") + OK:
            raise SystemExit(f"an answer is wrong: {answer.hex()}")


def main(host: str, port: str, ca: str, connections: str, depth: str, count: str, payloads: str) -> None:
    """Send COUNT requests in all."""
    frames = [bytes.fromhex(line) for line in Path(payloads).read_text().split()]
    clients = [connected(host, int(port), ca) for _ in range(int(connections))]
    bursts = [burst(frames[place % len(frames)], int(depth)) for place in range(len(clients))]
    answered = 0
    while answered < int(count):
        for client, data in zip(clients, bursts, strict=True):
            client.sendall(data)
        for client in clients:
            read(client, int(depth))
            answered += int(depth)
    print(answered)


main(*sys.argv[1:])
