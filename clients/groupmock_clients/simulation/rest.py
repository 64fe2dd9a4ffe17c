"""The state that every run must reach in the calm phase: stable groups, one owner for each partition, and all records delivered."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, TypeVar

from groupmock_codec import APIS
from groupmock_codec.api_keys import CONSUMER_GROUP_DESCRIBE, SHARE_GROUP_DESCRIBE, STREAMS_GROUP_DESCRIBE
from groupmock_codec.group_states import STABLE

from .client import Client
from .committed_reader import CommittedReader
from .group_consumer import GroupConsumer
from .link import Link
from .plan import OFFSETS
from .share_worker import ShareWorker
from .streams_thread import StreamsThread
from .task_lists import RoleTask, tasks_in
from .writer import Order

if TYPE_CHECKING:
    from .reader import Reader
    from .world import World
    from .writer import Writer

PATIENCE_MS: Final = 5_000
AGAIN: Final = "again"
"""A topic that does not exist, to which a member subscribes to make the group compute a new target."""


def undelivered(world: World, group: str, clients: Sequence[Reader], subscribed: Iterable[str]) -> str | None:
    """Say which partition of the subscribed topics has no single owner or is not read to its end, or return None if there is none."""
    topics, counts = world.core.cluster.topics, world.counts()
    owned = [place for client in clients for place in client.owned]
    for topic in counts:
        for partition in range(counts[topic]) if topic in subscribed else ():
            if owned.count((topic, partition)) != 1:
                return f"{topic}-{partition} has {owned.count((topic, partition))} owners in group {group!r}"
            end = topics.require_partition(topic, partition).end
            at = next(client.positions.get((topic, partition)) for client in clients if (topic, partition) in client.owned)
            if at != end:
                return f"{topic}-{partition} is delivered up to {at} of {end} in group {group!r}"
    return None


C = TypeVar("C", bound=Client)
F = TypeVar("F", GroupConsumer, StreamsThread)


class GroupsAtRest(ABC, Generic[C]):
    """Checks that groups of one type have settled, by describing them as an operator does. `told`: what was answered last, by group."""

    api: ClassVar[int]
    version: ClassVar[int]

    def __init__(self, world: World, clients: Sequence[C]) -> None:
        self.world = world
        self.groups: dict[str, list[C]] = {}
        for client in clients:
            self.groups.setdefault(client.group, []).append(client)
        self.told: dict[str, Any] = {}
        self.links: dict[int, Link] = {}
        world.bench.groups.elsewhere |= self.groups.keys()

    def missing(self) -> str | None:
        """Say what in the groups has not settled according to the last answers, or return None, and ask again."""
        found = next((each for name, clients in self.groups.items() if (each := self._missing(name, clients)) is not None), None)
        for name in self.groups:
            self._ask(name)
        return found

    def _ask(self, group: str) -> None:
        node = self.world.core.cluster.groups.hosting.node_of(group)
        if node is None or not self.world.up(node):
            return
        link = self.links.get(node)
        if link is None or not link.open:
            link = self.links[node] = Link(self.world, "operator", node)
        describe: Any = APIS[self.api].request.message
        link.ask(self.api, self.version, describe(group_ids=[group]), partial(self._tell, group), PATIENCE_MS)

    def _tell(self, group: str, answer: Any) -> None:
        if answer is not None:
            self.told[group] = answer.groups[0]

    def subscribed(self) -> dict[str, list[str]]:
        """Return group -> topics that its members subscribe to."""
        return {name: sorted(self._subscribed(clients)) for name, clients in self.groups.items()}

    @abstractmethod
    def _missing(self, name: str, clients: Sequence[C]) -> str | None: ...

    @abstractmethod
    def _subscribed(self, clients: Sequence[C]) -> set[str]: ...

    def _described(self, name: str, clients: Sequence[C]) -> Any:
        """Return the description of a group that is Stable, has its target and these clients as members, or say what is missing."""
        told = self.told.pop(name, None)
        if told is None or told.error_code:
            return f"group {name!r} is described with error {None if told is None else told.error_code}"
        if told.group_state != STABLE or told.group_epoch != told.assignment_epoch:
            return f"group {name!r} is {told.group_state}, at epoch {told.group_epoch}, its assignment at {told.assignment_epoch}"
        described = {member.member_id for member in told.members}
        if described != {client.member_id for client in clients}:
            return f"group {name!r} has members {sorted(described)}"
        unsettled = next((client.name for client in clients if not client.settled), None)
        return told if unsettled is None else f"{unsettled} of group {name!r} is not settled"


class FollowersAtRest(GroupsAtRest[F]):
    """Checks that the groups of a run whose coordinator assigns have settled: every member owns its target."""

    version = 0

    def hurry(self) -> None:
        """Let all members give up at once what they have to, because a slow one is expelled, rejoins, and has to give up the same again."""
        for clients in self.groups.values():
            for client in clients:
                client.revoke_ms = 0

    @abstractmethod
    def _listed(self, assignment: Any) -> frozenset[Any]:
        """Return what a described assignment lists."""

    @abstractmethod
    def _owned(self, client: F) -> frozenset[Any]:
        """Return what a member owns, in the words of `_listed`."""

    def _look_at(self, client: F, target: frozenset[Any]) -> None:
        """Act on a target that a group may never leave."""

    def _missing(self, name: str, clients: Sequence[F]) -> str | None:
        told = self._described(name, clients)
        if isinstance(told, str):
            return told
        described = {member.member_id: member for member in told.members}
        for client in clients:
            member = described[client.member_id]
            if member.member_epoch != told.group_epoch or client.epoch != told.group_epoch:
                return f"{client.name} of group {name!r} is at epoch {client.epoch}, the group at {told.group_epoch}"
            owned, has, target = self._owned(client), self._listed(member.assignment), self._listed(member.target_assignment)
            self._look_at(client, target)
            if not has == target == owned:
                return f"{client.name} of group {name!r} owns {sorted(owned)}, has {sorted(has)} and is to have {sorted(target)}"
        return undelivered(self.world, name, clients, self._subscribed(clients))


class ConsumerGroupsAtRest(FollowersAtRest[GroupConsumer]):
    """Checks that the consumer groups of a run have settled."""

    api = CONSUMER_GROUP_DESCRIBE

    def __init__(self, world: World, clients: Sequence[GroupConsumer]) -> None:
        super().__init__(world, clients)
        world.bench.consumer_groups.names = frozenset(self.groups)

    def hurry(self) -> None:
        """Let all members also name one assignor, because Kafka 4.4 computes a new target with each heartbeat of a member whose vote makes
        a tie (CG-101)."""
        super().hurry()
        for clients in self.groups.values():
            for client in clients:
                client.assignor = "uniform"

    def _subscribed(self, clients: Sequence[GroupConsumer]) -> set[str]:
        return {topic for topic in self.world.counts() if any(client.reads(topic) for client in clients)}

    def _listed(self, assignment: Any) -> frozenset[tuple[str, int]]:
        return _places(assignment)

    def _owned(self, client: GroupConsumer) -> frozenset[tuple[str, int]]:
        return client.owned

    def _look_at(self, client: GroupConsumer, target: frozenset[tuple[str, int]]) -> None:
        """Make the group compute a new target if this one has what the member does not read. Where a member's expression gave way to one
        that matches nothing, and others have the first one, what was to be that member's stays so in the target, and nobody's in fact
        (CG-114; seen on 4.3.0)."""
        if any(not client.reads(topic) for topic, _ in target):
            client.subscribe([*client.topics, AGAIN])


class StreamsGroupsAtRest(FollowersAtRest[StreamsThread]):
    """Checks that the streams groups of a run have settled."""

    api = STREAMS_GROUP_DESCRIBE

    def __init__(self, world: World, clients: Sequence[StreamsThread]) -> None:
        super().__init__(world, clients)
        world.bench.streams_groups.names = frozenset(self.groups)

    def _subscribed(self, clients: Sequence[StreamsThread]) -> set[str]:
        return {topic for client in clients for topic in client.topics}

    def _listed(self, assignment: Any) -> frozenset[RoleTask]:
        return tasks_in(assignment)

    def _owned(self, client: StreamsThread) -> frozenset[RoleTask]:
        return client.mine


class ShareGroupsAtRest(GroupsAtRest[ShareWorker]):
    """Checks that the share groups of a run have settled, and that no record is left to be done."""

    api = SHARE_GROUP_DESCRIBE
    version = 1

    def __init__(self, world: World, clients: Sequence[ShareWorker]) -> None:
        super().__init__(world, clients)
        shares, settings = world.bench.shares, world.core.environment.settings
        shares.names = frozenset(self.groups)
        shares.limits = dict.fromkeys(self.groups, settings.group_share_delivery_count_limit)
        shares.lock_ms = settings.group_share_record_lock_duration_ms

    def hurry(self) -> None:
        """Let all workers accept every record at once."""
        for clients in self.groups.values():
            for client in clients:
                client.calm = True

    def _subscribed(self, clients: Sequence[ShareWorker]) -> set[str]:
        return {topic for topic in self.world.counts() if any(topic in client.topics for client in clients)}

    def _missing(self, name: str, clients: Sequence[ShareWorker]) -> str | None:
        told = self._described(name, clients)
        if isinstance(told, str):
            return told
        if behind := [member.member_id for member in told.members if member.member_epoch != told.group_epoch]:
            return f"{behind[0]} of group {name!r} is not at epoch {told.group_epoch}"
        has = {place for member in told.members for place in _places(member.assignment)}
        topics, shares = self.world.core.cluster.topics, self.world.core.cluster.shares
        counts = self.world.counts()
        for topic, index in [(name, index) for name in self._subscribed(clients) for index in range(counts[name])]:
            if (topic, index) not in has:
                return f"nobody of group {name!r} has {topic}-{index}"
            lag = shares.lag(name, topics.topic_id(topic) or b"", index)
            if lag > 0 or (lag < 0 and topics.require_partition(topic, index).end):
                return f"group {name!r} has not done {lag} records of {topic}-{index}"
        return self.world.bench.shares.in_flight


class TransactionsAtRest:
    """Checks that the transactional producers of a run are done, and what the reader of their commits got."""

    def __init__(self, world: World, writers: Sequence[Writer]) -> None:
        self.world, self.writers = world, writers
        self.committed: set[str] = set()
        timeouts = world.bench.transactions.timeouts
        for each in writers:
            timeouts[each.key] = max(timeouts.get(each.key, 0), each.about.timeout_ms)
        self.reader = CommittedReader(world, {(each.about.group, OFFSETS, each.about.register) for each in writers})

    def begin(self) -> None:
        """Start the reader of committed records if there are producers."""
        if self.writers:
            self.reader.start()

    def calm(self) -> None:
        """Keep one producer of each transactional id alive and end the others."""
        for writer in self.writers:
            self.world.command("release_markers", transactional_id=writer.key)
            if writer not in self._last():
                writer.kill(half_open=False)

    def missing(self) -> str | None:
        """Say which producer is not done, or what the reader misses, or return None. Each producer is to commit to all partitions once
        more."""
        for writer in self._last():
            if not writer.alive:
                writer.start()
            elif writer.busy or writer.orders or writer.holder is None:
                return f"{writer.name} of transactional id {writer.key!r} is not done"
            if writer.name not in self.committed:
                if (last := writer.last) is not None and last.outcome and last.values.keys() == self._everywhere().keys():
                    self.committed.add(writer.name)
                    continue
                writer.order(Order(self._everywhere(), offset=True, commit=True, pause_ms=0, member=None))
                return f"{writer.name} of transactional id {writer.key!r} has not committed to all partitions"
        if not self.writers:
            return None
        self.reader.look()
        return self.reader.missing()

    def _last(self) -> list[Writer]:
        first: dict[str, Writer] = {}
        for writer in self.writers:
            first.setdefault(writer.key, writer)
        return list(first.values())

    def _everywhere(self) -> dict[tuple[str, int], int]:
        return {(topic, index): 1 for topic, count in self.world.counts().items() if topic[0] == "x" for index in range(count)}

    def end(self) -> None:
        """Check that no transaction was read in part, and close the reader."""
        self.world.bench.transactions.all_or_nothing()
        self.reader.looks = False
        for link in self.reader.links.values():
            link.close()


def _places(assignment: Any) -> frozenset[tuple[str, int]]:
    return frozenset((each.topic_name, index) for each in assignment.topic_partitions for index in each.partitions)
