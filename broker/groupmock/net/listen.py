"""Listening sockets, and an acceptor that takes many connections in one iteration of the loop.

libuv accepts one connection per iteration of the loop, so that a thousand clients that arrive together wait 0.8 s
(docs/kafka/limits.md#accepting-connections). This acceptor takes all connections that the kernel has, and passes them to the loop one by
one.
"""

from __future__ import annotations

import asyncio
import errno
import os
import resource
import socket
from collections.abc import Callable
from functools import lru_cache
from typing import Final

# The number of pending connections is Linux's default since 5.4 (net.core.somaxconn), which cuts larger values to its limit.
BACKLOG: Final = 4096
# After this many connections the loop has a turn, so that connected clients are served while others still arrive.
ACCEPT_AT_ONCE: Final = 256
RETRY_S: Final = 0.1
RESERVED: Final = 32
"""The number of file descriptors that connections must leave free (a quarter of all if there are fewer than 128), because the first
request of an API may import files."""
OUT_OF_RESOURCES: Final = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


def bracketed(host: str) -> str:
    """Return the host in the form that precedes a colon and a port: an IPv6 address gets brackets."""
    return f"[{host}]" if ":" in host else host


def listen(host: str, port: int) -> socket.socket:
    """Bind a socket and listen on it; port 0 takes a free port. Raises OSError. Accepted connections inherit TCP_NODELAY (Linux; loops
    set it too)."""
    # Text goes through the codec "idna", whose import costs a millisecond; most host names are ASCII.
    name = host.encode() if host.isascii() else host
    family, kind, protocol, _, address = socket.getaddrinfo(name, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setblocking(False)
        # A broker that starts again on its port (`Broker.clear`) must not wait for connections in TIME_WAIT.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # Small answers must not wait for a delayed ACK. Kafka's acceptor sets TCP_NODELAY as well (kafka.network.SocketServer).
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        listener.bind(address)
        listener.listen(BACKLOG)
    except OSError:
        listener.close()
        raise
    return listener


@lru_cache(maxsize=1024)
def java_host(host: str) -> str:
    """Return a peer's address as Java's InetAddress.toString() prints it: "/10.0.0.7", "/0:0:0:0:0:0:0:1"
    (docs/kafka/group-protocol.md#records)."""
    if ":" not in host:
        return f"/{host}"
    from ipaddress import IPv6Address  # This import is late, because most clients use IPv4.

    groups = IPv6Address(host.partition("%")[0]).exploded.split(":")
    return "/" + ":".join(f"{int(group, 16):x}" for group in groups)


def _open_at_most() -> int:
    """Return the number of file descriptors that may be open before the reserved ones begin, by the present limit (ulimit -n)."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return limit - min(RESERVED, limit // 4) if limit != resource.RLIM_INFINITY else 2**31


Adopt = Callable[[socket.socket, str, int], None]


class Acceptor:
    """Accepts the connections of one listener while `room()` is true, at most `at_once` in one iteration of the loop, and passes each to
    `adopt(socket, host, port)`."""

    def __init__(
        self,
        listener: socket.socket,
        adopt: Adopt,
        room: Callable[[], bool],
        trouble: Callable[[str], None],
        at_once: int = ACCEPT_AT_ONCE,
    ) -> None:
        self._listener = listener
        self._at_once = at_once
        self._adopt = adopt
        self._room = room
        self._trouble = trouble
        self._loop = asyncio.get_running_loop()
        self._watching = False
        self._refusing = False
        self._crowded = False
        self._retry: asyncio.TimerHandle | None = None
        self.resume()

    def resume(self) -> None:
        """Start or continue to accept connections, because there is room."""
        self._retry = None
        if not self._watching and not self._refusing and self._listener.fileno() >= 0:
            self._watching = True
            self._loop.add_reader(self._listener, self._ready)

    def refuse(self) -> None:
        """Close the listening socket and keep its port, so that clients are refused. Raises OSError."""
        family, address = self._listener.family, self._listener.getsockname()
        self.close()
        self._listener = socket.socket(family, socket.SOCK_STREAM)
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._listener.setblocking(False)
        self._listener.bind(address)
        self._refusing = True

    def listen(self) -> None:
        """Accept connections again after `refuse`."""
        self._refusing = False
        self._listener.listen(BACKLOG)
        self.resume()

    def close(self) -> None:
        """Stop accepting and close the listener."""
        self._rest()
        if self._retry is not None:
            self._retry.cancel()
        self._listener.close()

    def _rest(self) -> None:
        if self._watching:
            self._watching = False
            self._loop.remove_reader(self._listener)

    def _ready(self) -> None:
        for _ in range(self._at_once):
            if not self._room():
                self._rest()
                return
            try:
                if self._crowded:
                    self._check_crowd()
                accepted, address = self._listener.accept()
            # ConnectionAbortedError means that a client gave up before it was accepted.
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as failure:
                self._failed(failure)
                return
            self._crowded = accepted.fileno() >= _open_at_most() - 1
            accepted.setblocking(False)
            self._adopt(accepted, address[0], address[1])

    def _check_crowd(self) -> None:
        """Raise OSError(EMFILE) if the next connection would use a reserved file descriptor. The kernel gives the lowest free
        descriptor, so that is looked up only when the last one came close."""
        probe = os.dup(self._listener.fileno())
        os.close(probe)
        if probe >= _open_at_most():
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        self._crowded = False

    def _failed(self, failure: OSError) -> None:
        """Pause accepting when file descriptors or memory have run out, and try again soon."""
        if failure.errno not in OUT_OF_RESOURCES:
            raise failure
        self._trouble(failure.strerror or str(failure))
        self._rest()
        self._retry = self._loop.call_later(RETRY_S, self.resume)
