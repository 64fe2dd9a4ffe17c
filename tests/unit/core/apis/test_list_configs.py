"""Topic configs that are lists change as on Kafka 4.3.0 and 3.9.1 (tests/data/list_configs.json), and other values are shown as there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from cases import for_each
from log_world import LogWorld

from groupmock.config.profiles import load as profile_named
from groupmock.core.settings import Quirks
from groupmock_codec.messages.k19_create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from groupmock_codec.messages.k32_describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from groupmock_codec.messages.k44_incremental_alter_configs import AlterableConfig, AlterConfigsResource, IncrementalAlterConfigsRequest

TOPIC: Final = 2
Row = tuple[str, str | None, int, str, int, str, str]
"""A row has the config, old value, operation, operand, error code, message and new value."""
SEEN: Final[dict[str, list[Row]]] = json.loads((Path(__file__).parents[3] / "data" / "list_configs.json").read_text())


def world_of(profile: str) -> LogWorld:
    return LogWorld(quirks=Quirks(**dict.fromkeys(profile_named(profile).quirks, True)))


def made(world: LogWorld, name: str, value: str | None) -> str | None:
    """Create the topic `t` with the config and return the value in the answer."""
    given = [] if value is None else [CreatableTopicConfig(name=name, value=value)]
    topic = CreatableTopic(name="t", num_partitions=1, replication_factor=1, configs=given)
    answer = world.ask(19, 5, CreateTopicsRequest(topics=[topic], timeout_ms=1000)).topics[0]
    assert answer.error_code == 0
    return next((each.value for each in answer.configs if each.name == name), None)


def shown(world: LogWorld, name: str) -> str:
    """Return the value that DescribeConfigs shows."""
    resource = DescribeConfigsResource(resource_type=TOPIC, resource_name="t", configuration_keys=[name])
    found: str = world.ask(32, 1, DescribeConfigsRequest(resources=[resource])).results[0].configs[0].value
    return found


@for_each("profile", SEEN)
def test_lists_are_changed_as_on_kafka(profile: str) -> None:
    for name, before, operation, operand, code, message, after in SEEN[profile]:
        world = world_of(profile)
        made(world, name, before)
        change = AlterableConfig(name=name, config_operation=operation, value=operand)
        resource = AlterConfigsResource(resource_type=TOPIC, resource_name="t", configs=[change])
        row = world.ask(44, 1, IncrementalAlterConfigsRequest(resources=[resource])).responses[0]
        assert (row.error_code, row.error_message or "", shown(world, name)) == (code, message, after), (name, before, operation, operand)


READ_AS: Final = [
    ("retention.ms", " 5 ", "5"),
    ("retention.ms", "+5", "5"),
    ("retention.ms", "005", "5"),
    ("preallocate", "TRUE", "true"),
    ("min.cleanable.dirty.ratio", "1", "1.0"),
    ("min.cleanable.dirty.ratio", " 5e-1 ", "0.5"),
    ("compression.type", " gzip ", "gzip"),
    ("cleanup.policy", " compact , delete", "compact,delete"),
]


@for_each("profile", SEEN)
@for_each(("name", "given", "read"), READ_AS)
def test_values_are_shown_as_they_were_read(profile: str, name: str, given: str, read: str) -> None:
    """Since Kafka 3, CreateTopics shows the values as they were written."""
    world = world_of(profile)
    assert (made(world, name, given), shown(world, name)) == (given, read)
