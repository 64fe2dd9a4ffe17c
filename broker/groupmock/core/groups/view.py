"""Views of groups are frozen values for tests, copied from groups of any type on the server's thread."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

if TYPE_CHECKING:
    from .offsets.committed import CommittedOffsets

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


def offsets_view(offsets: CommittedOffsets) -> dict[str, dict[int, int]]:
    """Return the committed offsets in order: topic -> partition -> offset."""
    found: dict[str, dict[int, int]] = {}
    for (topic, partition), commit in sorted(offsets.items()):
        found.setdefault(topic, {})[partition] = commit.offset
    return found
