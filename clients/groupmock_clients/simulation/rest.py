"""The state that every run must reach in the calm phase: stable groups, one owner for each partition, and all records delivered."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from groupmock_codec.api_keys import CONSUMER_GROUP_DESCRIBE
from groupmock_codec.group_states import STABLE
from groupmock_codec.messages.k69_consumer_group_describe import ConsumerGroupDescribeRequest, DescribedGroup

from .committed_reader import CommittedReader
from .link import Link
from .plan import OFFSETS
from .writer import Order

if TYPE_CHECKING:
    from .group_consumer import GroupConsumer
    from .reader import Reader
    from .world import World
    from .writer import Writer

VERSION: Final = 0
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


class ConsumerGroupsAtRest:
    """Checks that the consumer groups of a run have settled, by asking ConsumerGroupDescribe as an operator does. `told`: what it
    answered last, by group."""

    def __init__(self, world: World, clients: Sequence[GroupConsumer]) -> None:
        self.world = world
        self.groups: dict[str, list[GroupConsumer]] = {}
        for client in clients:
            self.groups.setdefault(client.group, []).append(client)
        self.told: dict[str, DescribedGroup] = {}
        self.links: dict[int, Link] = {}
        names = frozenset(self.groups)
        world.bench.consumer_groups.names = world.bench.groups.elsewhere = names

    def hurry(self) -> None:
        """Let all members give partitions up at once, because a slow one is expelled, rejoins, and has to give up the same partitions
        again. Let all name one assignor, because Kafka 4.4 computes a new target with each heartbeat of a member whose vote makes a tie
        (CG-101)."""
        for clients in self.groups.values():
            for client in clients:
                client.revoke_ms = 0
                client.assignor = "uniform"

    def missing(self) -> str | None:
        """Say what in the groups has not settled according to the last answers, or return None, and ask again."""
        found = next((each for name, clients in self.groups.items() if (each := self._missing(name, clients)) is not None), None)
        for name in self.groups:
            self._ask(name)
        return found

    def subscribed(self) -> dict[str, list[str]]:
        """Return group -> topics that its members subscribe to."""
        return {name: sorted(self._subscribed(clients)) for name, clients in self.groups.items()}

    def _subscribed(self, clients: Sequence[GroupConsumer]) -> set[str]:
        return {topic for topic in self.world.counts() if any(client.reads(topic) for client in clients)}

    def _missing(self, name: str, clients: Sequence[GroupConsumer]) -> str | None:
        told = self.told.pop(name, None)
        if told is None or told.error_code:
            return f"group {name!r} is described with error {None if told is None else told.error_code}"
        if told.group_state != STABLE or told.group_epoch != told.assignment_epoch:
            return f"group {name!r} is {told.group_state}, at epoch {told.group_epoch}, its assignment at {told.assignment_epoch}"
        described = {member.member_id: member for member in told.members}
        if described.keys() != {client.member_id for client in clients}:
            return f"group {name!r} has members {sorted(described)}"
        for client in clients:
            member = described[client.member_id]
            if not client.settled:
                return f"{client.name} of group {name!r} is not settled"
            if member.member_epoch != told.group_epoch or client.epoch != told.group_epoch:
                return f"{client.name} of group {name!r} is at epoch {client.epoch}, the group at {told.group_epoch}"
            has, target = _places(member.assignment), _places(member.target_assignment)
            if any(not client.reads(topic) for topic, _ in target):
                self._wake(client)
            if not has == target == client.owned:
                return f"{client.name} of group {name!r} owns {sorted(client.owned)}, has {sorted(has)} and is to have {sorted(target)}"
        return undelivered(self.world, name, clients, self._subscribed(clients))

    def _wake(self, client: GroupConsumer) -> None:
        """Make the group compute a new target assignment. Where a member's expression gave way to one that matches nothing, and others
        have the first one, what was to be that member's stays so in the target, and nobody's in fact (CG-114; seen on 4.3.0)."""
        client.subscribe([*client.topics, AGAIN])

    def _ask(self, group: str) -> None:
        node = self.world.core.cluster.groups.hosting.node_of(group)
        if node is None or not self.world.up(node):
            return
        link = self.links.get(node)
        if link is None or not link.open:
            link = self.links[node] = Link(self.world, "operator", node)
        message = ConsumerGroupDescribeRequest(group_ids=[group])
        link.ask(CONSUMER_GROUP_DESCRIBE, VERSION, message, partial(self._tell, group), PATIENCE_MS)

    def _tell(self, group: str, answer: Any) -> None:
        if answer is not None:
            self.told[group] = answer.groups[0]


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
