"""Topic administration, DeleteRecords, DescribeTopicPartitions and InitProducerId answer like Apache Kafka 4.3.0, recorded on
2026-11-21."""

from __future__ import annotations

from typing import Any

from cases import for_each
from log_world import LogWorld, batch

from groupmock_codec.messages.k19_create_topics import CreatableReplicaAssignment, CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from groupmock_codec.messages.k20_delete_topics import DeleteTopicsRequest, DeleteTopicState
from groupmock_codec.messages.k21_delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from groupmock_codec.messages.k22_init_producer_id import InitProducerIdRequest
from groupmock_codec.messages.k37_create_partitions import CreatePartitionsAssignment, CreatePartitionsRequest, CreatePartitionsTopic
from groupmock_codec.messages.k75_describe_topic_partitions import Cursor, DescribeTopicPartitionsRequest, TopicRequest

Assignments = list[tuple[int, list[int]]]
Row = dict[str, Any]
UNEVEN = (
    "The manual partition assignment includes a partition with 2 replica(s), "
    "but this is not consistent with previous partitions, which have 1 replica(s)."
)
TOO_FEW_NODES = (
    "Unable to replicate the partition 3 time(s): The target replication factor of 3 cannot be reached "
    "because only 2 broker(s) are registered or some brokers have all their log directories cordoned."
)


def topic(
    name: str, partitions: int = 1, factor: int = 1, assignments: Assignments | None = None, configs: dict[str, str | None] | None = None
) -> CreatableTopic:
    return CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=factor,
        assignments=[CreatableReplicaAssignment(partition_index=index, broker_ids=nodes) for index, nodes in assignments or []],
        configs=[CreatableTopicConfig(name=key, value=value) for key, value in (configs or {}).items()],
    )


def create(world: LogWorld, *topics: CreatableTopic, version: int = 7, node: int = 1, validate_only: bool = False) -> list[Row]:
    """Send CreateTopics and return the topics without their ids and configs."""
    rows: list[Row] = world.show(19, version, CreateTopicsRequest(topics=list(topics), validate_only=validate_only), node=node)["topics"]
    return [{key: value for key, value in row.items() if key not in ("topic_id", "configs")} for row in rows]


def refusal(world: LogWorld, wanted: CreatableTopic) -> tuple[int, str]:
    (row,) = create(world, wanted)
    assert world.topics.get(wanted.name) is None
    return row["error_code"], row["error_message"]


INVALID: list[tuple[str, CreatableTopic, int, str]] = [
    ("no partitions", topic("a", 0), 37, "Number of partitions was set to an invalid non-positive value."),
    ("partitions -2", topic("a", -2), 37, "Number of partitions was set to an invalid non-positive value."),
    ("factor 0", topic("a", 1, 0), 38, "Replication factor must be larger than 0, or -1 to use the default value."),
    ("factor before partitions", topic("a", 0, 0), 38, "Replication factor must be larger than 0, or -1 to use the default value."),
    (
        "factor 3 of 2",
        topic("a", 1, 3),
        38,
        TOO_FEW_NODES,
    ),
    ("partitions before factor", topic("a", 0, 9), 37, "Number of partitions was set to an invalid non-positive value."),
    ("no name", topic(""), 17, "Topic name is invalid: the empty string is not allowed"),
    ("a dot", topic("."), 17, "Topic name is invalid: '.' is not allowed"),
    (
        "a blank",
        topic("a b"),
        17,
        "Topic name is invalid: 'a b' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'",
    ),
    ("too long", topic("x" * 250), 17, f"Topic name is invalid: the length of '{'x' * 250}' is longer than the max allowed length 249"),
    ("null config", topic("a", configs={"retention.ms": None}), 40, "Null value not supported for topic configs: retention.ms"),
    ("unknown config", topic("a", configs={"nope": "1"}), 40, "Unknown topic config name: nope"),
    ("configs before partitions", topic("a", 0, configs={"nope": "1"}), 40, "Unknown topic config name: nope"),
    (
        "no number",
        topic("a", configs={"retention.ms": "abc"}),
        40,
        "Invalid value abc for configuration retention.ms: Not a number of type LONG",
    ),
    (
        "too large for a long",
        topic("a", configs={"retention.ms": "9223372036854775808"}),
        40,
        "Invalid value 9223372036854775808 for configuration retention.ms: Not a number of type LONG",
    ),
    (
        "too large for an int",
        topic("a", configs={"max.message.bytes": "2147483648"}),
        40,
        "Invalid value 2147483648 for configuration max.message.bytes: Not a number of type INT",
    ),
    (
        "no policy",
        topic("a", configs={"cleanup.policy": "x"}),
        40,
        "Invalid value x for configuration cleanup.policy: String must be one of: compact, delete",
    ),
    (
        "negative size",
        topic("a", configs={"max.message.bytes": "-5"}),
        40,
        "Invalid value -5 for configuration max.message.bytes: Value must be at least 0",
    ),
    (
        "ratio 2",
        topic("a", configs={"min.cleanable.dirty.ratio": "2"}),
        40,
        "Invalid value 2.0 for configuration min.cleanable.dirty.ratio: Value must be no more than 1",
    ),
    (
        "ratio x",
        topic("a", configs={"min.cleanable.dirty.ratio": "x"}),
        40,
        "Invalid value x for configuration min.cleanable.dirty.ratio: Not a number of type DOUBLE",
    ),
    (
        "no boolean",
        topic("a", configs={"preallocate": "yes"}),
        40,
        "Invalid value yes for configuration preallocate: Expected value to be either true or false",
    ),
    (
        "no clock",
        topic("a", configs={"message.timestamp.type": "foo"}),
        40,
        "Invalid value foo for configuration message.timestamp.type: String must be one of: CreateTime, LogAppendTime",
    ),
    (
        "no compression",
        topic("a", configs={"compression.type": ""}),
        40,
        "Invalid value  for configuration compression.type: String must be one of: uncompressed, zstd, lz4, snappy, gzip, producer",
    ),
    (
        "small segments",
        topic("a", configs={"segment.bytes": "5"}),
        40,
        "Invalid value 5 for configuration segment.bytes: Value must be at least 1048576",
    ),
    (
        "tiered",
        topic("a", configs={"remote.storage.enable": "true"}),
        40,
        "Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log storage.",
    ),
    (
        "lags",
        topic("a", configs={"min.compaction.lag.ms": "10", "max.compaction.lag.ms": "5"}),
        40,
        "conflict topic config setting min.compaction.lag.ms (10) > max.compaction.lag.ms (5)",
    ),
    ("a gap", topic("a", -1, -1, [(0, [1]), (2, [2])]), 39, "partitions should be a consecutive 0-based integer sequence"),
    (
        "assigned and counted",
        topic("a", 2, -1, [(0, [1])]),
        42,
        "A manual partition assignment was specified, but numPartitions was not set to -1.",
    ),
    (
        "assigned and replicated",
        topic("a", 2, 1, [(0, [1])]),
        42,
        "A manual partition assignment was specified, but replication factor was not set to -1.",
    ),
    (
        "no such node",
        topic("a", -1, -1, [(0, [9])]),
        39,
        "The manual partition assignment includes broker 9, but no such broker is registered.",
    ),
    ("a node twice", topic("a", -1, -1, [(0, [1, 1])]), 39, "The manual partition assignment includes the broker 1 more than once."),
    (
        "uneven",
        topic("a", -1, -1, [(0, [1]), (1, [1, 2])]),
        39,
        UNEVEN,
    ),
    ("no replicas", topic("a", -1, -1, [(0, [])]), 39, "The manual partition assignment includes an empty replica list."),
    ("a partition twice", topic("a", -1, -1, [(0, [1]), (0, [2])]), 39, "Found multiple manual partition assignments for partition 0"),
]


@for_each(("wanted", "code", "message"), [row[1:] for row in INVALID], ids=[row[0] for row in INVALID])
def test_topics_that_cannot_be_made(wanted: CreatableTopic, code: int, message: str) -> None:
    assert refusal(LogWorld(nodes=2), wanted) == (code, message)


def test_names_that_are_taken_or_collide() -> None:
    world = LogWorld()
    world.topic("x.y_z")
    (taken,) = create(world, topic("x.y_z"))
    assert (taken["error_code"], taken["error_message"]) == (36, "Topic 'x.y_z' already exists.")
    assert refusal(world, topic("x_y.z")) == (17, "Topic 'x_y.z' collides with existing topic: x.y_z")
    assert create(world, topic("xyz"))[0].get("error_code", 0) == 0


@for_each("version", [*range(2, 8)])
def test_defaults_and_what_an_answer_tells(version: int) -> None:
    world = LogWorld(nodes=3, num_partitions=4, default_replication_factor=2)
    answer = world.ask(19, version, CreateTopicsRequest(topics=[topic("a", -1, -1)])).topics[0]
    found = world.topics.get("a")
    assert found is not None and (len(found.partitions), found.replication_factor) == (4, 2)
    assert (answer.error_code, answer.error_message) == (0, None)
    told = (answer.num_partitions, answer.replication_factor, len(answer.configs))
    assert told == ((4, 2, 37) if version >= 5 else (-1, -1, 0))
    assert answer.topic_id == (found.topic_id if version >= 7 else bytes(16))


def test_configs_that_were_set_come_back_as_they_were_written() -> None:
    world = LogWorld()
    settings: dict[str, str | None] = {"preallocate": "TRUE", "cleanup.policy": "compact, delete", "retention.ms": " 77 "}
    answer = world.ask(19, 7, CreateTopicsRequest(topics=[topic("a", configs=settings)])).topics[0]
    assert {each.name: each.value for each in answer.configs if each.config_source == 1} == settings
    assert world.topics.limits(world.topics.require("a"), 1).compact


def test_validate_only_makes_nothing() -> None:
    world = LogWorld(nodes=2)
    assert create(world, topic("a", 3, 2), validate_only=True) == [
        {"name": "a", "error_message": None, "num_partitions": 3, "replication_factor": 2}
    ]
    assert world.topics.names() == []


def test_manual_assignments() -> None:
    world = LogWorld(nodes=2)
    create(world, topic("a", -1, -1, [(1, [1]), (0, [2])]))
    assert [world.topics.leader_of("a", index) for index in range(2)] == [2, 1]


def test_a_topic_listed_twice_is_refused_after_the_others() -> None:
    world = LogWorld()
    rows = create(world, topic("a"), topic("b"), topic("a"))
    assert [(row["name"], row.get("error_code", 0), row["error_message"]) for row in rows] == [
        ("b", 0, None),
        ("a", 42, "Duplicate topic name."),
    ]
    assert world.topics.names() == ["b"]


# -- CreatePartitions


def grow(world: LogWorld, *wanted: tuple[str, int, list[list[int]] | None], validate_only: bool = False) -> list[Row]:
    topics = [
        CreatePartitionsTopic(
            name=name, count=count, assignments=None if nodes is None else [CreatePartitionsAssignment(broker_ids=each) for each in nodes]
        )
        for name, count, nodes in wanted
    ]
    rows: list[Row] = world.show(37, 3, CreatePartitionsRequest(topics=topics, validate_only=validate_only))["results"]
    return rows


GROWTH: list[tuple[str, str, int, list[list[int]] | None, int, str | None]] = [
    ("same", "t", 3, None, 37, "Topic already has 3 partition(s)."),
    ("less", "t", 2, None, 37, "The topic t currently has 3 partition(s); 2 would not be an increase."),
    ("negative", "t", -1, None, 37, "The topic t currently has 3 partition(s); -1 would not be an increase."),
    ("unknown", "nope", 3, None, 3, None),
    ("too few lists", "t", 5, [[1]], 39, "Attempted to add 2 additional partition(s), but only 1 assignment(s) were specified."),
    ("too many lists", "t", 4, [[1], [2]], 39, "Attempted to add 1 additional partition(s), but only 2 assignment(s) were specified."),
    ("unknown node", "t", 4, [[9]], 39, "The manual partition assignment includes broker 9, but no such broker is registered."),
    (
        "more replicas",
        "t",
        4,
        [[1, 2]],
        39,
        UNEVEN,
    ),
    ("empty list", "t", 4, [[]], 39, "The manual partition assignment includes an empty replica list."),
]


@for_each(("name", "count", "nodes", "code", "message"), [row[1:] for row in GROWTH], ids=[row[0] for row in GROWTH])
def test_growth_that_is_refused(name: str, count: int, nodes: list[list[int]] | None, code: int, message: str | None) -> None:
    world = LogWorld(nodes=2)
    world.topic("t", partitions=3)
    (row,) = grow(world, (name, count, nodes))
    assert (row["error_code"], row.get("error_message")) == (code, message)
    assert world.topics.partitions("t") == 3


def test_growth() -> None:
    world = LogWorld(nodes=2)
    world.topic("t", partitions=1)
    assert grow(world, ("t", 3, None), validate_only=True) == [{"name": "t"}]
    assert world.topics.partitions("t") == 1
    assert grow(world, ("t", 3, None)) == [{"name": "t"}]
    assert grow(world, ("t", 5, [[2], [2]])) == [{"name": "t"}]
    assert [world.topics.leader_of("t", index) for index in (3, 4)] == [2, 2]
    assert grow(world, ("t", 6, None), ("t", 7, None)) == [{"name": "t", "error_code": 42, "error_message": "Duplicate topic name."}]


# -- DeleteTopics

HOST = "This server does not host this topic-partition."


@for_each("version", [1, 3, 5])
def test_deletion_by_name(version: int) -> None:
    world = LogWorld()
    world.topic()
    world.append(batch())
    rows = world.show(20, version, DeleteTopicsRequest(topic_names=["t", "nope", "x", "x"]))["responses"]
    message = (lambda text: {"error_message": text}) if version >= 5 else (lambda text: {})
    assert rows == [
        {"name": "x", "error_code": 42, **message("Duplicate topic name.")},
        {"name": "nope", "error_code": 3, **message(HOST)},
        {"name": "t"},
    ]
    assert (world.topics.names(), [note["topic"] for note in world.notes("topic_deleted")]) == ([], ["t"])


def delete_by_id(world: LogWorld, *states: tuple[str | None, bytes]) -> list[Row]:
    topics = [DeleteTopicState(name=name, topic_id=topic_id) for name, topic_id in states]
    rows: list[Row] = world.show(20, 6, DeleteTopicsRequest(topics=topics))["responses"]
    return rows


def test_deletion_by_id() -> None:
    world = LogWorld()
    for name in "abc":
        world.topic(name)
    a, b, zero, other = world.topic_id("a"), world.topic_id("b"), bytes(16), b"\4" * 16
    both = {"error_code": 42, "error_message": "You may not specify both topic name and topic id."}
    supplied = {"error_code": 42, "error_message": "The provided topic name maps to an ID that was already supplied."}
    assert delete_by_id(world, ("a", other)) == [{"name": "a", "topic_id": other, **both}]
    assert delete_by_id(world, (None, zero)) == [
        {"name": None, "error_code": 42, "error_message": "Neither topic name nor id were specified."}
    ]
    assert delete_by_id(world, (None, other)) == [
        {"name": None, "topic_id": other, "error_code": 100, "error_message": "This server does not host this topic ID."}
    ]
    assert delete_by_id(world, (None, a), (None, a)) == [
        {"name": None, "topic_id": a, "error_code": 42, "error_message": "Duplicate topic id."}
    ]
    assert delete_by_id(world, (None, a), ("a", zero)) == [{"name": "a", "topic_id": a, **supplied}]
    assert world.topics.names() == ["a", "b", "c"]
    assert delete_by_id(world, (None, a), ("b", zero)) == [{"name": "a", "topic_id": a}, {"name": "b", "topic_id": b}]
    assert world.topics.names() == ["c"]


def test_a_topic_made_again_is_another_one() -> None:
    world = LogWorld()
    world.topic()
    before = world.topic_id("t")
    world.append(batch())
    world.command("delete_topic", name="t")
    world.topic()
    found = world.topics.find("t", 0)
    assert found is not None and (found.end, world.topics.name_of(before)) == (0, None)


# -- DeleteRecords


def delete_records(world: LogWorld, *wanted: tuple[str, int, int], node: int = 1) -> list[tuple[str, int, int, int]]:
    """Send DeleteRecords and return (topic, partition, low watermark, error code) of each partition."""
    topics = [
        DeleteRecordsTopic(name=name, partitions=[DeleteRecordsPartition(partition_index=index, offset=offset)])
        for name, index, offset in wanted
    ]
    answer = world.ask(21, 2, DeleteRecordsRequest(topics=topics), node=node)
    return [(topic.name, each.partition_index, each.low_watermark, each.error_code) for topic in answer.topics for each in topic.partitions]


DELETIONS: list[tuple[str, int, int, int, int]] = [  # Each row has topic, partition, offset, and the expected low watermark and error code.
    ("t", 0, 3, 3, 0),
    ("t", 0, 2, 2, 0),
    ("t", 0, -1, 6, 0),
    ("t", 0, 7, -1, 1),
    ("t", 0, -2, -1, 1),
    ("t", 5, 0, -1, 3),
    ("nope", 0, 0, -1, 3),
    ("compacted", 0, 0, -1, 44),
    ("__consumer_offsets", 0, -1, -1, 17),
]


@for_each(("name", "partition", "offset", "low", "code"), DELETIONS)
def test_deleting_records(name: str, partition: int, offset: int, low: int, code: int) -> None:
    world = LogWorld()
    world.topic("t")
    world.topic("compacted", cleanup_policy="compact")
    world.topic("__consumer_offsets")
    world.append(*[batch(b"a", b"b")] * 3)
    assert delete_records(world, (name, partition, offset)) == [(name, partition, low, code)]


def test_the_log_start_only_grows_and_fetches_see_it() -> None:
    world = LogWorld(nodes=2)
    world.topic("t", node=1)
    world.append(*[batch(b"a", b"b")] * 3)
    assert delete_records(world, ("t", 0, 3)) == delete_records(world, ("t", 0, 1)) == [("t", 0, 3, 0)]
    assert delete_records(world, ("t", 0, 4), node=2) == [("t", 0, -1, 6)]
    assert [world.fetch(offset).error_code for offset in (2, 3)] == [1, 0]
    # Offset 3 is inside a batch, which is kept as a whole.
    assert [stored.base_offset for stored in world.topics.batches("t", 0)] == [2, 4]


def test_deletions_that_worked_come_first_and_the_last_offset_counts() -> None:
    world = LogWorld()
    world.topic()
    world.append(*[batch(b"a", b"b")] * 3)
    rows = delete_records(world, ("nope", 0, -1), ("t", 9, -1), ("t", 0, 1), ("t", 0, 2))
    assert rows == [("t", 0, 2, 0), ("t", 9, -1, 3), ("nope", 0, -1, 3)]


# -- DescribeTopicPartitions


def pages(
    world: LogWorld, *names: str, limit: int = 2000, cursor: tuple[str, int] | None = None
) -> tuple[list[tuple[str, int, list[int]]], tuple[str, int] | None]:
    """Send DescribeTopicPartitions and return ([(topic, error code, partitions)], next cursor)."""
    request = DescribeTopicPartitionsRequest(
        topics=[TopicRequest(name=name) for name in names],
        response_partition_limit=limit,
        cursor=None if cursor is None else Cursor(topic_name=cursor[0], partition_index=cursor[1]),
    )
    answer = world.ask(75, 0, request)
    rows = [(row.name, row.error_code, [each.partition_index for each in row.partitions]) for row in answer.topics]
    return rows, None if answer.next_cursor is None else (answer.next_cursor.topic_name, answer.next_cursor.partition_index)


PAGES: list[tuple[str, list[str], int, tuple[str, int] | None, list[tuple[str, int, list[int]]], tuple[str, int] | None]] = [
    ("sorted", ["gb", "g"], 2000, None, [("g", 0, [0, 1]), ("gb", 0, [0, 1, 2, 3, 4])], None),
    ("all", [], 2000, None, [("g", 0, [0, 1]), ("gb", 0, [0, 1, 2, 3, 4])], None),
    ("limit inside a topic", ["gb", "g"], 3, None, [("g", 0, [0, 1]), ("gb", 0, [0])], ("gb", 1)),
    ("limit between topics", ["gb", "g"], 2, None, [("g", 0, [0, 1])], ("gb", 0)),
    ("from a cursor", ["gb", "g"], 3, ("gb", 1), [("gb", 0, [1, 2, 3])], ("gb", 4)),
    ("the last page", ["gb", "g"], 3, ("gb", 4), [("gb", 0, [4])], None),
    ("beyond the last", ["gb", "g"], 3, ("gb", 9), [("gb", 0, [])], None),
    ("a cursor nobody asked for", ["gb", "g"], 3, ("gx", 1), [("gb", 42, []), ("g", 42, [])], None),
    ("a negative cursor", ["g"], 3, ("g", -1), [("g", 42, [])], None),
    ("limit 0", ["g"], 0, None, [("g", 0, [0])], ("g", 1)),
    ("unknown", ["a", "g"], 2000, None, [("a", 3, []), ("g", 0, [0, 1])], None),
    ("impossible", ["a b"], 2000, None, [("a b", 17, [])], None),
    ("twice", ["g", "g"], 2000, None, [("g", 0, [0, 1])], None),
    ("exactly full", ["g", "gb"], 7, None, [("g", 0, [0, 1]), ("gb", 0, [0, 1, 2, 3, 4])], None),
]


@for_each(("names", "limit", "cursor", "rows", "after"), [row[1:] for row in PAGES], ids=[row[0] for row in PAGES])
def test_pages_of_partitions(
    names: list[str], limit: int, cursor: tuple[str, int] | None, rows: list[tuple[str, int, list[int]]], after: tuple[str, int] | None
) -> None:
    world = LogWorld()
    world.topic("gb", partitions=5)
    world.topic("g", partitions=2)
    assert pages(world, *names, limit=limit, cursor=cursor) == (rows, after)


# -- InitProducerId

PRODUCERS: list[tuple[str, int, dict[str, Any], int]] = [
    ("fresh", 0, {"transactional_id": None}, 0),
    ("with the id it had", 3, {"transactional_id": None, "producer_id": 5, "producer_epoch": 3}, 0),
    ("an id without epoch", 3, {"transactional_id": None, "producer_id": 5}, 42),
    ("empty transactional id", 0, {"transactional_id": "", "transaction_timeout_ms": 1000}, 42),
    ("timeout -1", 0, {"transactional_id": "tx", "transaction_timeout_ms": -1}, 50),
    ("timeout too long", 0, {"transactional_id": "tx", "transaction_timeout_ms": 900_001}, 50),
    ("a transactional id", 0, {"transactional_id": "tx", "transaction_timeout_ms": 900_000}, 0),
]


@for_each(("version", "fields", "code"), [row[1:] for row in PRODUCERS], ids=[row[0] for row in PRODUCERS])
def test_producer_ids(version: int, fields: dict[str, Any], code: int) -> None:
    answer = LogWorld().show(22, version, InitProducerIdRequest(**fields))
    assert answer == ({"error_code": code, "producer_epoch": -1} if code else {"producer_id": 0})


def test_producer_ids_are_never_given_twice() -> None:
    world = LogWorld(nodes=2)
    found = [world.ask(22, 4, InitProducerIdRequest(transactional_id=None), node=1 + place % 2).producer_id for place in range(4)]
    assert found == [0, 1000, 1, 1001]


@for_each("names", [[""], ["", "t"], ["t", ""], ["", "unknown"]])
def test_an_empty_name_fails_the_description_of_every_topic(names: list[str]) -> None:
    world = LogWorld()
    world.topic("t")
    rows = world.ask(75, 0, DescribeTopicPartitionsRequest(topics=[TopicRequest(name=name) for name in names])).topics
    assert [(row.name, row.error_code, row.partitions) for row in rows] == [(name, -1, []) for name in names]
    assert {row.topic_authorized_operations for row in rows} == {-(2**31)}
