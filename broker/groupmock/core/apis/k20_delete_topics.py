"""DeleteTopics (20) deletes topics with all records. v5 adds error messages, and v6 names topics by name or by id. Kafka's controller
answers refused topics first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Final

from groupmock_codec import error_codes
from groupmock_codec.declare import ZERO_UUID
from groupmock_codec.messages.k20_delete_topics import DeletableTopicResult, DeleteTopicsRequest, DeleteTopicsResponse, DeleteTopicState

from ..authorizer.acl import CLUSTER, CLUSTER_NAME, DELETE, DENIED_TEXT, DESCRIBE, TOPIC
from ..budget import Ration
from ..effects import Reply
from ..log.placement import TOPIC_SIZE

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..events import Request
    from ..turn import Turn
    from ..work import Steps

TOPIC_COST: Final = 20
BY_ID_SINCE: Final = 6
NO_SUCH_TOPIC: Final = "This server does not host this topic-partition."
NO_SUCH_ID: Final = "This server does not host this topic ID."


def handle(cluster: Cluster, request: Request, turn: Turn) -> None:
    """Delete each topic with its records and committed offsets, and answer the fetches that are parked for it. Many are deleted in
    steps."""
    asked = request.message
    assert isinstance(asked, DeleteTopicsRequest)
    states = _states_of(asked, request.version)
    _check_price(cluster, states, turn)
    wrong = list(_wrong(cluster, request, turn, states))
    bad = {(row.name, row.topic_id) for row in wrong if row.error_code == error_codes.INVALID_REQUEST}
    formed = any((state.name, state.topic_id) not in bad for state in states)
    # Errors of the request itself are reported before REQUEST_TIMED_OUT (7):
    # docs/kafka/differences.md#found-by-generated-exchanges-of-the-data-plane-and-by-hostile-bytes
    if formed and asked.timeout_ms < 0:
        late = [_refused(state.name, state.topic_id, error_codes.REQUEST_TIMED_OUT, None) for state in states]
        turn.reply(request.ticket, DeleteTopicsResponse(responses=late))
        return
    turn.begin_on_topics(partial(_answered, cluster, request, states, wrong), len(states) * TOPIC_SIZE)


def _answered(cluster: Cluster, request: Request, states: list[DeleteTopicState], wrong: list[DeletableTopicResult], turn: Turn) -> Steps:
    """Delete the topics of the request, except those that `wrong` refuses."""
    bad = {(row.name, row.topic_id) for row in wrong}
    done: list[DeletableTopicResult] = []
    # The answer is later inserted at this place in the effects, because the effects of the last deletions must come after it.
    place = len(turn.out)
    for state in states:
        yield
        name = cluster.topics.name_of(state.topic_id) if state.name is None else state.name
        if (state.name, state.topic_id) in bad or name is None:
            continue
        topic_id = cluster.topics.topic_id(name)
        # A topic that is listed by name and by id is not deleted, and only the row with the name has the error.
        if topic_id is None or (name, topic_id) in bad:
            continue
        done.append(DeletableTopicResult(name=name, topic_id=topic_id))
        cluster.topics.delete(turn, name)
    turn.out.insert(place, Reply(request.ticket, DeleteTopicsResponse(responses=wrong + done)))


def _check_price(cluster: Cluster, states: list[DeleteTopicState], turn: Turn) -> None:
    """Count every topic, as often as it is named, and the partitions to delete against the work limit of the request. Raises OverBudget."""
    ration = Ration(turn.settings)
    ration.take_names([state.name or "" for state in states], TOPIC_COST)
    for name in {cluster.topics.name_of(state.topic_id) if state.name is None else state.name for state in states}:
        ration.take(0 if name is None else cluster.topics.partitions(name) or 0)


def _states_of(asked: DeleteTopicsRequest, version: int) -> list[DeleteTopicState]:
    return asked.topics if version >= BY_ID_SINCE else [DeleteTopicState(name=name) for name in asked.topic_names]


def _wrong(cluster: Cluster, request: Request, turn: Turn, states: list[DeleteTopicState]) -> Iterable[DeletableTopicResult]:
    """Yield the refused topics in the order in which the controller finds them: malformed, then listed twice, then unknown or
    denied."""
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
    denied: frozenset[str] = frozenset()
    hidden: frozenset[str] = frozenset()
    # Whoever may do everything on the cluster may delete every topic (ControllerApis.deleteTopics).
    if not cluster.allows(request, DELETE, CLUSTER, CLUSTER_NAME):
        listed = [*names, *(name for name in map(cluster.topics.name_of, ids) if name is not None)]
        denied = cluster.denied(turn, request, DELETE, TOPIC, listed)
        # DELETE implies DESCRIBE, which a DENY takes away nevertheless.
        hidden = cluster.denied(turn, request, DESCRIBE, TOPIC, (name for name in names if name not in denied))
    yield from _unknown(cluster, request, names, ids, denied, hidden)


def _unknown(
    cluster: Cluster, request: Request, names: Counter[str], ids: Counter[bytes], denied: frozenset[str], hidden: frozenset[str]
) -> Iterable[DeletableTopicResult]:
    """Yield the topics that do not exist, that are `denied`, or that are `hidden` from a sender who may delete them. A topic by name whose
    existence the sender may not learn is denied as well, and a topic by id is told without its name then (SEC-96)."""
    topics, code = cluster.topics, error_codes.TOPIC_AUTHORIZATION_FAILED
    for topic_id, times in ids.items():
        if times == 1 and topics.name_of(topic_id) is None:
            yield _refused(None, topic_id, error_codes.UNKNOWN_TOPIC_ID, NO_SUCH_ID)
    for topic_id, times in ids.items():
        name = topics.name_of(topic_id)
        if times == 1 and name in denied:
            yield _refused(name if cluster.allows(request, DESCRIBE, TOPIC, name or "") else None, topic_id, code, DENIED_TEXT[TOPIC])
    for name, times in names.items():
        known = topics.topic_id(name)
        if times > 1:
            continue
        if name in hidden or (name in denied and (known is not None or not cluster.allows(request, DESCRIBE, TOPIC, name))):
            yield _refused(name, ZERO_UUID, code, DENIED_TEXT[TOPIC])
        elif known is None:
            yield _refused(name, ZERO_UUID, error_codes.UNKNOWN_TOPIC_OR_PARTITION, NO_SUCH_TOPIC)
        elif known in ids:
            yield _invalid(name, known, "The provided topic name maps to an ID that was already supplied.")


def _invalid(name: str | None, topic_id: bytes, message: str) -> DeletableTopicResult:
    return _refused(name, topic_id, error_codes.INVALID_REQUEST, message)


def _refused(name: str | None, topic_id: bytes, code: int, message: str | None) -> DeletableTopicResult:
    return DeletableTopicResult(name=name, topic_id=topic_id, error_code=code, error_message=message)
