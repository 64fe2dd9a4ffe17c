"""Metadata (3) describes brokers, topics and leaders. Since v1 a null list requests all topics. v4 can forbid auto-creation, v8 requests
authorized operations, v10 adds topic ids, v12 look-ups by id, and v13 an error for the whole answer. The figures are in
tests/unit/core/apis/test_metadata_answers.py."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from functools import partial
from typing import TYPE_CHECKING, Final

from groupmock_codec import error_codes
from groupmock_codec.declare import ZERO_UUID
from groupmock_codec.messages.k03_metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

from ..authorizer.acl import CLUSTER, CLUSTER_NAME, CREATE, DESCRIBE, TOPIC
from ..budget import Ration
from ..cluster import NOT_ASKED, NOTHING
from ..java.hashes import MASK, java_hash
from ..java.orders import SMALL_MAP, java_copied_order, scala_table_order, scala_trie_order
from ..log import internal, names
from ..log.partition import Partition
from ..log.placement import CREATION_COST, MADE_COST, TOPIC_SIZE
from ..log.refusal import TopicRefused
from ..log.replicas import in_sync, offline
from ..log.topics import Topic

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..events import Request
    from ..turn import Turn
    from ..work import Steps

IDS_IN_REQUEST_SINCE: Final = 10
BY_ID_SINCE: Final = 12
TOP_ERROR_SINCE: Final = 13
OPERATIONS_SINCE: Final = 8
TOPIC_COST: Final = 3
NAME_COST: Final = 7
PARTITION_COST: Final = 1


def handle(cluster: Cluster, request: Request, turn: Turn) -> None:
    """Describe the topics of the request, and create missing topics if client and broker allow it. Many topics are created in steps. The
    answer still calls them missing, as in Kafka."""
    asked = request.message
    assert isinstance(asked, MetadataRequest)
    created = _check_price(cluster, asked, request.version, turn)
    refused = _ids_refused(asked.topics or [], request.version)
    if refused is not None:
        turn.reply(request.ticket, refused)
    else:
        turn.begin_request(partial(_answered, cluster, request, asked), created * (TOPIC_SIZE + turn.settings.num_partitions))


def _answered(cluster: Cluster, request: Request, asked: MetadataRequest, turn: Turn) -> Steps:
    rows = Rows(cluster, request, asked, turn)
    # An empty list of topics means all topics in v0, which cannot send null, but no topics since v1.
    everything = asked.topics is None or (request.version == 0 and not asked.topics)
    found = rows.all() if everything else (yield from rows.some(request.version))
    operations = request.version >= OPERATIONS_SINCE and asked.include_cluster_authorized_operations
    environment = turn.environment
    answer = MetadataResponse(
        brokers=[
            MetadataResponseBroker(node_id=node.node_id, host=at.host, port=at.port, rack=node.rack)
            for node, at in environment.reached(environment.up, request.listener)
        ],
        cluster_id=environment.identity.cluster_id,
        controller_id=cluster.topics.controller(),
        topics=found,
        cluster_authorized_operations=cluster.own_operations(request) if operations else NOT_ASKED,
    )
    turn.reply(request.ticket, answer)


def _check_price(cluster: Cluster, asked: MetadataRequest, version: int, turn: Turn) -> int:
    """Count the topics against the work limit of the request, and return how many topics may be created. All of the cluster fits
    (groupmock.cluster.max.partitions); a topic that may be created costs what a creation costs."""
    topics, ration, created = cluster.topics, Ration(turn.settings), 0
    if asked.topics is None or (version == 0 and not asked.topics):
        ration.take(topics.count, TOPIC_COST)
        ration.take(topics.partition_count, PARTITION_COST)
        return 0
    wanted = asked.topics
    ration.take_names([topic.name or "" for topic in wanted], NAME_COST)
    creates = asked.allow_auto_topic_creation and turn.settings.auto_create_topics_enable
    for topic in {(topic.name, topic.topic_id): topic for topic in wanted}.values():
        name = topic.name if topic.topic_id == ZERO_UUID else topics.name_of(topic.topic_id)
        partitions = None if name is None else topics.partitions(name)
        if partitions is not None:
            ration.take(partitions, PARTITION_COST)
        elif creates and name is not None:
            ration.take(1, CREATION_COST)
            ration.take(turn.settings.num_partitions, MADE_COST)
            created += 1
    return created


def _ids_refused(topics: list[MetadataRequestTopic], version: int) -> MetadataResponse | None:
    """Refuse topic ids in v10 and v11 with INVALID_REQUEST (42), and topics without name and id since v12 with UNKNOWN_SERVER_ERROR
    (-1). Such an answer has no brokers."""
    if version < IDS_IN_REQUEST_SINCE:
        return None
    if version < BY_ID_SINCE:
        bad, code = any(topic.name is None or topic.topic_id != ZERO_UUID for topic in topics), error_codes.INVALID_REQUEST
    else:
        bad, code = any(topic.name is None and topic.topic_id == ZERO_UUID for topic in topics), error_codes.UNKNOWN_SERVER_ERROR
    if not bad:
        return None
    rows = [MetadataResponseTopic(error_code=code, name=topic.name or "", topic_id=topic.topic_id) for topic in topics]
    return MetadataResponse(topics=rows, error_code=code if version >= TOP_ERROR_SINCE else error_codes.NONE)


class Rows:
    """The topic rows of one Metadata answer."""

    def __init__(self, cluster: Cluster, request: Request, asked: MetadataRequest, turn: Turn) -> None:
        self._cluster, self._request = cluster, request
        self._topics, self._asked, self._turn = cluster.topics, asked, turn

    def all(self) -> list[MetadataResponseTopic]:
        """Return the rows of all topics that the sender may describe, in the order of their creation."""
        topics, cluster = self._topics, self._cluster
        return [
            self._row(topic)
            for name in topics.names()
            if (topic := topics.get(name)) is not None and cluster.allows(self._request, DESCRIBE, TOPIC, name)
        ]

    def _denied(self, operation: int, names: Iterable[str]) -> frozenset[str]:
        return self._cluster.denied(self._turn, self._request, operation, TOPIC, names)

    def some(self, version: int) -> Generator[None, None, list[MetadataResponseTopic]]:
        """Return the rows of the requested topics, existing ones first, in steps. A name that is listed twice is answered once."""
        wanted = self._asked.topics or []
        by_id = version >= BY_ID_SINCE
        ids = [topic.topic_id for topic in wanted if by_id and topic.topic_id != ZERO_UUID]
        # A single topic id makes it a request by ids, in which names are ignored (KafkaApis.handleTopicMetadataRequest).
        if ids:
            return self._by_id(ids)
        found: list[MetadataResponseTopic] = []
        absent: list[str] = []
        names_asked = dict.fromkeys(topic.name or "" for topic in wanted)
        denied = self._denied(DESCRIBE, names_asked)
        # Topics are in Kafka's order, which puts the names into a Scala set and takes the existing topics out. Since 4.4 those are taken
        # out of a copy, which is a Java set.
        many = len(names_asked) > SMALL_MAP
        in_order = _in_set([name for name in names_asked if name not in denied], many)
        for name in in_order:
            topic = self._topics.get(name)
            if topic is not None:
                found.append(self._row(topic))
            else:
                absent.append(name)
        if not self._turn.quirks.missing_topics_in_a_scala_set:
            missing = set(absent)
            absent = [name for name in java_copied_order(in_order, java_hash) if name in missing]
        else:
            absent = _in_set(absent, many)
        uncreatable = self._uncreatable(absent)
        for name in absent:
            if name not in uncreatable:
                found.append(self._missing_row(name))
            yield
        found += [_unauthorized(name, name in names.INTERNAL) for name in absent if name in uncreatable]
        found += [_unauthorized(name, internal=False) for name in _in_set([name for name in names_asked if name in denied], many)]
        return found

    def _uncreatable(self, absent: list[str]) -> frozenset[str]:
        """Return those of the missing topics that the sender may not create, if they would be created."""
        creates = self._asked.allow_auto_topic_creation and self._turn.settings.auto_create_topics_enable
        if not absent or not creates or self._cluster.allows(self._request, CREATE, CLUSTER, CLUSTER_NAME):
            return NOTHING
        return self._denied(CREATE, absent)

    def _by_id(self, ids: list[bytes]) -> list[MetadataResponseTopic]:
        found: list[MetadataResponseTopic] = []
        missing: list[MetadataResponseTopic] = []
        unauthorized: list[MetadataResponseTopic] = []
        denied = self._denied(DESCRIBE, [name for name in map(self._topics.name_of, ids) if name is not None])
        for topic_id in dict.fromkeys(ids):
            name = self._topics.name_of(topic_id)
            topic = None if name is None else self._topics.get(name)
            if topic is not None and topic.name in denied:
                unauthorized.append(_unauthorized(None, internal=False, topic_id=topic_id))
            elif topic is not None:
                found.append(self._row(topic))
            else:
                missing.append(MetadataResponseTopic(error_code=error_codes.UNKNOWN_TOPIC_ID, name=None, topic_id=topic_id))
        # Metadata answers unknown topic ids first and unknown names last:
        # docs/kafka/differences.md#found-by-generated-exchanges-of-the-data-plane-and-by-hostile-bytes
        return missing + found + unauthorized

    def _missing_row(self, name: str) -> MetadataResponseTopic:
        return MetadataResponseTopic(
            error_code=self._missing(name),
            name=name,
            is_internal=name in names.INTERNAL,
            topic_authorized_operations=self._operations(name),
        )

    def _missing(self, name: str) -> int:
        """Return the error code for a missing topic, and create the topic if the broker may. Creating it takes a moment in Kafka, so the
        client asks again."""
        settings = self._turn.settings
        if names.why_invalid(name) is not None:
            return error_codes.INVALID_TOPIC_EXCEPTION
        if not (self._asked.allow_auto_topic_creation and settings.auto_create_topics_enable):
            return error_codes.UNKNOWN_TOPIC_OR_PARTITION
        try:
            # num.partitions does not apply to internal topics, because groups and transactional ids are placed by a hash over another
            # number (SERVER-64).
            if name in internal.MADE_BY_KAFKA:
                internal.make(self._turn, self._topics, name)
            else:
                self._topics.create(self._turn, name, settings.num_partitions)
        except TopicRefused as refused:
            self._turn.note("topic_not_created", topic=name, reason=refused.message)
            return error_codes.UNKNOWN_TOPIC_OR_PARTITION
        return error_codes.UNKNOWN_TOPIC_OR_PARTITION

    def _row(self, topic: Topic) -> MetadataResponseTopic:
        return MetadataResponseTopic(
            name=topic.name,
            topic_id=topic.topic_id,
            is_internal=topic.internal,
            partitions=[
                MetadataResponsePartition(
                    error_code=error_codes.NONE if partition.leader >= 0 else error_codes.LEADER_NOT_AVAILABLE,
                    partition_index=partition.index,
                    leader_id=partition.leader,
                    leader_epoch=partition.leader_epoch,
                    replica_nodes=partition.replicas,
                    isr_nodes=in_sync(self._turn.environment, partition),
                    offline_replicas=offline(self._turn.environment, partition),
                )
                for partition in self._in_order(topic.partitions)
            ],
            topic_authorized_operations=self._operations(topic.name),
        )

    def _in_order(self, partitions: list[Partition]) -> list[Partition]:
        """Return the partitions in the order of an answer: by index, or in Kafka 3.9 in the order of a Scala set."""
        return scala_table_order(partitions, _row_hash) if self._turn.quirks.metadata_rows_in_a_set else partitions

    def _operations(self, name: str) -> int:
        wanted = self._asked.include_topic_authorized_operations
        return self._cluster.operations(self._request, TOPIC, name) if wanted else NOT_ASKED


def _in_set(held: list[str], many: bool) -> list[str]:
    """Return these names in the order of a Scala set that is a part of a larger one. `many`: that one has more than four names."""
    return scala_trie_order(held, java_hash) if many else held


def _unauthorized(name: str | None, internal: bool, topic_id: bytes = ZERO_UUID) -> MetadataResponseTopic:
    code = error_codes.TOPIC_AUTHORIZATION_FAILED
    return MetadataResponseTopic(error_code=code, name=name, topic_id=topic_id, is_internal=internal)


def _row_hash(partition: Partition) -> int:
    """Return the `hashCode()` of Kafka's MetadataResponsePartition for this partition."""
    nodes = 1
    for node in partition.replicas:
        nodes = 31 * nodes + node
    value = 0
    for number in (0, partition.index, partition.leader, partition.leader_epoch, nodes, nodes, 1):
        value = 31 * value + number
    return value & MASK
