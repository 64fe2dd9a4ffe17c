"""`Broker` with coroutines. Written by tools/pages/async_broker_page.py (`make docs`): do not edit."""

from __future__ import annotations

import asyncio
import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike, fspath
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec

from ..core.groups.view import GroupView, State
from ..data.log_record import Isolation, Record
from ..journal.rows import RequestRow
from ..server.group_wait import Assignment, wanted_of
from ..server.running import Running
from .calls import AsyncCalls
from .data import apply_seed_data, configs_of_node, configs_of_topic, facts_of_topics, lag_of_group, move_offsets, write_lines
from .errors import FaultNeverFired
from .fault_rules import NEVER_ENTERED, add_rule, rule_from, until_fired
from .groups import kept_requests, until_reached
from .lasting import AsyncUndo, lasting
from .values import ConfigValues, Json, PlanLike, as_plan, config_changes, config_texts, content_bytes, milliseconds, offset_rows

if TYPE_CHECKING:
    from ..audit.verdicts import Audit
    from ..core.steering.offsets import Reset
    from ..data.facts import ConfigRow, TopicFacts
    from ..data.lag import GroupLag
    from ..data.lines import Form
    from ..data.seed import Seeded
    from ..data.seed import Source as SeedSource
    from ..data.transactions import TransactionDetails, TransactionRow
    from ..data.writing import Written
    from ..faults.registry import RuleReport
    from .broker import Broker

__tracebackhide__: Final = True


class AsyncBroker(AsyncCalls):
    """The same names as `Broker`: a property is a property here too, a method a method, and whatever `Broker` asks the cluster for is a
    coroutine: `await broker.produce(...)`, `(await broker.groups)["kitchen"]`. Nothing happens before it is awaited; one that is dropped
    instead is a RuntimeWarning with its name, and an error for mypy (unused-coroutine; of what may be a block: unused-awaitable) and
    pyright (reportUnusedCoroutine).
    """

    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    async def __aenter__(self) -> AsyncBroker:
        return await self.start()

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.stop()

    def _up(self) -> Running:
        return self._broker._up()

    def _on(self) -> asyncio.AbstractEventLoop:
        return self._broker._on()

    @property
    def control(self) -> str | None:
        """Where the control API is, if it was asked for."""
        return self._broker.control

    @property
    def start_settings(self) -> dict[str, Any]:
        """Kafka name -> value of every setting of this run."""
        return self._broker.start_settings

    @property
    def journal(self) -> str | None:
        """The journal's file, if there is one; of the last run, once it is over."""
        return self._broker.journal

    async def start(self, ports: Sequence[int] = ()) -> AsyncBroker:
        """Start serving; returns once clients can connect. `ports`: one per node, where they must be those of an earlier start."""
        await asyncio.to_thread(self._broker.start, ports)
        return self

    async def stop(self) -> None:
        """Stop serving, close every connection, flush the journal. Raises what went wrong with the journal."""
        await asyncio.to_thread(self._broker.stop)

    async def clear(self, journal: str | os.PathLike[str] | None = None) -> None:
        """Forget every topic, group, rule and connection; what the start made is made again, and the bootstrap address stays. The journal
        so far is kept as FILE.1, FILE.2, ...; with `journal` what comes goes to that file instead."""
        await asyncio.to_thread(self._broker.clear, journal)

    @property
    def bootstrap(self) -> str:
        """`host:port` of every node, comma separated: what clients of this machine take as bootstrap servers."""
        return self._up().reachable

    @property
    def advertised(self) -> str:
        """`host:port` of every node as clients are told to connect to, comma separated: `bootstrap`, unless started with `advertise`."""
        return self._up().bootstrap

    @property
    def seed(self) -> int:
        """The seed of this run's ids: give it to `Broker(seed=...)` to draw the same again."""
        return self._up().seed

    @property
    def audited(self) -> bool:
        """Are the clients judged?"""
        return self._up().beside is not None

    @property
    async def groups(self) -> dict[str, GroupView]:
        """Every group by id, as it is now."""
        return await self._ask(lambda: {group.group_id: group.view() for group in self._up().cluster.groups.all()})

    @property
    async def transactions(self) -> dict[str, TransactionRow]:
        """Every transactional id, as it is now: state, producer, epoch, coordinator, how long its transaction has been open."""
        return await self._ask(lambda: {each.transactional_id: each for each in self._up().transactions()})

    async def transaction(self, transactional_id: str) -> TransactionDetails:
        """One transactional id: what is in its open transaction, whose offsets wait for its end, its story. CannotSteer without one."""
        return await self._run(self._up().transaction(transactional_id))

    async def client_says(self, client: str, what: str, /, **fields: Json) -> None:
        """Journal a `client` row: what a client says about itself. Does not wait; rows of one caller keep their order. TypeError if
        JSON has no word for something in `fields`."""
        msgspec.json.encode((client, what, fields))  # here and not when the row is written, where nobody would hear of it
        self._on().call_soon_threadsafe(self._up().server.client_says, client, what, fields)

    async def requests(
        self, api: str | None = None, group: str | None = None, *, client_id: str | None = None, member_id: str | None = None
    ) -> list[RequestRow]:
        """The requests that clients sent, oldest first, as far as they are kept in memory: of an `api` by Kafka's name ("JoinGroup"), that
        name a `group`, of a client, that name a member. `message` of each has the fields of Kafka's schema. ValueError for no such API."""
        return await self._ask(lambda: kept_requests(self._up(), api, group, client_id, member_id))

    async def story(self, group: str | None = None, member: str | None = None) -> str:
        """What happened to a group, or to all: who got what, what was committed and refused. `member`: what is about this one alone, by its
        client id, its short name (`anna#d7e8`) or its id."""
        lines = await self._run(self._up().story(group, member))
        return "\n".join(lines)

    async def draw(self, file: str | PathLike[str], group: str | None = None) -> None:
        """Write a picture of what happened so far: to NAME.html (a page that needs no network), NAME.svg or NAME.perfetto.json. Of every
        group, or of one. ValueError for another name, LookupError for a group that is not there."""
        await self._run(self._up().draw(fspath(file), group))

    async def audit(self) -> Audit:
        """What the clients were found to do up to now, rule by rule (`groupmock.audit`). NotAudited unless started with `audit=True`."""
        return await self._ask(lambda: self._up().audit())

    async def wait_for(
        self,
        group: str,
        state: State | None = None,
        members: int | None = None,
        generation: int | None = None,
        timeout: float = 10.0,
        *,
        member: str | None = None,
        assignment: Assignment | None = None,
        offsets: Mapping[str, int] | None = None,
        lag: int | None = None,
    ) -> GroupView:
        """Wait until all of it holds: Kafka's `state`, so many `members`, a `generation` or a later one, a `member` of that member id,
        instance id or client id; an `assignment`: "orders" (or several topics) is assigned whole, or {"anna": ["orders/0"]}; `offsets`
        committed, {"orders/0": 17} or further; at most a `lag` of so many records. BadWait (a ValueError) for what can never hold;
        GroupTimeout says what was missing and tells the story."""
        wanted = wanted_of(
            group, state=state, members=members, generation=generation, member=member, assignment=assignment, offsets=offsets, lag=lag
        )
        return await self._wait("wait_for", lambda: until_reached(self._up(), wanted, timeout))

    @property
    async def topics(self) -> dict[str, TopicFacts]:
        """Every topic by name: id, configs, and each partition's leader, epochs, replicas, offsets, segments."""
        return await self._ask(lambda: facts_of_topics(self._up()))

    async def configs(self, topic: str) -> dict[str, ConfigRow]:
        """Every config of a topic: its value, and where that was set. CannotSteer for a topic that is not there."""
        return await self._ask(lambda: configs_of_topic(self._up(), topic))

    async def node_configs(self, node: int) -> dict[str, ConfigRow]:
        """Every config of a node; of -1, or of 0 where no node has that id, what was set for all nodes at run time."""
        return await self._ask(lambda: configs_of_node(self._up(), node))

    async def configure_topic(self, name: str, set: ConfigValues | None = None, unset: Iterable[str] = ()) -> None:
        """Set configs of a topic, or let them go back to their defaults; all of it or nothing."""
        await self._command("configure_topic", name=name, **config_changes(set, unset))

    async def configure_node(self, node: int, set: ConfigValues | None = None, unset: Iterable[str] = ()) -> None:
        """The same of broker configs that may change at run time, of one node or of all (-1, or 0 where no node has that id)."""
        await self._command("configure_node", node=node, **config_changes(set, unset))

    async def produce(
        self,
        topic: str,
        value: bytes | str | None,
        key: bytes | str | None = None,
        partition: int | None = None,
        headers: Iterable[tuple[str, bytes | str | None]] | Mapping[str, bytes | str | None] = (),
        timestamp: int | None = None,
    ) -> int:
        """Append one record on the server's side; returns its offset. Without a `partition` its key decides, as Kafka's producers hash it
        (murmur2), and a record without a key goes to partition 0. Text is written as UTF-8; `timestamp`: ms since 1970, default now.
        A topic that is not there is made, with `num.partitions`, unless `auto.create.topics.enable` is off: then CannotSteer, as for a
        partition that is not there."""
        named = headers.items() if isinstance(headers, Mapping) else headers
        pairs = [(name, content_bytes(content)) for name, content in named]
        content = content_bytes(key), content_bytes(value)
        return await self._ask(lambda: self._up().produce(topic, partition, *content, pairs, timestamp))

    async def write_records(
        self,
        topic: str,
        lines: str | bytes | Iterable[Mapping[str, Any]],
        partition: int | None = None,
        key_as: Form | None = None,
        value_as: Form | None = None,
    ) -> list[Written]:
        """Write records, all or none: JSON Lines as text, or {"key": ..., "value": ..., "headers": ...} each, in which bytes may stand.

        `partition`: of records that name none; without it their key decides, as with Kafka's producers, else they go to all in turn.
        ValueError with the number of the line that is wrong; CannotSteer.
        """
        return await self._ask(lambda: write_lines(self._up(), topic, lines, partition, key_as, value_as))

    async def records(
        self,
        topic: str,
        partition: int | None = None,
        offset: int = 0,
        limit: int | None = None,
        *,
        isolation: Isolation = "read_uncommitted",
        markers: bool = False,
    ) -> list[Record]:
        """The records of a topic (or of one partition), by partition and offset: from that offset on, at most so many. Each says in
        `transaction` whether it was aborted; `isolation="read_committed"` leaves those out, and ends where the oldest open transaction
        begins. `markers`: with the control records that end transactions. ValueError where a client compressed them with what needs a
        library that is not installed."""
        return await self._ask(lambda: self._up().records(topic, partition, offset, limit, isolation, markers))

    async def commit_offsets(self, group: str, offsets: Mapping[str, Mapping[int, int]]) -> None:
        """Commit for a group without members: {"orders": {0: 17}}, all or none. CannotSteer while it has members, as Kafka refuses."""
        await self._command("commit_offsets", group=group, offsets=offset_rows(offsets))

    async def reset_offsets(
        self,
        group: str,
        topic: str | None = None,
        partitions: Iterable[int] | None = None,
        *,
        to: Literal["earliest", "latest", "current"] | None = None,
        offset: int | None = None,
        timestamp: int | None = None,
        shift: int | None = None,
        dry_run: bool = False,
    ) -> list[Reset]:
        """Put the offsets of a group without members back, or forth, as kafka-consumer-groups.sh --reset-offsets does: of a topic or of all
        that it has committed, `to` an end of the log, an `offset`, a `timestamp` (ms since 1970), or by a `shift`. What went where."""
        chosen = partitions and list(partitions)
        wanted = {"group": group, "topic": topic, "partitions": chosen, "to": to, "offset": offset, "timestamp": timestamp, "shift": shift}
        arguments = {name: value for name, value in wanted.items() if value is not None}
        return await self._ask(lambda: move_offsets(self._up(), arguments, dry_run))

    async def lag(self, group: str) -> GroupLag:
        """How far a group is behind: committed and end offset of each partition, and who reads it. CannotSteer: there is no such group."""
        return await self._ask(lambda: lag_of_group(self._up(), group))

    async def seed_data(self, source: SeedSource) -> Seeded:
        """Make topics, write records, commit offsets and set configs: a file of seed data, or its lines as Python data. What was done.
        BadSeedData (a ValueError) with the line that is wrong."""
        return await self._ask(lambda: apply_seed_data(self._up(), source))

    async def create_topic(
        self, name: str, partitions: int = 1, replication_factor: int | None = None, configs: ConfigValues | None = None
    ) -> None:
        """Create a topic. CannotSteer when it exists, the name is none, or a config is not what it can be."""
        more = {"replication_factor": replication_factor, "configs": config_texts(configs) or None}
        given = {option: value for option, value in more.items() if value is not None}
        await self._command("create_topic", name=name, partitions=partitions, **given)

    async def grow_topic(self, name: str, partitions: int) -> None:
        """Raise a topic's number of partitions to `partitions`."""
        await self._command("grow_topic", name=name, partitions=partitions)

    async def delete_topic(self, name: str) -> None:
        """Delete a topic and the offsets committed for it."""
        await self._command("delete_topic", name=name)

    @lasting
    async def hold(self, group: str, state: State) -> AsyncUndo:
        """Keep a group in a state from now on (or from when it gets there) until `release`, or the end of an `async with` block."""
        await self._command("hold_group", group=group, state=state)
        return AsyncUndo(lambda: self.release(group))

    async def release(self, group: str) -> None:
        """Let a held group go on: what waited happens now."""
        await self._command("release_group", group=group)

    async def expire(self, group: str, member: str) -> None:
        """Let a member's session expire now. `member`: member id, instance id, or a client id that one member alone has."""
        await self._command("expire_member", group=group, member=member)

    async def fence(self, group: str, instance: str) -> None:
        """Take a static member's place: its present process is fenced (FENCED_INSTANCE_ID)."""
        await self._command("fence_instance", group=group, instance=instance)

    async def fence_member(self, group: str, member: str) -> None:
        """Put a member of a consumer group at an epoch that its process does not know: its next heartbeat is FENCED_MEMBER_EPOCH, and it
        joins again; a static member is refused until its session is over (UNRELEASED_INSTANCE_ID), as by Kafka. CannotSteer for members
        of the classic protocol."""
        await self._command("fence_member", group=group, member=member)

    async def rebalance(self, group: str, reason: str = "a test wants it") -> None:
        """Let a group rebalance now."""
        await self._command("force_rebalance", group=group, reason=reason)

    async def set_generation(self, group: str, generation: int | None = None) -> None:
        """Give a group another generation (None: the next one) behind its members' backs: what they send with theirs is refused with
        ILLEGAL_GENERATION, and they join again. CannotSteer while it rebalances."""
        await self._command("set_generation", group=group, generation=generation)

    async def choose_leader(self, group: str, member: str) -> None:
        """Choose who leads the next generation; the member need not be there yet."""
        await self._command("choose_leader", group=group, member=member)

    async def order_joins(self, group: str, *names: str) -> None:
        """Let the JoinGroups of these clients in in this order, all others after them."""
        await self._command("order_joins", group=group, names=list(names))

    async def complete_delay(self, group: str) -> None:
        """End a group's join phase now, as if its delay were over."""
        await self._command("complete_delay", group=group)

    @lasting
    async def freeze(self, group: str, member: str, seconds: float | None = None) -> AsyncUndo:
        """Let a member's requests wait, unseen, for so long, until `thaw`, or the end of an `async with` block. Its session runs on."""
        await self._command("freeze_member", group=group, member=member, ms=milliseconds(seconds))
        return AsyncUndo(lambda: self.thaw(group, member))

    async def thaw(self, group: str, member: str) -> None:
        """Let a frozen member go on."""
        await self._command("thaw_member", group=group, member=member)

    async def abort_transaction(self, transactional_id: str) -> None:
        """Abort the open transaction of an id now, as at its timeout. CannotSteer where none is open."""
        await self._command("abort_transaction", transactional_id=transactional_id)

    async def fence_transaction(self, transactional_id: str) -> None:
        """Take a transactional id from its producer, as a newer one does; an open transaction is aborted."""
        await self._command("fence_transaction", transactional_id=transactional_id)

    async def expire_transactional_id(self, transactional_id: str) -> None:
        """Forget a transactional id now. CannotSteer while a transaction is open."""
        await self._command("expire_transactional_id", transactional_id=transactional_id)

    @lasting
    async def hold_markers(self, transactional_id: str, seconds: float | None = None) -> AsyncUndo:
        """Keep the ends of an id's transactions from their readers for so long, until `release_markers`, or the end
        of an `async with` block."""
        await self._command("hold_markers", transactional_id=transactional_id, ms=milliseconds(seconds))
        return AsyncUndo(lambda: self.release_markers(transactional_id))

    async def release_markers(self, transactional_id: str) -> None:
        """Let the markers of a transactional id go: those that waited are written now."""
        await self._command("release_markers", transactional_id=transactional_id)

    async def move_coordinator(self, group: str, node: int | None = None, loading: float = 0) -> None:
        """Move a group's coordinator to a node (None: the next one), which loads for so many seconds."""
        await self._command("move_coordinator", group=group, node=node, loading_ms=milliseconds(loading))

    async def move_transaction_coordinator(self, transactional_id: str, node: int | None = None, loading: float = 0) -> None:
        """Move the coordinator of a transactional id to a node (None: the next one), which loads for so many seconds."""
        place = {"transactional_id": transactional_id, "node": node}
        await self._command("move_transaction_coordinator", **place, loading_ms=milliseconds(loading))

    async def unload_coordinator(self, group: str) -> None:
        """Let nobody coordinate a group until its coordinator is moved somewhere."""
        await self._command("unload_coordinator", group=group)

    async def move_leader(self, topic: str, partition: int, node: int) -> None:
        """Let a node lead a partition."""
        await self._command("move_leader", topic=topic, partition=partition, node=node)

    async def move_leaders(self, node: int | None = None, to: int | None = None, topic: str | None = None) -> None:
        """Move all partition leaders at once: those of a node, of a topic, or of the whole cluster; `to` None: each to its next replica."""
        await self._command("move_leaders", node=node, to=to, topic=topic)

    async def move_coordinators(self, node: int | None = None, to: int | None = None, loading: float = 0) -> None:
        """Move the coordinators of all groups at once, or those of a node; they load for so many seconds where they go."""
        await self._command("move_coordinators", node=node, to=to, loading_ms=milliseconds(loading))

    @lasting
    async def lag_replica(self, topic: str, partition: int, node: int) -> AsyncUndo:
        """Keep a replica behind from now on until `catch_up_replica`, or the end of an `async with` block."""
        await self._command("lag_replica", topic=topic, partition=partition, node=node)
        return AsyncUndo(lambda: self.catch_up_replica(topic, partition, node))

    async def catch_up_replica(self, topic: str, partition: int, node: int) -> None:
        """Let a replica that was kept behind have all of the log again."""
        await self._command("catch_up_replica", topic=topic, partition=partition, node=node)

    async def compact(self, topic: str, partition: int | None = None, roll: bool = False) -> None:
        """Compact a topic's log now: of each key the newest record stays. `roll`: begin a new segment first, as the active one stays."""
        await self._command("compact_topic", topic=topic, partition=partition, roll=roll)

    async def set_next_offset(self, topic: str, partition: int, offset: int, start: int | None = None) -> None:
        """Let a partition's next record get a higher offset; a log without records begins at `start`, None: there too."""
        await self._command("set_next_offset", topic=topic, partition=partition, offset=offset, start=start)

    async def retain(self, topic: str, partition: int | None = None) -> None:
        """Apply retention.ms and retention.bytes to a topic's log now."""
        await self._command("retain_topic", topic=topic, partition=partition)

    async def add_node(self, rack: str | None = None, port: int | None = None) -> int:
        """Add a node, which listens from now on; its id. `port` None: the next one, or a free one where all nodes have free ones."""
        return await self._ask(lambda: self._up().add_node(rack, port))

    async def stop_node(self, node: int, clean: bool = True, loading: float = 0) -> None:
        """Stop a node. `clean`: who waits is answered first; `loading`: how long its coordinators load where they go."""
        await self._command("stop_node", node=node, clean=clean, loading_ms=milliseconds(loading))

    async def start_node(self, node: int, loading: float = 0) -> None:
        """Start a stopped node again, or end a stall."""
        await self._command("start_node", node=node, loading_ms=milliseconds(loading))

    @lasting
    async def stall_node(self, node: int, seconds: float | None = None) -> AsyncUndo:
        """Let nothing in or out of a node for so long, until `start_node`, or until the end of an `async with` block."""
        await self._command("stall_node", node=node, ms=milliseconds(seconds))
        return AsyncUndo(lambda: self.start_node(node))

    async def step(self, seconds: float) -> None:
        """Move the server's clock on while clients stay connected: every timer on the way fires at its own time."""
        await self._command("step_clock", ms=milliseconds(seconds))

    async def jump_timer(self, timer: str, *subject: str) -> None:
        """Let one timer fire now: ("join", group), ("sync", group), ("session", group, member id), ..."""
        await self._command("jump_timer", timer=timer, subject=list(subject))

    def fault(
        self,
        when: Mapping[str, Any],
        do: Mapping[str, Any] | str,
        *,
        stage: str | None = None,
        times: int | None = None,
        name: str = "",
        must_fire: bool = True,
    ) -> AsyncFaultBlock:
        """A rule for an `async with` block. `do`: the kind, or a table with it; see docs/how-to/faults.md. BadPlan when it cannot be.

        A block whose rule never fired raises FaultNeverFired at its end, unless `must_fire` is False.
        """
        return AsyncFaultBlock(self, {"when": when, "do": do, "stage": stage, "times": times, "name": name}, must_fire)

    async def add_fault(
        self,
        when: Mapping[str, Any],
        do: Mapping[str, Any] | str,
        *,
        stage: str | None = None,
        times: int | None = None,
        name: str = "",
    ) -> str:
        """Register a rule that stays until it is removed; returns its name."""
        rule = rule_from(when, do, stage, times, name)
        return await self._ask(lambda: add_rule(self._up(), rule))

    async def load_plan(self, plan: PlanLike) -> list[str]:
        """Register every rule of a plan, or none; returns their names. Its seed, if it has one, is the chances' from now on."""
        read = as_plan(plan)
        return await self._ask(lambda: self._up().load_plan(read))

    async def remove_fault(self, name: str) -> None:
        """Forget a rule; what it held goes on. UnknownRule (a LookupError) when there is none."""
        await self._command("remove_fault", name=name)

    async def release_fault(self, name: str) -> None:
        """Let go of what a rule holds; the rule stays."""
        await self._command("release_fault", name=name)

    async def clear_faults(self) -> None:
        """Forget every rule."""
        await self._command("clear_faults")

    async def wait_for_fault(self, name: str, hits: int = 1, timeout: float = 10.0) -> None:
        """Wait until a rule fired so often. Raises FaultNotSeen; NeverSoOften (a ValueError) where it cannot fire so often."""
        await self._wait("wait_for_fault", lambda: until_fired(self._up(), name, hits, timeout))

    @property
    async def faults(self) -> list[RuleReport]:
        """Every rule as it stands: counts, what it holds, how near it came."""
        return await self._ask(lambda: self._up().server.driver.rules.reports())

    async def fault_report(self, name: str) -> RuleReport:
        """One rule as it stands. UnknownRule (a LookupError) when there is none."""
        return await self._ask(lambda: self._up().server.driver.rules.registry.report(name))

    async def never_fired(self) -> list[RuleReport]:
        """The rules that did nothing; `.sentence` says why."""
        return await self._ask(lambda: [report for report in self._up().server.driver.rules.reports() if not report.fired])


class AsyncFaultBlock:
    """`FaultBlock` for an `async with` block."""

    def __init__(self, broker: AsyncBroker, rule: dict[str, Any], must_fire: bool) -> None:
        self._broker = broker
        self._rule = rule
        self._must_fire = must_fire
        self._entered = False
        self.name: str = rule["name"]

    async def __aenter__(self) -> AsyncFaultBlock:
        self._entered = True
        self.name = await self._broker.add_fault(**self._rule)
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        report = await self._broker.fault_report(self.name)  # before the rule goes: a removed one has no report
        await self._broker.remove_fault(self.name)
        # An error out of the block says more than a rule that did not fire because of it.
        if error is None and self._must_fire and not report.fired:
            raise FaultNeverFired(report.sentence)

    def __del__(self) -> None:
        if not self._entered:
            warnings.warn(NEVER_ENTERED, RuntimeWarning, 2)

    @property
    async def report(self) -> RuleReport:
        """The rule as it stands."""
        return await self._broker.fault_report(self.name)

    @property
    async def fired(self) -> int:
        """How often it did something."""
        report = await self._broker.fault_report(self.name)
        return report.fired

    async def release(self) -> None:
        """Let go of what the rule holds."""
        await self._broker.release_fault(self.name)

    async def wait(self, hits: int = 1, timeout: float = 10.0) -> None:
        """Wait until it fired so often. Raises FaultNotSeen."""
        await self._broker._wait("wait", lambda: until_fired(self._broker._up(), self.name, hits, timeout))
