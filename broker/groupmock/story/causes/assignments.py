"""Causes that are about who gets what: assignors without a common name, several services in one group, and topics that do not exist."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from ...text.suggest import did_you_mean
from ..people import Person
from ..words import text
from .case import Case, Likely, at


def assignors_without_a_common_name(case: Case) -> Iterator[Likely]:
    """A JoinGroup was refused because its assignors and those of the members have no name in common."""
    for refused in case.refusals("JoinGroup", errors=["INCONSISTENT_GROUP_PROTOCOL"]):
        yield Likely(f"{refused.who} could not join {at(refused.at)}{refused.why}: roll out a version that has both assignors first")


def several_services(case: Case) -> Iterator[Likely]:
    """Members with different client ids subscribe to topics of which they have none in common."""
    wishes: dict[frozenset[str], Person] = {}
    for person in case.here:
        if person.topics and person.regex is None:
            wishes.setdefault(person.topics, person)
    for one, other in combinations(wishes.values(), 2):
        if one.topics.isdisjoint(other.topics) and one.client_id != other.client_id:
            first, second = sorted((one, other), key=lambda each: each.came)
            what = f"{first.name} subscribes to {first.subscription}, {second.name} (since {at(second.came)[3:]}) to {second.subscription}"
            yield Likely(f"two services share this group.id: {what}. Each restart of one rebalances the other")


def unknown_topic(case: Case) -> Iterator[Likely]:
    """A member subscribes to a topic that does not exist, as an answer to its Metadata request said."""
    for topic, (when, who) in case.evidence.unknown.items():
        subscribed = any(topic in each.topics for each in case.here)
        if subscribed and topic not in case.topics:
            near = did_you_mean(topic, case.topics)
            yield Likely(
                f"{who} subscribes to topic {text(topic)}, which does not exist (Metadata {at(when)}){f': {near}' if near else ''}"
            )
