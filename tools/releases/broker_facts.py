"""Asks a running broker of a release, and its classes, for APIs, features, error codes, configs and refusals of values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from groupmock.config.profiles import FeatureLevel
from groupmock_clients.probe.stages.tcp_broker import TcpBroker
from groupmock_codec.api_keys import API_VERSIONS
from groupmock_codec.declare import Versions
from groupmock_codec.messages.k18_api_versions import ApiVersionsRequest, ApiVersionsResponse
from tools import oracle
from tools.broker_configs.__main__ import BROKER, NODE, SET, TOPIC, VALUES, ConfigsRecorder, definitions
from tools.runs import ROOT

from .proposal import ErrorCode

GROUP: Final = 32  # Kafka's ConfigResource.Type.GROUP has this number.
RESOURCES: Final = {"broker": (BROKER, NODE), "topic": (TOPIC, "story"), "group": (GROUP, "story")}
"""Maps each kind of resource that has configs on a running broker to the number of its type and to the name of one such resource."""
CLASSES: Final = (*RESOURCES, "consumer", "producer", "admin")
"""The kinds of configs that are defined by Kafka's classes."""
TRIED: Final = (*VALUES, "-1", "2", "100", "2147483647")
TRIED_OF_BROKERS: Final = ("x", "-5", "0", "99999999999")
"""The values that are tried for a config of brokers, which has fewer of them than one of topics or groups (TRIED), because there are far
more configs of brokers."""
SHOWN_VERSION: Final = 4  # Every release of 4.x still answers this version of ApiVersions.


class Definition(msgspec.Struct, frozen=True):
    """A config as a class of Kafka defines it. `bounds` is the text of its validator; `change` says who may change it, internal if it is
    not shown."""

    kind: str
    default: str | None
    change: str
    bounds: str

    def __str__(self) -> str:
        default = "no default" if self.default is None else f"default `{self.default}`"
        return f"{self.kind}, {default}{f', {self.bounds}' if self.bounds else ''}, {self.change}"


class BrokerFacts(msgspec.Struct, frozen=True):
    """The facts about one release that its broker and its classes tell. `configs`: kind -> name -> definition; `shown`: kind -> the
    names that DescribeConfigs shows; `refusals`: (kind, name, value) -> the error code and the text."""

    version: str
    apis: dict[int, tuple[int, int]]
    features: tuple[FeatureLevel, ...]
    errors: tuple[ErrorCode, ...]
    configs: dict[str, dict[str, Definition]]
    shown: dict[str, tuple[str, ...]]
    refusals: dict[tuple[str, str, str], tuple[int, str]]

    @property
    def ranges(self) -> dict[int, Versions]:
        """The versions that the broker advertises, by API key."""
        return {key: Versions(*span) for key, span in self.apis.items()}


def error_codes(version: str) -> tuple[ErrorCode, ...]:
    """Return Kafka's table of error codes."""
    rows = (line.split() for line in oracle.run(version, ROOT / "tests/live/judge/KafkaErrors.java").splitlines())
    return tuple(ErrorCode(int(code), name, retriable == "true") for code, name, retriable in rows)


def defined(version: str) -> dict[str, dict[str, Definition]]:
    """Return the configs that the classes of a release of Kafka define."""
    found = {}
    for kind in CLASSES:
        rows = definitions(version, kind)
        found[kind] = {
            name: Definition(type_, None if default == "null" else default[1:-1], change, bounds)
            for name, type_, default, change, bounds in rows
        }
    return found


def facts(version: str, bootstrap: str) -> BrokerFacts:
    """Ask a running broker of that version for everything that BrokerFacts has. Raises NoBroker."""
    host, _, port = bootstrap.rpartition(":")
    broker = TcpBroker(host, int(port))
    try:
        told = broker.ask(API_VERSIONS, SHOWN_VERSION, ApiVersionsRequest(client_software_name="releases", client_software_version="1"))
    finally:
        broker.close()
    assert isinstance(told, ApiVersionsResponse)
    finalized = {each.name: each.max_version_level for each in told.finalized_features}
    levels = [FeatureLevel(each.name, each.min_version, each.max_version, finalized.get(each.name)) for each in told.supported_features]
    configs = defined(version)
    recorder = ConfigsRecorder(bootstrap, broker.release)
    return BrokerFacts(
        version,
        {each.api_key: (each.min_version, each.max_version) for each in told.api_keys},
        tuple(sorted(levels)),
        error_codes(version),
        configs,
        {kind: tuple(_names(recorder.show(*resource, None))) for kind, resource in RESOURCES.items()},
        dict(_refusals(recorder, configs)),
    )


def _names(rows: Any) -> Iterator[str]:
    """Yield the names of the configs in an answer to DescribeConfigs. A broker that has no configs of the kind answers [code, text]."""
    return (row[0] for row in rows if isinstance(row, list))


def _refusals(
    recorder: ConfigsRecorder, configs: Mapping[str, Mapping[str, Definition]]
) -> Iterator[tuple[tuple[str, str, str], tuple[int, str]]]:
    """Try values for every config that can be changed, without changing any, and yield the refusals."""
    for kind, (number, name) in RESOURCES.items():
        for config, definition in configs[kind].items():
            if kind == "broker" and definition.change in ("read-only", "internal"):
                continue
            for value in TRIED_OF_BROKERS if kind == "broker" else TRIED:
                code, text = recorder.change(name, True, [[SET, config, value]], number)
                if code:
                    yield (kind, config, value), (code, text or "")
