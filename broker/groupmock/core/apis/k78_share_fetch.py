"""ShareFetch (78) acquires records for a member of a share group, and acknowledges those that it has (KIP-932). v2 adds the acquire mode
(KIP-1206) and the renewal of locks (KIP-1222). The work is done in core/share/."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from groupmock_codec import error_codes
from groupmock_codec.messages.k78_share_fetch import PartitionData, ShareFetchRequest, ShareFetchResponse

from ..authorizer.acl import GROUP, READ, TOPIC
from ..authorizer.right import Right
from ..budget import Ration
from ..share import causes
from ..share.acknowledging import RequestFailed
from ..share.requests import PART_COST, PARTITION_COST, SLOT_COST, acknowledge, finished, is_off, misnamed, work
from ..share.sessions import FINAL, INITIAL, SessionRefused, ShareSession, Slot
from ..share.waiting import Rows, ShareFetch, by_topic

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..events import Request
    from ..turn import Turn

RIGHTS: Final = (Right(READ, GROUP, "group_id"),)
BY_BATCH: Final = 0
BY_RECORD: Final = 1


@finished
def handle(cluster: Cluster, request: Request, turn: Turn) -> None:
    """Take the acknowledgements of the request, then answer with the records that the member acquires, or park the fetch until there
    are some."""
    asked = request.message
    assert isinstance(asked, ShareFetchRequest)
    code = _refusal(asked, turn)
    if code == error_codes.UNSUPPORTED_VERSION:
        cluster.shares.switched_off(turn)
    if code:
        turn.reply(request.ticket, ShareFetchResponse(error_code=code))
        return
    group_id, member_id = asked.group_id or "", asked.member_id or ""
    shares, sessions = cluster.shares, cluster.shares.sessions(request.node)
    _check_work(cluster, request, asked, turn)
    if asked.share_session_epoch == INITIAL and sessions.full and sessions.find(group_id, member_id) is None and not _names_twice(asked):
        fetch = _fetch(request, asked, turn, ShareSession(group_id, member_id, request.node, request.connection), {})
        shares.fetches.refuse_later(turn, fetch, error_codes.SHARE_SESSION_LIMIT_REACHED)
        return
    try:
        session = _session(cluster, request, asked, turn)
    except SessionRefused as refused:
        turn.reply(request.ticket, ShareFetchResponse(error_code=refused.code))
        return
    if cluster.authorizer is not None and asked.share_session_epoch != FINAL and None in session.slots.values():
        # Kafka asks the authorizer about a topic without a name, which fails with a NullPointerException.
        turn.reply(request.ticket, ShareFetchResponse(error_code=error_codes.UNKNOWN_SERVER_ERROR))
        return
    denied_of = partial(cluster.denied, turn, request, READ, TOPIC)
    try:
        answers = acknowledge(shares, denied_of, turn, request, asked, cluster.authorizer is not None) if _acknowledges(asked) else {}
    except RequestFailed:
        turn.reply(request.ticket, ShareFetchResponse(error_code=error_codes.UNKNOWN_SERVER_ERROR))
        return
    lock_ms = shares.rules_of(group_id, request.node).lock_ms
    if asked.share_session_epoch == FINAL:
        shares.end_session(turn, session, causes.SESSION_CLOSED)
    if asked.share_session_epoch == FINAL or asked.is_renew_ack:
        turn.reply(request.ticket, ShareFetchResponse(acquisition_lock_timeout_ms=lock_ms, responses=by_topic({}, answers)))
        return
    missing = any(name is None or name not in cluster.topics for name in set(session.slots.values()))
    if missing and turn.quirks.unknown_share_topic_fails_fetch:
        turn.reply(request.ticket, ShareFetchResponse(error_code=error_codes.UNKNOWN_SERVER_ERROR))
        return
    denied = _denied(cluster, request, turn, session)
    tried = {slot for slot in session.slots if slot not in denied and _exists(cluster, session, slot)}
    if asked.share_acquire_mode not in (BY_BATCH, BY_RECORD) and tried:
        # A broker looks at the mode only if there is a partition to read.
        turn.reply(request.ticket, ShareFetchResponse(error_code=error_codes.UNKNOWN_SERVER_ERROR))
        return
    fetch = _fetch(request, asked, turn, session, denied)
    fetch.slots, fetch.acknowledged = session.in_order(asked.share_session_epoch, tried), answers
    shares.fetches.serve(turn, fetch)


def _refusal(asked: ShareFetchRequest, turn: Turn) -> int:
    """Return the error with which the whole request is refused before its session is looked at, or 0."""
    if is_off(turn):
        return error_codes.UNSUPPORTED_VERSION
    if misnamed(asked.group_id, asked.member_id):
        return error_codes.INVALID_REQUEST
    if asked.is_renew_ack and (asked.max_wait_ms or asked.min_bytes or asked.max_bytes or asked.max_records):
        return error_codes.INVALID_REQUEST
    return error_codes.INVALID_REQUEST if asked.share_session_epoch == INITIAL and _acknowledges(asked) else error_codes.NONE


def _acknowledges(asked: ShareFetchRequest) -> bool:
    return any(each.acknowledgement_batches for topic in asked.topics for each in topic.partitions)


def _names_twice(asked: ShareFetchRequest) -> bool:
    """True if the request names a partition more than once (SG-187)."""
    slots = [(topic.topic_id, each.partition_index) for topic in asked.topics for each in topic.partitions]
    return len(slots) != len(set(slots))


def _check_work(cluster: Cluster, request: Request, asked: ShareFetchRequest, turn: Turn) -> None:
    """Check the price of the request before anything is changed. Raises OverBudget."""
    ration = Ration(turn.settings)
    partitions, types, parts = work(asked.topics)
    ration.take(partitions + sum(1 + len(topic.partitions) for topic in asked.forgotten_topics_data), PARTITION_COST)
    ration.take(types, PART_COST)
    sessions = cluster.shares.sessions(request.node)
    session = sessions.find(asked.group_id or "", asked.member_id or "")
    if session is not None:
        ration.take(len(session.slots), SLOT_COST)
    sessions.check_room(partitions)
    cluster.shares.check_room(parts)


def _session(cluster: Cluster, request: Request, asked: ShareFetchRequest, turn: Turn) -> ShareSession:
    """Return the session of the request, with the partitions that it adds and forgets. Raises SessionRefused."""
    group_id, member_id, epoch = asked.group_id or "", asked.member_id or "", asked.share_session_epoch
    sessions = cluster.shares.sessions(request.node)
    if epoch == INITIAL:
        former = sessions.find(group_id, member_id)
        if former is not None:
            sessions.remove(former)  # What the member has acquired stays acquired, and may be acknowledged in the new session (SG-160).
        if _names_twice(asked):
            raise SessionRefused(error_codes.UNKNOWN_SERVER_ERROR)  # ImplicitLinkedHashCollection.mustAdd fails.
        latest = sessions.latest_on(request.connection)
        session = sessions.open(group_id, member_id, request.connection)
        if latest is not None and latest != group_id:
            cluster.shares.left(turn, request.node, latest)  # No other connection remembers that group's share partitions.
    else:
        session = sessions.require(group_id, member_id, epoch)
        if epoch == FINAL:
            return session
        sessions.went_on(session)
    name_of = cluster.topics.name_of
    for slot, name in session.slots.items():
        if name is None:
            session.slots[slot] = name_of(slot[0])
    for topic in asked.topics:
        for each in topic.partitions:
            slot = topic.topic_id, each.partition_index
            if slot not in session.slots:
                sessions.add(session, slot, name_of(topic.topic_id))
                if epoch != INITIAL:
                    session.due.add(slot)
    for forgotten in asked.forgotten_topics_data if epoch != INITIAL else ():
        for partition in forgotten.partitions:
            sessions.forget(session, (forgotten.topic_id, partition))
    return session


def _exists(cluster: Cluster, session: ShareSession, slot: Slot) -> bool:
    name = session.slots[slot]
    return name is not None and cluster.topics.find(name, slot[1]) is not None


def _denied(cluster: Cluster, request: Request, turn: Turn, session: ShareSession) -> Rows:
    """Return the rows of partitions that the sender may not read."""
    if cluster.authorizer is None:
        return {}
    names = dict.fromkeys(name for name in session.slots.values() if name is not None)
    denied = cluster.denied(turn, request, READ, TOPIC, names)
    code = error_codes.TOPIC_AUTHORIZATION_FAILED
    return {slot: PartitionData(partition_index=slot[1], error_code=code) for slot, name in session.slots.items() if name in denied}


def _fetch(request: Request, asked: ShareFetchRequest, turn: Turn, session: ShareSession, rows: Rows) -> ShareFetch:
    wants_nothing = asked.max_records <= 0 or asked.max_bytes <= 0
    return ShareFetch(
        ticket=request.ticket,
        connection=request.connection,
        session=session,
        epoch=asked.share_session_epoch,
        listener=request.listener,
        min_bytes=asked.min_bytes,
        max_bytes=min(asked.max_bytes, turn.settings.fetch_answer_max_bytes),
        max_records=asked.max_records,
        batch_size=asked.batch_size,
        by_record=asked.share_acquire_mode == BY_RECORD,
        deadline=turn.now if wants_nothing else turn.after(asked.max_wait_ms),
        slots=[],
        rows=rows,
        acknowledged={},
    )
