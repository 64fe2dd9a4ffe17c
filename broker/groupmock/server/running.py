"""A cluster that runs: what is asked of it and told to it, and how it ends."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable
from itertools import islice
from typing import TYPE_CHECKING, Final, TypeVar, get_args

import msgspec

from ..config.resolve import MAX_NODES, Config
from ..core.core import Core
from ..core.effects import Effects
from ..core.events import Command
from ..core.identity import Node
from ..data.log_record import Isolation, Record
from ..journal.journal import Sink
from ..journal.ring import Ring
from ..journal.rows import Row
from ..net.clock import Clock
from ..net.listen import bracketed
from ..net.server import Server
from ..text.printable import printable
from ..version import __version__

if TYPE_CHECKING:
    from ..audit.sink import AuditSink
    from ..audit.verdicts import Audit
    from ..data.seed import SeedData
    from ..data.transactions import TransactionDetails, TransactionRow
    from ..faults.plan import Plan
    from ..faults.registry import RuleReport
    from ..story.head import ServerView

T = TypeVar("T")
ANY: Final = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "[::]": "[::1]"}
"""Every address of the machine, as a node may listen, and the one to connect to."""
MOST_VIEWS: Final = 100
"""Groups whose stories begin with what the server has: a story of all groups tells of fewer."""
CHANGES: Final = frozenset(("moved", "member"))
"""Kinds of rows that say what a group is."""


class CannotStart(Exception):
    """A port is taken, a journal cannot be written: the text names it and the remedy. Exit code 3."""


class JournalFailed(Exception):
    """The journal that was asked for could not be written to its end. Exit code 3."""


class NotAudited(RuntimeError):
    """An audit was asked for where there is none; the text says how to have one."""


class Running:
    """A cluster that serves. Everything here is called on its loop's thread."""

    def __init__(self, config: Config, core: Core, server: Server, clock: Clock, seed: int, ring: Ring | None, ports: list[int],
        beside: AuditSink | None = None, journal: str | None = None,
    ) -> None:  # fmt: skip
        self.config = config
        self.core = core
        self.cluster = core.cluster
        self.server = server
        self.clock = clock
        self.seed = seed
        self.ring = ring
        """The rows that are kept in memory, if any are."""
        self.beside = beside
        """Who judges the clients, if anybody does."""
        self.earlier: list[Audit] = []
        """What was found before the cluster was reset: one audit, or none."""
        self.fired_earlier: frozenset[str] = frozenset()
        """Fault rules that fired before the cluster was reset."""
        self.journal = journal
        """The journal's file, if there is one; `config.journal` may be the folder that it is in."""
        self.seed_data: SeedData | None = None
        """What it had before its clients came: a reset gives it that again."""
        self.not_copied: list[str] = []
        """What the cluster that this one is like has, and this one has not: a sentence a reason."""
        self.closed = False
        self._ports = ports

    @property
    def ports(self) -> list[int]:
        """The ports that the nodes of the start listen on, by node."""
        return self._ports

    @property
    def bootstrap(self) -> str:
        """`host:port` of every node as clients are told, comma separated."""
        return ",".join(f"{bracketed(node.host)}:{node.port}" for node in self.core.environment.identity.nodes)

    @property
    def reachable(self) -> str:
        """`host:port` of every node as this process reaches it, comma separated: where the nodes listen, whatever clients are told."""
        return ",".join(_reached(node) for node in self.core.environment.identity.nodes)

    def ready_line(self, control: str | None = None) -> bytes:
        """The one line that `serve` prints. `control`: where the control API is."""
        nodes = [{"id": node.node_id, "host": node.host, "port": node.port} for node in self.core.environment.identity.nodes]
        line = {
            "ready": True,
            "bootstrap": self.bootstrap,
            "nodes": nodes,
            "control": control,
            "journal": self.journal,
            "seed": self.seed,
            "pid": os.getpid(),
            "version": __version__,
        }
        return json.dumps(line).encode() + b"\n"

    def submit(self, command: Command) -> Effects:
        """Run a command through the driver. Raises what the command raises."""
        return self.server.submit(command)

    def add_node(self, rack: str | None = None, port: int | None = None) -> int:
        """One node more, listening from now on; its id. `port`: None for the next one, or a free one where ports are free ones. Raises
        CannotSteer, with nothing left open."""
        from ..core.steering import NotNow
        from .node_sockets import listener_of, node_at, port_of

        nodes = self.core.environment.identity.nodes
        number = nodes[-1].node_id + 1
        if len(nodes) >= MAX_NODES:
            raise NotNow(f"there are {MAX_NODES} nodes, and no more than that in one process")
        try:
            listener = listener_of(self.config, port_of(self.config, number) if port is None else port)
        except OSError as failure:
            raise NotNow(str(failure)) from None
        node = node_at(self.config, number, listener, rack)
        told = {"node": number, "host": node.host, "port": node.port, "rack": rack, "listens": node.listens}
        try:
            self.submit(Command("add_node", {name: value for name, value in told.items() if value is not None}))
        except ValueError:
            listener.close()
            raise
        self.server.listen_for(number, listener)
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
        """Append one record; returns its offset. `partition` None: by its key, as Kafka's producers choose, else 0. A topic that lacks is
        made where a client's question would make it."""
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
        """The stored records from that offset on, decoded, at most so many. LookupError for a topic or partition that is not there,
        ValueError for records that cannot be read, and for another isolation level."""
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
        """What the clients were found to do; in one group, as long as it is there. Raises NotAudited."""
        if self.beside is None:
            raise NotAudited("nobody is audited: start with --audit (audit = true in the file, GROUPMOCK_AUDIT=true, Broker(audit=True))")
        return self.beside.audit(group)

    async def story(self, group: str | None = None, member: str | None = None) -> list[str]:
        """What happened to a group, or to all of them, line by line (`groupmock.story.teller`), as far as the rows are kept: [] where
        nobody can look into memory (`start(stories=False)`), and where nothing is known of that group or member. Told on another thread:
        twenty thousand rows take up to a second, in which clients are served."""
        if self.ring is None:
            return []
        self.server.journal.flush()  # the last line names the file
        rows, now, sessions, views = list(self.ring.rows), self.clock.now(), self._sessions(), self._views(group)
        return await asyncio.to_thread(_told, rows, group, member, self.seed, self.journal, self.ring.dropped, views, now, sessions)

    def _views(self, group: str | None) -> dict[str, ServerView]:
        """The group, or the first ones, as they are at this moment: for the first lines of their stories."""
        from ..data.server_views import server_view

        groups = self.cluster.groups
        some = islice(groups.all(), MOST_VIEWS) if group is None else [groups.find(group)]
        return {each.group_id: server_view(self.cluster, each) for each in some if each is not None}

    async def obstacles(self, group: str) -> list[str]:
        """Say what keeps a group from going on, as far as the rows are kept: whom it awaits, clients that were never served, markers."""
        from ..story.teller import obstacles

        if self.ring is None:
            return []
        rows, now, sessions, dropped = list(self.ring.rows), self.clock.now(), self._sessions(), self.ring.dropped
        found = await asyncio.to_thread(obstacles, rows, group, now=now, sessions=sessions, dropped=dropped)
        return [*found, *self._markers(group)]

    def _markers(self, group: str) -> list[str]:
        """Say which lag is only transaction markers."""
        from ..data.lag import lag_of, lag_of_markers

        known = self.cluster.groups.find(group)
        behind = lag_of_markers(self.cluster, lag_of(self.cluster, known.view())) if known is not None else []
        past = "no consumer is given them: commit the position instead of the offset of the last record + 1, or accept this lag"
        return [f"{printable(each.topic)}/{each.partition}: its lag of {each.lag} is only transaction markers; {past}" for each in behind]

    def _sessions(self) -> dict[str, dict[str, int]]:
        """Return group -> member id -> when its session ends (ns), of all members."""
        found: dict[str, dict[str, int]] = {}
        timers = self.cluster.environment.timers
        for key in timers.armed("session"):
            if (timer := timers.get(key)) is not None:
                found.setdefault(key[1], {})[key[2]] = timer.deadline
        return found

    def transactions(self) -> list[TransactionRow]:
        """Every transactional id, a line each."""
        from ..data.transactions import transaction_row

        return [transaction_row(self.cluster, known, self._wall_ms()) for known in self.cluster.transactions.all()]

    async def transaction(self, transactional_id: str, story: bool = True) -> TransactionDetails:
        """One transactional id, with its story, if that is wanted, as far as the rows are kept. Raises CannotSteer where there is none."""
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
        """Write a picture of what happened so far (`groupmock.timeline`): of the journal's file if there is one, else of the rows that are
        kept in memory. Raises UnknownForm, Nothing, OSError."""
        self.server.journal.flush()
        ring = self.ring
        rows, dropped = (list(ring.rows), ring.dropped) if ring is not None else ([], 0)
        await asyncio.to_thread(_drawn, file, group, self.journal, rows, dropped, self.config.run or f"seed {self.seed}")

    def never_fired(self) -> list[RuleReport]:
        """The fault rules that did nothing, before a reset neither."""
        return [each for each in self.server.driver.rules.reports() if not each.fired and each.name not in self.fired_earlier]

    def load_plan(self, plan: Plan, origin: str = "the plan") -> list[str]:
        """Register every rule of a plan, or none; returns their names. Raises BadPlan."""
        from ..faults.plan import rule_as_data

        rules = self.server.driver.rules
        known = len(rules.reports())
        self.submit(Command("add_faults", {"rules": [rule_as_data(rule) for rule in plan.rule], "origin": origin}))
        if plan.seed is not None:
            self.submit(Command("seed_faults", {"seed": plan.seed}))
        return [report.name for report in rules.reports()[known:]]

    async def until(self, kinds: frozenset[str], test: Callable[[], T | None], timeout: float) -> T | None:
        """Wait until rows say so: what `test` returns, once that is not None. It is asked at once, after rows of these kinds, and when this
        cluster is closed. None when the time is over."""
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
        """Stop serving and flush; returns what went wrong with the journal, if anything did."""
        self.closed = True
        await self.server.close()
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
    from ..story.teller import NotTold, tell

    try:
        told = tell(
            rows, group=group, member=member, seed=seed, journal=journal, dropped=dropped, views=views, now=now, sessions=sessions,
        )  # fmt: skip
        return list(told)
    except NotTold:
        return []


def _drawn(file: str, group: str | None, journal: str | None, rows: list[Row], dropped: int, name: str) -> None:
    from ..timeline.drawing import Drawing, form_of, of_journal, save

    form = form_of(file)
    if journal is not None and os.path.isfile(journal):
        save(of_journal(journal, group), file, form)
        return
    drawing = Drawing(group)
    source = drawing.add(name, rows)
    source.notices += [f"{dropped} older rows are no longer kept"] if dropped else []
    source.notices.append("out of memory, which keeps no heartbeats that changed nothing: a journal (--groupmock-journal DIR) has them")
    save(drawing.timeline(), file, form)


def _reached(node: Node) -> str:
    """HOST:PORT by which this machine reaches a node."""
    if node.listens is None:
        return f"{bracketed(node.host)}:{node.port}"
    host, _, port = node.listens.rpartition(":")
    return f"{ANY.get(host, host)}:{port}"


class _Watcher(Sink):
    """Says that something happened, or that nothing more will."""

    def __init__(self, changed: Callable[[], None], kinds: frozenset[str]) -> None:
        self._changed = changed
        self.kinds = kinds
        self.routine = not kinds.isdisjoint(("request", "reply"))

    def take(self, row: Row) -> None:
        self._changed()

    def close(self) -> None:
        self._changed()


def _journal_failed(path: str | None, reason: str | None) -> JournalFailed:
    told = (reason or "").removeprefix(f"{path}: ")
    return JournalFailed(f"the journal {path} could not be written: {told}: it is incomplete, so the run ends here")
