"""Views of groups are frozen values for tests, copied from groups of any type on the server's thread."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal, cast

import msgspec

from ..effects import SessionMember

if TYPE_CHECKING:
    from .offsets.committed import CommittedOffsets
    from .type import GroupType

State = Literal["Empty", "PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling", "NotReady", "Stable", "Dead"]
"""The names that Kafka gives to the states of a group. Classic groups are never Assigning or Reconciling, and consumer groups never in
PreparingRebalance or CompletingRebalance. Only streams groups are NotReady. A Dead group was removed, or never existed."""
Assignment = dict[str, list[int]]


class MemberView(msgspec.Struct, frozen=True):
    """A frozen copy of a group member. `assignment` is topic -> partitions; in a classic group it is {} unless the bytes are the
    consumer protocol's."""

    member_id: str
    group_instance_id: str | None
    client_id: str | None
    client_host: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    subscription: list[str]
    assignment: Assignment
    assignment_bytes: bytes


class GroupView(msgspec.Struct, frozen=True):
    """A frozen copy of a group. `offsets` is topic -> partition -> committed offset."""

    group_id: str
    state: State
    generation: int
    protocol_type: str | None
    protocol_name: str | None
    leader: str | None
    members: list[MemberView]
    offsets: dict[str, dict[int, int]]


def group_view(group: GroupType, members: Iterable[MemberView], leader: str | None = None) -> GroupView:
    """Return a frozen view of a group with these members. Its generation is the group epoch if the coordinator assigns the partitions."""
    return GroupView(
        group_id=group.group_id,
        state=cast(State, str(group.state)),
        generation=group.generation,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol_name,
        leader=leader,
        members=list(members),
        offsets=_offsets_view(group.offsets),
    )


def member_view(
    member: SessionMember, subscription: list[str], assignment: Assignment, rebalance_timeout_ms: int = -1, assignment_bytes: bytes = b""
) -> MemberView:
    """Return a frozen view of a group member."""
    return MemberView(
        member_id=member.member_id,
        group_instance_id=member.group_instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        session_timeout_ms=member.session_timeout_ms,
        rebalance_timeout_ms=rebalance_timeout_ms,
        subscription=subscription,
        assignment=assignment,
        assignment_bytes=assignment_bytes,
    )


def _offsets_view(offsets: CommittedOffsets) -> dict[str, dict[int, int]]:
    """Return the committed offsets in order: topic -> partition -> offset."""
    found: dict[str, dict[int, int]] = {}
    for (topic, partition), commit in sorted(offsets.items()):
        found.setdefault(topic, {})[partition] = commit.offset
    return found
