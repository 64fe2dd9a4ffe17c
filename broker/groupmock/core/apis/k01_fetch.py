"""Fetch (1) reads records from partitions. v3 adds the size limit of the whole answer, v4 record batches and isolation, v5 the log start
offset, v7 sessions (KIP-227), v9 leader epochs, v11 racks (KIP-392), v12 divergence, v13 topic ids, v15 the replica state, and v16 leader
hints. The work is done in log/fetches.py."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from groupmock_codec import error_codes
from groupmock_codec.messages.k01_fetch import FetchRequest, FetchResponse

from ..authorizer.acl import CLUSTER, CLUSTER_ACTION, CLUSTER_NAME, READ, TOPIC
from ..budget import Ration, within
from ..cluster import NOTHING
from ..log.fetches import FOLLOWERS_SINCE, WaitingFetch, failed
from ..log.read_replica import RACK_AWARE
from ..log.sessions import Context, SessionRefused

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..events import Request
    from ..turn import Turn

SIZE_LIMIT_SINCE: Final = 3
PARTITION_COST: Final = 6
KEPT_COST: Final = 3
FREE: Final = 100  # The work of fetches with at most this many partitions, as most are, is not counted.
REPLICA_STATE_SINCE: Final = 15
INT_MAX: Final = 2**31 - 1
# Session ids outside of -268435454 .. 2147483639 belong to no shard of Kafka's session cache:
# docs/kafka/differences.md#found-by-generated-exchanges-of-the-data-plane-and-by-hostile-bytes
SHARDS: Final = 8
SESSIONS_PER_SHARD: Final = INT_MAX // SHARDS


def handle(cluster: Cluster, request: Request, turn: Turn) -> None:
    """Answer with the available records, or park the fetch until there are enough."""
    asked = request.message
    assert isinstance(asked, FetchRequest)
    if _beyond_the_cache(cluster, asked):
        turn.reply(request.ticket, failed(turn.quirks, asked, request.version, error_codes.UNKNOWN_SERVER_ERROR))
        return
    topics = cluster.topics
    sessions = topics.fetches.sessions(request.node)
    # The cost is charged to the request's budget before the session is changed. It includes all partitions of the session, because a fetch
    # reads them even if it names none.
    asked_for = within([topic.partitions for topic in asked.topics]) + len(asked.topics)
    if asked_for > FREE or sessions.size(asked.session_id) or asked.forgotten_topics_data:
        ration = Ration(turn.settings)
        ration.take(asked_for, PARTITION_COST)
        ration.take(sessions.size(asked.session_id), KEPT_COST)
        ration.take(within([topic.partitions for topic in asked.forgotten_topics_data]) + len(asked.forgotten_topics_data))
    replica = asked.replica_state.replica_id if request.version >= REPLICA_STATE_SINCE else asked.replica_id
    try:
        context = sessions.context(asked, request.version, topics.name_of, turn.wall_ms)
    except SessionRefused as refused:
        turn.reply(request.ticket, FetchResponse(error_code=refused.code))
        return
    denied = NOTHING if cluster.authorizer is None else _denied(cluster, request, turn, context, replica)
    # Kafka notices a wrong isolation level only when it reads a log, so a fetch without an existing partition is answered as usual:
    # docs/kafka/differences.md#found-by-generated-exchanges-of-the-data-plane-and-by-hostile-bytes
    if asked.isolation_level not in (0, 1) and any(
        topics.find(slot.topic or "", slot.partition) for slot in context.slots.values() if slot.topic not in denied
    ):
        turn.reply(request.ticket, failed(turn.quirks, asked, request.version, error_codes.UNKNOWN_SERVER_ERROR))
        return
    limits = turn.settings
    most = min(asked.max_bytes if request.version >= SIZE_LIMIT_SINCE else INT_MAX, limits.fetch_max_bytes, limits.fetch_answer_max_bytes)
    fetch = WaitingFetch(
        ticket=request.ticket,
        connection=request.connection,
        asked=asked,
        node=request.node,
        version=request.version,
        replica=replica,
        # An answer never exceeds its limit of bytes, so a fetch with a larger minimum would always wait for max_wait_ms
        # (KafkaApis.handleFetchRequest).
        min_bytes=min(asked.min_bytes, most),
        max_bytes=most,
        isolation_level=asked.isolation_level,
        deadline=turn.after(asked.max_wait_ms),
        context=context,
        listener=request.listener,
        rack=asked.rack_id if request.version >= FOLLOWERS_SINCE and limits.replica_selector_class == RACK_AWARE else "",
        denied=denied,
    )
    topics.fetches.serve(turn, fetch)


def _denied(cluster: Cluster, request: Request, turn: Turn, context: Context, replica: int) -> frozenset[str | None]:
    """Return the topics that the sender may not read, which a waiting fetch does not learn anew (SEC-115). A follower may read all topics
    or none, even those with unknown ids."""
    wanted = {slot.topic: None for slot in context.slots.values()}
    if replica < 0:
        return cluster.denied(turn, request, READ, TOPIC, [name for name in wanted if name is not None])
    return frozenset(wanted) if cluster.denied(turn, request, CLUSTER_ACTION, CLUSTER, (CLUSTER_NAME,)) else NOTHING


def _beyond_the_cache(cluster: Cluster, asked: FetchRequest) -> bool:
    """True if the session id is outside of all shards of the session cache, which makes Kafka 3.9 and 4.3 throw."""
    # Session id 0 with epoch -1 or 0 means no session or a new session (KIP-227), so the id is not looked up.
    if asked.session_id == 0 and asked.session_epoch in (-1, 0):
        return False
    return not -SESSIONS_PER_SHARD < asked.session_id < SHARDS * SESSIONS_PER_SHARD
