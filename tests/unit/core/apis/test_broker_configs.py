"""Broker configs as Kafka 4.3.0, 3.9.1 and 2.8.2 told and changed them (tests/data/broker_configs, recorded by tools/broker_configs.py)."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest
from log_world import LogWorld

from groupmock.config import resolve
from groupmock_codec.messages.k32_describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from groupmock_codec.messages.k33_alter_configs import AlterableConfig, AlterConfigsRequest, AlterConfigsResource
from groupmock_codec.messages.k44_incremental_alter_configs import AlterableConfig as Changed
from groupmock_codec.messages.k44_incremental_alter_configs import AlterConfigsResource as ChangedResource
from groupmock_codec.messages.k44_incremental_alter_configs import IncrementalAlterConfigsRequest

RELEASES: Final = ("4.3", "3.9", "2.8")
TOPIC, BROKER = 2, 4
SET, DELETE = 0, 1
HOST: Final = frozenset(
    {
        "advertised.listeners",
        "controller.listener.names",
        "controller.quorum.voters",
        "listener.security.protocol.map",
        "listeners",
        "log.dirs",
        "process.roles",
        "zookeeper.connect",
    }
)
"""What a real broker has to be told about its host; not in the vectors."""


@cache
def recorded(release: str) -> list[tuple[str, list[Any], Any]]:
    """(what, arguments, answer) of each thing asked, in order."""
    path = Path(__file__).parents[3] / "data" / "broker_configs" / f"{release}.jsonl.gz"
    return [tuple(json.loads(line)) for line in gzip.decompress(path.read_bytes()).decode().splitlines()]


def world_of(release: str, **settings: Any) -> LogWorld:
    """A fresh node 1 with the settings of that release's profile and a topic."""
    found = resolve({"profile": f"kafka-{release}"}).settings
    told = {field: getattr(found, field) for field in found.__struct_fields__ if field != "quirks"}
    world = LogWorld(quirks=found.quirks, **{**told, **settings})
    world.topic("story", node=1)
    return world


def show(world: LogWorld, kind: int, name: str, keys: list[str] | None) -> Any:
    resource = DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=keys)
    asked = DescribeConfigsRequest(resources=[resource], include_synonyms=True, include_documentation=True)
    (found,) = world.ask(32, 4, asked).results
    if found.error_code:
        return [found.error_code, found.error_message]
    return [
        [
            one.name,
            one.value,
            one.config_type,
            one.config_source,
            one.read_only,
            one.is_sensitive,
            [[each.name, each.value, each.source] for each in one.synonyms],
            one.documentation is not None,
        ]
        for one in found.configs
        if one.name not in HOST
    ]


def change(world: LogWorld, name: str, validate_only: bool, changes: list[list[Any]]) -> Any:
    configs = [Changed(config_operation=operation, name=key, value=value) for operation, key, value in changes]
    resource = ChangedResource(resource_type=BROKER, resource_name=name, configs=configs)
    row = world.ask(44, 1, IncrementalAlterConfigsRequest(resources=[resource], validate_only=validate_only)).responses[0]
    return [row.error_code, row.error_message or None]


def replace(world: LogWorld, name: str, validate_only: bool, configs: dict[str, str | None]) -> Any:
    rows = [AlterableConfig(name=key, value=value) for key, value in configs.items()]
    resource = AlterConfigsResource(resource_type=BROKER, resource_name=name, configs=rows)
    row = world.ask(33, 2, AlterConfigsRequest(resources=[resource], validate_only=validate_only)).responses[0]
    return [row.error_code, row.error_message or None]


ASK: Final[dict[str, Callable[..., Any]]] = {"show": show, "change": change, "replace": replace}


@pytest.mark.parametrize("release", RELEASES)
def test_broker_configs_are_told_and_changed_as_on_kafka(release: str) -> None:
    """Whole answers, field by field and in Kafka's order; every changeable config with good and bad values; then a story of changes."""
    world = world_of(release)
    for what, arguments, answer in recorded(release):
        assert ASK[what](world, *arguments) == answer, (what, arguments)
