"""Group configs have the bounds, texts, order and sources of Apache Kafka 4.4.0 and 4.3.0 (CG-03, CG-150 to CG-157)."""

from __future__ import annotations

from typing import Any, Final

from cases import for_each
from log_world import LogWorld

from groupmock.core.groups.configs import ASSIGNMENT, DEAD_LETTERS, HEARTBEAT, KEYS, MOST_GROUPS, SESSION, TAGS, TOO_MANY
from groupmock.core.settings import Quirks
from groupmock_codec.messages.k08_offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic
from groupmock_codec.messages.k10_find_coordinator import FindCoordinatorRequest
from groupmock_codec.messages.k32_describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from groupmock_codec.messages.k33_alter_configs import AlterableConfig, AlterConfigsRequest, AlterConfigsResource
from groupmock_codec.messages.k42_delete_groups import DeleteGroupsRequest
from groupmock_codec.messages.k44_incremental_alter_configs import AlterableConfig as IncrementalConfig
from groupmock_codec.messages.k44_incremental_alter_configs import AlterConfigsResource as IncrementalResource
from groupmock_codec.messages.k44_incremental_alter_configs import IncrementalAlterConfigsRequest
from groupmock_codec.messages.k74_list_config_resources import ListConfigResourcesRequest

TOPIC, BROKER, CLIENT_METRICS, GROUP = 2, 4, 16, 32
SET, DELETE, APPEND, SUBTRACT = range(4)
MALFORMED: Final = "This most likely occurs because of a request being malformed"
OLD: Final = Quirks(configs_before_4_4=True)
Outcome = tuple[int, str | None]


def change(world: LogWorld, group: str, *changes: tuple[str, str | None], operation: int = SET, kind: int = GROUP, **how: Any) -> Outcome:
    """Send IncrementalAlterConfigs for one group and return error code and message."""
    configs = [IncrementalConfig(name=name, config_operation=operation, value=value) for name, value in changes]
    resource = IncrementalResource(resource_type=kind, resource_name=group, configs=configs)
    row = world.ask(44, 1, IncrementalAlterConfigsRequest(resources=[resource], **how)).responses[0]
    return row.error_code, row.error_message


def replace(world: LogWorld, group: str, **configs: str | None) -> Outcome:
    """Send AlterConfigs for a group and return error code and message; the names have underscores in place of dots."""
    wanted = [AlterableConfig(name=name.replace("_", "."), value=value) for name, value in configs.items()]
    resource = AlterConfigsResource(resource_type=GROUP, resource_name=group, configs=wanted)
    row = world.ask(33, 2, AlterConfigsRequest(resources=[resource])).responses[0]
    return row.error_code, row.error_message


def described(world: LogWorld, group: str, *keys: str) -> Any:
    """Send DescribeConfigs for a group and return the result."""
    resource = DescribeConfigsResource(resource_type=GROUP, resource_name=group, configuration_keys=list(keys) or None)
    return world.ask(32, 4, DescribeConfigsRequest(resources=[resource], include_synonyms=True)).results[0]


def chain(world: LogWorld, group: str, key: str) -> tuple[str, int, list[tuple[str, str, int]]]:
    """Return value, source and synonyms of a config."""
    (row,) = described(world, group, key).configs
    return row.value, row.config_source, [(each.name, each.value, each.source) for each in row.synonyms]


def listed(world: LogWorld, *kinds: int, version: int = 1) -> Any:
    """Send ListConfigResources and return (error code, [(kind, name)])."""
    answer = world.ask(74, version, ListConfigResourcesRequest(resource_types=list(kinds)))
    return answer.error_code, [(each.resource_type, each.resource_name) for each in answer.config_resources]


def test_any_name_is_described_with_the_brokers_values() -> None:
    world = LogWorld(quirks=OLD, group_streams_initial_rebalance_delay_ms=3000)
    found = described(world, "nobody")
    assert [(row.name, row.value, row.config_type) for row in found.configs] == [
        ("consumer.session.timeout.ms", "45000", 3),
        ("consumer.assignment.interval.ms", "1000", 3),
        ("share.auto.offset.reset", "latest", 2),
        ("share.renew.acknowledge.enable", "true", 1),
        ("streams.initial.rebalance.delay.ms", "3000", 3),
        ("share.session.timeout.ms", "45000", 3),
        ("streams.assignment.interval.ms", "1000", 3),
        ("share.heartbeat.interval.ms", "5000", 3),
        ("streams.heartbeat.interval.ms", "5000", 3),
        ("share.delivery.count.limit", "5", 3),
        ("consumer.heartbeat.interval.ms", "5000", 3),
        ("share.record.lock.duration.ms", "30000", 3),
        ("share.assignment.interval.ms", "1000", 3),
        ("share.isolation.level", "read_uncommitted", 2),
        ("streams.session.timeout.ms", "45000", 3),
        ("share.partition.max.record.locks", "2000", 3),
        ("streams.num.standby.replicas", "0", 3),
    ]
    assert {(row.read_only, row.is_sensitive, row.config_source) for row in found.configs} == {(False, False, 5)}
    assert chain(world, "nobody", SESSION) == ("45000", 5, [(f"group.{SESSION}", "45000", 5)])
    assert chain(world, "nobody", "share.auto.offset.reset") == ("latest", 5, [("share.auto.offset.reset", "latest", 5)])
    assert [row.name for row in described(world, "g", HEARTBEAT, ASSIGNMENT, "nope").configs] == [ASSIGNMENT, HEARTBEAT]
    empty = described(world, "")
    assert (empty.error_code, empty.error_message) == (42, "Group name must not be empty")


def test_configs_of_4_4_are_described_in_kafkas_order() -> None:
    found = described(LogWorld(group_streams_initial_rebalance_delay_ms=3000), "nobody")
    assert [(row.name, row.value, row.config_type, row.synonyms[0].name) for row in found.configs] == [
        ("consumer.session.timeout.ms", "45000", 3, "group.consumer.session.timeout.ms"),
        ("streams.assignor.name", "sticky", 2, "group.streams.assignors"),
        ("consumer.assignment.interval.ms", "1000", 3, "group.consumer.assignment.interval.ms"),
        ("errors.deadletterqueue.copy.record.enable", "false", 1, "errors.deadletterqueue.copy.record.enable"),
        ("share.auto.offset.reset", "latest", 2, "share.auto.offset.reset"),
        ("streams.rack.aware.assignment.tags", "", 7, "group.streams.rack.aware.assignment.tags"),
        ("share.renew.acknowledge.enable", "true", 1, "share.renew.acknowledge.enable"),
        ("streams.initial.rebalance.delay.ms", "3000", 3, "group.streams.initial.rebalance.delay.ms"),
        ("share.session.timeout.ms", "45000", 3, "group.share.session.timeout.ms"),
        ("streams.assignment.interval.ms", "1000", 3, "group.streams.assignment.interval.ms"),
        ("share.heartbeat.interval.ms", "5000", 3, "group.share.heartbeat.interval.ms"),
        ("streams.heartbeat.interval.ms", "5000", 3, "group.streams.heartbeat.interval.ms"),
        ("share.delivery.count.limit", "5", 3, "group.share.delivery.count.limit"),
        ("errors.deadletterqueue.topic.name", "", 2, "errors.deadletterqueue.topic.name"),
        ("consumer.heartbeat.interval.ms", "5000", 3, "group.consumer.heartbeat.interval.ms"),
        ("share.record.lock.duration.ms", "30000", 3, "group.share.record.lock.duration.ms"),
        ("share.assignment.interval.ms", "1000", 3, "group.share.assignment.interval.ms"),
        ("share.isolation.level", "read_uncommitted", 2, "share.isolation.level"),
        ("streams.session.timeout.ms", "45000", 3, "group.streams.session.timeout.ms"),
        ("share.partition.max.record.locks", "2000", 3, "group.share.partition.max.record.locks"),
        ("streams.num.standby.replicas", "0", 3, "group.streams.num.standby.replicas"),
    ]
    assert {(row.read_only, row.is_sensitive, row.config_source) for row in found.configs} == {(False, False, 5)}


def test_an_internal_config_is_described_once_a_group_has_it() -> None:
    world = LogWorld()
    warmups = "streams.num.warmup.replicas"
    assert change(world, "g", (warmups, "1")) == (0, None)
    assert chain(world, "g", warmups) == ("1", 8, [(warmups, "1", 8), (f"group.{warmups}", "2", 5)])
    assert len(described(world, "g").configs) == 22
    assert change(LogWorld(quirks=OLD), "g", (warmups, "1")) == (40, f"Unknown group config name: {warmups}")


WITHIN: Final = "{} must be in the range {} to {} inclusive."


@for_each(
    "changes, message",
    [
        ([(SESSION, "44999")], WITHIN.format(SESSION, 45000, 60000)),
        ([(SESSION, "60001")], WITHIN.format(SESSION, 45000, 60000)),
        ([(SESSION, "1"), (HEARTBEAT, "1")], WITHIN.format(HEARTBEAT, 5000, 15000)),
        ([(ASSIGNMENT, "15001")], WITHIN.format(ASSIGNMENT, 0, 15000)),
        ([("share.partition.max.record.locks", "4001")], WITHIN.format("share.partition.max.record.locks", 100, 4000)),
        ([("streams.session.timeout.ms", "1"), ("streams.assignor.name", "x")], WITHIN.format("streams.session.timeout.ms", 45000, 60000)),
        ([("streams.num.standby.replicas", "3")], "streams.num.standby.replicas must be less than or equal to 2"),
        ([("streams.num.warmup.replicas", "21")], "streams.num.warmup.replicas must be less than or equal to 20"),
        ([("streams.task.offset.interval.ms", "1")], "streams.task.offset.interval.ms must be greater than or equal to 15000"),
        (
            [("streams.assignor.name", "x")],
            "streams.assignor.name 'x' is not a registered task assignor. Registered assignors are: [sticky].",
        ),
        ([(TAGS, "a,a")], f"{TAGS} must not contain duplicate tag keys."),
        ([(TAGS, "a,,b")], f"Configuration '{TAGS}' values must not be empty."),
        ([(DEAD_LETTERS, "__x")], f"{DEAD_LETTERS}: DLQ topic name must not start with '__'"),
        ([("consumer.assignor.offload.enable", "x")],
         "Invalid value x for configuration consumer.assignor.offload.enable: Expected value to be either true or false"),
    ],
)  # fmt: skip
def test_values_that_4_4_refuses(changes: list[tuple[str, str]], message: str) -> None:
    assert change(LogWorld(), "g", *changes) == (40, message)


def test_no_config_of_a_group_is_a_list_to_append_to() -> None:
    refused = (40, f"Can't APPEND to key {TAGS} because its type is not LIST.")
    assert change(LogWorld(), "g", (TAGS, "a"), operation=APPEND) == refused


def test_bounds_are_the_brokers_settings() -> None:
    world = LogWorld(group_consumer_min_session_timeout_ms=6000, group_consumer_max_heartbeat_interval_ms=7000)
    assert change(world, "g", (SESSION, "6000")) == (0, None)
    assert change(world, "g", (SESSION, "5999")) == (40, WITHIN.format(SESSION, 6000, 60000))
    assert change(world, "g", (HEARTBEAT, "7001")) == (40, WITHIN.format(HEARTBEAT, 5000, 7000))


def test_where_a_value_comes_from() -> None:
    world = LogWorld()
    broker = f"group.{ASSIGNMENT}"
    for name, value in (("", "2000"), ("1", "3000")):
        assert change(world, name, (broker, value), kind=BROKER)[0] == 0
    behind = [(broker, "3000", 2), (broker, "2000", 3), (broker, "1000", 5)]
    assert chain(world, "g", ASSIGNMENT) == ("3000", 2, behind)
    assert change(world, "g", (ASSIGNMENT, " +04000 ")) == (0, None)
    assert chain(world, "g", ASSIGNMENT) == ("4000", 8, [(ASSIGNMENT, "4000", 8), *behind])
    configs = world.cluster.groups.configs
    assert [configs.number_now(group, ASSIGNMENT, node=1) for group in ("g", "other")] == [4000, 3000]
    assert change(world, "g", (ASSIGNMENT, None), operation=DELETE) == (0, None)
    assert chain(world, "g", ASSIGNMENT) == ("3000", 2, behind)


def test_what_a_group_goes_by() -> None:
    world = LogWorld()
    configs = world.cluster.groups.configs
    assert (configs.number("g", SESSION), configs.number("g", HEARTBEAT), configs.number_now("g", ASSIGNMENT, node=1)) == (
        45_000,
        5000,
        1000,
    )
    assert change(world, "g", (SESSION, "50000"), (HEARTBEAT, " 6000"), (ASSIGNMENT, "0")) == (0, None)
    assert (configs.number("g", SESSION), configs.number("g", HEARTBEAT), configs.number_now("g", ASSIGNMENT, node=1)) == (
        50_000,
        6000,
        0,
    )
    assert configs.number("other", SESSION) == 45_000


BELOW: Final = "{key} must be greater than or equal to group.{kind}.min.{rest}"
ABOVE: Final = "{key} must be less than or equal to group.{kind}.max.{rest}"
LEAST: Final = "Invalid value {value} for configuration {key}: Value must be at least {least}"
BOUNDS: Final = [
    (SESSION, "44999", BELOW),
    (SESSION, "60001", ABOVE),
    (SESSION, "0", LEAST.replace("{least}", "1")),
    (HEARTBEAT, "4999", BELOW),
    (HEARTBEAT, "15001", ABOVE),
    (ASSIGNMENT, "15001", ABOVE),
    (ASSIGNMENT, "-1", LEAST.replace("{least}", "0")),
    ("share.record.lock.duration.ms", "14999", BELOW),
    ("share.record.lock.duration.ms", "60001", ABOVE),
    ("share.record.lock.duration.ms", "999", LEAST.replace("{least}", "1000")),
    ("share.delivery.count.limit", "11", ABOVE),
    ("share.delivery.count.limit", "1", LEAST.replace("{least}", "2")),
    ("share.partition.max.record.locks", "4001", ABOVE),
    ("share.partition.max.record.locks", "99", LEAST.replace("{least}", "100")),
    ("share.session.timeout.ms", "44999", BELOW),
    ("share.heartbeat.interval.ms", "15001", ABOVE),
    ("share.assignment.interval.ms", "15001", ABOVE),
    ("streams.session.timeout.ms", "60001", ABOVE),
    ("streams.heartbeat.interval.ms", "4999", BELOW),
    ("streams.num.standby.replicas", "3", "{key} must be less than or equal to group.streams.max.standby.replicas"),
    ("streams.num.standby.replicas", "-1", LEAST.replace("{least}", "0")),
    ("streams.initial.rebalance.delay.ms", "-1", LEAST.replace("{least}", "0")),
    ("streams.assignment.interval.ms", "15001", ABOVE),
]


@for_each("key, value, words", BOUNDS)
def test_bounds_before_4_4(key: str, value: str, words: str) -> None:
    world = LogWorld(quirks=OLD)
    kind, _, rest = key.partition(".")
    assert change(world, "g", (key, value)) == (40, words.format(key=key, value=value, kind=kind, rest=rest))
    assert listed(world, GROUP) == (0, [])


RESET: Final = (
    "Invalid value {0} for configuration share.auto.offset.reset: Invalid value `{0}` for configuration share.auto.offset.reset. "
    "The value must be either 'earliest', 'latest' or of the format 'by_duration:<PnDTnHnMn.nS>'."
)


@for_each(
    "changes, message",
    [
        ([(SESSION, "abc")], f"Invalid value abc for configuration {SESSION}: Not a number of type INT"),
        ([(SESSION, "")], f"Invalid value  for configuration {SESSION}: Not a number of type INT"),
        ([(SESSION, "99999999999")], f"Invalid value 99999999999 for configuration {SESSION}: Not a number of type INT"),
        ([("x", "1"), (SESSION, "abc")], "Unknown group config name: x"),
        ([("y", "1"), ("x", "1"), ("zebra", "1"), ("alpha", "2")], "Unknown group config name: zebra"),
        ([(SESSION, "abc"), (HEARTBEAT, "abc")], f"Invalid value abc for configuration {SESSION}: Not a number of type INT"),
        ([(SESSION, "1"), (HEARTBEAT, "1")], f"{HEARTBEAT} must be greater than or equal to group.consumer.min.heartbeat.interval.ms"),
        ([(SESSION, "1"), (ASSIGNMENT, "99999")], f"{SESSION} must be greater than or equal to group.consumer.min.session.timeout.ms"),
        ([("share.auto.offset.reset", "LATEST")], RESET.format("LATEST")),
        ([("share.auto.offset.reset", "by_duration:-PT1H")], RESET.format("by_duration:-PT1H")),
        ([("share.auto.offset.reset", "by_duration:P")], RESET.format("by_duration:P")),
        (
            [("share.isolation.level", "READ_COMMITTED")],
            "Invalid value READ_COMMITTED for configuration share.isolation.level: String must be one of: read_committed, read_uncommitted",
        ),
        (
            [("share.renew.acknowledge.enable", "x")],
            "Invalid value x for configuration share.renew.acknowledge.enable: Expected value to be either true or false",
        ),
    ],
)
def test_values_that_are_refused(changes: list[tuple[str, str]], message: str) -> None:
    assert change(LogWorld(quirks=OLD), "g", *changes) == (40, message)


@for_each("value", ["earliest", " latest", "by_duration:pt1h", "by_duration:P1DT2H3M4.5S"])
def test_offset_resets_that_are_taken(value: str) -> None:
    assert change(LogWorld(), "g", ("share.auto.offset.reset", value)) == (0, None)


def test_a_session_outlasts_the_heartbeat_interval() -> None:
    world = LogWorld(group_consumer_min_session_timeout_ms=5000)
    text = f"{SESSION} must be greater than {HEARTBEAT}"
    assert change(world, "g", (SESSION, "5000")) == (40, text)
    assert change(world, "g", (SESSION, "5001")) == (0, None)
    assert change(world, "g", (HEARTBEAT, "5001")) == (40, text)
    assert change(world, "g", (SESSION, "45000"), (HEARTBEAT, "7000")) == (0, None)


def test_a_group_may_go_as_low_as_its_broker_was_started_with() -> None:
    """A test's broker may have short session timeouts (docs/kafka/differences.md), and its groups may have the same and longer ones."""
    world = LogWorld(group_consumer_session_timeout_ms=4000, group_consumer_heartbeat_interval_ms=300)
    assert change(world, "g", (SESSION, "4000"), (HEARTBEAT, "300")) == (0, None)
    assert change(world, "g", (SESSION, "12000")) == (0, None)
    assert change(world, "g", (SESSION, "3999")) == (40, WITHIN.format(SESSION, 4000, 60000))


def test_what_is_no_change() -> None:
    world = LogWorld()
    assert change(world, "g", (SESSION, "46000"), operation=APPEND) == (40, f"Can't APPEND to key {SESSION} because its type is not LIST.")
    assert change(world, "", ("x", "1"), operation=SUBTRACT) == (40, "Can't SUBTRACT to key x because its type is not LIST.")
    assert change(world, "g", (SESSION, "46000"), operation=9) == (-1, None)
    assert change(world, "g", (SESSION, None)) == (42, f"Null value not supported for : {SESSION}")
    assert change(world, "", (SESSION, "46000")) == (42, "Default group resources are not allowed.")
    assert change(world, "") == (42, "Default group resources are not allowed.")
    assert change(world, "g", (SESSION, "46000"), (SESSION, "47000")) == (42, "Error due to duplicate config keys")
    assert change(world, "g", ("x", None), operation=DELETE) == (0, None)
    assert change(world, "g", (SESSION, "50000"), validate_only=True) == (0, None)
    assert change(world, "g", (SESSION, "1"), validate_only=True)[0] == 40
    assert listed(world, GROUP) == (0, [])


def test_alter_configs_replaces_all() -> None:
    world = LogWorld()
    assert replace(world, "g", consumer_session_timeout_ms="47000", consumer_heartbeat_interval_ms="7000") == (0, None)
    assert replace(world, "g", consumer_session_timeout_ms="48000") == (0, None)
    assert dict(world.cluster.groups.configs.of("g")) == {SESSION: "48000"}
    assert replace(world, "g", consumer_session_timeout_ms=None) == (42, f"Null value not supported for : {SESSION}")
    assert replace(world, "", consumer_session_timeout_ms="46000") == (42, "Default group resources are not allowed.")
    assert replace(world, "g") == (0, None)
    assert listed(world, GROUP) == (0, [])


def test_groups_that_have_settings_are_listed() -> None:
    world = LogWorld(nodes=2)
    world.topic("orders", node=1)
    for group in ("  ", "g1", "g2", "g3", *(f"group-{letter}" for letter in "abcdefghij")):
        assert change(world, group, (SESSION, "50000")) == (0, None)
    order = "  ,group-j,group-g,group-f,group-i,group-h,group-c,group-b,g1,group-e,g2,group-d,g3,group-a"
    groups = [(GROUP, name) for name in order.split(",")]
    assert listed(world, GROUP, GROUP) == (0, groups)
    assert listed(world, TOPIC, GROUP) == (0, [*groups, (TOPIC, "orders")])
    assert listed(world) == (0, [*groups, *((kind, node) for kind in (8, 4) for node in ("1", "2")), (TOPIC, "orders")])
    assert listed(world, CLIENT_METRICS) == listed(world, version=0) == (0, [])
    assert [listed(world, kind)[0] for kind in (0, 1, 64, 99, -1)] == [35] * 5
    assert listed(world, 99, GROUP) == (35, [])


def test_settings_outlive_their_group() -> None:
    world = LogWorld()
    world.topic("orders", node=1)
    world.ask(10, 4, FindCoordinatorRequest(key_type=0, coordinator_keys=["g"]))
    partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=5)
    world.ask(8, 8, OffsetCommitRequest(group_id="g", topics=[OffsetCommitRequestTopic(name="orders", partitions=[partition])]))
    assert change(world, "g", (SESSION, "50000")) == (0, None)
    assert world.ask(42, 2, DeleteGroupsRequest(groups_names=["g"])).results[0].error_code == 0
    assert world.cluster.groups.find("g") is None
    assert world.cluster.groups.configs.number("g", SESSION) == 50_000


def test_topics_are_listed_by_their_hash_codes() -> None:
    world = LogWorld()
    for topic in ("orders", "bills", "a.b", "x", *(f"topic-{letter}" for letter in "abcdefghijkl")):
        world.topic(topic, node=1)
    order = [*(f"topic-{letter}" for letter in "abcdefghijkl"), "orders", "x", "a.b", "bills"]
    assert listed(world, TOPIC) == (0, [(TOPIC, name) for name in order])


def test_there_is_an_end_to_what_is_kept() -> None:
    world = LogWorld()
    configs = world.cluster.groups.configs
    for number in range(MOST_GROUPS):
        configs._keep(f"g{number}", {SESSION: "50000"})
    assert change(world, "one-more", (SESSION, "50000")) == (44, TOO_MANY)
    assert change(world, "g0", (SESSION, None), operation=DELETE) == (0, None)
    assert change(world, "one-more", (SESSION, "50000")) == (0, None)
    assert change(LogWorld(), "g" * 32_000, *((name, key.default) for name, key in KEYS.items())) == (0, None)


BEFORE_4: Final = Quirks(no_group_configs=True, topic_configs_before_4=True)


def test_3_9_has_no_such_resource() -> None:
    world = LogWorld(quirks=BEFORE_4)
    assert change(world, "g", (SESSION, "46000")) == (42, "Unknown resource type 32")
    assert replace(world, "g", consumer_session_timeout_ms="46000")[0] == 42
    found = described(world, "g")
    assert found.error_code == 42
    assert found.error_message.startswith(MALFORMED)
