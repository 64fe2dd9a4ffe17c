"""The recording proxy has a listener in front of every node of a cluster, a relay for each connection, and one journal."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import ssl
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from ..config.limits import Limits
from ..journal.file import FileSink
from ..journal.journal import Journal
from ..journal.place import placed
from ..journal.rows import CANNOT_ACCEPT, END, LEFT_OUT
from ..net.clock import LoopClock
from ..net.listen import Acceptor, bracketed
from ..net.turns import Turns
from ..server.running import CannotStart
from ..version import __version__
from .addresses import watched
from .cutting import Held
from .dialogue import Dialogue, header
from .reaching import NotAuthenticated
from .relay import Relay
from .settings import Settings
from .summary import GroupNames, summary_line
from .upstream import Node, Upstream, adopt_for
from .work import Work

if TYPE_CHECKING:
    from .struck import Striker

FLUSH_EVERY_S: Final = 0.25
ACCEPT_AT_ONCE: Final = 16
"""At most this many clients are accepted between two turns of the loop, because each needs a connection to its node, which takes half a
millisecond and a descriptor."""
CLOSE_WITHIN_S: Final = 1.0
FINISH_WITHIN_NS: Final = 2_000_000_000
SLICE_US: Final = 500
"""The longest time in µs that the proxy spends on waiting answers between two turns of the loop. It is half of a server's (see
`record.work`)."""
NEW_NODE: Final = "a node of the upstream has a listener from now on"
NOT_OURS: Final = "an address of the upstream could not be replaced"
NOT_RECORDED: Final = "the recording ended before everything that had passed by was recorded"
UNKNOWN_NODES: Final = "the upstream tells nothing before credentials: its nodes are learned from what clients are answered"


class Proxy:
    """A recording proxy, which runs on one loop and one thread: `await start()`, `ready_line()`, `await close()`. `on_failure` is called
    when the journal cannot be written. Raises BadPlan."""

    def __init__(self, settings: Settings, on_failure: Callable[[], None] = lambda: None) -> None:
        self.settings = settings
        self.clock = LoopClock()
        self.now = self.clock.now
        self.failure: str | None = None
        self.path = settings.journal
        """The path of the journal file. Until it is begun it may be the folder for the file."""
        self.upstream = Upstream(settings.host, settings.port, settings.advertise, settings.tls, settings.credentials)
        self.upstream.began = self._began
        self.upstream.trouble = partial(self._remark, NOT_OURS)
        self.work = Work(self._relieved)
        self.held = Held(Limits().queued_max_request_bytes)
        self.turns = Turns[Relay](SLICE_US)
        self.turns.again = self.settle
        self.relays: dict[int, Relay] = {}
        self.journal = Journal(header(settings.run, self.clock.epoch_ns, self._config(), {"nodes": []}))
        self._groups = GroupNames()
        self.journal.add(self._groups)
        self._file: FileSink | None = None
        self.dialogue = Dialogue(self.journal, beats=True)
        self._striker = self._with_rules()
        self._on_failure = on_failure
        self._tls = settings.listener.context if settings.listener is not None else None
        self._numbers = 0
        self._joining: set[asyncio.Task[None]] = set()
        self._flusher: asyncio.TimerHandle | None = None
        self._empty = asyncio.Event()
        self._begun = False

    async def start(self) -> None:
        """Connect to the cluster, listen, and begin the journal. Raises CannotStart, with nothing left open."""
        try:
            for where in self.settings.upstream:
                self.upstream.add(where)
            for where in self.settings.upstream:
                await self.upstream.ask(where)
        except OSError as failure:
            self.upstream.close()
            raise CannotStart(_no_port(self.settings, failure)) from None
        except CannotStart:
            self.upstream.close()
            raise
        watched()  # This call comes before clients connect, because it reads the declarations of all APIs, which takes time.
        self._begin_journal()
        if self._striker is not None:
            self._striker.begin()
        for node in self.upstream.nodes:
            self._accept(node)
        if all(node.number is None for node in self.upstream.nodes):
            self.dialogue.record.remark(UNKNOWN_NODES, self.now())
        self._flush_later()

    @property
    def bootstrap(self) -> str:
        """Return `host:port` of every node, separated by commas."""
        return ",".join(node.told for node in self.upstream.nodes)

    def ready_line(self) -> bytes:
        """Return the line that is printed when the proxy is ready."""
        nodes = [
            {"id": node.number, "host": node.host, "port": node.port, "upstream": str(node.where)} for node in self.upstream.nodes
        ]  # fmt: skip
        line = {
            "ready": True,
            "bootstrap": self.bootstrap,
            "nodes": nodes,
            "control": None,
            "journal": self.path,
            "pid": os.getpid(),
            "version": __version__,
        }
        if self.settings.listener is not None:
            line["listener"] = {"protocol": self.settings.listener.spec.protocol, "ca": self.settings.listener.ca}
        return json.dumps(line).encode() + b"\n"

    @property
    def summary(self) -> str:
        """The line that sums up what was recorded. It is complete after `close`."""
        left_out = 0 if self._file is None else self._file.left_out
        return summary_line(self.dialogue.counters, len(self._groups.names), self.path, left_out)

    async def close(self) -> str | None:
        """Close every connection and write the rows that wait. Returns what was wrong with the journal, if anything was."""
        self.upstream.close()
        if self._flusher is not None:
            self._flusher.cancel()
        for relay in list(self.relays.values()):
            relay.shut("server", "the recording ends")
        await self._until_empty()
        for relay in list(self.relays.values()):
            relay.client.break_off()
            relay.server.break_off()
        await self._until_empty()
        self.turns.stop()
        left = self.work.finish(FINISH_WITHIN_NS)
        if left:
            self.dialogue.record.remark(NOT_RECORDED, self.now(), pieces=left)
        self.dialogue.ended()
        self.dialogue.record.remark(END, self.now())
        try:
            self.journal.close()
        except OSError as failure:
            self.failure = self.failure or f"{self.path}: {failure.strerror}"
        return self.failure

    def settle(self) -> None:
        """Serve the relays that wait for their turn."""
        for relay in self.turns.due():
            relay.serve()

    def gone(self, relay: Relay) -> None:
        """Forget a relay whose ends are both closed."""
        self.relays.pop(relay.number, None)
        if not self.relays:
            self._empty.set()
        for node in self.upstream.nodes:
            if node.acceptor is not None:
                node.acceptor.resume()

    def _with_rules(self) -> Striker | None:
        if self.settings.plan is None:
            return None
        from .struck import Striker

        return Striker(self, self.clock, self.settings.plan, self.settings.plan_name, self.settings.seed)

    def _config(self) -> dict[str, Any]:
        """Return the configuration for the journal, which contains no secret."""
        settings = self.settings
        told: dict[str, Any] = {"upstream": [str(where) for where in settings.upstream], "tls": settings.tls is not None}
        if settings.credentials is not None:
            told["sasl"] = {"mechanism": settings.credentials.mechanism, "user": settings.credentials.user}
        return told

    def _begin_journal(self) -> None:
        settings, path = self.settings, self.path
        nodes = [{"node_id": node.number, "host": node.host, "port": node.port} for node in self.upstream.nodes]
        assert self.journal.header.cluster is not None
        self.journal.header.cluster["nodes"] = nodes
        try:
            if settings.log != "off":
                from ..net.clock import ClockAlarm
                from ..watch.log import LogSink

                sink = LogSink(settings.log, ClockAlarm(self.clock), self.now)
                sink.load()
                self.journal.add(sink)
            path = self.path = placed(path, settings.run)
            self._file = FileSink(path, self._failed, settings.journal_max_bytes, self._full)
            self.journal.add(self._file)
            self.journal.begin()
        except OSError as failure:
            self.upstream.close()
            raise CannotStart(f"cannot write the journal {path}: {failure.strerror}") from None
        self._begun = True

    def _failed(self, reason: str) -> None:
        if self.failure is None:
            self.failure = reason
            self._on_failure()

    def _full(self, first: int) -> None:
        most = self.settings.journal_max_bytes
        self.dialogue.record.remark(LEFT_OUT, self.now(), journal=self.path, first=first, max_bytes=most)

    def _flush_later(self) -> None:
        self.journal.flush()
        self._flusher = asyncio.get_running_loop().call_later(FLUSH_EVERY_S, self._flush_later)

    def _began(self, node: Node) -> None:
        """Begin to listen for a new node, because clients will soon be told its listener's address."""
        if self._begun:
            self._accept(node)
            self.dialogue.record.remark(NEW_NODE, self.now(), node=node.number, upstream=str(node.where), told=node.told)

    def _accept(self, node: Node) -> None:
        trouble = partial(self._remark, CANNOT_ACCEPT)
        node.acceptor = Acceptor(node.listener, adopt_for(node, self._adopt), lambda: True, trouble, ACCEPT_AT_ONCE)

    def _remark(self, what: str, reason: str) -> None:
        self.dialogue.record.remark(what, self.now(), reason=reason)

    def _relieved(self) -> None:
        for relay in list(self.relays.values()):
            relay.relieved()

    def _adopt(self, node: Node, accepted: socket.socket, host: str, port: int) -> None:
        self._numbers += 1
        relay = self.relays[self._numbers] = self._relay(node, host, port)
        task = asyncio.get_running_loop().create_task(self._join(relay, accepted))
        self._joining.add(task)
        task.add_done_callback(self._joining.discard)

    def _relay(self, node: Node, host: str, port: int) -> Relay:
        """Return a relay that applies fault rules if one of them could still fire, otherwise a plain relay."""
        if self._striker is None or self._striker.gate is None:
            return Relay(self, node, self._numbers, host, port)
        from .struck import CarefulRelay

        return CarefulRelay(self, self._striker, node, self._numbers, host, port)

    async def _join(self, relay: Relay, accepted: socket.socket) -> None:
        """Connect to the node, then accept the client's bytes, which the kernel keeps until then."""
        where = relay.node.where
        try:
            await self.upstream.connect(lambda: relay.server, where)
        except (OSError, NotAuthenticated) as failure:
            if isinstance(failure, NotAuthenticated):
                reason = f"the upstream {failure}"
            else:
                why = "no answer in time" if isinstance(failure, TimeoutError) else failure.strerror or str(failure)
                reason = f"the upstream {where} cannot be reached: {why}"
            accepted.close()
            relay.client.lost = True
            relay.shut("server", reason)
            self.gone(relay)
            return
        try:
            await asyncio.get_running_loop().connect_accepted_socket(lambda: relay.client, accepted, ssl=self._tls)
        except OSError as failure:  # The client disconnected before its connection was handled, or does not speak TLS.
            accepted.close()
            relay.client.lost = True
            why = f"the TLS handshake failed: {failure.reason}" if isinstance(failure, ssl.SSLError) else "the client closed"
            relay.shut("client", why)
            return
        if relay.server.lost:
            relay.client.close()

    async def _until_empty(self) -> None:
        """Wait until no connection is left, or until the timeout."""
        self._empty.clear()
        if self._joining:
            await asyncio.wait(self._joining, timeout=CLOSE_WITHIN_S)
        if self.relays:
            try:
                await asyncio.wait_for(self._empty.wait(), CLOSE_WITHIN_S)
            except TimeoutError:
                pass


def _no_port(settings: Settings, failure: OSError) -> str:
    remedy = "choose another --port, or --port 0 for free ones" if settings.port else "choose another --host"
    return f"cannot listen on {bracketed(settings.host)}:{settings.port} and the ports behind it: {failure.strerror}: {remedy}"
