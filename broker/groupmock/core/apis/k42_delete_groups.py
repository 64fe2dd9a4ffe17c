"""DeleteGroups (42) deletes groups without members (KIP-229, docs/kafka/admin.md#deletegroups)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from groupmock_codec import error_codes
from groupmock_codec.messages.k42_delete_groups import DeletableGroupResult, DeleteGroupsRequest, DeleteGroupsResponse

from ..authorizer.acl import DELETE, GROUP
from ..budget import Ration
from ..groups import causes

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..events import Request
    from ..turn import Turn

GROUP_COST: Final = 12


def handle(cluster: Cluster, request: Request, turn: Turn) -> None:
    """Delete Empty groups with their offsets. A group id that is listed twice is answered once."""
    message = request.message
    assert isinstance(message, DeleteGroupsRequest)
    Ration(turn.settings).take_names(message.groups_names, GROUP_COST)
    denied = cluster.denied(turn, request, DELETE, GROUP, message.groups_names)
    wanted = dict.fromkeys(message.groups_names)
    results = [
        DeletableGroupResult(group_id=group_id, error_code=_delete(cluster, turn, request, group_id))
        # Kafka 4.3 answers groups by offsets partition, within each in the order of a hash set, and Kafka 3.9 in the order of a Scala map:
        # docs/kafka/differences.md#groups
        for group_id in cluster.groups.in_order(turn, [each for each in wanted if each not in denied], deleted=True)
    ]
    code = error_codes.GROUP_AUTHORIZATION_FAILED
    results += [DeletableGroupResult(group_id=each, error_code=code) for each in wanted if each in denied]
    turn.reply(request.ticket, DeleteGroupsResponse(results=results))


def _delete(cluster: Cluster, turn: Turn, request: Request, group_id: str) -> int:
    error, group = cluster.groups.reach(group_id, request.node)
    if error:
        return error
    if group is None:
        return error_codes.GROUP_ID_NOT_FOUND
    # Reserved ids do not keep a group alive. A client that comes back with one gets UNKNOWN_MEMBER_ID (25)
    # (docs/kafka/admin.md#deletegroups).
    error = group.admit_deletion()
    if not error:
        cluster.groups.delete(turn, group, causes.group_deleted(request.client_id))
    return error
