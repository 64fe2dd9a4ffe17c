"""Changing over aiokafka without a stop: one assignor by the name of `range` that is cooperative as soon as everybody is
(docs/how-to/cooperative.md#changing-over-without-a-stop).

With two assignors aiokafka sends two JoinGroups per round. So this one joins under the stock name, with our data behind the stock fields,
where range assignors do not look.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from aiokafka import TopicPartition
from aiokafka.coordinator.assignors.range import RangePartitionAssignor

from ..member import AssignmentEffect, PeerSubscription
from .assignor import CooperativeAssignor

OURS: Final = 1
"""Version of every Assignment of ours; range assignors write 0 (aiokafka, kafka-python) or 3 (Java)."""


class RangeOrCooperative(CooperativeAssignor):
    """In a group where every member has one of these it is the cooperative assignor; with any other member there, plain range.

    After a plain range round the member is eager: it gives everything up before it joins again, and its listener hears so. The settings
    are those of CooperativeAssignor.
    """

    def __init__(self, design: Any = 2, **settings: Any) -> None:
        super().__init__(design, **settings)
        self.name = RangePartitionAssignor.name
        self.cooperative = False  # was the last round?

    def metadata(self, topics: Iterable[str]) -> bytes:
        """aiokafka's."""
        self.forget_if_expelled()
        self.give_up()  # without our listener nobody did
        return super().metadata(topics)

    def give_up(self) -> frozenset[TopicPartition]:
        """Everything, after a round of plain range."""
        if self.cooperative or not self.owned:
            return frozenset()
        given_up, self.owned, self._left = self.owned, frozenset(), self._held
        return given_up

    def assign(self, cluster: Any, members: Mapping[str, Any]) -> dict[str, bytes]:
        """aiokafka's: called in the leader."""
        if all(self.member.speaks_ours(PeerSubscription(each.subscription, each.user_data)) for each in members.values()):
            return super().assign(cluster, members)
        self.member.forget()
        plain = RangePartitionAssignor.assign(cluster, members)
        return {member: assignment.encode() for member, assignment in plain.items()}

    def on_assignment(self, assignment: Any) -> None:
        """aiokafka's."""
        self.cooperative = assignment.version == OURS
        super().on_assignment(assignment)
        if not self.cooperative:
            self.member.forget()

    def _plan_rejoin(self, outcome: AssignmentEffect) -> None:
        """Range gave to others already what it took from here."""
        if self.cooperative:
            super()._plan_rejoin(outcome)
