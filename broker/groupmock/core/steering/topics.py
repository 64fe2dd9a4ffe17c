"""Commands for topics create, grow or delete a topic, or append records, without a client."""

from __future__ import annotations

from base64 import urlsafe_b64decode
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Final

from msgspec import Meta

from groupmock_codec import error_codes
from groupmock_codec.declare import ZERO_UUID

from ..log.placement import MOST_PARTITIONS
from ..log.refusal import TopicRefused
from .find import check_partition, partitions_of
from .register import Arguments, BadArguments, CannotSteer, NotNow, TopicName, steers

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..turn import Turn

Count = Annotated[int, Meta(ge=1)]
CREATE_TOPIC: Final = "create_topic"
REMEDIES: Final[dict[int, tuple[type[CannotSteer], str]]] = {
    error_codes.TOPIC_ALREADY_EXISTS: (NotNow, "grow it, delete it first, or choose another name"),
    error_codes.INVALID_TOPIC_EXCEPTION: (BadArguments, "choose another name, 1 to 249 of a-z A-Z 0-9 . _ -"),
    error_codes.INVALID_PARTITIONS: (NotNow, "name a higher number (Kafka takes no partition away)"),
    error_codes.POLICY_VIOLATION: (NotNow, "delete topics, or start with more of groupmock.cluster.max.partitions"),
    error_codes.INVALID_REPLICATION_FACTOR: (NotNow, "start with more nodes (--nodes N) or with a lower default.replication.factor"),
    error_codes.INVALID_CONFIG: (BadArguments, "`groupmock topic configs TOPIC` lists those there are, with their values"),
}
"""Maps an error code of Kafka to the exception and the remedy that a command reports."""


class CreateTopic(Arguments):
    """Create a topic, with its replicas placed by the cluster."""

    name: TopicName
    partitions: Annotated[Count | None, Meta(description="how many; null: num.partitions")] = None
    replication_factor: Annotated[Count | None, Meta(description="replicas of each; null: default.replication.factor")] = None
    configs: Annotated[dict[str, str] | None, Meta(description="topic configs by Kafka's names: cleanup.policy=compact")] = None
    topic_id: Annotated[str | None, Meta(description="its id as Kafka's tools write it, 22 characters; null: a fresh one")] = None


@steers(CREATE_TOPIC, CreateTopic)
def create_topic(cluster: Cluster, arguments: CreateTopic, turn: Turn) -> None:
    """Create a topic of the cluster. A request that CreateTopics would refuse is refused. The limit per request is that of
    ReplicationControlManager."""
    settings = turn.settings
    partitions = settings.num_partitions if arguments.partitions is None else arguments.partitions
    if partitions > MOST_PARTITIONS:
        raise BadArguments(f"create_topic: {partitions} partitions are more than Kafka makes at once: make {MOST_PARTITIONS} and grow it")
    try:
        settings_of_topic = _checked_configs(turn, arguments.configs) if arguments.configs else None
        topic_id = None if arguments.topic_id is None else _free_id(cluster, arguments.topic_id)
        cluster.topics.create(turn, arguments.name, partitions, arguments.replication_factor, settings_of_topic, topic_id)
    except TopicRefused as refused:
        raise _said(refused) from None


def _free_id(cluster: Cluster, text: str) -> bytes:
    """Return the topic id in the text as bytes, after checking that no topic has it. Raises BadArguments, NotNow."""
    try:
        topic_id = urlsafe_b64decode(text + "==")
    except ValueError:
        topic_id = b""
    if len(topic_id) != len(ZERO_UUID) or topic_id == ZERO_UUID:
        raise BadArguments(f"create_topic: {text!r} is no topic id: 22 characters of a-z A-Z 0-9 - _, not all of them A")
    if (name := cluster.topics.name_of(topic_id)) is not None:
        raise NotNow(f"topic {name!r} has the id {text} already: name another id, or none for a fresh one")
    return topic_id


def _checked_configs(turn: Turn, given: dict[str, str]) -> Mapping[str, str]:
    # This import is late, because a server that starts with topics without configs does not need it.
    from ..log import config_keys, configs

    try:
        return configs.check_all(given, config_keys.topic_keys(turn.quirks))
    except configs.BadConfig as bad:
        raise TopicRefused(error_codes.INVALID_CONFIG, str(bad)) from None


class GrowTopic(Arguments):
    """Raise a topic's number of partitions."""

    name: TopicName
    partitions: Annotated[Count, Meta(description="how many there are to be, more than now")]


@steers("grow_topic", GrowTopic)
def grow_topic(cluster: Cluster, arguments: GrowTopic, turn: Turn) -> None:
    """Raise the topic's number of partitions. A number that CreatePartitions would refuse is refused."""
    partitions_of(cluster, arguments.name)
    try:
        cluster.topics.grow(turn, arguments.name, arguments.partitions)
    except TopicRefused as refused:
        raise _said(refused) from None


class DeleteTopic(Arguments):
    """Delete a topic, its records, and the offsets that groups committed for it."""

    name: TopicName


@steers("delete_topic", DeleteTopic)
def delete_topic(cluster: Cluster, arguments: DeleteTopic, turn: Turn) -> None:
    """Delete a topic with its records. A topic with the same name may be created at once; it has another id."""
    partitions_of(cluster, arguments.name)
    cluster.topics.delete(turn, arguments.name)


class Append(Arguments):
    """Append record batches (magic 2) to a partition on behalf of the server."""

    topic: TopicName
    partition: Annotated[int, Meta(description="partition of the topic", ge=0)]
    batch: bytes


@steers("append", Append)
def append(cluster: Cluster, arguments: Append, turn: Turn) -> None:
    """Append the batches to their partition. Waiting fetches are answered."""
    check_partition(cluster, arguments.topic, arguments.partition)
    cluster.topics.append(turn, arguments.topic, arguments.partition, arguments.batch)


def _said(refused: TopicRefused) -> CannotSteer:
    """Return the command's error, with Kafka's message and a remedy."""
    kind, remedy = REMEDIES[refused.code]
    return kind(f"{refused.message.rstrip('.')}: {remedy}")
