"""DeleteTopics (20): v5 error messages, v6 by name or by id. Kafka's controller answers what it refuses first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from groupmock_codec.declare import ZERO_UUID
from groupmock_codec.errors import ErrorCode
from groupmock_codec.messages.k20_delete_topics import DeletableTopicResult, DeleteTopicsRequest, DeleteTopicsResponse, DeleteTopicState

from ..effects import Reply

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..events import Request
    from ..turn import Turn

BY_ID_SINCE: Final = 6
NO_SUCH_TOPIC: Final = "This server does not host this topic-partition."
NO_SUCH_ID: Final = "This server does not host this topic ID."


def handle(cluster: Cluster, request: Request, turn: Turn) -> None:
    """Delete each topic with its records and committed offsets; parked fetches of it are answered."""
    asked = request.message
    assert isinstance(asked, DeleteTopicsRequest)
    states = asked.topics if request.version >= BY_ID_SINCE else [DeleteTopicState(name=name) for name in asked.topic_names]
    if turn.quirks.controller_only and request.node != cluster.topics.controller():
        refused = [_refused(state.name, state.topic_id, ErrorCode.NOT_CONTROLLER, None) for state in states]
        turn.reply(request.ticket, DeleteTopicsResponse(responses=refused))
        return
    if turn.quirks.zookeeper_admin:
        _delete_in_zookeeper(cluster, request, states, asked.timeout_ms, turn)
        return
    refused = list(_wrong(cluster, states))
    bad = {(row.name, row.topic_id) for row in refused if row.error_code == ErrorCode.INVALID_REQUEST}
    formed = any((state.name, state.topic_id) not in bad for state in states)
    if formed and asked.timeout_ms < 0 and not turn.quirks.controller_only:
        late = [_refused(state.name, state.topic_id, ErrorCode.REQUEST_TIMED_OUT, None) for state in states]
        turn.reply(request.ticket, DeleteTopicsResponse(responses=late))
        return
    bad = {(row.name, row.topic_id) for row in refused}
    done: list[DeletableTopicResult] = []
    place = len(turn.out)  # what follows from a deletion comes after the answer
    for state in states:
        name = cluster.topics.name_of(state.topic_id) if state.name is None else state.name
        if (state.name, state.topic_id) in bad or name is None:
            continue
        topic_id = cluster.topics.topic_id(name)
        if topic_id is None or (name, topic_id) in bad:
            continue
        done.append(DeletableTopicResult(name=name, topic_id=topic_id))
        cluster.topics.delete(turn, name)
    turn.out.insert(place, Reply(request.ticket, DeleteTopicsResponse(responses=refused + done)))


def _delete_in_zookeeper(cluster: Cluster, request: Request, states: list[DeleteTopicState], timeout_ms: int, turn: Turn) -> None:
    """Kafka 2.8: a row per topic as asked, listed twice or not, and no texts. One that has both name and id spoils the whole request.

    Without time to wait the answer is 7 (in a topic's first row only), but what there is is deleted all the same.
    """
    if any(state.name is not None and state.topic_id != ZERO_UUID for state in states):
        spoiled = [_refused(state.name, state.topic_id, ErrorCode.INVALID_REQUEST, None) for state in states]
        turn.reply(request.ticket, DeleteTopicsResponse(responses=spoiled))
        return
    rows: list[DeletableTopicResult] = []
    doomed: dict[str, None] = {}
    for state in states:
        name = cluster.topics.name_of(state.topic_id) if state.name is None else state.name
        known = None if name is None else cluster.topics.topic_id(name)
        if name is None or known is None:
            rows.append(_refused(state.name, state.topic_id, _why_not(state), None))
        else:
            late = timeout_ms <= 0 and name not in doomed
            rows.append(_refused(name, state.topic_id, ErrorCode.REQUEST_TIMED_OUT if late else ErrorCode.NONE, None))
            doomed[name] = None
    turn.reply(request.ticket, DeleteTopicsResponse(responses=rows))
    for name in doomed:
        cluster.topics.delete(turn, name)


def _why_not(state: DeleteTopicState) -> ErrorCode:
    """A topic that is not there; nobody may delete one that has neither name nor id."""
    if state.topic_id != ZERO_UUID:
        return ErrorCode.UNKNOWN_TOPIC_ID
    return ErrorCode.TOPIC_AUTHORIZATION_FAILED if state.name is None else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def _wrong(cluster: Cluster, states: list[DeleteTopicState]) -> Iterable[DeletableTopicResult]:
    """What is refused, in the order the controller finds it: malformed, then listed twice, then unknown."""
    formed: list[DeleteTopicState] = []
    for state in states:
        if state.name is not None and state.topic_id != ZERO_UUID:
            yield _invalid(state.name, state.topic_id, "You may not specify both topic name and topic id.")
        elif state.name is None and state.topic_id == ZERO_UUID:
            yield _invalid(None, ZERO_UUID, "Neither topic name nor id were specified.")
        else:
            formed.append(state)
    names = Counter(state.name for state in formed if state.name is not None)
    ids = Counter(state.topic_id for state in formed if state.name is None)
    for name, times in names.items():
        if times > 1:
            yield _invalid(name, ZERO_UUID, "Duplicate topic name.")
    for topic_id, times in ids.items():
        if times > 1:
            yield _invalid(None, topic_id, "Duplicate topic id.")
    yield from _unknown(cluster, names, ids)


def _unknown(cluster: Cluster, names: Counter[str], ids: Counter[bytes]) -> Iterable[DeletableTopicResult]:
    topics = cluster.topics
    for topic_id, times in ids.items():
        if times == 1 and topics.name_of(topic_id) is None:
            yield _refused(None, topic_id, ErrorCode.UNKNOWN_TOPIC_ID, NO_SUCH_ID)
    for name, times in names.items():
        known = topics.topic_id(name)
        if times > 1:
            continue
        if known is None:
            yield _refused(name, ZERO_UUID, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, NO_SUCH_TOPIC)
        elif known in ids:
            yield _invalid(name, known, "The provided topic name maps to an ID that was already supplied.")


def _invalid(name: str | None, topic_id: bytes, message: str) -> DeletableTopicResult:
    return _refused(name, topic_id, ErrorCode.INVALID_REQUEST, message)


def _refused(name: str | None, topic_id: bytes, code: ErrorCode, message: str | None) -> DeletableTopicResult:
    return DeletableTopicResult(name=name, topic_id=topic_id, error_code=code, error_message=message)
