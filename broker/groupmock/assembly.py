"""Puts a cluster together from a configuration and starts it: sockets, core, journal, server."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from random import Random
from typing import TYPE_CHECKING, Any, Final

from . import __version__
from .advertise import identity_of
from .clock import NS_PER_MS, Clock, LoopClock
from .config import Config
from .core.core import Core, core_of
from .core.effects import Effects
from .core.events import Command
from .core.identity import Identity, Node
from .journal.journal import Journal, Sink
from .journal.ring import Ring
from .journal.rows import VERSION, Header, Row
from .net.limits import Limits
from .net.listen import listen
from .net.server import Server
from .views import Record

if TYPE_CHECKING:
    from .control.server import Control
    from .faults.plan import Plan

RING_BYTES: Final = 8 * 1024 * 1024
CHANGES: Final = frozenset(("moved", "member"))


class CannotStart(Exception):
    """A port is taken, a journal cannot be written: the text names it and the remedy. Exit code 3."""


class JournalFailed(Exception):
    """The journal that was asked for could not be written to its end. Exit code 3."""


class Running:
    """A cluster that serves. Everything here is called on its loop's thread."""

    def __init__(
        self, config: Config, core: Core, server: Server, clock: Clock, seed: int, ring: Ring | None, ports: list[int]
    ) -> None:
        self.config = config
        self.core = core
        self.cluster = core.cluster
        self.server = server
        self.clock = clock
        self.seed = seed
        self.ring = ring
        """The rows that are kept in memory, if any are."""
        self._ports = ports

    @property
    def ports(self) -> list[int]:
        """The ports that are listened on, by node."""
        return self._ports

    @property
    def bootstrap(self) -> str:
        """`host:port` of every node as clients are told, comma separated."""
        return ",".join(f"{_bracketed(node.host)}:{node.port}" for node in self.cluster.environment.identity.nodes)

    def ready_line(self, control: str | None = None) -> bytes:
        """The one line that `serve` prints. `control`: where the control API is."""
        nodes = [{"id": node.node_id, "host": node.host, "port": node.port} for node in self.cluster.environment.identity.nodes]
        line = {
            "ready": True,
            "bootstrap": self.bootstrap,
            "nodes": nodes,
            "control": control,
            "journal": self.config.journal,
            "seed": self.seed,
            "pid": os.getpid(),
            "version": __version__,
        }
        return json.dumps(line).encode() + b"\n"

    def submit(self, command: Command) -> Effects:
        """Run a command through the driver. Raises what the command raises."""
        return self.server.submit(command)

    def produce(
        self,
        topic: str,
        partition: int,
        key: bytes | None,
        value: bytes | None,
        headers: list[tuple[str, bytes | None]],
        timestamp: int | None,
    ) -> int:
        """Append one record; returns its offset."""
        from groupmock_codec.records import NewRecord, encode_batch

        stamp = self.cluster.environment.wall_ms(self.clock.now()) if timestamp is None else timestamp
        batch = encode_batch([NewRecord(key=key, value=value, headers=headers, timestamp=stamp)])
        place = {"topic": topic, "partition": partition}
        self.submit(Command("append", {**place, "batch": batch}))
        return self.cluster.topics.require_partition(topic, partition).end - 1

    def records(self, topic: str, partition: int | None) -> list[Record]:
        """The stored records, decoded; LookupError for a topic or partition that is not there."""
        from groupmock_codec.records import decode_records

        count = self.cluster.topics.partitions(topic)
        if count is None or (partition is not None and not 0 <= partition < count):
            raise LookupError(f"no topic {topic!r}" if count is None else f"topic {topic!r} has partitions 0 to {count - 1}")
        wanted = range(count) if partition is None else [partition]
        return [
            Record(topic, index, record.offset, record.timestamp, record.key, record.value, list(record.headers))
            for index in wanted
            for batch in self.cluster.topics.batches(topic, index)
            for record in decode_records(batch)
            if record.offset >= self.cluster.topics.require_partition(topic, index).start
        ]

    def story(self, group: str) -> str:
        """What happened to a group, a line an event; only where `start(stories=True)` kept the rows."""
        return "\n".join(self.ring.story(group)) if self.ring is not None else ""

    def load_plan(self, plan: Plan, origin: str = "the plan") -> list[str]:
        """Register every rule of a plan, or none; returns their names. Raises BadPlan."""
        from .faults.plan import plain

        rules = self.server.driver.rules
        known = len(rules.reports())
        self.submit(Command("add_faults", {"rules": [plain(rule) for rule in plan.rule], "origin": origin}))
        if plan.seed is not None:
            self.submit(Command("seed_faults", {"seed": plan.seed}))
        return [report.name for report in rules.reports()[known:]]

    @contextmanager
    def watching(self, changed: Callable[[], None], kinds: frozenset[str] = CHANGES) -> Iterator[None]:
        """`changed` is called after every row of these kinds (by default: of a group's state or members), while the block lasts."""
        sink = _Watcher(changed, kinds)
        self.server.journal.add(sink)
        try:
            yield
        finally:
            self.server.journal.remove(sink)

    async def close(self) -> Exception | None:
        """Stop serving and flush; returns what went wrong with the journal, if anything did."""
        await self.server.close()
        try:
            self.server.journal.close()
        except OSError as failure:
            return _journal_failed(self.config, failure.strerror or str(failure))
        return _journal_failed(self.config, self.server.failure) if self.server.failure else None


class _Watcher(Sink):
    """A sink that only says that something happened."""

    def __init__(self, changed: Callable[[], None], kinds: frozenset[str]) -> None:
        self._changed = changed
        self.kinds = kinds

    def take(self, row: Row) -> None:
        """It happened."""
        self._changed()


async def start(
    config: Config,
    on_failure: Callable[[], None] | None = None,
    ports: Sequence[int] = (),
    stories: bool = False,
    plan: Plan | None = None,
) -> Running:
    """Listen and serve on the running loop. `on_failure` is called when the journal cannot be written on; `ports`, one per node,
    goes before `config.port`; `stories`: keep recent rows in memory for `Running.story` (a server whose memory nobody can look into
    would build a row for every join in vain); `plan` goes before `config.plan`. Raises CannotStart, BadPlan."""
    plan = _read_plan(config) if plan is None else plan
    seed = _seed(config, plan)
    listeners = _listen(config, ports)
    clock = LoopClock()
    identity = _identity(config, listeners, Random(seed))
    core = core_of(config.settings, identity, Random(seed), clock.epoch_ns // NS_PER_MS)
    ring = Ring(RING_BYTES) if stories else None
    journal = Journal(_header(config, identity, seed, clock))
    server = Server(core, clock, journal, config.limits)

    def failed(reason: str) -> None:
        server.fail(reason)
        if on_failure is not None:
            on_failure()

    try:
        if ring is not None:
            journal.add(ring)
        if config.journal is not None:
            _add_file(journal, config.journal, failed)
        _add_log(journal, config.log)
        await server.start(listeners)
    except OSError as failure:
        for listener in listeners.values():
            listener.close()
        raise CannotStart(f"cannot write the journal {config.journal}: {failure.strerror}") from None
    running = Running(config, core, server, clock, seed, ring, [listener.getsockname()[1] for listener in listeners.values()])
    if config.topics:
        from .core.steering.topics import CREATE_TOPIC  # the one file of commands that a start needs

        for topic in config.topics:
            running.submit(Command(CREATE_TOPIC, {"name": topic.name, "partitions": topic.partitions or config.settings.num_partitions}))
    if plan is not None:
        try:
            running.load_plan(plan, config.plan or "the plan")
        except ValueError:  # BadPlan: a rule that this cluster cannot have
            await running.close()
            raise
    return running


async def start_control(
    config: Config, running: Running, on_failure: Callable[[], None] | None = None, plan: Plan | None = None
) -> Control | None:
    """Serve the control API, if it was asked for; a reset starts the cluster with `on_failure` and `plan` as `start` does.
    Raises CannotStart."""
    if config.control is None:
        return None
    try:
        from .control.server import serve
    except ImportError as lacking:
        raise CannotStart(f"--control needs {lacking.name}: pip install 'groupmock[control]'") from None

    async def restart(old: Running) -> Running:
        trouble = await old.close()
        if trouble is not None:
            raise trouble
        if config.journal is not None:
            keep_journal(config.journal)
        return await start(config, on_failure, old.ports, stories=True, plan=plan)

    host, port = config.control.host, config.control.port or 0
    try:
        return await serve(running, host, port, config.token, restart)
    except OSError as failure:
        remedy = "choose another --control PORT, or 0 for a free one"
        raise CannotStart(f"cannot serve the control API on {_bracketed(host)}:{port}: {failure.strerror}: {remedy}") from None


def keep_journal(path: str) -> None:
    """Give a journal that was closed another name, PATH.1 or the next that is free, so that the one to come takes its place."""
    number = 1
    while os.path.exists(f"{path}.{number}"):
        number += 1
    os.replace(path, f"{path}.{number}")


def _read_plan(config: Config) -> Plan | None:
    if config.plan is None:
        return None
    from .faults.plan import read_plan

    return read_plan(config.plan)


def _seed(config: Config, plan: Plan | None) -> int:
    """What was asked for, else the plan's, else any."""
    if config.seed is not None:
        return config.seed
    return plan.seed if plan is not None and plan.seed is not None else int.from_bytes(os.urandom(6), "big")


def _listen(config: Config, ports: Sequence[int]) -> dict[int, socket.socket]:
    listeners: dict[int, socket.socket] = {}
    for node in range(1, config.nodes + 1):
        port = ports[node - 1] if ports else config.port + node - 1 if config.port else 0
        try:
            listeners[node] = listen(config.host, port)
        except OSError as failure:
            for listener in listeners.values():
                listener.close()
            remedy = "choose another --port, or --port 0 for a free one" if port else "choose another --host"
            raise CannotStart(f"cannot listen on {_bracketed(config.host)}:{port}: {failure.strerror}: {remedy}") from None
    return listeners


def _identity(config: Config, listeners: dict[int, socket.socket], random: Random) -> Identity:
    nodes = []
    for node, listener in listeners.items():
        port: int = listener.getsockname()[1]
        listens = f"{_bracketed(config.host)}:{port}" if config.advertise is not None else None
        if config.advertise is not None and config.advertise.port is not None:
            port = config.advertise.port + node - 1
        nodes.append(Node(node, config.advertise.host if config.advertise else config.host, port, listens=listens))
    return identity_of(config.profile, _cluster_id(random), nodes, _limits(config))


def _limits(config: Config) -> tuple[tuple[str, str], ...]:
    """What the sockets allow, by Kafka's names: DescribeConfigs tells it."""
    from .knobs import settings_of

    return tuple((name, str(getattr(config.limits, setting.field))) for name, setting in settings_of(Limits).items())


def _cluster_id(random: Random) -> str:
    """As Kafka's: a UUID in URL-safe base64 without padding, 22 characters."""
    from base64 import urlsafe_b64encode

    return urlsafe_b64encode(random.randbytes(16)).decode().rstrip("=")


def _header(config: Config, identity: Identity, seed: int, clock: Clock) -> Header:
    return Header(
        v=VERSION,
        run=config.run if config.run is not None else f"{seed:x}",
        product=f"groupmock {__version__}",
        seed=seed,
        epoch_ns=clock.epoch_ns,
        profile=config.profile.name,
        config=settings_by_name(config),
        complete=False,
        incomplete_because="not a replayable run",
        cluster={"nodes": [node._asdict() for node in identity.nodes], "cluster_id": identity.cluster_id},
    )


def settings_by_name(config: Config) -> dict[str, Any]:
    """Kafka name -> value of every setting."""
    from .config import all_settings
    from .core.settings import Settings
    from .knobs import settings_of

    core = settings_of(Settings)
    return {name: getattr(config.settings if name in core else config.limits, setting.field) for name, setting in all_settings().items()}


def _add_file(journal: Journal, path: str, failed: Callable[[str], None]) -> None:
    from .journal.file import FileSink

    journal.add(FileSink(path, failed))


def _add_log(journal: Journal, log: str) -> None:
    if log != "off":
        from .watch.log import LogSink

        journal.add(LogSink(log))


def _journal_failed(config: Config, reason: str | None) -> JournalFailed:
    told = (reason or "").removeprefix(f"{config.journal}: ")
    return JournalFailed(f"the journal {config.journal} could not be written: {told}: it is incomplete, so the run ends here")


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


__all__ = ["CannotStart", "JournalFailed", "Running", "settings_by_name", "start"]
