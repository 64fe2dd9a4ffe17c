"""ShareAcknowledge (79) says what became of records that a member has acquired, and may end its share session (KIP-932). v2 adds the
renewal of locks (KIP-1222). The work is done in core/share/."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from groupmock_codec import error_codes
from groupmock_codec.messages.k78_share_fetch import LeaderIdAndEpoch, NodeEndpoint
from groupmock_codec.messages.k79_share_acknowledge import (
    PartitionData,
    ShareAcknowledgeRequest,
    ShareAcknowledgeResponse,
    ShareAcknowledgeTopicResponse,
)

from ..authorizer.acl import GROUP, READ, TOPIC
from ..authorizer.right import Right
from ..budget import Ration
from ..share import causes
from ..share.acknowledging import RequestFailed
from ..share.answers import Answer, endpoints_of
from ..share.requests import PART_COST, PARTITION_COST, SLOT_COST, acknowledge, finished, is_off, misnamed, work
from ..share.sessions import FINAL, INITIAL, SessionRefused, ShareSession, Slot

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..events import Request
    from ..share.shares import Shares
    from ..turn import Turn

RIGHTS: Final = (Right(READ, GROUP, "group_id"),)


@finished
def handle(cluster: Cluster, request: Request, turn: Turn) -> None:
    """Take the acknowledgements of the request, and with the epoch -1 release the member's other records."""
    asked = request.message
    assert isinstance(asked, ShareAcknowledgeRequest)
    if is_off(turn):
        cluster.shares.switched_off(turn)
        turn.reply(request.ticket, ShareAcknowledgeResponse(error_code=error_codes.UNSUPPORTED_VERSION))
        return
    if misnamed(asked.group_id, asked.member_id):
        turn.reply(request.ticket, ShareAcknowledgeResponse(error_code=error_codes.INVALID_REQUEST))
        return
    try:
        session = _session(cluster, request, asked)
    except SessionRefused as refused:
        turn.reply(request.ticket, ShareAcknowledgeResponse(error_code=refused.code))
        return
    ration, (partitions, types, parts) = Ration(turn.settings), work(asked.topics)
    ration.take(partitions, PARTITION_COST)
    ration.take(types, PART_COST)
    ration.take(len(session.slots) if asked.share_session_epoch == FINAL else 0, SLOT_COST)
    shares = cluster.shares
    shares.check_room(parts)
    if asked.share_session_epoch != FINAL:
        shares.sessions(request.node).went_on(session)
    denied_of = partial(cluster.denied, turn, request, READ, TOPIC)
    try:
        answers = acknowledge(shares, denied_of, turn, request, asked, cluster.authorizer is not None)
    except RequestFailed:
        turn.reply(request.ticket, ShareAcknowledgeResponse(error_code=error_codes.UNKNOWN_SERVER_ERROR))
        return
    if asked.share_session_epoch == FINAL:
        shares.end_session(turn, session, causes.SESSION_CLOSED)
    lock_ms = shares.rules_of(session.group_id, request.node).lock_ms
    responses, leaders = _by_topic(shares, answers)
    endpoints = [NodeEndpoint(*each) for each in endpoints_of(shares.environment, request.listener, leaders)]
    answer = ShareAcknowledgeResponse(acquisition_lock_timeout_ms=lock_ms, responses=responses, node_endpoints=endpoints)
    turn.reply(request.ticket, answer)


def _session(cluster: Cluster, request: Request, asked: ShareAcknowledgeRequest) -> ShareSession:
    """Return the session of the request. Raises SessionRefused."""
    if asked.share_session_epoch == INITIAL:
        raise SessionRefused(error_codes.INVALID_SHARE_SESSION_EPOCH)
    sessions = cluster.shares.sessions(request.node)
    return sessions.require(asked.group_id or "", asked.member_id or "", asked.share_session_epoch)


def _by_topic(shares: Shares, answers: dict[Slot, Answer]) -> tuple[list[ShareAcknowledgeTopicResponse], set[int]]:
    """Return the rows grouped by topic, and the leaders of the partitions whose rows name one (NOT_LEADER_OR_FOLLOWER)."""
    topics: dict[bytes, ShareAcknowledgeTopicResponse] = {}
    leaders = set()
    for (topic_id, partition), (code, text) in answers.items():
        row = PartitionData(partition_index=partition, error_code=code, error_message=text)
        log = shares.log_of((topic_id, partition)) if code == error_codes.NOT_LEADER_OR_FOLLOWER else None
        if log is not None:
            row.current_leader = LeaderIdAndEpoch(leader_id=log.leader, leader_epoch=log.leader_epoch)
            leaders.add(log.leader)
        topics.setdefault(topic_id, ShareAcknowledgeTopicResponse(topic_id=topic_id, partitions=[])).partitions.append(row)
    return list(topics.values()), leaders
