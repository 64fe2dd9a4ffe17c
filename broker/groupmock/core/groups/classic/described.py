"""Describes a classic group for DescribeGroups (docs/kafka/admin.md)."""

from __future__ import annotations

from collections.abc import Generator
from functools import partial

from groupmock_codec.messages.k15_describe_groups import DescribedGroup, DescribedGroupMember

from ...turn import Turn
from ...work import made
from .group import Group, Member
from .states import STABLE


def describe(turn: Turn, group: Group) -> Generator[None, None, DescribedGroup]:
    """Return the classic group as DescribeGroups shows it, in steps. The protocol's name and the members' metadata are shown in Stable
    only, because before it the choice is not final."""
    members = yield from made(partial(_member, turn, group), group.ordered())
    stable = group.state is STABLE
    return DescribedGroup(
        group_id=group.group_id,
        group_state=str(group.state),
        protocol_type=group.protocol_type or "",
        protocol_data=group.protocol_name or "" if stable else "",
        members=members,
    )


def _member(turn: Turn, group: Group, member: Member) -> DescribedGroupMember:
    """Return the member as DescribeGroups shows it. Metadata is shown in Stable only. The stored assignment is shown always; in
    PreparingRebalance it may be the previous generation's."""
    stable = group.state is STABLE
    hidden = turn.quirks.assignment_described_in_stable_only and not stable
    return DescribedGroupMember(
        member_id=member.member_id,
        group_instance_id=member.group_instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        member_metadata=member.metadata(group.protocol_name or "") if stable else b"",
        member_assignment=b"" if hidden else member.assignment,
    )
