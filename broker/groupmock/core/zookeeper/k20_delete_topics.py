"""DeleteTopics (20) as Kafka 2.8 has it: a row per topic as asked, listed twice or not, and no texts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groupmock_codec.declare import ZERO_UUID
from groupmock_codec.errors import ErrorCode
from groupmock_codec.messages.k20_delete_topics import DeletableTopicResult, DeleteTopicsRequest, DeleteTopicsResponse, DeleteTopicState

from ..apis.k20_delete_topics import check_price, refused, states_of

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..events import Request
    from ..turn import Turn


def handle(cluster: Cluster, request: Request, turn: Turn) -> None:
    """One that has both name and id spoils the whole request.

    Without time to wait the answer is 7 (in a topic's first row only), but what there is is deleted all the same.
    """
    asked = request.message
    assert isinstance(asked, DeleteTopicsRequest)
    states = states_of(asked, request.version)
    check_price(cluster, states, turn)
    if turn.quirks.controller_only and request.node != cluster.topics.controller():
        elsewhere = [refused(state.name, state.topic_id, ErrorCode.NOT_CONTROLLER, None) for state in states]
        turn.reply(request.ticket, DeleteTopicsResponse(responses=elsewhere))
        return
    # Later releases refuse that topic alone: docs/kafka/differences.md#found-by-generated-exchanges-of-the-data-plane-and-by-hostile-bytes
    if any(state.name is not None and state.topic_id != ZERO_UUID for state in states):
        spoiled = [refused(state.name, state.topic_id, ErrorCode.INVALID_REQUEST, None) for state in states]
        turn.reply(request.ticket, DeleteTopicsResponse(responses=spoiled))
        return
    rows: list[DeletableTopicResult] = []
    doomed: dict[str, None] = {}
    for state in states:
        name = cluster.topics.name_of(state.topic_id) if state.name is None else state.name
        known = None if name is None else cluster.topics.topic_id(name)
        if name is None or known is None:
            rows.append(refused(state.name, state.topic_id, _why_not(state), None))
        else:
            late = asked.timeout_ms <= 0 and name not in doomed
            # The id as asked, zeros for a request by name; later releases tell the topic's:
            # docs/kafka/differences.md#found-by-generated-exchanges-of-the-data-plane-and-by-hostile-bytes
            rows.append(refused(name, state.topic_id, ErrorCode.REQUEST_TIMED_OUT if late else ErrorCode.NONE, None))
            doomed[name] = None
    turn.reply(request.ticket, DeleteTopicsResponse(responses=rows))
    for name in doomed:
        cluster.topics.delete(turn, name)


def _why_not(state: DeleteTopicState) -> ErrorCode:
    """A topic that is not there; nobody may delete one that has neither name nor id."""
    if state.topic_id != ZERO_UUID:
        return ErrorCode.UNKNOWN_TOPIC_ID
    return ErrorCode.TOPIC_AUTHORIZATION_FAILED if state.name is None else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
