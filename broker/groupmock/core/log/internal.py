"""Creates the topics that Kafka creates by itself when a client looks for a coordinator, with its default configs (seen on 4.3.0, 3.9.1,
2.8.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..dice import uuid_of
from ..work import at_once
from . import names
from .refusal import TopicRefused

if TYPE_CHECKING:
    from ..turn import Turn
    from .topics import Topic, Topics

TRANSACTION_PARTITIONS: Final = 50  # The default of Kafka's transaction.state.log.num.partitions is 50.
SHARE_PARTITIONS: Final = 50  # The default of Kafka's share.coordinator.state.topic.num.partitions is 50.
_REPLICAS: Final = 3  # The default of Kafka's replication factors of all three topics is 3.
_IN_SYNC: Final = 2  # The default of Kafka's transaction.state.log.min.isr and share.coordinator.state.topic.min.isr is 2.
_COMMON: Final = {"cleanup.policy": "compact", "segment.bytes": "104857600"}
MADE_BY_KAFKA: Final = frozenset((names.OFFSETS_TOPIC, names.TRANSACTION_TOPIC, names.SHARE_TOPIC))


def try_make(turn: Turn, topics: Topics, name: str) -> bool:
    """Create an internal topic if it does not exist, and return whether it exists now. Kafka cannot create it if the name of another topic
    collides."""
    try:
        make(turn, topics, name)
    except TopicRefused as refused:
        turn.note("topic_not_created", topic=name, reason=refused.message)
        return False
    return True


def make(turn: Turn, topics: Topics, name: str) -> Topic:
    """Return an internal topic of MADE_BY_KAFKA, and create the topic if it does not exist. Raises TopicRefused if its name collides with a
    topic's.

    Its id is not drawn from the dice, so that later draws of a run do not depend on the look-up of a coordinator. Where Kafka would wait
    for three nodes, there are as many replicas as nodes."""
    known = topics.get(name)
    if known is not None:
        return known
    topics.check_name(name)
    factor = min(_REPLICAS, len(turn.environment.identity.nodes))
    if name == names.OFFSETS_TOPIC:
        count, own = turn.settings.offsets_topic_num_partitions, {"compression.type": "producer"}
    elif name == names.SHARE_TOPIC:
        in_sync = str(min(_IN_SYNC, factor))
        own = {"cleanup.policy": "delete", "compression.type": "none", "min.insync.replicas": in_sync, "retention.ms": "-1"}
        count = SHARE_PARTITIONS
    else:
        count = TRANSACTION_PARTITIONS
        own = {
            "compression.type": "uncompressed",
            "min.insync.replicas": str(min(_IN_SYNC, factor)),
            "unclean.leader.election.enable": "false",
        }
    replicas = at_once(topics.replicas(name, range(count), factor))
    topic_id = uuid_of(f"{turn.environment.identity.cluster_id} {name} {topics.made}")
    return topics.add(turn, name, replicas, {**_COMMON, **own}, topic_id)
