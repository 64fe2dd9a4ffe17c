"""Check that streams groups keep the protocol (KIP-1071). Judged by rows, requests and answers, as consumer groups are, and by the
invariants of the core's group after each event.

A member has a task in a role: active or standby. Two members never have one active task, and no answer gives one task in both roles. Only
subtopologies with a changelog have standby tasks. Source: docs/kafka/streams-groups.md.
"""

from __future__ import annotations

from typing import Any

from groupmock.core.groups.streams.group import Group
from groupmock.rig.epoch_member import JOINING
from groupmock_codec.api_keys import STREAMS_GROUP_HEARTBEAT
from groupmock_codec.error_codes import GROUP_MAX_SIZE_REACHED

from ..task_lists import ACTIVE, STANDBY, RoleTask, tasks_in
from .consumer_groups import ConsumerGroupJudge, ToldMember


class StreamsGroupJudge(ConsumerGroupJudge):
    """Checks the streams groups whose names are in `names`. `topics` of a member has its subtopologies, `stateful` those of all groups that
    have a changelog."""

    judge = "streams groups"
    key = STREAMS_GROUP_HEARTBEAT
    stateful: frozenset[tuple[str, str]] = frozenset()

    def look_at_invariants(self) -> None:
        """Check the invariants of the core's groups."""
        for name in self.names:
            group = self.cluster.groups.find(name)
            if isinstance(group, Group):
                try:
                    group.invariants()
                except AssertionError as broken:
                    self.bench.found("invariants", str(broken))

    def _codes(self, message: Any) -> frozenset[int]:
        """Return the error codes that may answer a heartbeat. Kafka 4.3 refuses members of a full group that join again too (ST-150)."""
        full = (GROUP_MAX_SIZE_REACHED,) if message.member_epoch == JOINING else ()
        return super()._codes(message) | frozenset(full)

    def _says(self, member: ToldMember, message: Any) -> None:
        if message.topology is not None:
            found = message.topology.subtopologies
            member.topics = frozenset(each.subtopology_id for each in found)
            self.stateful |= {(message.group_id, each.subtopology_id) for each in found if each.state_changelog_topics}

    def _listed(self, message: Any) -> frozenset[RoleTask] | None:
        return None if message.active_tasks is None else tasks_in(message)

    def _assigned(self, answer: Any) -> frozenset[RoleTask] | None:
        return None if answer.active_tasks is None else tasks_in(answer)

    def _given(self, group: str, name: str, member: ToldMember, spots: frozenset[Any]) -> None:
        active, standby = ({spot[1:] for spot in spots if spot[0] == role} for role in (ACTIVE, STANDBY))
        for subtopology, number in active & standby:
            self.bench.found(self.judge, f"{subtopology}_{number} is given to {name!r} of group {group!r} in both roles")
        for subtopology, number in standby:
            if (group, subtopology) not in self.stateful:
                self.bench.found(self.judge, f"{name!r} of group {group!r} is to stand by for {subtopology}_{number}, which has no state")
        super()._given(group, name, member, spots)

    def _owed(self, member: ToldMember) -> frozenset[RoleTask]:
        """Return the tasks that the member has to give up. A standby task that becomes active is not given up (ST-93)."""
        return frozenset(spot for spot in member.has - member.given if (ACTIVE, *spot[1:]) not in member.given)

    def _exclusive(self, spots: frozenset[Any]) -> frozenset[Any]:
        return frozenset(spot for spot in spots if spot[0] == ACTIVE)

    def _where(self, spot: Any) -> str:
        return f"{spot[1]}_{spot[2]}"

    def _is_strange(self, member: ToldMember, spot: Any) -> bool:
        return spot[1] not in member.topics
