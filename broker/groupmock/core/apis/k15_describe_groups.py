"""DescribeGroups (15) answers one element per group id, in request order (docs/kafka/admin.md#describegroups)."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from groupmock_codec import error_codes
from groupmock_codec.group_states import DEAD
from groupmock_codec.messages.k15_describe_groups import (
    DescribedGroup,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)

from ..authorizer.acl import DESCRIBE, GROUP
from ..budget import OverBudget, Ration, fitting
from ..cluster import NOT_ASKED

if TYPE_CHECKING:
    from collections.abc import Generator

    from ..cluster import Cluster
    from ..events import Request
    from ..turn import Turn
    from ..work import Steps

    Described = Generator[None, None, DescribedGroup]

GROUP_COST: Final = 9
MEMBER_COST: Final = 4


def handle(cluster: Cluster, request: Request, turn: Turn) -> None:
    """Describe each group; an unknown group has the state Dead, and since v6 the error GROUP_ID_NOT_FOUND (69)."""
    message = request.message
    assert isinstance(message, DescribeGroupsRequest)
    ration, members = Ration(turn.settings), _members(cluster, message.groups)
    ration.take_names(message.groups, GROUP_COST)
    ration.take(members, MEMBER_COST)
    turn.begin_request(lambda turn: _answered(cluster, request, turn, message, ration), members, frozenset(message.groups))


def _answered(cluster: Cluster, request: Request, turn: Turn, message: DescribeGroupsRequest, ration: Ration) -> Steps:
    """Describe the groups, and spend the rest of the ration on the bytes that members have stored."""
    asked = message.include_authorized_operations and request.version >= 3
    denied = cluster.denied(turn, request, DESCRIBE, GROUP, message.groups)
    # Kafka 4.3 answers by offsets partition, and Kafka 3.9 in the order of the request: docs/kafka/differences.md#groups
    described: dict[str, DescribedGroup] = {}  # Each group is described once, even if the request names it often.
    sizes: dict[str, int] = {}
    code = error_codes.GROUP_AUTHORIZATION_FAILED
    groups = [DescribedGroup(error_code=code, error_message=None, group_id=each) for each in message.groups if each in denied]
    for group_id in cluster.groups.in_order(turn, [each for each in message.groups if each not in denied]):
        if group_id not in described:
            operations = cluster.operations(request, GROUP, group_id) if asked else NOT_ASKED
            described[group_id] = yield from _describe(cluster, turn, request, group_id, operations)
            sizes[group_id] = _size(described[group_id])
        try:
            ration.take(0, size=sizes[group_id])
        except OverBudget as refusal:
            turn.refuse(request.ticket, refusal)
            return
        groups.append(described[group_id])
    turn.reply(request.ticket, DescribeGroupsResponse(groups=groups))


def _members(cluster: Cluster, group_ids: list[str]) -> int:
    """Return the number of members of these groups, counted as often as their group is named."""
    named = ((cluster.groups.find(group_id), times) for group_id, times in Counter(group_ids).items())
    return sum(times * len(group.members) for group, times in named if group is not None)


def _size(described: DescribedGroup) -> int:
    stored = [len(each.member_metadata) + len(each.member_assignment) + len(each.member_id) for each in described.members]
    return len(described.group_id) + sum(stored)


def _describe(cluster: Cluster, turn: Turn, request: Request, group_id: str, operations: int) -> Described:
    error, group = cluster.groups.reach(group_id, request.node)
    if error:
        return DescribedGroup(error_code=error, group_id=group_id)
    steps = None if group is None else group.described(turn)
    if steps is None:
        return _unknown(request.version, group_id, operations, "not found" if group is None else "not a classic group")
    described = yield from steps
    described.authorized_operations = operations
    return described


def _unknown(version: int, group_id: str, operations: int, why: str) -> DescribedGroup:
    # Before KIP-1043 an unknown group is no error, and clients look at the state Dead (SERVER-59).
    if version < 6:
        return DescribedGroup(group_id=group_id, group_state=DEAD, authorized_operations=operations)
    # A described group with an error has no authorized operations, even if the client asked for them (docs/kafka/admin.md#describegroups).
    text = fitting(f"Group {group_id} {why}." if why == "not found" else f"Group {group_id} is {why}.")
    return DescribedGroup(error_code=error_codes.GROUP_ID_NOT_FOUND, error_message=text, group_id=group_id, group_state=DEAD)
