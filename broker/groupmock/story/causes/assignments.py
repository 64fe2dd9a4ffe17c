"""Causes that are about who gets what: assignors without a common name, several services in one group, and topics that do not exist."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from ...text.suggest import did_you_mean
from ..people import Person
from ..words import seconds, text
from .case import Case, Likely, at


def assignors_without_a_common_name(case: Case) -> Iterator[Likely]:
    """A JoinGroup was refused because its assignors and those of the members have no name in common."""
    for refused in case.refusals("JoinGroup", errors=["INCONSISTENT_GROUP_PROTOCOL"]):
        yield Likely(f"{refused.who} could not join {at(refused.at)}{refused.why}: roll out a version that has both assignors first")


def several_services(case: Case) -> Iterator[Likely]:
    """Members with different client ids were in the group at the same time, and subscribe to topics of which they have none in common."""
    wishes: dict[frozenset[str], tuple[Person, int]] = {}
    for person, removed in case.everybody:
        if person.topics and person.regex is None:
            wishes.setdefault(person.topics, (person, case.now + 1 if removed is None else removed))
    for pair in combinations(wishes.values(), 2):
        (first, until), (second, _) = sorted(pair, key=lambda each: each[0].came)
        if first.topics.isdisjoint(second.topics) and first.client_id != second.client_id and second.came < until:
            what = f"{first.name} subscribes to {first.subscription}, {second.name} (since {seconds(second.came)}) to {second.subscription}"
            yield Likely(f"two services share this group.id: {what}. Each restart of one rebalances the other")


def unknown_topic(case: Case) -> Iterator[Likely]:
    """A member subscribes to a topic that does not exist, as an answer to its Metadata request said."""
    for topic, (when, who) in case.evidence.unknown.items():
        if topic not in case.topics and any(topic in person.topics for person, _ in case.everybody):
            near = did_you_mean(topic, case.topics)
            told = f"{who} subscribes to topic {text(topic)}, which does not exist (Metadata {at(when)})"
            yield Likely(f"{told}: {near}" if near else told)
