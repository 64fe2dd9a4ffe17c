"""A running cluster with its queries, its commands and its end. The in-process API and the control API call it."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, TypeVar, get_args

import msgspec

from ..config.resolve import MAX_NODES, Config
from ..core.core import Core
from ..core.effects import Effects
from ..core.events import Command
from ..core.identity import Node
from ..data.log_record import Isolation, Record
from ..journal.journal import Sink
from ..journal.rows import Row
from ..net.clock import Clock
from ..net.listen import bracketed
from ..net.server import Server
from ..text.printable import ascii_json, printable
from ..version import __version__
from .refused_clients import RefusedClients

if TYPE_CHECKING:
    from ..audit.sink import AuditSink
    from ..audit.verdicts import Audit
    from ..data.in_flight import SharePartitionRow
    from ..data.seed import SeedData
    from ..data.transactions import TransactionDetails, TransactionRow
    from ..faults.plan import Plan
    from ..faults.registry import RuleReport
    from ..journal.ring import Ring
    from ..security.token_issuer import TokenIssuer
    from ..story.head import ServerView
    from .securing import TlsOfRun

T = TypeVar("T")
ANY: Final = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "[::]": "[::1]"}
"""Wildcard addresses that a node may listen on, with the address to connect to."""
MOST_VIEWS: Final = 100
"""The largest number of groups whose stories begin with a view of the group."""
CHANGES: Final = frozenset(("moved", "member"))
"""Kinds of rows that change the state of a group."""


class CannotStart(Exception):
    """Raised if the cluster could not be started, for example because a port is taken or a journal cannot be written. The message names
    the cause and the remedy. The exit code is 3."""


class JournalFailed(Exception):
    """Raised if the journal could not be written to its end. The exit code is 3."""


class NotAudited(RuntimeError):
    """Raised if an audit was asked for, but the cluster runs without one. The message says how to start one."""


class Running:
    """A cluster that serves clients. All methods are called on the thread of its loop."""

    def __init__(self, config: Config, core: Core, server: Server, clock: Clock, seed: int, ring: Ring | None, ports: list[int],
        audit_sink: AuditSink | None = None, journal: str | None = None, tls: TlsOfRun | None = None, issuer: TokenIssuer | None = None,
    ) -> None:  # fmt: skip
        self.config = config
        self.core = core
        self.cluster = core.cluster
        self.server = server
        self.clock = clock
        self.seed = seed
        self.ring = ring
        """The most recent rows in memory, or None if rows are not kept."""
        self.refused_clients = RefusedClients(ring)
        self.audit_sink = audit_sink
        """The sink that judges the clients, or None without an audit."""
        self.earlier: list[Audit] = []
        """The audit of the time before the last reset, empty without a reset."""
        self.fired_earlier: frozenset[str] = frozenset()
        """The names of the fault rules that had fired before the last reset."""
        self.journal = journal
        """The path of the journal's file, if there is a journal. `config.journal` may be the file's folder."""
        self.seed_data: SeedData | None = None
        """The seed data of the start. A reset applies it again."""
        self.not_copied: list[str] = []
        """The reasons why parts of another cluster were not copied by `--like`, a sentence each."""
        self.tls = tls
        """The certificates of the run, or None without a TLS listener."""
        self.issuer = issuer
        """The key that signs bearer tokens, or None if they are unsecured or signed elsewhere."""
        self.control: str | None = None
        """The URL of the control API, or None without one."""
        self.closed = False
        self._ports = ports

    @property
    def ports(self) -> list[int]:
        """The ports on which the nodes of the start listen: those of the first node's listeners, then the next node's."""
        return self._ports

    @property
    def bootstrap(self) -> str:
        """The addresses of all nodes that clients are told, as `host:port` separated by commas."""
        return ",".join(f"{bracketed(node.host)}:{node.port}" for node in self.core.environment.identity.nodes)

    def bootstrap_of(self, listener: str) -> str:
        """The addresses of all nodes on a listener that clients are told, as `host:port` separated by commas. Raises KeyError for an
        unknown listener."""
        environment = self.core.environment
        endpoints = [environment.endpoints[node.node_id][listener] for node in environment.identity.nodes]
        return ",".join(f"{bracketed(each.host)}:{each.port}" for each in endpoints)

    @property
    def reachable(self) -> str:
        """The addresses on which the nodes listen, as `host:port` separated by commas. They ignore what is advertised to clients."""
        return ",".join(_reached(node) for node in self.core.environment.identity.nodes)

    def ready_line(self, control: str | None = None) -> bytes:
        """Return the line that `serve` prints when clients can connect. `control` is the URL of the control API."""
        nodes = [{"id": node.node_id, "host": node.host, "port": node.port} for node in self.core.environment.identity.nodes]
        line: dict[str, Any] = {
            "ready": True,
            "bootstrap": self.bootstrap,
            "nodes": nodes,
            "control": control,
            "journal": self.journal,
            "seed": self.seed,
            "pid": os.getpid(),
            "version": __version__,
        }
        if self.config.listeners:
            line["listeners"] = {
                each.name: {"protocol": each.protocol, "bootstrap": self.bootstrap_of(each.name)} for each in self.config.listeners
            }
        if self.tls is not None and self.tls.files is not None:
            line["tls"] = self.tls.files._asdict()
        return ascii_json(msgspec.json.format(msgspec.json.encode(line), indent=0)) + b"\n"

    def submit(self, command: Command) -> Effects:
        """Run a command through the driver. Raises the errors of the command."""
        return self.server.submit(command)

    def add_node(self, rack: str | None = None, port: int | None = None) -> int:
        """Add a node that listens from now on, and return its id. `port` None: the next port, or a free one if the configured port is 0.
        If it is not possible, nothing is left open. Raises NotNow (a CannotSteer)."""
        from ..core.steering import NotNow
        from .node_sockets import close, doors_of, listeners_at, node_at, open_doors

        nodes = self.core.environment.identity.nodes
        number = nodes[-1].node_id + 1
        if len(nodes) >= MAX_NODES:
            raise NotNow(f"there are {MAX_NODES} nodes, and no more than that in one process")
        try:
            sockets = open_doors(self.config, number, () if port is None else [port] + [0] * (len(doors_of(self.config)) - 1))
        except OSError as failure:
            raise NotNow(str(failure)) from None
        node = node_at(self.config, number, sockets, rack)
        arguments: dict[str, Any] = {"node": number, "host": node.host, "port": node.port, "rack": rack, "listens": node.listens}
        if self.config.listeners:
            found = listeners_at(self.config, number, sockets)
            arguments["listeners"] = [{name: value for name, value in each._asdict().items() if name != "node"} for each in found]
        try:
            self.submit(Command("add_node", {name: value for name, value in arguments.items() if value is not None}))
        except ValueError:
            close(sockets)
            raise
        for name, listener in sockets.items():
            self.server.listen_for(number, listener, name)
        return number

    def produce(
        self,
        topic: str,
        partition: int | None,
        key: bytes | None,
        value: bytes | None,
        headers: list[tuple[str, bytes | None]],
        timestamp: int | None,
    ) -> int:
        """Append one record and return its offset. With `partition` None its key chooses the partition, as in Kafka's producers, else
        partition 0 is used. A missing topic is created if auto.create.topics.enable is set."""
        from groupmock_codec.records import NewRecord, encode_batch

        if self.cluster.topics.partitions(topic) is None and self.core.environment.settings.auto_create_topics_enable:
            self.submit(Command("create_topic", {"name": topic}))
        if partition is None:
            from ..data.placing import Placing

            partition = Placing(self.cluster.topics.partitions(topic) or 1).choose(key)
        stamp = self.core.environment.wall_ms(self.clock.now()) if timestamp is None else timestamp
        batch = encode_batch([NewRecord(key=key, value=value, headers=headers, timestamp=stamp)])
        place = {"topic": topic, "partition": partition}
        self.submit(Command("append", {**place, "batch": batch}))
        return self.cluster.topics.require_partition(topic, partition).end - 1

    def records(
        self,
        topic: str,
        partition: int | None,
        offset: int = 0,
        limit: int | None = None,
        isolation: Isolation = "read_uncommitted",
        markers: bool = False,
    ) -> list[Record]:
        """Return at most `limit` decoded records from `offset` on. Raises LookupError for an unknown topic or partition, and ValueError
        for records that cannot be read and for an unknown isolation level."""
        from ..data.reading import Reading

        if isolation not in get_args(Isolation):
            raise ValueError(f"isolation is {' or '.join(get_args(Isolation))}, not {isolation!r}")
        count = self.cluster.topics.partitions(topic)
        if count is None or (partition is not None and not 0 <= partition < count):
            raise LookupError(f"no topic {topic!r}" if count is None else f"topic {topic!r} has partitions 0 to {count - 1}")
        starts = dict.fromkeys(range(count) if partition is None else [partition], offset)
        most = limit if limit is not None else sys.maxsize
        found = Reading(self.cluster.topics.require(topic), starts, most, sys.maxsize, isolation, markers).all()
        if found.unread:
            lost = found.unread[0]
            raise ValueError(f"{topic}/{lost.partition}, offsets {lost.offset} to {lost.last_offset}: {lost.reason}")
        return [
            Record(topic, index, record.offset, record.timestamp, record.key, record.value, list(record.headers), transaction, marker)
            for index, record, transaction, marker in found.records
        ]

    def audit(self, group: str | None = None) -> Audit:
        """Return the findings about the clients, or about those of one group while it exists. Raises NotAudited."""
        if self.audit_sink is None:
            raise NotAudited("nobody is audited: start with --audit (audit = true in the file, GROUPMOCK_AUDIT=true, Broker(audit=True))")
        return self.audit_sink.audit(group)

    async def story(self, group: str | None = None, member: str | None = None) -> list[str]:
        """Return the story of a group, or of all groups, line by line (`groupmock.story.telling`), as far as rows are kept. The list is
        empty if no rows are kept (`start(stories=False)`) or nothing is known of the group or member. The story is told on another thread:
        twenty thousand rows take up to a second, and clients are served meanwhile."""
        if self.ring is None:
            return []
        self.server.journal.flush()  # The story's last line names the journal's file, so the file must be complete.
        rows, now, sessions, views = list(self.ring.rows), self.clock.now(), self._sessions(), self._views(group)
        return await asyncio.to_thread(_told, rows, group, member, self.seed, self.journal, self.ring.dropped, views, now, sessions)

    def _views(self, group: str | None) -> dict[str, ServerView]:
        """Return the present state of a group, or of the first groups, with which their stories begin."""
        from ..data.server_views import server_view

        groups = self.cluster.groups
        some = islice(groups.all(), MOST_VIEWS) if group is None else [groups.find(group)]
        return {group.group_id: server_view(self.cluster, group) for group in some if group is not None}

    async def obstacles(self, group: str) -> list[str]:
        """Say what keeps a group from making progress: members that it waits for, clients that were never served, transaction markers."""
        from ..story.telling import obstacles

        if self.ring is None:
            return []
        rows, now, sessions, dropped = list(self.ring.rows), self.clock.now(), self._sessions(), self.ring.dropped
        found = await asyncio.to_thread(obstacles, rows, group, now=now, sessions=sessions, dropped=dropped)
        return [*found, *self._markers(group)]

    def _markers(self, group: str) -> list[str]:
        """Say in which partitions the group's lag consists only of transaction markers."""
        from ..data.lag import lag_of, lag_of_markers

        known = self.cluster.groups.find(group)
        behind = lag_of_markers(self.cluster, lag_of(self.cluster, known.view())) if known is not None else []
        past = "no consumer is given them: commit the position instead of the offset of the last record + 1, or accept this lag"
        return [f"{printable(row.topic)}/{row.partition}: its lag of {row.lag} is only transaction markers; {past}" for row in behind]

    def _sessions(self) -> dict[str, dict[str, int]]:
        """Return the session deadline (ns) of each member, by group and member id."""
        found: dict[str, dict[str, int]] = {}
        timers = self.cluster.environment.timers
        for key in timers.armed("session"):
            if (timer := timers.get(key)) is not None:
                found.setdefault(key[1], {})[key[2]] = timer.deadline
        return found

    def transactions(self) -> list[TransactionRow]:
        """Return one row for each transactional id."""
        from ..data.transactions import transaction_row

        return [transaction_row(self.cluster, known, self._wall_ms()) for known in self.cluster.transactions.all()]

    def in_flight(self, group: str) -> list[SharePartitionRow]:
        """Return which records of a share group are in flight, a row for each partition that its members fetch."""
        from ..data.in_flight import in_flight

        return in_flight(self.cluster, group, self.clock.now())

    async def transaction(self, transactional_id: str, story: bool = True) -> TransactionDetails:
        """Return the details of one transactional id, with its story if `story` is set. Raises CannotSteer if the id is unknown."""
        from ..core.steering.find import transactional_id_of
        from ..data.transactions import transaction_details
        from ..story.transactional import tell_id

        known = transactional_id_of(self.cluster, transactional_id)
        found = transaction_details(self.cluster, known, self._wall_ms(), [])
        if not story or self.ring is None:
            return found
        return msgspec.structs.replace(found, story=await asyncio.to_thread(tell_id, list(self.ring.rows), transactional_id))

    def _wall_ms(self) -> int:
        return self.core.environment.wall_ms(self.clock.now())

    async def draw(self, file: str, group: str | None = None) -> None:
        """Draw a timeline of what happened so far (`groupmock.timeline`), from the journal's file or else from the rows in memory. Raises
        UnknownForm, Nothing, OSError."""
        self.server.journal.flush()
        ring = self.ring
        rows, dropped = (list(ring.rows), ring.dropped) if ring is not None else ([], 0)
        now, name = self.clock.now(), self.config.run or f"seed {self.seed}"
        await asyncio.to_thread(_drawn, file, group, self.journal, rows, dropped, name, now)

    def never_fired(self) -> list[RuleReport]:
        """Return the fault rules that have never fired, not even before a reset."""
        return [rule for rule in self.server.driver.rules.reports() if not rule.fired and rule.name not in self.fired_earlier]

    def load_plan(self, plan: Plan, origin: str = "the plan") -> list[str]:
        """Register all rules of a plan and return their names. If one of them is wrong, BadPlan is raised and none is registered."""
        from ..faults.plan import rule_as_data

        rules = self.server.driver.rules
        known = len(rules.reports())
        self.submit(Command("add_faults", {"rules": [rule_as_data(rule) for rule in plan.rule], "origin": origin}))
        if plan.seed is not None:
            self.submit(Command("seed_faults", {"seed": plan.seed}))
        return [report.name for report in rules.reports()[known:]]

    async def until(self, kinds: frozenset[str], test: Callable[[], T | None], timeout: float) -> T | None:
        """Call `test` until it returns a value, and return that value. It is called at once, after rows of these kinds, and when the
        cluster is closed. Returns None when the timeout is over."""
        changed = asyncio.Event()
        watcher = _Watcher(changed.set, kinds)
        self.server.journal.add(watcher)
        try:
            async with asyncio.timeout(timeout):
                while (found := test()) is None:
                    changed.clear()
                    await changed.wait()
            return found
        except TimeoutError:
            return None
        finally:
            self.server.journal.remove(watcher)

    async def close(self) -> Exception | None:
        """Stop serving and flush the journal. Returns the error of the journal, if there was one."""
        self.closed = True
        await self.server.close()
        if self.tls is not None:
            self.tls.remove()
        try:
            self.server.journal.close()
        except OSError as failure:
            return _journal_failed(self.journal, failure.strerror or str(failure))
        return _journal_failed(self.journal, self.server.failure) if self.server.failure else None


def _told(
    rows: list[Row],
    group: str | None,
    member: str | None,
    seed: int,
    journal: str | None,
    dropped: int,
    views: dict[str, ServerView],
    now: int,
    sessions: dict[str, dict[str, int]],
) -> list[str]:
    from ..story.teller import NotTold
    from ..story.telling import tell

    try:
        lines = tell(
            rows, group=group, member=member, seed=seed, journal=journal, dropped=dropped, views=views, now=now, sessions=sessions,
        )  # fmt: skip
        return list(lines)
    except NotTold:
        return []


def _drawn(file: str, group: str | None, journal: str | None, rows: list[Row], dropped: int, name: str, now: int) -> None:
    from ..timeline.drawing import Drawing, form_of, of_journal, save

    form = form_of(file)
    if journal is not None and os.path.isfile(journal):
        save(of_journal(journal, group, now), file, form)
        return
    drawing = Drawing(group)
    source = drawing.add(name, rows, now=now)
    source.notices += [f"{dropped} older rows are no longer kept"] if dropped else []
    source.notices.append("out of memory, which keeps no heartbeats that changed nothing: a journal (--groupmock-journal DIR) has them")
    save(drawing.timeline(), file, form)


def _reached(node: Node) -> str:
    """Return the HOST:PORT by which this machine reaches a node."""
    if node.listens is None:
        return f"{bracketed(node.host)}:{node.port}"
    host, _, port = node.listens.rpartition(":")
    return f"{ANY.get(host, host)}:{port}"


class _Watcher(Sink):
    """A sink that calls a function for each row of some kinds, and at the end of the run."""

    def __init__(self, changed: Callable[[], None], kinds: frozenset[str]) -> None:
        self._changed = changed
        self.kinds = kinds
        self.routine = not kinds.isdisjoint(("request", "reply"))

    def take(self, row: Row) -> None:
        self._changed()

    def close(self) -> None:
        self._changed()


def _journal_failed(path: str | None, reason: str | None) -> JournalFailed:
    cause = (reason or "").removeprefix(f"{path}: ")
    return JournalFailed(f"the journal {path} could not be written: {cause}: it is incomplete, so the run ends here")
