"""FindCoordinator (10) finds the node that coordinates a group or a transactional id (docs/kafka/apis.md#findcoordinator; messages per
version and key type: P2-b7, P2-d9)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from groupmock_codec import error_codes
from groupmock_codec.error_codes import TRANSACTIONAL_ID_AUTHORIZATION_FAILED
from groupmock_codec.messages.k10_find_coordinator import Coordinator, FindCoordinatorRequest, FindCoordinatorResponse

from ..authorizer import acl
from ..authorizer.acl import CLUSTER_ACTION, DESCRIBE
from ..budget import Ration
from ..environment import SHARE_GROUPS
from ..java.hashes import partition_for
from ..java.numbers import whole_number
from ..log import internal, names

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..events import Request
    from ..turn import Turn

KEY_COST: Final = 4
GROUP: Final = 0
TRANSACTION: Final = 1
SHARE: Final = 2
SHARE_SINCE: Final = 6
RIGHT_OF_KEY: Final = {GROUP: (DESCRIBE, acl.GROUP), TRANSACTION: (DESCRIBE, acl.TRANSACTIONAL_ID), SHARE: (CLUSTER_ACTION, acl.CLUSTER)}
"""The operation and the resource type of the right that each key type needs."""
_NOT_AVAILABLE: Final = "The coordinator is not available."
# This error message is Kafka's default one for INVALID_REQUEST, word for word (P2-b7).
_MALFORMED: Final = (
    "This most likely occurs because of a request being malformed by the client library or the message was sent to an incompatible broker. "
    "See the broker logs for more details."
)


def handle(cluster: Cluster, request: Request, turn: Turn) -> None:
    """Look up one key up to v3, and a list of keys since v4. The first look-up creates the topic of its coordinators. (Kafka answers 15
    until that is done, some 100 ms later.)"""
    message = request.message
    assert isinstance(message, FindCoordinatorRequest)
    if request.version >= 4:
        Ration(turn.settings).take_names(message.coordinator_keys, KEY_COST)
        # A key that is listed twice is answered twice (P2-d8).
        found = [_find(cluster, turn, request, message.key_type, key) for key in message.coordinator_keys]
        turn.reply(request.ticket, FindCoordinatorResponse(coordinators=found))
        return
    one = _find(cluster, turn, request, message.key_type, message.key)
    answer = FindCoordinatorResponse(
        error_code=one.error_code, error_message=one.error_message, node_id=one.node_id, host=one.host, port=one.port
    )
    turn.reply(request.ticket, answer)


def _find(cluster: Cluster, turn: Turn, request: Request, key_type: int, key: str) -> Coordinator:
    version = request.version
    if key_type not in (GROUP, TRANSACTION, SHARE):
        return _refused(key, error_codes.INVALID_REQUEST, _MALFORMED)
    if key_type == SHARE and version < SHARE_SINCE:
        return _refused(key, error_codes.INVALID_REQUEST, _MALFORMED if version < 4 else "")
    operation, kind = RIGHT_OF_KEY[key_type]
    if cluster.denied(turn, request, operation, kind, (acl.CLUSTER_NAME if kind == acl.CLUSTER else key,)):
        # Only the refusal of a share key has a text in versions with lists of keys, and in Kafka 3.9 not even that.
        tells = version < 4 or (kind == acl.CLUSTER and not turn.quirks.share_coordinator_unchecked)
        return _refused(key, acl.DENIED[kind], acl.DENIED_TEXT[kind] if tells else "")
    if key_type == SHARE:
        return _share_coordinator(cluster, turn, request, key)
    if key_type == TRANSACTION and not turn.settings.transactions_enable:
        turn.note("transactions_not_served", transactional_id=key)
        return _refused(key, TRANSACTIONAL_ID_AUTHORIZATION_FAILED, acl.DENIED_TEXT[acl.TRANSACTIONAL_ID] if version < 4 else "")
    node = _node_of_group(cluster, turn, key) if key_type == GROUP else _node_of_transaction(cluster, turn, key)
    # A partition keeps its leader while that node is down; COORDINATOR_NOT_AVAILABLE (15) makes the client ask again
    # (docs/kafka/apis.md#findcoordinator).
    if node is None or node not in {each.node_id for each in turn.environment.up}:
        # FindCoordinator answers have an error message up to v3 only (P2-b7), where even a success has one: NONE (SERVER-76).
        return _refused(key, error_codes.COORDINATOR_NOT_AVAILABLE, _NOT_AVAILABLE if version < 4 else "")
    at = turn.environment.endpoints[node][request.listener]
    return Coordinator(key=key, node_id=node, host=at.host, port=at.port, error_message="NONE" if version < 4 else "")


def _refused(key: str, error: int, text: str) -> Coordinator:
    return Coordinator(key=key, node_id=-1, host="", port=-1, error_code=error, error_message=text)


def _node_of_group(cluster: Cluster, turn: Turn, group_id: str) -> int | None:
    hosting = cluster.groups.hosting
    # The offsets topic cannot be created beside a topic whose name collides with it, such as `__consumer.offsets`:
    # docs/kafka/differences.md#found-by-generated-exchanges-of-the-data-plane-and-by-hostile-bytes
    return hosting.node_of(group_id) if hosting.make_topic(turn) else None


def _node_of_transaction(cluster: Cluster, turn: Turn, transactional_id: str) -> int | None:
    """Return the node that coordinates a transactional id, or None. If the topic was created by hand with fewer partitions, ids of the
    missing ones have none."""
    hosting = cluster.tenancy.hosting
    # As with groups, a colliding topic name prevents the creation of the transaction topic:
    # docs/kafka/differences.md#found-by-generated-exchanges-of-the-data-plane-and-by-hostile-bytes
    return hosting.node_of(transactional_id) if hosting.make_topic(turn) else None


def _share_coordinator(cluster: Cluster, turn: Turn, request: Request, key: str) -> Coordinator:
    """Answer the look-up of a share coordinator: the leader of the partition of __share_group_state in which the share partition is stored
    (SG-02)."""
    # For share groups Kafka 3.9 answers COORDINATOR_NOT_AVAILABLE (15) to any key (P2-c14).
    if not turn.quirks.share_coordinator_unchecked and not _is_share_key(key):
        return _refused(key, error_codes.INVALID_REQUEST, "")
    if SHARE_GROUPS in turn.environment.levels and internal.try_make(turn, cluster.topics, names.SHARE_TOPIC):
        node = cluster.topics.leader_of(names.SHARE_TOPIC, partition_for(key, internal.SHARE_PARTITIONS))
        if node in {each.node_id for each in turn.environment.up}:
            at = turn.environment.endpoints[node][request.listener]
            return Coordinator(key=key, node_id=node, host=at.host, port=at.port, error_message="")
    return _refused(key, error_codes.COORDINATOR_NOT_AVAILABLE, "")


def _is_share_key(key: str) -> bool:
    """True if the key has the form `group:topic id:partition`. The group may contain colons, the topic id is a UUID as Kafka prints it
    (22 characters), and the partition any number that Integer.parseInt takes, -1 among them (P2-d9)."""
    group, _, rest = key.rpartition(":")
    group, _, topic_id = group.rpartition(":")
    return bool(group) and _is_uuid(topic_id) and whole_number(rest, 31) is not None


def _is_uuid(text: str) -> bool:
    """True if Kafka's Uuid.fromString can read the text, which is URL-safe base64 of 16 bytes, at most 24 characters, with optional
    padding."""
    bare = text.rstrip("=")
    return len(text) <= 24 and len(bare) == 22 and all(c.isascii() and (c.isalnum() or c in "-_") for c in bare)
