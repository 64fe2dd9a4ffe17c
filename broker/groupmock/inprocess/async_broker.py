"""The methods of `Broker` are coroutines here. Written by tools/pages/async_broker_page.py (`make docs`): do not edit."""

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
from ..server.streams_wait import TaskAssignment
from .calls import AsyncCalls
from .data import apply_seed_data, configs_of_node, configs_of_topic, facts_of_topics, lag_of_group, move_offsets, write_lines
from .errors import FaultNeverFired
from .fault_rules import NEVER_ENTERED, add_rule, rule_from, until_fired
from .groups import kept_requests, until_reached
from .lasting import AsyncUndo, lasting
from .values import ConfigValues, Json, PlanLike, as_plan, config_changes, config_texts, content_bytes, given_of, milliseconds, offset_rows

if TYPE_CHECKING:
    from ..audit.verdicts import Audit
    from ..core.steering.offsets import Reset
    from ..data.facts import ConfigRow, TopicFacts
    from ..data.in_flight import SharePartitionRow
    from ..data.lag import GroupLag
    from ..data.lines import Form
    from ..data.seed import Seeded
    from ..data.seed import Source as SeedSource
    from ..data.transactions import TransactionDetails, TransactionRow
    from ..data.writing import Written
    from ..faults.registry import RuleReport
    from ..security.client_settings import ClientSecurity
    from .broker import Broker

__tracebackhide__: Final = True


class AsyncBroker(AsyncCalls):
    """This class has the names of `Broker`. A property of `Broker` is a property here, and everything that calls the
    cluster is awaited: `await broker.produce(...)`, `(await broker.groups)["kitchen"]`. Nothing happens before a coroutine is awaited.
    Python warns of a coroutine that was never awaited (RuntimeWarning), and mypy and pyright report it as an error (unused-coroutine,
    unused-awaitable, reportUnusedCoroutine)."""

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
        """The URL of the control API, or None if it was not asked for."""
        return self._broker.control

    @property
    def start_settings(self) -> dict[str, Any]:
        """The value of every setting of this run by Kafka's name."""
        return self._broker.start_settings

    @property
    def journal(self) -> str | None:
        """The path of the journal's file, or None. After the end of a run, it is that run's file."""
        return self._broker.journal

    async def start(self, ports: Sequence[int] = ()) -> AsyncBroker:
        """Start serving and return once clients can connect. `ports`, one for each node, repeats the ports of an earlier start."""
        await asyncio.to_thread(self._broker.start, ports)
        return self

    async def stop(self) -> None:
        """Stop serving, close every connection and flush the journal. Raises the error of the journal, if there was one."""
        await asyncio.to_thread(self._broker.stop)

    async def clear(self, journal: str | os.PathLike[str] | None = None) -> None:
        """Forget all topics, groups, rules and connections, and make those of the start again. The bootstrap address stays. The old
        journal is kept as FILE.1, FILE.2, ...; with `journal`, later rows go to that file instead."""
        await asyncio.to_thread(self._broker.clear, journal)

    @property
    def bootstrap(self) -> str:
        """The addresses of all nodes as `host:port`, separated by commas, that clients of this machine take as bootstrap servers."""
        return self._up().reachable

    @property
    def advertised(self) -> str:
        """The addresses that clients are told, as `host:port`, separated by commas. They equal `bootstrap` without the option `advertise`.
        """
        return self._up().bootstrap

    async def security(
        self, listener: str | None = None, *, user: str | None = None, mechanism: str = "PLAIN", certificate: bool = False
    ) -> ClientSecurity:
        """Return what a client has to be told to reach a listener (None: the first one), for instance
        `Consumer(broker.security("OUTSIDE", user="alice").confluent_kafka() | {"group.id": "kitchen"})`. `user` None is the first of
        `users`; `certificate`: the client shows a certificate. Raises ConfigError for an unknown listener or user."""
        from ..server.reached import client_security

        return client_security(self._up(), listener, user, mechanism, certificate)

    @property
    def seed(self) -> int:
        """The seed of this run's ids. `Broker(seed=...)` with this value draws the same ids again."""
        return self._up().seed

    @property
    def audited(self) -> bool:
        """True if the clients are judged by the audit."""
        return self._up().audit_sink is not None

    @property
    async def groups(self) -> dict[str, GroupView]:
        """Every group by its id, as it is now."""
        return await self._ask(lambda: {group.group_id: group.view() for group in self._up().cluster.groups.all()})

    @property
    async def transactions(self) -> dict[str, TransactionRow]:
        """Every transactional id, as it is now: state, producer, epoch, coordinator, and how long its transaction has been open."""
        return await self._ask(lambda: {row.transactional_id: row for row in self._up().transactions()})

    async def transaction(self, transactional_id: str) -> TransactionDetails:
        """Return the details of one transactional id: the partitions of its open transaction, the groups whose offsets wait for its end,
        and its story. Raises CannotSteer for an unknown id."""
        return await self._run(self._up().transaction(transactional_id))

    async def in_flight(self, group: str) -> list[SharePartitionRow]:
        """Return which records of a share group are in flight: for each partition that its members fetch, the records that somebody got
        and that are not done, who has them, until when, and how often they were delivered."""
        return await self._ask(lambda: self._up().in_flight(group))

    async def client_says(self, client: str, what: str, /, **fields: Json) -> None:
        """Write a `client` row into the journal: what a client says about itself. This does not wait; rows of one caller keep their order.
        Raises TypeError if a value in `fields` has no JSON form."""
        # The fields are encoded once as a check, because an error while the row is written would reach no caller.
        msgspec.json.encode((client, what, fields))
        self._on().call_soon_threadsafe(self._up().server.client_says, client, what, fields)

    async def requests(
        self, api: str | None = None, group: str | None = None, *, client_id: str | None = None, member_id: str | None = None
    ) -> list[RequestRow]:
        """Return the requests that clients sent, oldest first, as far as they are kept in memory.

        They can be restricted to an `api` by Kafka's name ("JoinGroup"), a `group`, a client id and a member id. `message` of each has the
        fields of Kafka's schema. Raises ValueError for an unknown API."""
        return await self._ask(lambda: kept_requests(self._up(), api, group, client_id, member_id))

    async def story(self, group: str | None = None, member: str | None = None) -> str:
        """Return the story of a group, or of all groups: who got which partitions, what was committed and refused. `member` restricts it
        to one member, by client id, short name (`anna#d7e8`) or member id."""
        lines = await self._run(self._up().story(group, member))
        return "\n".join(lines)

    async def draw(self, file: str | PathLike[str], group: str | None = None) -> None:
        """Draw what happened so far to all groups or one: to NAME.html (a page that needs no network), NAME.svg or NAME.perfetto.json.
        Raises ValueError for another file name, LookupError for an unknown group."""
        await self._run(self._up().draw(fspath(file), group))

    async def audit(self) -> Audit:
        """Return what the audit has found about the clients until now, rule by rule (`groupmock.audit`). Raises NotAudited unless started
        with `audit=True`."""
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
        acquired: int | None = None,
        deliveries: int | None = None,
        tasks: TaskAssignment | None = None,
        standbys: TaskAssignment | None = None,
    ) -> GroupView:
        """Wait until all given conditions hold and return the group.

        `state` is Kafka's name; `members` is their exact number; `generation` is a lowest one; `member` is the member id, instance id or
        client id of one of them. `assignment`: "orders" (or several topics) is assigned completely, or {"anna": ["orders/0"]}. `offsets`:
        {"orders/0": 17} is committed, or a higher offset. `lag`: at most so many records. Of a share group, `acquired`: members have at
        most so many records, and `deliveries`: a record that is not done was delivered at least so often. Of a streams group, `tasks` and
        `standbys`: {"anna": ["0_1"]}, the active and the standby tasks that each named member has. Raises BadWait (a ValueError) for
        conditions that can never hold, and GroupTimeout with what is missing and the story."""
        wanted = wanted_of(
            group,
            state=state,
            members=members,
            generation=generation,
            member=member,
            assignment=assignment,
            offsets=offsets,
            lag=lag,
            acquired=acquired,
            deliveries=deliveries,
            tasks=tasks,
            standbys=standbys,
        )
        return await self._wait("wait_for", lambda: until_reached(self._up(), wanted, timeout))

    @property
    async def topics(self) -> dict[str, TopicFacts]:
        """Every topic by name, with its id, configs, and each partition's leader, epochs, replicas, offsets and segments."""
        return await self._ask(lambda: facts_of_topics(self._up()))

    async def configs(self, topic: str) -> dict[str, ConfigRow]:
        """Return every config of a topic: its value and where it was set. Raises CannotSteer for an unknown topic."""
        return await self._ask(lambda: configs_of_topic(self._up(), topic))

    async def node_configs(self, node: int) -> dict[str, ConfigRow]:
        """Return every config of a node. For -1, or for 0 if no node has that id, return what was set for all nodes at run time."""
        return await self._ask(lambda: configs_of_node(self._up(), node))

    async def configure_topic(self, name: str, set: ConfigValues | None = None, unset: Iterable[str] = ()) -> None:
        """Set configs of a topic and reset others to their defaults. If one is refused, none is changed."""
        await self._command("configure_topic", name=name, **config_changes(set, unset))

    async def configure_node(self, node: int, set: ConfigValues | None = None, unset: Iterable[str] = ()) -> None:
        """Change broker configs that may change at run time, of one node or of all (-1, or 0 if no node has that id)."""
        await self._command("configure_node", node=node, **config_changes(set, unset))

    async def configure_group(self, group: str, set: ConfigValues | None = None, unset: Iterable[str] = ()) -> None:
        """Set configs of a group, which need not exist, such as share.auto.offset.reset, and return others to the broker's values."""
        await self._command("configure_group", group=group, **config_changes(set, unset))

    async def produce(
        self,
        topic: str,
        value: bytes | str | None,
        key: bytes | str | None = None,
        partition: int | None = None,
        headers: Iterable[tuple[str, bytes | str | None]] | Mapping[str, bytes | str | None] = (),
        timestamp: int | None = None,
    ) -> int:
        """Append one record on the server's side and return its offset.

        Without a `partition` the key decides, hashed as in Kafka's producers (murmur2), and a record without a key goes to partition 0.
        Text is written as UTF-8. `timestamp` is ms since 1970, default now. A missing topic is created with `num.partitions`, unless
        `auto.create.topics.enable` is off. Raises CannotSteer for a missing topic or partition."""
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
        """Write all records or none. They are JSON Lines as text, or mappings {"key": ..., "value": ..., "headers": ...}, which may
        contain bytes.

        `partition` is for records that name none. Without it the key decides, as in Kafka's producers, and records without a key go to all
        partitions in turn. Raises ValueError with the number of the wrong line, and CannotSteer."""
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
        """Return at most `limit` records of a topic or of one partition from `offset` on, sorted by partition and offset.

        `transaction` of a record says whether it was aborted. `isolation="read_committed"` leaves aborted ones out and ends at the oldest
        open transaction. `markers` includes the control records that end transactions. Raises ValueError if decompression needs a library
        that is not installed."""
        return await self._ask(lambda: self._up().records(topic, partition, offset, limit, isolation, markers))

    async def commit_offsets(self, group: str, offsets: Mapping[str, Mapping[int, int]]) -> None:
        """Commit offsets for a group without members: {"orders": {0: 17}}, all or none. Raises CannotSteer while it has members, as Kafka
        does."""
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
        """Move the committed offsets of a group without members, as kafka-consumer-groups.sh --reset-offsets does.

        It moves those of one topic, or of all topics that have some: `to` an end of the log, to an `offset`, to a `timestamp` (ms since
        1970), or by a `shift`. Returns the old and new offsets."""
        chosen = partitions and list(partitions)
        wanted = {"group": group, "topic": topic, "partitions": chosen, "to": to, "offset": offset, "timestamp": timestamp, "shift": shift}
        arguments = {name: value for name, value in wanted.items() if value is not None}
        return await self._ask(lambda: move_offsets(self._up(), arguments, dry_run))

    async def lag(self, group: str) -> GroupLag:
        """Return how far a group is behind: committed and end offset of each partition, and its owner. Raises CannotSteer for an unknown
        group."""
        return await self._ask(lambda: lag_of_group(self._up(), group))

    async def seed_data(self, source: SeedSource) -> Seeded:
        """Apply seed data, a file or its lines as Python data: create topics, write records, commit offsets and set configs. Returns what
        was done. Raises BadSeedData (a ValueError) with the wrong line."""
        return await self._ask(lambda: apply_seed_data(self._up(), source))

    async def create_topic(
        self, name: str, partitions: int = 1, replication_factor: int | None = None, configs: ConfigValues | None = None
    ) -> None:
        """Create a topic with `partitions`. Raises CannotSteer if it exists, or if its name or a config is not valid."""
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
        """Release a group from its hold. Its waiting requests and timers continue now."""
        await self._command("release_group", group=group)

    async def expire(self, group: str, member: str) -> None:
        """Expire a member's session now. `member` is a member id, an instance id, or a client id that only one member has."""
        await self._command("expire_member", group=group, member=member)

    async def fence(self, group: str, instance: str) -> None:
        """Fence the process of a static member (FENCED_INSTANCE_ID), as if another one with its instance id had joined."""
        await self._command("fence_instance", group=group, instance=instance)

    async def fence_member(self, group: str, member: str) -> None:
        """Give a member of a consumer or streams group an epoch that its process does not know. Its next heartbeat is answered with
        FENCED_MEMBER_EPOCH, and it joins again. A static member is refused until its session is over (UNRELEASED_INSTANCE_ID), as in
        Kafka. Raises CannotSteer for members of the classic protocol."""
        await self._command("fence_member", group=group, member=member)

    async def rebalance(self, group: str, reason: str = "a test wants it") -> None:
        """Start a rebalance of a group now."""
        await self._command("force_rebalance", group=group, reason=reason)

    async def set_generation(self, group: str, generation: int | None = None) -> None:
        """Set a group's generation (None: the next one) without telling its members. Their requests are refused with ILLEGAL_GENERATION,
        and they join again. Raises CannotSteer while the group rebalances."""
        await self._command("set_generation", group=group, generation=generation)

    async def choose_leader(self, group: str, member: str) -> None:
        """Choose the leader of the next generation. The member need not have joined yet."""
        await self._command("choose_leader", group=group, member=member)

    async def order_joins(self, group: str, *names: str) -> None:
        """Admit the JoinGroups of these clients in this order, and all others after them."""
        await self._command("order_joins", group=group, names=list(names))

    async def complete_delay(self, group: str) -> None:
        """End a group's join phase now, as if its delay were over."""
        await self._command("complete_delay", group=group)

    @lasting
    async def freeze(self, group: str, member: str, seconds: float | None = None) -> AsyncUndo:
        """Delay a member's requests for `seconds`, until `thaw`, or the end of an `async with` block. Its session timeout runs on."""
        await self._command("freeze_member", group=group, member=member, ms=milliseconds(seconds))
        return AsyncUndo(lambda: self.thaw(group, member))

    async def thaw(self, group: str, member: str) -> None:
        """Handle the delayed requests of a frozen member now."""
        await self._command("thaw_member", group=group, member=member)

    async def abort_transaction(self, transactional_id: str) -> None:
        """Abort the open transaction of an id now, as at its timeout. Raises CannotSteer if none is open."""
        await self._command("abort_transaction", transactional_id=transactional_id)

    async def fence_transaction(self, transactional_id: str) -> None:
        """Fence the producer of a transactional id, as a newer producer does. An open transaction is aborted."""
        await self._command("fence_transaction", transactional_id=transactional_id)

    async def expire_transactional_id(self, transactional_id: str) -> None:
        """Forget a transactional id now, as after transactional.id.expiration.ms. Raises CannotSteer while a transaction is open."""
        await self._command("expire_transactional_id", transactional_id=transactional_id)

    async def allow(
        self,
        principal: str,
        *operations: str,
        topic: str | None = None,
        group: str | None = None,
        transactional_id: str | None = None,
        cluster: bool = False,
        prefixed: bool = False,
        host: str = "*",
    ) -> None:
        """Allow operations ("READ", "WRITE", "ALL", ...) on one resource to a principal ("alice", or "User:alice", "*" for everybody).
        `prefixed`: on every name that begins like that. Raises CannotSteer if the cluster has no authorizer."""
        more = given_of(topic=topic, group=group, transactional_id=transactional_id, cluster=cluster, prefixed=prefixed)
        await self._command("allow", principal=principal, operations=list(operations), host=host, **more)

    async def deny(
        self,
        principal: str,
        *operations: str,
        topic: str | None = None,
        group: str | None = None,
        transactional_id: str | None = None,
        cluster: bool = False,
        prefixed: bool = False,
        host: str = "*",
        seconds: float | None = None,
    ) -> None:
        """Deny operations on one resource to a principal, whatever is allowed elsewhere, for `seconds` (None: until `remove_acls`). The
        other arguments are those of `allow`."""
        more = given_of(topic=topic, group=group, transactional_id=transactional_id, cluster=cluster, prefixed=prefixed)
        more |= given_of(ms=milliseconds(seconds))
        await self._command("deny", principal=principal, operations=list(operations), host=host, **more)

    async def remove_acls(
        self,
        principal: str | None = None,
        *operations: str,
        topic: str | None = None,
        group: str | None = None,
        transactional_id: str | None = None,
        cluster: bool = False,
        permission: str | None = None,
    ) -> None:
        """Remove the rules of `allow` and `deny` that fit all given arguments, of one `permission` ("ALLOW" or "DENY") or both. Without
        arguments these are all rules."""
        more = given_of(topic=topic, group=group, transactional_id=transactional_id, cluster=cluster, permission=permission)
        await self._command("remove_acls", **given_of(principal=principal, operations=list(operations)), **more)

    async def expire_locks(
        self,
        group: str,
        topic: str | None = None,
        partition: int | None = None,
        *,
        member: str | None = None,
        first: int = 0,
        last: int | None = None,
    ) -> None:
        """End the locks of records that members of a share group have acquired: they are available again, or archived after their last
        delivery. Restrict it to a topic, a partition, a member, or the records from `first` to `last`."""
        where = given_of(topic=topic, partition=partition, member=member, last=last)
        await self._command("expire_locks", group=group, first=first, **where)

    async def release_records(self, group: str, member: str) -> None:
        """Make all records available again that a member of a share group has acquired."""
        await self._command("release_records", group=group, member=member)

    async def archive_records(self, group: str, topic: str, partition: int, first: int, last: int | None = None) -> None:
        """Archive records of a share group that were delivered and are not done: the record `first`, or those from `first` to `last`."""
        end = first if last is None else last
        await self._command("archive_records", group=group, topic=topic, partition=partition, first=first, last=end)

    @lasting
    async def hold_deliveries(self, group: str) -> AsyncUndo:
        """Deliver no records to a share group until `resume_deliveries`, or until the end of an `async with` block."""
        await self._command("hold_deliveries", group=group)
        return AsyncUndo(lambda: self.resume_deliveries(group))

    async def resume_deliveries(self, group: str) -> None:
        """Deliver records to a share group again."""
        await self._command("resume_deliveries", group=group)

    @lasting
    async def hold_markers(self, transactional_id: str, seconds: float | None = None) -> AsyncUndo:
        """Delay the markers that end an id's transactions for `seconds`, until `release_markers`, or the end of an `async with` block.
        Readers with read_committed wait for them."""
        await self._command("hold_markers", transactional_id=transactional_id, ms=milliseconds(seconds))
        return AsyncUndo(lambda: self.release_markers(transactional_id))

    async def release_markers(self, transactional_id: str) -> None:
        """Write the delayed markers of a transactional id now, and delay no others."""
        await self._command("release_markers", transactional_id=transactional_id)

    async def move_coordinator(self, group: str, node: int | None = None, loading: float = 0) -> None:
        """Move a group's coordinator to a node (None: the next one). There it loads for `loading` seconds."""
        await self._command("move_coordinator", group=group, node=node, loading_ms=milliseconds(loading))

    async def move_transaction_coordinator(self, transactional_id: str, node: int | None = None, loading: float = 0) -> None:
        """Move the coordinator of a transactional id to a node (None: the next one). There it loads for `loading` seconds."""
        place = {"transactional_id": transactional_id, "node": node}
        await self._command("move_transaction_coordinator", **place, loading_ms=milliseconds(loading))

    async def unload_coordinator(self, group: str) -> None:
        """Leave a group without a coordinator until its coordinator is moved to a node."""
        await self._command("unload_coordinator", group=group)

    async def move_leader(self, topic: str, partition: int, node: int) -> None:
        """Make a node the leader of a partition."""
        await self._command("move_leader", topic=topic, partition=partition, node=node)

    async def move_leaders(self, node: int | None = None, to: int | None = None, topic: str | None = None) -> None:
        """Move all partition leaders of a node, of a topic, or of the whole cluster at once. With `to` None each goes to its next replica.
        """
        await self._command("move_leaders", node=node, to=to, topic=topic)

    async def move_coordinators(self, node: int | None = None, to: int | None = None, loading: float = 0) -> None:
        """Move the coordinators of all groups, or those of a node, at once. They load for `loading` seconds at their new nodes."""
        await self._command("move_coordinators", node=node, to=to, loading_ms=milliseconds(loading))

    @lasting
    async def lag_replica(self, topic: str, partition: int, node: int) -> AsyncUndo:
        """Keep a replica behind from now on until `catch_up_replica`, or the end of an `async with` block."""
        await self._command("lag_replica", topic=topic, partition=partition, node=node)
        return AsyncUndo(lambda: self.catch_up_replica(topic, partition, node))

    async def catch_up_replica(self, topic: str, partition: int, node: int) -> None:
        """Let a replica that was kept behind catch up with the log."""
        await self._command("catch_up_replica", topic=topic, partition=partition, node=node)

    async def truncate_log(self, topic: str, partition: int, offset: int) -> None:
        """Remove the records of a partition from an offset on; the next record gets that offset. The leader epoch stays."""
        await self._command("truncate_log", topic=topic, partition=partition, offset=offset)

    async def elect_unclean_leader(self, topic: str, partition: int, node: int | None = None, offset: int | None = None) -> None:
        """Make a replica the leader whose log ends at `offset`, or where `lag_replica` stopped it: later records are lost, and the leader
        epoch grows by one. `node` None is the first replica that lags, or else the next one."""
        await self._command("elect_unclean_leader", topic=topic, partition=partition, node=node, offset=offset)

    async def compact(self, topic: str, partition: int | None = None, roll: bool = False) -> None:
        """Compact a topic's log now: the newest record of each key stays. `roll` begins a new segment first, because the active one is not
        compacted."""
        await self._command("compact_topic", topic=topic, partition=partition, roll=roll)

    async def set_next_offset(self, topic: str, partition: int, offset: int, start: int | None = None) -> None:
        """Set the offset of a partition's next record to a higher one. A log without records then begins at `start`, or at `offset` if
        `start` is None."""
        await self._command("set_next_offset", topic=topic, partition=partition, offset=offset, start=start)

    async def retain(self, topic: str, partition: int | None = None) -> None:
        """Apply retention.ms and retention.bytes to a topic's log now."""
        await self._command("retain_topic", topic=topic, partition=partition)

    async def add_node(self, rack: str | None = None, port: int | None = None) -> int:
        """Add a node that listens from now on, and return its id. `port` None is the next port, or a free one if all nodes have free ones.
        """
        return await self._ask(lambda: self._up().add_node(rack, port))

    async def stop_node(self, node: int, clean: bool = True, loading: float = 0) -> None:
        """Stop a node of the cluster. `clean` lets it answer waiting requests first. Its coordinators load for `loading` seconds at their
        new nodes."""
        await self._command("stop_node", node=node, clean=clean, loading_ms=milliseconds(loading))

    async def start_node(self, node: int, loading: float = 0) -> None:
        """Start a stopped node again, or end a stall."""
        await self._command("start_node", node=node, loading_ms=milliseconds(loading))

    @lasting
    async def stall_node(self, node: int, seconds: float | None = None) -> AsyncUndo:
        """Stop all traffic of a node for `seconds`, until `start_node`, or the end of an `async with` block. Connections stay open."""
        await self._command("stall_node", node=node, ms=milliseconds(seconds))
        return AsyncUndo(lambda: self.start_node(node))

    async def set_user(self, name: str, password: str) -> None:
        """Let a user authenticate with this password from now on, by PLAIN and SCRAM. Its connections are not touched."""
        await self._command("set_user", name=name, password=password)

    async def remove_user(self, name: str) -> None:
        """Remove a user with all credentials. Its connections go on until they have to authenticate again."""
        await self._command("remove_user", name=name)

    async def step(self, seconds: float) -> None:
        """Advance the server's clock while clients stay connected. Every timer on the way fires at its own time."""
        await self._command("step_clock", ms=milliseconds(seconds))

    async def jump_timer(self, timer: str, *subject: str) -> None:
        """Fire one timer of the core now: ("join", group), ("sync", group), ("session", group, member id), ..."""
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
        """Return a block for `with`, during which the rule holds. `do` is the kind, or a table with it; see docs/how-to/faults.md.

        At the end of the block FaultNeverFired is raised if the rule never fired, unless `must_fire` is False. Raises BadPlan for a wrong
        rule."""
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
        """Register a rule that stays until it is removed, and return its name."""
        rule = rule_from(when, do, stage, times, name)
        return await self._ask(lambda: add_rule(self._up(), rule))

    async def load_plan(self, plan: PlanLike) -> list[str]:
        """Register all rules of a plan, or none, and return their names. The plan's seed, if it has one, decides chances from now on."""
        read = as_plan(plan)
        return await self._ask(lambda: self._up().load_plan(read))

    async def remove_fault(self, name: str) -> None:
        """Remove a rule and let the requests that it holds continue. Raises UnknownRule (a LookupError) if there is none."""
        await self._command("remove_fault", name=name)

    async def release_fault(self, name: str) -> None:
        """Let the requests that a rule holds continue. The rule stays."""
        await self._command("release_fault", name=name)

    async def clear_faults(self) -> None:
        """Remove all fault rules and let the requests that they hold continue."""
        await self._command("clear_faults")

    async def wait_for_fault(self, name: str, hits: int = 1, timeout: float = 10.0) -> None:
        """Wait until a rule has fired `hits` times. Raises FaultNotSeen, or NeverSoOften (a ValueError) if the rule cannot fire so many
        times."""
        await self._wait("wait_for_fault", lambda: until_fired(self._up(), name, hits, timeout))

    @property
    async def faults(self) -> list[RuleReport]:
        """The reports of all rules: counts, what each holds, and which call came nearest."""
        return await self._ask(lambda: self._up().server.driver.rules.reports())

    async def fault_report(self, name: str) -> RuleReport:
        """Return the report of one rule. Raises UnknownRule (a LookupError) if there is none."""
        return await self._ask(lambda: self._up().server.driver.rules.registry.report(name))

    async def never_fired(self) -> list[RuleReport]:
        """Return the reports of rules that never fired; `.sentence` says why."""
        return await self._ask(lambda: [report for report in self._up().server.driver.rules.reports() if not report.fired])


class AsyncFaultBlock:
    """A fault rule that holds while an `async with` block lasts, as `FaultBlock` does for `with`."""

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
        # The fault report is read before the rule is removed, because a removed rule has no report.
        report = await self._broker.fault_report(self.name)
        await self._broker.remove_fault(self.name)
        # The exception of the `with` block is more useful than a report that the fault rule did not fire because of that exception.
        if error is None and self._must_fire and not report.fired:
            raise FaultNeverFired(report.sentence)

    def __del__(self) -> None:
        if not self._entered:
            warnings.warn(NEVER_ENTERED, RuntimeWarning, 2)

    @property
    async def report(self) -> RuleReport:
        """The report of this rule, as it is now."""
        return await self._broker.fault_report(self.name)

    @property
    async def fired(self) -> int:
        """The number of times that the rule fired."""
        report = await self._broker.fault_report(self.name)
        return report.fired

    async def release(self) -> None:
        """Let the requests that the rule holds continue."""
        await self._broker.release_fault(self.name)

    async def wait(self, hits: int = 1, timeout: float = 10.0) -> None:
        """Wait until the rule has fired `hits` times. Raises FaultNotSeen."""
        await self._broker._wait("wait", lambda: until_fired(self._broker._up(), self.name, hits, timeout))
