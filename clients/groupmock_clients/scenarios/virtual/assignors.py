"""The assignors of scripted members: range, KIP-429's cooperative-sticky, that of Kafka Streams, and Designs I to III with the policy of
stock members.

`CooperativeSticky` is simplified. It assigns as Apache Kafka's does if all members subscribe to the same topics (balanced, fewest moves, a
partition that another member still owns is withheld for one round). If two members claim one partition the lower id keeps it, because no
generation is sent.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Final
from typing import Protocol as Interface

from groupmock.rounds import name_of
from groupmock_codec.embedded import consumer
from groupmock_codec.embedded.consumer import Assignment, Subscription
from groupmock_codec.messages.k11_join_group import JoinGroupResponseMember

from ...cooperative.balance import Partition, Subscribers, by_id, even_out, place, subscribers_of
from ...cooperative.member import AssignmentEffect, Membership, PeerSubscription, flat, listed
from ...cooperative.policy import Rules

Held = frozenset[Partition]
Counts = Mapping[str, int]
OURS: Final = 1
"""The version number in every Assignment of these assignors, by which they recognize each other. Range writes 0."""


class Assignor(Interface):
    """An assignor in the list of a member, which no other member uses."""

    name: str
    eager: bool
    """True if a member gives everything up before it rejoins."""

    def metadata(self, topics: Iterable[str], owned: Held) -> bytes:
        """Return the Subscription with which the member joins."""

    def assign(self, counts: Counts, members: Sequence[JoinGroupResponseMember], me: str) -> dict[str, bytes]:
        """Return the Assignments of all members, as the leader. Called in the leader."""

    def received(self, owned: Held, data: bytes, me: str, topics: Iterable[str], counts: Counts) -> AssignmentEffect:
        """Return the effect of an Assignment on a member that owned `owned`."""


class Range:
    """Assigns neighbouring partitions of each topic to its subscribers in the order of their ids. Eager."""

    name = "range"
    eager = True

    def metadata(self, topics: Iterable[str], owned: Held) -> bytes:
        """Return a Subscription without owned partitions, because an eager member owns none when it joins."""
        return consumer.encode_subscription(Subscription(0, sorted(topics), b""))

    def assign(self, counts: Counts, members: Sequence[JoinGroupResponseMember], me: str) -> dict[str, bytes]:
        given: dict[str, list[Partition]] = {each.member_id: [] for each in members}
        for topic, able in subscribers_of({each.member_id: _read(each).topics for each in members}).items():
            least, more = divmod(counts.get(topic, 0), len(able))
            first = 0
            for place_, member in enumerate(able):
                count = least + (place_ < more)
                given[member] += [(topic, number) for number in range(first, first + count)]
                first += count
        return {member: consumer.encode_assignment(Assignment(0, listed(held), b"")) for member, held in given.items()}

    def received(self, owned: Held, data: bytes, me: str, topics: Iterable[str], counts: Counts) -> AssignmentEffect:
        held = _assigned(data)
        return AssignmentEffect(held, held - owned, owned - held, False, 0)


class CooperativeSticky:
    """Assigns as KIP-429 says, by which a member keeps a partition for one more round before another member gets it."""

    name = "cooperative-sticky"
    eager = False

    def metadata(self, topics: Iterable[str], owned: Held) -> bytes:
        """Return a Subscription of version 1, which has owned partitions."""
        return consumer.encode_subscription(Subscription(1, sorted(topics), None, listed(owned)))

    def assign(self, counts: Counts, members: Sequence[JoinGroupResponseMember], me: str) -> dict[str, bytes]:
        told = {each.member_id: _read(each) for each in members}
        subscribers = subscribers_of({member: each.topics for member, each in told.items()})
        universe = {(topic, number) for topic in subscribers for number in range(counts.get(topic, 0))}
        held: dict[Partition, str] = {}
        for member in sorted(told, key=by_id):
            for partition in flat(told[member].owned_partitions) & universe:
                if partition[0] in told[member].topics:
                    held.setdefault(partition, member)
        given: dict[str, list[Partition]] = {member: [] for member in told}
        for partition, member in self._target(held, frozenset(universe), subscribers).items():
            if held.get(partition, member) == member:
                given[member].append(partition)
        return {member: consumer.encode_assignment(Assignment(1, listed(mine), None)) for member, mine in given.items()}

    def _target(self, held: Mapping[Partition, str], universe: Held, subscribers: Subscribers) -> dict[Partition, str]:
        """Return the member that is to have each partition in the end. `held` has the owners by the members' claims."""
        loose = universe - held.keys()
        return even_out(place(held, loose, subscribers), loose, {topic: subscribers[topic] for topic in {each[0] for each in universe}})

    def received(self, owned: Held, data: bytes, me: str, topics: Iterable[str], counts: Counts) -> AssignmentEffect:
        """Return the effect of an Assignment, with a rejoin at once if partitions were given up."""
        held = _assigned(data)
        return AssignmentEffect(held, held - owned, owned - held, bool(owned - held), 0)


class StreamsTasks(CooperativeSticky):
    """The assignor of Kafka Streams, with HighAvailabilityTaskAssignor, for an application with one stateful subtopology and one thread in
    each process.

    The tasks go round the processes in the order of their ids, whoever had them, because every process counts as caught up: no changelog
    has 10,000 records yet (acceptable.recovery.lag). So there are no warm-up tasks. Standby tasks, which only user data name, are left out.
    """

    name = "stream"

    def _target(self, held: Mapping[Partition, str], universe: Held, subscribers: Subscribers) -> dict[Partition, str]:
        members = sorted({member for able in subscribers.values() for member in able}, key=name_of)
        tasks = sorted({number for _, number in universe})
        return {partition: members[tasks.index(partition[1]) % len(members)] for partition in sorted(universe)}


class Design:
    """An assignor of Designs I to III with the policy, encoding and member side of `groupmock_clients.cooperative`, as in the stock
    assignors."""

    eager = False

    def __init__(self, member: Membership) -> None:
        self.member = member
        self.name = member.name

    def metadata(self, topics: Iterable[str], owned: Held) -> bytes:
        return self.member.subscription(topics, owned)

    def assign(self, counts: Counts, members: Sequence[JoinGroupResponseMember], me: str) -> dict[str, bytes]:
        return self.member.assign(counts, {each.member_id: _peer(each) for each in members}, me)

    def received(self, owned: Held, data: bytes, me: str, topics: Iterable[str], counts: Counts) -> AssignmentEffect:
        topics = frozenset(topics)
        universe = _universe(tuple(sorted((topic, counts.get(topic, 0)) for topic in topics)))
        found = consumer.read_assignment(data)
        return self.member.received(owned, _assigned(data), None if found is None else found.user_data, me, topics, universe)


class RangeOrDesign(Design):
    """The assignor with which an aiokafka group migrates (`RangeOrCooperative`): its name is range, and it is cooperative once every
    member has it."""

    def __init__(self, member: Membership) -> None:
        super().__init__(member)
        self.name = Range.name
        self.eager = True  # The member counts as eager until a rebalance was cooperative.

    def metadata(self, topics: Iterable[str], owned: Held) -> bytes:
        """Return a Subscription without owned partitions after a round of plain range, because everything was given up."""
        return super().metadata(topics, frozenset() if self.eager else owned)

    def assign(self, counts: Counts, members: Sequence[JoinGroupResponseMember], me: str) -> dict[str, bytes]:
        if all(self.member.speaks_ours(_peer(each)) for each in members):
            return super().assign(counts, members, me)
        self.member.forget()
        return Range().assign(counts, members, me)

    def received(self, owned: Held, data: bytes, me: str, topics: Iterable[str], counts: Counts) -> AssignmentEffect:
        before = frozenset() if self.eager else owned
        found = consumer.read_assignment(data)
        self.eager = found is None or found.version != OURS
        if not self.eager:
            return super().received(before, data, me, topics, counts)
        self.member.forget()
        return Range().received(before, data, me, topics, counts)


def rules(design: int, delay_ms: int, max_moves: int, move_interval_ms: int) -> Rules:
    """Return the rules of a group from its settings. Raises ValueError."""
    if design not in (1, 2, 3):
        raise ValueError(f"design {design} is not 1, 2 or 3")
    return Rules(1 if design == 1 else 2 if design == 2 else 3, delay_ms, max_moves, move_interval_ms)


@lru_cache(maxsize=16)
def _universe(counts: tuple[tuple[str, int], ...]) -> Held:
    """Return all partitions of these topics as one object, which a thousand members with the same subscription share."""
    return frozenset((topic, number) for topic, count in counts for number in range(count))


def _read(member: JoinGroupResponseMember) -> Subscription:
    return consumer.read_subscription(member.metadata) or Subscription()


def _peer(member: JoinGroupResponseMember) -> PeerSubscription:
    told = _read(member)
    return PeerSubscription(told.topics, told.user_data, flat(told.owned_partitions) if told.version else None)


def _assigned(data: bytes) -> Held:
    found = consumer.read_assignment(data)
    return frozenset() if found is None else flat(found.assigned_partitions)
