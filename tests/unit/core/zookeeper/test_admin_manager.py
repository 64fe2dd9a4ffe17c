"""What Kafka 2.8's admin manager and metadata say in their own way: answers of Apache Kafka 2.8.2, 2026-11-21."""

from __future__ import annotations

from typing import Any

from cases import for_each
from log_world import WALL_MS, LogWorld, batch

from groupmock.core.java.orders import long_map_order
from groupmock.core.settings import Quirks
from groupmock_codec.messages.k00_produce import PartitionProduceData, ProduceRequest, TopicProduceData
from groupmock_codec.messages.k03_metadata import MetadataRequest, MetadataRequestTopic
from groupmock_codec.messages.k19_create_topics import CreatableReplicaAssignment, CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from groupmock_codec.messages.k20_delete_topics import DeleteTopicsRequest, DeleteTopicState
from groupmock_codec.messages.k32_describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from groupmock_codec.messages.k33_alter_configs import AlterableConfig, AlterConfigsRequest, AlterConfigsResource
from groupmock_codec.messages.k37_create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from groupmock_codec.messages.k44_incremental_alter_configs import AlterableConfig as IncrementalConfig
from groupmock_codec.messages.k44_incremental_alter_configs import AlterConfigsResource as IncrementalResource
from groupmock_codec.messages.k44_incremental_alter_configs import IncrementalAlterConfigsRequest
from groupmock_codec.records import NewRecord, encode_batch

OLD = Quirks(
    zookeeper_admin=True,
    controller_only=True,
    topic_configs_before_4=True,
    metadata_rows_in_a_map=True,
    null_records_refused=True,
    append_time_bit_refused=True,
    produce_by_name_only=True,
    produce_rows_by_hash=True,
    min_insync_replicas_uncapped=True,
)
SET, DELETE, APPEND, SUBTRACT = range(4)
ZERO = bytes(16)
Codes = list[int]


def made() -> LogWorld:
    found = LogWorld(quirks=OLD)
    found.topic("t", partitions=1, node=1)
    return found


# -- IncrementalAlterConfigs, AlterConfigs


def change(world: LogWorld, *resources: tuple[int, str, list[tuple[int, str, str]]]) -> Codes:
    wanted = [
        IncrementalResource(
            resource_type=kind,
            resource_name=name,
            configs=[IncrementalConfig(name=key, config_operation=operation, value=value) for operation, key, value in changes],
        )
        for kind, name, changes in resources
    ]
    return [row.error_code for row in world.ask(44, 1, IncrementalAlterConfigsRequest(resources=wanted)).responses]


def policy(world: LogWorld) -> str | None:
    found = world.topics.get("t")
    assert found is not None
    return found.configs.get("cleanup.policy")


@for_each(
    ("name", "changes", "code"),
    [
        ("t", [(SET, "max.message.bytes", ""), (SUBTRACT, "segment.ms", "x")], 42),
        ("t", [(SUBTRACT, "segment.ms", "x"), (9, "cleanup.policy", "x")], 42),
        ("t", [(9, "cleanup.policy", "x"), (SUBTRACT, "segment.ms", "x")], -1),
        ("t", [(APPEND, "nope", "x")], -1),
        ("t", [(SET, "nope", "x")], 40),
        ("t", [(SET, "segment.ms", "x")], 42),
        ("t", [(APPEND, "cleanup.policy", "")], 42),
        ("absent", [(SUBTRACT, "segment.ms", "x")], 42),
        ("absent", [(SET, "nope", "x")], 3),
        ("a b", [(SET, "segment.ms", "5")], 3),
        ("", [(SET, "segment.ms", "5")], 42),
        ("..", [(SET, "segment.ms", "5")], 42),
    ],
    ids=str,
)
def test_operations_in_turn_before_the_topic_before_the_values(name: str, changes: list[tuple[int, str, str]], code: int) -> None:
    world = made()
    assert change(world, (2, name, changes)) == [code]


@for_each(
    ("operation", "given", "left"),
    [
        (APPEND, "compact", "delete,compact"),
        (APPEND, "delete", "delete,delete"),
        (SUBTRACT, "delete", ""),
        (SUBTRACT, "compact", "delete"),
    ],
)
def test_lists_start_from_the_default_and_keep_repetitions(operation: int, given: str, left: str) -> None:
    world = made()
    assert change(world, (2, "t", [(operation, "cleanup.policy", given)])) == [0]
    assert policy(world) == left


def test_the_last_one_of_a_topic_listed_twice_counts() -> None:
    world = made()
    assert change(world, (2, "t", [(SET, "cleanup.policy", "x")]), (2, "t", [(SET, "cleanup.policy", "compact")])) == [0]
    assert policy(world) == "compact"


@for_each("kind", [0, 3, 99])
def test_a_resource_of_another_kind_spoils_the_whole_request(kind: int) -> None:
    world = made()
    good = (2, "t", [(SET, "cleanup.policy", "compact")])
    assert change(world, good, (kind, "t", []), (kind, "t", [])) == [42, 42, 42]
    resources = [AlterConfigsResource(resource_type=each, resource_name="t", configs=[]) for each in (2, kind)]
    assert [row.error_code for row in world.ask(33, 2, AlterConfigsRequest(resources=resources)).responses] == [42, 42]
    assert policy(world) is None


@for_each(("key", "value", "code"), [("nope", "5", 40), ("segment.ms", "x", 42), ("segment.ms", "5", 0)])
def test_unknown_configs_are_40_bad_values_42(key: str, value: str, code: int) -> None:
    world = made()
    resource = AlterConfigsResource(resource_type=2, resource_name="t", configs=[AlterableConfig(name=key, value=value)])
    assert [row.error_code for row in world.ask(33, 2, AlterConfigsRequest(resources=[resource])).responses] == [code]


# -- CreateTopics, CreatePartitions, DeleteTopics


def assigned(name: str, *assignments: tuple[int, list[int]], **configs: str) -> CreatableTopic:
    return CreatableTopic(
        name=name,
        num_partitions=-1,
        replication_factor=-1,
        assignments=[CreatableReplicaAssignment(partition_index=index, broker_ids=nodes) for index, nodes in assignments],
        configs=[CreatableTopicConfig(name=key.replace("_", "."), value=value) for key, value in configs.items()],
    )


def create(world: LogWorld, wanted: CreatableTopic, timeout_ms: int = 5000, validate_only: bool = False) -> Any:
    request = CreateTopicsRequest(topics=[wanted], timeout_ms=timeout_ms, validate_only=validate_only)
    (row,) = world.ask(19, 7, request).topics
    return row


@for_each(
    ("wanted", "code"),
    [
        (assigned("..", (1, [])), 17),
        (assigned("x" * 250, (0, [1]), (0, [1])), 17),
        (assigned("t", (1, [])), 36),
        (assigned("new", (1, [1])), 39),
        (assigned("new", (0, [1]), (1, [1, 2])), 39),
        (assigned("new", (0, [1, 1])), 39),
        (assigned("new", (1, [1]), segment_ms="x"), 39),
        (assigned("new", (0, [1]), segment_ms="x"), 40),
        (assigned("new", (0, [1]), (0, [2])), 0),
        (assigned("new", (0, [])), 0),
    ],
    ids=str,
)
def test_assignments_are_judged_between_name_and_configs(wanted: CreatableTopic, code: int) -> None:
    world = made()
    assert create(world, wanted, validate_only=True).error_code == code
    assert world.topics.get("new") is None


@for_each("nodes", [[], [2]])
def test_partitions_that_nobody_could_lead_are_not_made(nodes: list[int]) -> None:
    """Kafka makes them: `partitions-without-leader` in recorded_differences.toml."""
    world = made()
    assert create(world, assigned("new", (0, nodes))).error_code == 39
    assert world.topics.get("new") is None


@for_each("timeout_ms", [0, -1])
def test_without_time_to_wait_a_topic_is_made_and_the_answer_is_7(timeout_ms: int) -> None:
    world = made()
    row = create(world, assigned("new", (0, [1]), (1, [1])), timeout_ms)
    assert (row.error_code, row.num_partitions, row.replication_factor, row.configs) == (7, -1, -1, [])
    assert world.topics.partitions("new") == 2
    assert row.topic_id == world.topics.topic_id("new")


def test_without_time_to_wait_partitions_are_added_and_the_answer_is_7() -> None:
    world = made()
    topics = [CreatePartitionsTopic(name="t", count=2, assignments=None), CreatePartitionsTopic(name="no", count=2, assignments=None)]
    results = world.ask(37, 3, CreatePartitionsRequest(topics=topics, timeout_ms=-1)).results
    assert {row.name: row.error_code for row in results} == {"t": 7, "no": 3}
    assert world.topics.partitions("t") == 2


def delete(world: LogWorld, *states: tuple[str | None, bytes], timeout_ms: int = 5000) -> list[tuple[str | None, bytes, int]]:
    wanted = [DeleteTopicState(name=name, topic_id=topic_id) for name, topic_id in states]
    answer = world.ask(20, 6, DeleteTopicsRequest(topics=wanted, timeout_ms=timeout_ms))
    return [(row.name, row.topic_id, row.error_code) for row in answer.responses]


def test_deleted_topics_have_the_id_that_was_asked_for() -> None:
    world = made()
    topic_id = world.topics.topic_id("t") or ZERO
    unknown = bytes(15) + b"\x01"
    assert delete(world, ("t", ZERO), (None, topic_id), (None, unknown), (None, ZERO)) == [
        ("t", ZERO, 0),
        ("t", topic_id, 0),
        (None, unknown, 100),
        (None, ZERO, 29),
    ]


def test_without_time_to_wait_a_topic_is_deleted_and_its_first_row_is_7() -> None:
    world = made()
    assert [row[2] for row in delete(world, ("t", ZERO), ("t", ZERO), ("no", ZERO), timeout_ms=-1)] == [7, 0, 3]
    assert world.topics.get("t") is None


def test_name_and_id_at_once_spoil_the_whole_request() -> None:
    world = made()
    topic_id = world.topics.topic_id("t") or ZERO
    assert delete(world, ("t", ZERO), ("t", topic_id)) == [("t", ZERO, 42), ("t", topic_id, 42)]
    assert world.topics.get("t") is not None


# -- Metadata, Produce


@for_each(
    ("count", "order"),
    [
        (0, []),
        (1, [0]),
        (2, [0, 1]),
        (3, [0, 2, 1]),
        (4, [0, 2, 3, 1]),
        (9, [0, 5, 8, 2, 1, 4, 6, 7, 3]),
    ],
)
def test_partitions_stand_as_in_a_scala_map_of_numbers(count: int, order: list[int]) -> None:
    assert list(long_map_order(count)) == order


def test_metadata_lists_partitions_in_that_order() -> None:
    world = made()
    world.topic("three", partitions=3, node=1)
    (row,) = world.ask(3, 9, MetadataRequest(topics=[MetadataRequestTopic(name="three")])).topics
    assert [each.partition_index for each in row.partitions] == [0, 2, 1]


def rows(world: LogWorld, *wanted: tuple[str, int, bytes | None]) -> list[tuple[str, int]]:
    """(topic, code) of a Produce answer, as listed."""
    data = [TopicProduceData(name=name, partition_data=[PartitionProduceData(index=index, records=sent)]) for name, index, sent in wanted]
    answer = world.ask(0, 8, ProduceRequest(acks=1, timeout_ms=1000, topic_data=data))
    return [(topic.name, row.error_code) for topic in answer.responses for row in topic.partition_responses]


def claimed(*keys: bytes | None) -> bytes:
    """A batch that says that a log stamped it."""
    data = bytearray(batch(*(b"v" for _ in keys), keys=list(keys)))
    data[22] |= 8
    return encoded(data)


def encoded(data: bytearray) -> bytes:
    from groupmock_codec.records import crc32c

    data[17:21] = crc32c()(bytes(data[21:])).to_bytes(4)
    return bytes(data)


@for_each(("sent", "code"), [(None, -1), (claimed(None), 32)])
def test_what_the_log_refuses_has_reached_it(sent: bytes | None, code: int) -> None:
    """So that the rows stand as in the mutable map of what did: here the other way round."""
    world = made()
    absent = next(name for name in ("a", "b", "c", "d", "e", "f") if rows(world, (name, 0, b""), ("t", 0, batch()))[0][0] == "t")
    assert rows(world, (absent, 0, b""), ("t", 0, sent)) == [("t", code), (absent, 3)]


@for_each(("keys", "code", "faults"), [((b"k", b"k"), 32, [0, 1]), ((b"k", None), 32, [0, 1]), ((None, None), 87, [0, 1])], ids=str)
def test_claims_and_missing_keys_are_told_together(keys: tuple[bytes | None, ...], code: int, faults: list[int]) -> None:
    world = LogWorld(quirks=OLD)
    world.topic("t", node=1, **{"cleanup.policy": "compact"})
    data = [TopicProduceData(name="t", partition_data=[PartitionProduceData(index=0, records=claimed(*keys))])]
    ((row,),) = [topic.partition_responses for topic in world.ask(0, 8, ProduceRequest(acks=1, topic_data=data)).responses]
    assert (row.error_code, [fault.batch_index for fault in row.record_errors]) == (code, faults)


def test_a_claim_is_looked_at_after_the_crc_and_the_size() -> None:
    world = made()
    spoiled = bytearray(claimed(b"k"))
    spoiled[-1] ^= 1
    assert rows(world, ("t", 0, bytes(spoiled))) == [("t", 2)]
    large = bytearray(encode_batch([NewRecord(key=b"k", value=bytes(2_000_000), timestamp=WALL_MS)]))
    large[22] |= 8
    assert rows(world, ("t", 0, encoded(large))) == [("t", 10)]


@for_each(("acks", "quirks", "code"), [(-1, OLD, 19), (1, OLD, 0), (-1, Quirks(), 0)], ids=("all", "one", "later"))
def test_more_replicas_in_sync_than_there_are(acks: int, quirks: Quirks, code: int) -> None:
    world = LogWorld(nodes=2, quirks=quirks)
    world.topic("t", node=1, min_insync_replicas="2")
    data = [TopicProduceData(name="t", partition_data=[PartitionProduceData(index=0, records=batch())])]
    ((row,),) = [topic.partition_responses for topic in world.ask(0, 8, ProduceRequest(acks=acks, topic_data=data)).responses]
    assert row.error_code == code


# -- DescribeConfigs


@for_each(
    ("name", "text"),
    [
        ("a b", "Topic name \"a b\" is illegal, it contains a character other than ASCII alphanumerics, '.', '_' and '-'"),
        ("", "Topic name is illegal, it can't be empty"),
        ("..", 'Topic name cannot be "." or ".."'),
        ("x" * 250, f"Topic name is illegal, it can't be longer than 249 characters, Topic name: {'x' * 250}"),
    ],
)
def test_names_that_no_topic_has_in_the_words_of_2_8(name: str, text: str) -> None:
    world = made()
    answer: Any = world.ask(32, 3, DescribeConfigsRequest(resources=[DescribeConfigsResource(resource_type=2, resource_name=name)]))
    assert [(each.error_code, each.error_message) for each in answer.results] == [(17, text)]
