"""Models the part of a consumer group that determines target assignments: members, subscribed topics and computed targets.
KafkaAssignors.java plays the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from groupmock.core.groups.consumer.assignors import ASSIGNORS, Effort, Member, Spreads, Target, assign, stored, subscription_of
from groupmock.core.groups.consumer.orders import MemberTable
from groupmock.core.groups.share import simple_assignor
from groupmock.core.groups.streams.tasks import Task, TasksBySubtopology
from groupmock.core.work import at_once

Topics = dict[str, tuple[bytes, int]]
Told = list[list[Any]]


class Subscriber(msgspec.Struct):
    """A member of the modelled group. `topics` are in the order of its own set, and sorted once the log has them; `matched` are the
    topics of its regular expression."""

    member_id: str
    group_instance_id: str | None
    topics: Sequence[str]
    target: Target
    regex: str | None = None
    matched: Sequence[str] = ()


def targets(
    assignor: str, subscribers: Sequence[Subscriber], topics: Topics, replaced: str | None = None, *, alike: bool
) -> dict[str, Target]:
    spreads = Spreads()
    members = [
        Member(one.member_id, one.group_instance_id, subscription_of(one.topics, one.matched, topics, spreads), one.target)
        for one in subscribers
    ]
    return at_once(assign(ASSIGNORS[assignor], members, topics, replaced, alike=alike))


class ShareStory:
    """The history of one share group in an assignor test: names of its members, targets, and which partitions are initialised. `topics`
    maps a name to (id, partitions)."""

    def __init__(self, topics: Topics) -> None:
        self.topics = topics
        self.initialized: dict[bytes, set[int]] = {}
        self.table = MemberTable()
        self.members: dict[str, Subscriber] = {}
        self.seen: list[str] = []
        """The members in the order of the table when the last target was computed."""

    def heartbeat(self, member: str, names: Sequence[str]) -> None:
        """Play a heartbeat that joins or changes the names, and compute the targets of all. A new member is in the table before."""
        joins = member not in self.members
        if joins:
            self.table.enter(member)
            self.members[member] = Subscriber(member, None, [], {})
        self.members[member].topics = names
        self.compute()
        self.members[member].topics = sorted(set(names))
        if joins:
            self.table.put_again()

    def initialize(self, *names: str) -> None:
        """Initialize all partitions of these topics."""
        for name in names:
            topic_id, partitions = self.topics[name]
            self.initialized[topic_id] = set(range(partitions))

    def leave(self, member: str) -> None:
        self.table.discard(member)
        del self.members[member]

    def alike(self) -> bool:
        """Decide whether all members subscribe alike by counting (SG-60), independently of `Group.alike`."""
        counts = Counter(name for one in self.members.values() for name in set(one.topics))
        return set(counts.values()) <= {len(self.members)}

    def compute(self) -> None:
        """Compute the targets, as the next heartbeat of any member does."""
        spreads, self.seen = Spreads(), list(self.table)
        seen = [
            Member(one.member_id, None, subscription_of(one.topics, (), self.topics, spreads), one.target)
            for one in (self.members[member] for member in self.table)
        ]
        assignor = partial(simple_assignor.assign, self.initialized)
        for member, target in at_once(assign(assignor, seen, self.topics, alike=self.alike())).items():
            self.members[member].target = target


class Story:
    """The history of one consumer group in an assignor test. `topics` maps a name to (id, partitions); `regexes` maps an expression to
    its topics."""

    def __init__(self, assignor: str, topics: Topics, regexes: dict[str, list[str]] | None = None) -> None:
        self.assignor, self.topics, self.regexes = assignor, topics, regexes or {}
        self.table = MemberTable()
        self.members: dict[str, Subscriber] = {}

    def put(self, member: str, instance: str | None, names: Sequence[str], target: Target, regex: str | None = None) -> None:
        """Add a member whose stored target is already known."""
        self._enter(Subscriber(member, instance, names, at_once(stored({}, target, Effort())), regex, self._matched(regex)))

    def heartbeat(self, member: str, instance: str | None, names: Sequence[str], regex: str | None = None, computes: bool = True) -> None:
        """Play a heartbeat that joins, changes the subscription, or replaces a static member. Then compute the targets of all if
        `computes`."""
        replaced = next(
            (one for one in self.members if instance and self.members[one].group_instance_id == instance and one != member), None
        )
        old = self.members.get(replaced or member)
        new = Subscriber(member, instance, names, old.target if old else {}, regex, self._matched(regex))
        order = list(self.table) if member in self.table else [*self.table, member]
        subscribers = [new if one == member else self.members[one] for one in order]
        alike = _alike([one for one in subscribers if one.member_id != replaced])
        computed = targets(self.assignor, subscribers, self.topics, replaced, alike=alike) if computes else {}
        if replaced is not None:
            self.leave(replaced)
            # A replaced static member's target record is written again under the new member id.
            new.target = at_once(stored({}, new.target, Effort()))
        self._enter(new)
        for one, target in computed.items():
            self.members[one].target = target

    def leave(self, member: str) -> None:
        self.table.discard(member)
        del self.members[member]

    def told(self) -> Told:
        """Return [member, [[topic id in hex, partitions]...]] of each member, in the order of the member table."""
        return [[one, [[topic.hex(), list(held)] for topic, held in self.members[one].target.items()]] for one in self.table]

    def _enter(self, subscriber: Subscriber) -> None:
        """Add the member with its topics sorted, because the group's log stores them in sorted order."""
        subscriber.topics = sorted(set(subscriber.topics))
        if subscriber.member_id not in self.table:
            self.table.add(subscriber.member_id)
        self.members[subscriber.member_id] = subscriber

    def _matched(self, regex: str | None) -> list[str]:
        return self.regexes.get(regex, []) if regex else []


def _alike(subscribers: Sequence[Subscriber]) -> bool:
    """Decide whether all members subscribe to the same topics (CG-103), independently of `Group.alike`."""
    if any(one.regex for one in subscribers):
        return len({one.regex for one in subscribers}) == 1 and not any(one.topics for one in subscribers)
    return len({frozenset(one.topics) for one in subscribers}) == 1


def by_subtopology(tasks: Iterable[Task]) -> TasksBySubtopology:
    """Return tasks of a streams group by subtopology, with ascending numbers."""
    found: dict[str, list[int]] = {}
    for subtopology, number in tasks:
        found.setdefault(subtopology, []).append(number)
    return {subtopology: tuple(sorted(numbers)) for subtopology, numbers in found.items()}


def of_subtopologies(tasks: Mapping[str, Iterable[int]]) -> list[Task]:
    """Return the single tasks of a streams group."""
    return [(subtopology, number) for subtopology, numbers in tasks.items() for number in numbers]
