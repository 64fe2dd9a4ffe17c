"""ShareGroupHeartbeat (76) is the whole protocol of share groups in one request (KIP-932; docs/kafka/share-groups.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from groupmock_codec import error_codes
from groupmock_codec.messages.k76_share_group_heartbeat import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse

from ..authorizer.acl import DESCRIBE, GROUP, READ, TOPIC
from ..budget import OverBudget, Ration, fitting
from ..groups import causes, timing
from ..groups.consumer.states import JOINING
from ..groups.refused import Refused
from ..groups.share import beat, heartbeat
from ..groups.share.type import ShareGroup

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..events import Request
    from ..groups.share.beat import Beat
    from ..turn import Turn

NAME_COST: Final = 2


def handle(cluster: Cluster, request: Request, turn: Turn) -> None:
    """Answer a heartbeat of a share group's member. A refused heartbeat creates neither a group nor a member (SG-14)."""
    message = request.message
    assert isinstance(message, ShareGroupHeartbeatRequest)
    Ration(turn.settings).take_names(message.subscribed_topic_names or (), NAME_COST)
    if turn.environment.share_groups:
        code = _denied(cluster, turn, request, message)
    else:
        code = error_codes.UNSUPPORTED_VERSION
    if code:
        turn.reply(request.ticket, ShareGroupHeartbeatResponse(error_code=code))
        return
    try:
        _answer(cluster, turn, request, message)
    except Refused as refused:
        text = fitting(str(refused)) or None
        turn.reply(request.ticket, ShareGroupHeartbeatResponse(error_code=refused.code, error_message=text))


def _denied(cluster: Cluster, turn: Turn, request: Request, message: ShareGroupHeartbeatRequest) -> int:
    """Return the error of a right that the member lacks, or 0. Topics need one only in a heartbeat that names them, and are looked at after
    the member id (KafkaApis.handleShareGroupHeartbeat)."""
    if cluster.authorizer is None:
        return error_codes.NONE
    if cluster.denied(turn, request, READ, GROUP, (message.group_id,)):
        return error_codes.GROUP_AUTHORIZATION_FAILED
    if beat.misnamed(message.member_id):
        return error_codes.INVALID_REQUEST
    hidden = cluster.denied(turn, request, DESCRIBE, TOPIC, message.subscribed_topic_names or ())
    return error_codes.TOPIC_AUTHORIZATION_FAILED if hidden else error_codes.NONE


def _answer(cluster: Cluster, turn: Turn, request: Request, message: ShareGroupHeartbeatRequest) -> None:
    said = beat.read(message, request.client_id, request.client_host)
    beat.check(said)
    error, found = cluster.groups.reach(said.group_id, request.node)
    if error:
        raise Refused(error, "")
    group = found if isinstance(found, ShareGroup) else None
    if group is None and (found is not None or said.epoch != JOINING):
        raise beat.not_found(said.group_id, found is not None, said.epoch)
    if said.epoch < 0:
        assert group is not None, "a member of no group cannot leave"
        turn.reply(request.ticket, heartbeat.leave(turn, group, said))
        return
    beat.check_room({} if group is None else group.members, said, turn.settings.group_share_max_size)
    known = None if group is None else beat.sender(group, said)
    _check_size(turn, group, said)
    settings = timing.of(cluster.groups.configs, said.group_id, request.node, timing.OF_SHARES)
    group = group or cluster.groups.claim(turn, said.group_id, ShareGroup, causes.first_heartbeat(request.client_id))
    assert group is not None, "no other group has the id"
    heartbeat.answer(turn, request.ticket, group, settings, said, known)


def _check_size(turn: Turn, group: ShareGroup | None, said: Beat) -> None:
    """Refuse names with which the group would exceed its limit of bytes, because they are kept for each member (core.budget)."""
    listed, most = 0 if group is None else group.listed_bytes, turn.settings.group_max_bytes
    wanted = sum(map(len, said.listed or ()))
    if listed + wanted > most:
        raise OverBudget(
            f"members of this group subscribe to {listed} bytes of names, with {wanted} more it would be more than "
            f"groupmock.group.max.bytes allows ({most}): subscribe to less, use fewer members, or raise that setting"
        )
