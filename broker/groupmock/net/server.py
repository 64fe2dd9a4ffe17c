"""The server of one cluster: its listeners, connections and driver, all on the loop in which it was started."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from groupmock_codec.units import NS_PER_MS, NS_PER_S

from ..core.ingredients import describe
from ..journal.rows import CANNOT_ACCEPT, END
from .connection import Connection
from .counters import Counters
from .driver import Driver
from .listen import Acceptor, Adopt, java_host, listen
from .warm_up import WarmUp

if TYPE_CHECKING:
    from ..config.limits import Limits
    from ..core.core import Core
    from ..core.effects import Effects
    from ..core.events import Command
    from ..journal.journal import Journal
    from .clock import Clock, Handle
    from .secured import Secured

Listen = tuple[str, int] | socket.socket
FLUSH_EVERY_S: Final = 0.25
LOAD_SINKS_AFTER_S: Final = 0.2
CLOSE_WITHIN_S: Final = 1.0
# An idle connection may live a quarter longer than its limit, because a timer for each connection would double the cost of a heartbeat.
SWEEPS_PER_IDLE_TIME: Final = 4


class Server:
    """The server of one cluster, which runs on one loop and one thread: `await start(...)`, `submit(command)`, `await close()`.
    `counters` are always current."""

    def __init__(self, core: Core, clock: Clock, journal: Journal, limits: Limits) -> None:
        self.core = core
        self.clock = clock
        self.journal = journal
        self.limits = limits
        self.failure: str | None = None
        self._failed: asyncio.Event | None = None
        self._driver: Driver | None = None
        self._counters = Counters()
        self._acceptors: dict[int, list[Acceptor]] = {}
        self.secured: Secured | None = None
        """The TLS, mechanisms and users of secured listeners, or None without any."""
        self._adopting: set[asyncio.Task[None]] = set()
        self._numbers = 0
        self._sweep: Handle | None = None
        self.warm_up: WarmUp | None = None
        self._loader: asyncio.TimerHandle | None = None
        self._flusher: asyncio.TimerHandle | None = None
        self._empty = asyncio.Event()

    @property
    def driver(self) -> Driver:
        """The driver, which exists once the server has started."""
        if self._driver is None:
            raise RuntimeError("the server was not started")
        return self._driver

    @property
    def counters(self) -> Counters:
        """The totals since the start, which stay readable after the end of the server."""
        return self._counters

    async def start(self, addresses: Mapping[int, Listen]) -> dict[int, int]:
        """Listen for every node on its first listener and return the actual port of each node id. `addresses` maps a node id to (host,
        port) or to a socket that listens already (see `listen.listen`). `core.environment.identity` must have the advertised addresses by
        now. If it raises OSError, nothing is left open."""
        self._driver = Driver(self.core, self.clock, self.journal, self.limits)
        self._counters = self._driver.counters
        self._driver.vacated = self._vacated
        self._driver.nodes.listening = self._listening
        self._driver.shows_certificates = self.secured is None or self.secured.shows_certificates
        self._failed = asyncio.Event()
        listeners = _listen_all(addresses)
        try:
            self.journal.begin(partial(describe, self.core.environment))
        except OSError:
            for listener in listeners.values():
                listener.close()
            raise
        for node, listener in listeners.items():
            self.listen_for(node, listener)
        self._sweep_later()
        self._flush_later()
        self.warm_up = WarmUp(self.core, self._driver.codecs, self._counters)
        self.warm_up.first()
        self.warm_up.begin()
        self.journal.put_off()
        self._loader = asyncio.get_running_loop().call_later(LOAD_SINKS_AFTER_S, self._load_sinks)
        return {node: listener.getsockname()[1] for node, listener in listeners.items()}

    def listen_for(self, node: int, listener: socket.socket, name: str | None = None) -> None:
        """Accept connections to a listener (None: the first one) of a node that the core knows, on a listening socket."""
        acceptor = Acceptor(listener, self._adopter(node, name), self._room, self._cannot_accept)
        self._acceptors.setdefault(node, []).append(acceptor)

    def submit(self, command: Command) -> Effects:
        """Run a command through the core, on the loop's thread. Raises the errors of the command."""
        return self.driver.submit(command)

    def client_says(self, client: str, what: str, fields: dict[str, Any]) -> None:
        """Write a row of what one of groupmock's own clients says about itself, on the loop's thread."""
        self.driver.record.client(client, what, fields, self.clock.now())

    def close_connections(self) -> None:
        """Close every client connection while the server goes on, as a fixture does between tests."""
        for connection in list(self.driver.connections.values()):
            self.driver.shut(connection, "the server was told to close all connections")

    async def close(self) -> None:
        """Stop accepting, send the answers that are due, close every connection and flush the journal. A second call does nothing more."""
        for acceptor in self._all_acceptors():
            acceptor.close()
        self._acceptors.clear()
        for appointment in (self._sweep, self.warm_up, self._loader, self._flusher):
            if appointment is not None:
                appointment.cancel()
        if self._driver is None:
            return
        self._driver.stop()
        await self._close_all(self._driver)
        now = self.clock.now()
        self.journal.end(now)
        if self.failure is None:
            self._driver.record.remark(END, now)
        self.journal.flush()
        self._driver = None

    def fail(self, reason: str) -> None:
        """Record that the server cannot continue, for example because its journal cannot be written. The caller of `wait_failed` then
        ends the server."""
        if self.failure is None:
            self.failure = reason
            if self._failed is not None:
                self._failed.set()

    async def wait_failed(self) -> str:
        """Wait until `fail` is called and return its reason."""
        assert self._failed is not None, "start first"
        await self._failed.wait()
        assert self.failure is not None
        return self.failure

    def _adopter(self, node: int, name: str | None) -> Adopt:
        endpoints = self.core.environment.endpoints[node]
        endpoint = endpoints[name] if name is not None else next(iter(endpoints.values()))

        def adopt(accepted: socket.socket, host: str, port: int) -> None:
            self._numbers += 1
            connection = Connection(self.driver, self._numbers, node, java_host(host), port, endpoint.name)
            protocol: asyncio.Protocol = connection
            if self.secured is not None:
                protocol = self.secured.protocol(connection, self.driver, endpoint.protocol)
            task = asyncio.get_running_loop().create_task(_connect(protocol, accepted))
            self._adopting.add(task)
            task.add_done_callback(self._adopted)

        return adopt

    def _adopted(self, task: asyncio.Task[None]) -> None:
        """Forget the finished task that set up a connection."""
        self._adopting.discard(task)
        self._accept_again()

    def _room(self) -> bool:
        # Connections that are being adopted count too, because a burst accepted in one turn could exceed max.connections before any of them
        # is a connection.
        return len(self.driver.connections) + len(self._adopting) < self.limits.max_connections

    def _listening(self, node: int, on: bool) -> None:
        """Open or close the port of a node that was started or stopped."""
        for acceptor in self._acceptors.get(node, ()):
            acceptor.listen() if on else acceptor.refuse()

    def _all_acceptors(self) -> list[Acceptor]:
        return [acceptor for acceptors in self._acceptors.values() for acceptor in acceptors]

    def _cannot_accept(self, reason: str) -> None:
        self.driver.counters.accept_failures += 1
        self.driver.record.remark(CANNOT_ACCEPT, self.clock.now(), reason=reason)

    def _sweep_later(self) -> None:
        idle = self.limits.connections_max_idle_ms
        if idle >= 0:
            now, pause = self.clock.now(), max(idle // SWEEPS_PER_IDLE_TIME, 1) * NS_PER_MS
            # No connection can reach its idle limit before this time. A sweep every quarter of ten minutes would take a second when the
            # clock steps over a month (18,000 sweeps).
            first = min((one.heard for one in self.driver.connections.values()), default=now) + idle * NS_PER_MS
            self._sweep = self.clock.call_at(max(now + pause, first + 1), self._sweep_idle)

    def _sweep_idle(self) -> None:
        oldest = self.clock.now() - self.limits.connections_max_idle_ms * NS_PER_MS
        for connection in [one for one in self.driver.connections.values() if one.heard < oldest]:
            seconds = (self.clock.now() - connection.heard) / NS_PER_S
            self.driver.shut(connection, f"nothing arrived for {seconds:.0f} s (connections.max.idle.ms)")
        self._sweep_later()

    def _flush_later(self) -> None:
        """Flush written rows soon, even if no more rows follow. Without a file there is nothing to flush."""
        if self.journal.details:
            self.journal.flush()
            self._flusher = asyncio.get_running_loop().call_later(FLUSH_EVERY_S, self._flush_later)

    def _load_sinks(self) -> None:
        """Import on another thread the modules that the first log line needs. That takes 200 ms, and the loop keeps serving."""
        try:
            loading = asyncio.get_running_loop().run_in_executor(None, self.journal.load)
        except RuntimeError:  # If no more threads are possible, the first log line imports the modules itself.
            self._sinks_loaded(self.journal.loaded())
            return

        def loaded(done: asyncio.Future[None]) -> None:
            if not done.cancelled():
                done.exception()  # An OSError because no descriptor is free is ignored: then the first log line imports the modules itself.
            self._sinks_loaded(self.journal.loaded())

        loading.add_done_callback(loaded)

    def _sinks_loaded(self, steps: Iterator[None]) -> None:
        if next(steps, steps) is None:
            asyncio.get_running_loop().call_soon(self._sinks_loaded, steps)

    async def _close_all(self, driver: Driver) -> None:
        for connection in list(driver.connections.values()):
            driver.shut(connection, "the server stops", linger=False)
        if self._adopting:
            # Connections that are being adopted are in no list yet, and would become connections of a server that has ended.
            await asyncio.wait(self._adopting, timeout=CLOSE_WITHIN_S)
        await self._until_empty(CLOSE_WITHIN_S)
        for connection in list(driver.connections.values()):
            # The transport is aborted, because a peer that does not read its answers keeps it from closing.
            if connection.transport is not None:
                connection.transport.abort()
        await self._until_empty(CLOSE_WITHIN_S)

    async def _until_empty(self, seconds: float) -> None:
        """Wait until no connection is left, or until the time is over."""
        self._empty.clear()
        if self.driver.connections:
            try:
                await asyncio.wait_for(self._empty.wait(), seconds)
            except TimeoutError:
                pass

    def _vacated(self) -> None:
        """Accept connections again, because the end of one has made room."""
        if not self.driver.connections:
            self._empty.set()
        self._accept_again()

    def _accept_again(self) -> None:
        for acceptor in self._all_acceptors():
            acceptor.resume()


async def _connect(protocol: asyncio.Protocol, accepted: socket.socket) -> None:
    try:
        await asyncio.get_running_loop().connect_accepted_socket(lambda: protocol, accepted)
    except OSError:  # The client disconnected before its connection was adopted.
        accepted.close()


def _listen_all(addresses: Mapping[int, Listen]) -> dict[int, socket.socket]:
    listeners: dict[int, socket.socket] = {}
    try:
        for node, where in addresses.items():
            listeners[node] = where if isinstance(where, socket.socket) else listen(*where)
    except OSError:
        for listener in listeners.values():
            listener.close()
        raise
    return listeners
