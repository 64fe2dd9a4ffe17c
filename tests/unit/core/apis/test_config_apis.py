"""DescribeConfigs, AlterConfigs and IncrementalAlterConfigs answer like Apache Kafka 4.3.0, recorded on 2026-11-21."""

from __future__ import annotations

from typing import Any

from cases import for_each
from log_world import LogWorld, batch

from groupmock_codec.messages.k32_describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from groupmock_codec.messages.k33_alter_configs import AlterableConfig, AlterConfigsRequest, AlterConfigsResource
from groupmock_codec.messages.k44_incremental_alter_configs import AlterableConfig as IncrementalConfig
from groupmock_codec.messages.k44_incremental_alter_configs import AlterConfigsResource as IncrementalResource
from groupmock_codec.messages.k44_incremental_alter_configs import IncrementalAlterConfigsRequest

TOPIC, BROKER = 2, 4
SET, DELETE, APPEND, SUBTRACT = range(4)
Outcome = tuple[int, str | None]


def describe(world: LogWorld, kind: int, name: str, *keys: str, version: int = 4, node: int = 1, **how: Any) -> dict[str, Any]:
    resource = DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=list(keys) or None)
    found: dict[str, Any] = world.show(32, version, DescribeConfigsRequest(resources=[resource], **how), node=node)["results"][0]
    return found


def value(world: LogWorld, name: str, topic: str = "t") -> tuple[str, int]:
    """Return value and source of a topic config."""
    (found,) = describe(world, TOPIC, topic, name)["configs"]
    return found.get("value", ""), found["config_source"]


def replace(world: LogWorld, kind: int, name: str, configs: dict[str, str | None], *, node: int = 1, **how: Any) -> Outcome:
    """Send AlterConfigs for one resource and return error code and message."""
    resource = AlterConfigsResource(
        resource_type=kind, resource_name=name, configs=[AlterableConfig(name=key, value=text) for key, text in configs.items()]
    )
    row = world.ask(33, 2, AlterConfigsRequest(resources=[resource], **how), node=node).responses[0]
    return row.error_code, row.error_message


def change(world: LogWorld, kind: int, name: str, *changes: tuple[int, str, str | None], node: int = 1, **how: Any) -> Outcome:
    """Send IncrementalAlterConfigs for one resource and return error code and message."""
    configs = [IncrementalConfig(name=key, config_operation=operation, value=text) for operation, key, text in changes]
    resource = IncrementalResource(resource_type=kind, resource_name=name, configs=configs)
    row = world.ask(44, 1, IncrementalAlterConfigsRequest(resources=[resource], **how), node=node).responses[0]
    return row.error_code, row.error_message


def world_with_topic(nodes: int = 1, **configs: str) -> LogWorld:
    world = LogWorld(nodes=nodes, log_retention_bytes=-1)
    world.topic("t", node=1, **configs)
    return world


# -- DescribeConfigs


@for_each("version", range(5))
def test_what_a_version_tells_of_a_config(version: int) -> None:
    world = world_with_topic(retention_ms="1000")
    found = describe(world, TOPIC, "t", "retention.ms", "max.message.bytes", version=version, include_synonyms=version >= 1)["configs"]
    size: dict[str, Any] = {"name": "max.message.bytes", "value": "1048588"}
    age: dict[str, Any] = {"name": "retention.ms", "value": "1000"}
    if version >= 1:
        size |= {"config_source": 5, "synonyms": [{"name": "message.max.bytes", "value": "1048588", "source": 5}]}
        age |= {"config_source": 1, "synonyms": [{"name": "retention.ms", "value": "1000", "source": 1}]}
    if version >= 3:
        size |= {"config_type": 3, "documentation": None}
        age |= {"config_type": 5, "documentation": None}
    assert found == [age, size]  # Kafka answers the configs in the order of its hash map.


def test_documentation_is_given_when_asked_for() -> None:
    world = world_with_topic()
    texts = [each["documentation"] for each in describe(world, TOPIC, "t", include_documentation=True)["configs"]]
    assert len(texts) == 37 and all(texts)


@for_each("keys", [None, []])
def test_no_keys_are_all_keys(keys: list[str] | None) -> None:
    resource = DescribeConfigsResource(resource_type=TOPIC, resource_name="t", configuration_keys=keys)
    configs = world_with_topic().ask(32, 4, DescribeConfigsRequest(resources=[resource])).results[0].configs
    assert len(configs) == 37 and {each.config_source for each in configs} == {5}


def test_unknown_keys_are_left_out() -> None:
    assert [each["name"] for each in describe(world_with_topic(), TOPIC, "t", "nope", "retention.ms")["configs"]] == ["retention.ms"]


MALFORMED = "This most likely occurs because of a request being malformed by the client library"
UNDESCRIBED: list[tuple[int, str, int, str]] = [
    (TOPIC, "nope", 3, ""),
    (TOPIC, "a b", 17, "Topic name is invalid: 'a b' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"),
    (TOPIC, "", 17, "Topic name is invalid: the empty string is not allowed"),
    (BROKER, "2", 42, "Unexpected broker id, expected 1 or empty string, but received 2"),
    (BROKER, "x", 42, "Broker id must be an integer, but it is: x"),
    (0, "x", 42, MALFORMED),
    (99, "x", 42, MALFORMED),
]


@for_each(("kind", "name", "code", "message"), UNDESCRIBED)
def test_resources_that_cannot_be_described(kind: int, name: str, code: int, message: str) -> None:
    found = describe(world_with_topic(), kind, name)
    assert (found["error_code"], found.get("configs")) == (code, None)
    assert found.get("error_message", "").startswith(message)


def test_a_broker_tells_its_settings() -> None:
    world = LogWorld(nodes=2, group_max_size=7)
    configs = {each["name"]: each for each in describe(world, BROKER, "2", node=2, include_synonyms=True)["configs"]}
    size, partitions = configs["group.max.size"], configs["num.partitions"]
    assert (size["value"], size["config_source"], size["read_only"], size["config_type"]) == ("7", 4, True, 3)
    assert [each["source"] for each in size["synonyms"]] == [4, 5]
    assert (partitions["value"], partitions["config_source"]) == ("1", 5)
    assert (configs["node.id"]["value"], configs["advertised.listeners"]["value"]) == ("2", "PLAINTEXT://127.0.0.1:9093")
    assert configs["auto.create.topics.enable"]["value"] == "true"
    assert "read_only" not in configs["message.max.bytes"]


def test_a_setting_of_the_broker_shows_as_the_topics_default() -> None:
    world = LogWorld(log_retention_bytes=5000)
    world.topic()
    (found,) = describe(world, TOPIC, "t", "retention.bytes", include_synonyms=True)["configs"]
    assert (found["value"], found["config_source"]) == ("5000", 4)
    assert found["synonyms"] == [
        {"name": "log.retention.bytes", "value": "5000", "source": 4},
        {"name": "log.retention.bytes", "value": "-1", "source": 5},
    ]


# -- AlterConfigs


def test_replacing_drops_what_is_not_named() -> None:
    world = world_with_topic(retention_ms="1000", cleanup_policy="compact")
    assert replace(world, TOPIC, "t", {"segment.ms": "777"}) == (0, None)
    assert [value(world, name) for name in ("segment.ms", "retention.ms", "cleanup.policy")] == [
        ("777", 1),
        ("604800000", 5),
        ("delete", 5),
    ]
    assert replace(world, TOPIC, "t", {}) == (0, None)
    assert value(world, "segment.ms") == ("604800000", 5)


def test_validate_only_changes_nothing() -> None:
    world = world_with_topic()
    assert replace(world, TOPIC, "t", {"segment.ms": "888"}, validate_only=True) == (0, None)
    assert change(world, TOPIC, "t", (SET, "segment.ms", "888"), validate_only=True) == (0, None)
    assert value(world, "segment.ms") == ("604800000", 5)


REPLACED: list[tuple[int, str, dict[str, str | None], int, str]] = [
    (TOPIC, "t", {"segment.ms": "x"}, 40, "Invalid value x for configuration segment.ms: Not a number of type LONG"),
    (TOPIC, "t", {"nope": "x"}, 40, "Unknown topic config name: nope"),
    (TOPIC, "t", {"segment.ms": None}, 42, "Null value not supported for : segment.ms"),
    (TOPIC, "nope", {"segment.ms": "5"}, 3, "The topic 'nope' does not exist."),
    (TOPIC, "a b", {}, 17, "Topic name is invalid: 'a b' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"),
    (TOPIC, "", {}, 42, "Default topic resources are not allowed."),
    (0, "t", {}, 42, "Unknown resource type 0"),
    (99, "t", {}, 42, "Unknown resource type 99"),
    (BROKER, "1", {"broker.id": "7"}, 42, "Cannot update these configs dynamically: [broker.id]"),
    (BROKER, "1", {"num.partitions": "7"}, 42, "Cannot update these configs dynamically: [num.partitions]"),
    (BROKER, "9", {"message.max.bytes": "7"}, 42, "Unexpected broker id, expected 1, but received 9"),
    (BROKER, "1", {"message.max.bytes": "x"}, 42, "Invalid value x for configuration message.max.bytes: Not a number of type INT"),
]


@for_each(("kind", "name", "configs", "code", "message"), REPLACED)
def test_alterations_that_are_refused(kind: int, name: str, configs: dict[str, str | None], code: int, message: str) -> None:
    world = world_with_topic(retention_ms="1000")
    assert replace(world, kind, name, configs) == (code, message)
    assert change(world, kind, name, *((SET, key, text) for key, text in configs.items())) == (code, message)
    assert value(world, "retention.ms") == ("1000", 1)


def test_keys_and_resources_listed_twice() -> None:
    world = world_with_topic()
    assert change(world, TOPIC, "t", (SET, "segment.ms", "1"), (SET, "segment.ms", "2")) == (42, "Error due to duplicate config keys")
    resource = IncrementalResource(resource_type=TOPIC, resource_name="t", configs=[])
    rows = world.ask(44, 1, IncrementalAlterConfigsRequest(resources=[resource, resource])).responses
    assert [(row.error_code, row.error_message) for row in rows] == [(42, "Each resource must appear at most once.")] * 2
    whole = AlterConfigsResource(resource_type=TOPIC, resource_name="t", configs=[])
    assert [row.error_code for row in world.ask(33, 1, AlterConfigsRequest(resources=[whole, whole])).responses] == [42, 42]


# -- IncrementalAlterConfigs


def test_single_configs_step_by_step() -> None:
    world = world_with_topic()
    steps: list[tuple[int, str, str | None, str, str, int]] = [
        (SET, "segment.ms", "99", "segment.ms", "99", 1),
        (DELETE, "segment.ms", None, "segment.ms", "604800000", 5),
        (DELETE, "segment.jitter.ms", None, "segment.jitter.ms", "0", 5),
        (DELETE, "nope", None, "segment.ms", "604800000", 5),
        (APPEND, "cleanup.policy", "compact", "cleanup.policy", "delete,compact", 1),
        (APPEND, "cleanup.policy", "compact", "cleanup.policy", "delete,compact", 1),
        (SUBTRACT, "cleanup.policy", "delete", "cleanup.policy", "compact", 1),
        (SUBTRACT, "cleanup.policy", "compact", "cleanup.policy", "", 1),
    ]
    for operation, key, text, looked_at, expected, source in steps:
        assert change(world, TOPIC, "t", (operation, key, text)) == (0, None), key
        assert value(world, looked_at) == (expected, source), (operation, key)


INCREMENTAL: list[tuple[tuple[int, str, str | None], int, str | None]] = [
    ((APPEND, "segment.ms", "1"), 40, "Can't APPEND to key segment.ms because its type is not LIST."),
    ((SUBTRACT, "segment.ms", "1"), 40, "Can't SUBTRACT to key segment.ms because its type is not LIST."),
    ((APPEND, "cleanup.policy", None), 42, "Null value not supported for : cleanup.policy"),
    ((APPEND, "cleanup.policy", "zz"), 40, "Invalid value zz for configuration cleanup.policy: String must be one of: compact, delete"),
    ((9, "segment.ms", "1"), -1, None),
    ((-1, "segment.ms", "1"), -1, None),
]


@for_each(("wanted", "code", "message"), INCREMENTAL)
def test_operations_that_are_refused(wanted: tuple[int, str, str | None], code: int, message: str | None) -> None:
    assert change(world_with_topic(), TOPIC, "t", wanted) == (code, message)


@for_each("wanted", [(APPEND, "retention.ms", "x"), (SET, "retention.ms", "x"), (SET, "nope", "5")])
def test_changes_are_judged_before_the_topic_is_looked_for(wanted: tuple[int, str, str]) -> None:
    assert change(world_with_topic(), TOPIC, "nope", wanted)[0] == 40


# -- configs at work


def test_a_brokers_dynamic_configs_reach_its_topics() -> None:
    world = world_with_topic(nodes=2)
    large = batch(b"x" * 500)
    assert change(world, BROKER, "", (SET, "message.max.bytes", "100")) == (0, None)
    assert value(world, "max.message.bytes") == ("100", 3)
    assert world.produce(large)["error_code"] == 10
    assert change(world, BROKER, "1", (SET, "message.max.bytes", "1000")) == (0, None)
    assert value(world, "max.message.bytes") == ("1000", 2)
    assert "error_code" not in world.produce(large)
    (found,) = describe(world, BROKER, "1", "message.max.bytes", include_synonyms=True)["configs"]
    assert [(each["value"], each["source"]) for each in found["synonyms"]] == [("1000", 2), ("100", 3), ("1048588", 5)]
    assert [each["value"] for each in describe(world, BROKER, "")["configs"]] == ["100"]
    assert replace(world, BROKER, "1", {}) == (0, None)
    assert world.produce(large)["error_code"] == 10


def test_a_brokers_lists_can_be_appended_to() -> None:
    world = world_with_topic()
    assert change(world, BROKER, "1", (APPEND, "log.cleanup.policy", "compact")) == (0, None)
    assert value(world, "cleanup.policy") == ("delete,compact", 2)


def test_a_config_that_changes_is_in_force_at_once() -> None:
    world = world_with_topic()
    change(world, TOPIC, "t", (SET, "message.timestamp.type", "LogAppendTime"))
    assert "log_append_time_ms" in world.produce(batch())
    change(world, TOPIC, "t", (DELETE, "message.timestamp.type", None), (SET, "cleanup.policy", "compact"))
    assert world.produce(batch())["error_code"] == 87
