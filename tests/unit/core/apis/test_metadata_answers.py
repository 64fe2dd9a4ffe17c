"""Metadata, ApiVersions and DescribeCluster answer like Apache Kafka 4.3.0 and 3.9.1, recorded on 2026-11-21."""

from __future__ import annotations

from typing import Any

from cases import for_each
from log_world import LogWorld

from groupmock.config import profiles
from groupmock.core.identity import ApiRange, Feature
from groupmock.core.settings import Quirks
from groupmock_codec.messages.k03_metadata import MetadataRequest, MetadataRequestTopic
from groupmock_codec.messages.k18_api_versions import ApiVersionsRequest
from groupmock_codec.messages.k60_describe_cluster import DescribeClusterRequest

Rows = list[dict[str, Any]]


def ask(world: LogWorld, version: int, *names: str, **how: Any) -> Rows:
    """Send Metadata for these names and return the topics as dictionaries."""
    found: Rows = world.show(3, version, MetadataRequest(topics=[MetadataRequestTopic(name=name) for name in names], **how)).get(
        "topics", []
    )
    return found


def row(world: LogWorld, name: str, version: int) -> dict[str, Any]:
    partition: dict[str, Any] = {"leader_id": 1, "replica_nodes": [1], "isr_nodes": [1]} | ({"leader_epoch": 0} if version >= 7 else {})
    return {"name": name, "partitions": [partition]} | ({"topic_id": world.topic_id(name)} if version >= 10 else {})


@for_each("version", range(14))
def test_a_missing_topic_is_made_and_found_the_second_time(version: int) -> None:
    world = LogWorld()
    assert ask(world, version, "new") == [{"error_code": 3, "name": "new"}]
    assert ask(world, version, "new") == [row(world, "new", version)]
    assert [note["topic"] for note in world.notes("topic_created")] == ["new"]


@for_each(
    ("settings", "version", "allow"),
    [({}, 4, False), ({"auto_create_topics_enable": False}, 4, True), ({"auto_create_topics_enable": False}, 1, True)],
)
def test_nothing_is_made_where_one_side_forbids_it(settings: dict[str, Any], version: int, allow: bool) -> None:
    world = LogWorld(**settings)
    asked = {"allow_auto_topic_creation": allow}
    assert ask(world, version, "new", **asked) == ask(world, version, "new", **asked) == [{"error_code": 3, "name": "new"}]


def test_made_topics_have_the_brokers_defaults() -> None:
    world = LogWorld(nodes=3, num_partitions=4, default_replication_factor=2)
    ask(world, 1, "new")
    partitions = ask(world, 1, "new")[0]["partitions"]
    assert len(partitions) == 4
    leaders = [each["leader_id"] for each in partitions]
    assert [leader % 3 for leader in leaders] == [(leaders[0] + step) % 3 for step in range(4)]
    assert all(each["replica_nodes"][0] == each["leader_id"] and len(set(each["replica_nodes"])) == 2 for each in partitions)


def test_the_offsets_topic_is_internal_and_has_its_own_size() -> None:
    world = LogWorld(nodes=3)
    ask(world, 1, "__consumer_offsets")
    (found,) = ask(world, 1, "__consumer_offsets")
    assert (found["is_internal"], [each["leader_id"] for each in found["partitions"]]) == (True, [1 + p % 3 for p in range(50)])


@for_each("name", ["", ".", "..", "a b", "x" * 250, "a\0b", "ä"])
def test_impossible_names(name: str) -> None:
    assert ask(LogWorld(), 8, name) == [{"error_code": 17} | ({"name": name} if name else {})]


def test_the_longest_name() -> None:
    world = LogWorld()
    ask(world, 1, "x" * 249)
    assert "error_code" not in ask(world, 1, "x" * 249)[0]


def test_found_ones_first_and_each_once() -> None:
    world = LogWorld()
    world.topic("a")
    world.topic("b")
    rows = ask(world, 4, "b", "nope", "a", "b", allow_auto_topic_creation=False)
    assert [(each["name"], each.get("error_code", 0)) for each in rows] == [("b", 0), ("a", 0), ("nope", 3)]


def test_a_replication_factor_that_cannot_be_reached_makes_nothing() -> None:
    world = LogWorld(default_replication_factor=3)
    assert ask(world, 4, "new") == ask(world, 4, "new") == [{"error_code": 3, "name": "new"}]


def test_a_name_that_collides_is_not_made() -> None:
    world = LogWorld()
    world.topic("a.b")
    assert ask(world, 4, "a_b") == ask(world, 4, "a_b") == [{"error_code": 3, "name": "a_b"}]
    assert world.notes("topic_not_created")[0]["reason"] == "Topic 'a_b' collides with existing topic: a.b"


# Each row has the version, whether the list is null, and the number of topics in the answer.
ALL: list[tuple[int, bool, int]] = [(0, False, 2), (1, True, 2), (1, False, 0), (13, True, 2), (13, False, 0)]


@for_each(("version", "null", "count"), ALL)
def test_null_and_empty_lists(version: int, null: bool, count: int) -> None:
    world = LogWorld()
    world.topic("a")
    world.topic("b")
    assert len(world.ask(3, version, MetadataRequest(topics=None if null else [])).topics) == count


IDS: list[tuple[int, str | None, bytes, dict[str, Any]]] = [
    (10, None, b"\7" * 16, {"topics": [{"error_code": 42, "topic_id": b"\7" * 16}]}),
    (11, None, bytes(16), {"topics": [{"error_code": 42}]}),
    (11, "t", b"\7" * 16, {"topics": [{"error_code": 42, "name": "t", "topic_id": b"\7" * 16}]}),
    (12, None, bytes(16), {"topics": [{"error_code": -1}]}),
    (13, None, bytes(16), {"topics": [{"error_code": -1}], "error_code": -1}),
]


@for_each(("version", "name", "topic_id", "expected"), IDS)
def test_ids_that_cannot_be_asked_for(version: int, name: str | None, topic_id: bytes, expected: dict[str, Any]) -> None:
    world = LogWorld()
    world.topic()
    assert world.show(3, version, MetadataRequest(topics=[MetadataRequestTopic(name=name, topic_id=topic_id)])) == expected


def test_look_up_by_id() -> None:
    world = LogWorld()
    world.topic()
    wanted = [MetadataRequestTopic(name="t", topic_id=b"\7" * 16), MetadataRequestTopic(name=None, topic_id=world.topic_id("t"))]
    rows = world.show(3, 12, MetadataRequest(topics=wanted))["topics"]
    assert rows == [{"error_code": 100, "name": None, "topic_id": b"\7" * 16}, row(world, "t", 12)]


def test_authorized_operations_and_the_cluster() -> None:
    world = LogWorld(nodes=2)
    world.topic(node=1)
    request = MetadataRequest(
        topics=[MetadataRequestTopic(name="t")], include_cluster_authorized_operations=True, include_topic_authorized_operations=True
    )
    answer = world.show(3, 8, request)
    assert (answer["cluster_authorized_operations"], answer["topics"][0]["topic_authorized_operations"]) == (8096, 3576)
    assert (answer["cluster_id"], answer["controller_id"], [each["port"] for each in answer["brokers"]]) == ("world", 1, [9092, 9093])


@for_each(
    ("profile", "order"),
    [
        ("kafka-4.4", ["..", "a b", "x/y", "."]),
        ("kafka-4.3", ["x/y", ".", "a b", ".."]),
        ("kafka-3.9", ["x/y", ".", "a b", ".."]),
    ],
)
def test_topics_that_do_not_exist_are_listed_in_the_order_of_the_releases_set(profile: str, order: list[str]) -> None:
    """Each expected order is that of a broker of the release, which was asked for three topics that do not exist and three that do."""
    quirks = Quirks(**dict.fromkeys(profiles.load(profile).quirks, True))
    world = LogWorld(quirks=quirks, auto_create_topics_enable=False)
    for name in ("b", "c"):
        world.topic(name)
    asked = [MetadataRequestTopic(name=name) for name in ("a b", "..", "c", ".", "b", "x/y")]
    assert [each.name for each in world.ask(3, 9, MetadataRequest(topics=asked)).topics][2:] == order


def test_twelve_missing_topics_are_listed_in_the_order_of_a_larger_table() -> None:
    """A Java set that is made of 12 names at once has 32 buckets, and one that grew to them has 16; asked of Kafka 4.4.0."""
    world = LogWorld(auto_create_topics_enable=False)
    for name in ("t7", "zoo", "cat", "d.d", "eel"):
        world.topic(name)
    names = ["Q", "no1", "nope", "q", "t7", "zoo", "cat", "d.d", "no2", "n o", "eel", "null9"]
    answer = world.ask(3, 9, MetadataRequest(topics=[MetadataRequestTopic(name=name) for name in names]))
    assert [each.name for each in answer.topics] == ["d.d", "t7", "zoo", "eel", "cat", "nope", "no2", "q", "no1", "Q", "null9", "n o"]


# -- ApiVersions

FEATURES = (Feature("metadata.version", 7, 30, 30), Feature("kraft.version", 0, 1))


def api_versions(version: int, name: str = "client", software: str = "1.0") -> dict[str, Any]:
    world = LogWorld(features=FEATURES, advertised=(ApiRange(0, 0, 13), ApiRange(18, 0, 4)))
    shown: dict[str, Any] = world.show(18, version, ApiVersionsRequest(client_software_name=name, client_software_version=software))
    return shown


def test_rows_and_features_by_version() -> None:
    rows = [{"max_version": 13}, {"api_key": 18, "max_version": 4}]
    finalized = {
        "finalized_features": [{"name": "metadata.version", "max_version_level": 30, "min_version_level": 30}],
        "finalized_features_epoch": 7,
    }
    newest, kraft = {"name": "metadata.version", "min_version": 7, "max_version": 30}, {"name": "kraft.version", "max_version": 1}
    assert api_versions(0) == api_versions(2) == {"api_keys": rows}
    assert api_versions(3) == {"api_keys": rows, "supported_features": [newest], **finalized}
    assert api_versions(4) == {"api_keys": rows, "supported_features": [newest, kraft], **finalized}


SOFTWARE: list[tuple[str, str, bool]] = [
    ("client", "1.0", True),
    ("a", "b", True),
    ("apache-kafka-java", "4.3.0-SNAPSHOT", True),
    ("", "1.0", False),
    ("client", "", False),
    ("a b", "1", False),
    ("-x", "1", False),
    ("x-", "1", False),
    ("x_y", "1", False),
    ("client", "1.0\n", False),
]


@for_each(("name", "software", "fine"), SOFTWARE)
def test_software_names(name: str, software: str, fine: bool) -> None:
    answer = api_versions(3, name, software)
    assert (answer.get("error_code", 0), "api_keys" in answer) == ((0, True) if fine else (42, False))


@for_each(
    ("name", "cluster_id", "node_id", "code"),
    [
        ("client", None, -1, 0),
        ("client", "world", 2, 0),
        ("client", "world", 1, 129),
        ("client", "world", -2, 129),
        ("client", "other", 2, 129),
        ("client", "", 2, 129),
        ("client", "world", -1, 42),
        ("client", "other", -1, 42),
        ("client", None, 2, 42),
        ("", "other", 1, 42),
    ],
)
def test_api_versions_refuses_a_client_that_means_another_broker(name: str, cluster_id: str | None, node_id: int, code: int) -> None:
    """Each case was asked of node 1 of Kafka 4.4.0 (KIP-1242); here node 2 answers."""
    world = LogWorld(nodes=2, features=FEATURES, advertised=(ApiRange(18, 0, 5),))
    asked = ApiVersionsRequest(client_software_name=name, client_software_version="1", cluster_id=cluster_id, node_id=node_id)
    answer = world.show(18, 5, asked, node=2)
    assert (answer.get("error_code", 0), "api_keys" in answer, "finalized_features" in answer) == (code, not code, not code)


# -- DescribeCluster


def test_describe_cluster() -> None:
    world = LogWorld(nodes=2)
    expected = {
        "cluster_id": "world",
        "controller_id": 1,
        "brokers": [{"broker_id": 1 + place, "host": "127.0.0.1", "port": 9092 + place} for place in range(2)],
    }
    for version in range(3):
        assert world.show(60, version, DescribeClusterRequest()) == expected
        operations = world.show(60, version, DescribeClusterRequest(include_cluster_authorized_operations=True))
        assert operations == expected | {"cluster_authorized_operations": 8096}


@for_each(("endpoint", "code"), [(2, 114), (7, 115), (0, 115)])
def test_describe_cluster_of_other_endpoints(endpoint: int, code: int) -> None:
    answer = LogWorld().show(60, 1, DescribeClusterRequest(endpoint_type=endpoint))
    assert (answer["error_code"], "cluster_id" in answer) == (code, False)
