"""A condition of a wait for a group, and the state of the group at which it looks."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from groupmock_codec.group_states import DEAD

from ..core.groups.view import GroupView, MemberView

if TYPE_CHECKING:
    from ..core.cluster import Cluster
    from ..core.groups.type import GroupType

Place = tuple[str, int]
"""A partition, as its topic and number."""


class BadWait(ValueError):
    """Raised if the conditions of a wait are written wrongly or can never hold. The message says which part, and what is possible."""


class Sight:
    """The state of a group at one moment. Its view is copied only if a condition asks for it."""

    def __init__(self, cluster: Cluster, group_id: str) -> None:
        self.cluster = cluster
        self.group: GroupType | None = cluster.groups.find(group_id)
        self.group_id = group_id

    @cached_property
    def view(self) -> GroupView:
        """The group's view, or for a missing group the view that DescribeGroups gives."""
        if self.group is None:
            return GroupView(self.group_id, DEAD, 0, None, None, None, [], {})
        return self.group.view()

    def members(self, name: str) -> list[MemberView]:
        """Return the members with this member id or instance id, or else those with this client id."""
        ids = [member for member in self.view.members if name in (member.member_id, member.group_instance_id)]
        return ids or [member for member in self.view.members if member.client_id == name]

    def assigned(self) -> dict[Place, list[str]]:
        """Return the ids of the members that each partition is assigned to."""
        owners: dict[Place, list[str]] = {}
        for member in self.view.members:
            for place in places(member):
                owners.setdefault(place, []).append(member.member_id)
        return owners


class Condition(NamedTuple):
    """Decides about a part of a wait for a group. `wanted` describes the condition, and `lacks` returns what is missing in words, or None.
    `reads_offsets` says that it reads offsets or logs, which may change without a change of the group."""

    wanted: str
    lacks: Callable[[Sight], str | None]
    reads_offsets: bool = False


def places(member: MemberView) -> list[Place]:
    return [(topic, number) for topic, numbers in member.assignment.items() for number in numbers]
