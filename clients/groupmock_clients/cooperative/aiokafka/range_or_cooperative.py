"""Migrate an aiokafka group without a stop: an assignor named `range` that becomes cooperative as soon as all members have it
(docs/how-to/cooperative.md#changing-over-without-a-stop).

With two assignors aiokafka would send two JoinGroups per round. So this one joins under the stock name. Its own data follows the stock
fields, where range assignors do not look.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from aiokafka import TopicPartition
from aiokafka.coordinator.assignors.range import RangePartitionAssignor

from ..member import AssignmentEffect, PeerSubscription
from .assignor import CooperativeAssignor

OURS: Final = 1
"""The version number in every Assignment of these assignors, by which they recognize each other. Range assignors write 0 (aiokafka,
kafka-python) or 3 (Java)."""


class RangeOrCooperative(CooperativeAssignor):
    """Acts as the cooperative assignor if every member has a RangeOrCooperative, and as the stock range assignor otherwise.

    After a round of the stock assignor the member is eager: it gives up everything before it joins again, and tells its listener. The
    settings are those of CooperativeAssignor.
    """

    def __init__(self, design: Any = 2, **settings: Any) -> None:
        super().__init__(design, **settings)
        self.name = RangePartitionAssignor.name
        self.cooperative = False  # True if the last rebalance used the cooperative assignor.

    def metadata(self, topics: Iterable[str]) -> bytes:
        self.forget_if_expelled()
        self.give_up()  # aiokafka itself calls `give_up` only for a consumer with a CooperativeListener.
        return super().metadata(topics)

    def give_up(self) -> frozenset[TopicPartition]:
        """Give up all partitions after a round of the stock assignor."""
        if self.cooperative or not self.owned:
            return frozenset()
        given_up, self.owned, self._left = self.owned, frozenset(), self._held
        return given_up

    def assign(self, cluster: Any, members: Mapping[str, Any]) -> dict[str, bytes]:
        """Return the Assignment of every member, as the leader of the round. Called by aiokafka in the leader."""
        if all(self.member.speaks_ours(PeerSubscription(each.subscription, each.user_data)) for each in members.values()):
            return super().assign(cluster, members)
        self.member.forget()
        plain = RangePartitionAssignor.assign(cluster, members)
        return {member: assignment.encode() for member, assignment in plain.items()}

    def on_assignment(self, assignment: Any) -> None:
        self.cooperative = assignment.version == OURS
        super().on_assignment(assignment)
        if not self.cooperative:
            self.member.forget()

    def _plan_rejoin(self, outcome: AssignmentEffect) -> None:
        """Plan no rejoin after a round of the range assignor, because range has already given this member's revoked partitions to
        others."""
        if self.cooperative:
            super()._plan_rejoin(outcome)
