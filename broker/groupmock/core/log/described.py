"""Configs as DescribeConfigs and CreateTopics show them: effective value, where it comes from, and the chain it was found in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from ..settings import Settings
from .broker_configs import IDENTITY_CONFIGS, Overrides, broker_keys, started_with
from .config_keys import ConfigKey, topic_keys, written

# ConfigSource
DYNAMIC_TOPIC: Final = 1
DYNAMIC_BROKER: Final = 2
DYNAMIC_DEFAULT_BROKER: Final = 3
STATIC_BROKER: Final = 4
DEFAULT: Final = 5


class Synonym(NamedTuple):
    """One place a value may come from, nearest first."""

    name: str
    value: str
    source: int


class Described(NamedTuple):
    """One config of a resource. `kind` is Kafka's ConfigType."""

    name: str
    value: str
    source: int
    kind: int
    about: str
    read_only: bool
    synonyms: list[Synonym]


def topic_configs(set_on_topic: Mapping[str, str], changed: Overrides, settings: Settings) -> list[Described]:
    """Every topic config in alphabetical order."""
    return [_topic_config(key, set_on_topic, changed, settings) for key in topic_keys(settings.quirks).values()]


def _topic_config(key: ConfigKey, set_on_topic: Mapping[str, str], changed: Overrides, settings: Settings) -> Described:
    chain = [Synonym(key.name, written(key, set_on_topic[key.name]), DYNAMIC_TOPIC)] if key.name in set_on_topic else []
    if key.synonym is not None:
        chain += broker_chain(key.synonym, key.default, changed, settings)
    nearest = chain[0] if chain else Synonym(key.name, key.default, DEFAULT)
    return Described(key.name, nearest.value, nearest.source, key.kind, key.about, read_only=False, synonyms=chain)


def broker_chain(name: str, default: str, changed: Overrides, settings: Settings) -> list[Synonym]:
    """Where a broker config's value may come from: changed at run time, given at start, Kafka's default."""
    sources = ((changed.node, DYNAMIC_BROKER), (changed.cluster, DYNAMIC_DEFAULT_BROKER))
    chain = [Synonym(name, values[name], source) for values, source in sources if name in values]
    started = started_with(name, settings)
    if started is not None and started != default:
        chain.append(Synonym(name, started, STATIC_BROKER))
    return [*chain, Synonym(name, default, DEFAULT)]


def node_configs(identity: Mapping[str, str], changed: Overrides, settings: Settings) -> list[Described]:
    """Every config of one broker in alphabetical order. `identity`: what it was told about itself (ids, listeners)."""
    found = [
        Described(name, value, STATIC_BROKER, IDENTITY_CONFIGS[name], "", True, [Synonym(name, value, STATIC_BROKER)])
        for name, value in identity.items()
    ]
    for key in broker_keys().values():
        chain = broker_chain(key.name, key.default, changed, settings)
        found.append(Described(key.name, chain[0].value, chain[0].source, key.kind, key.about, not key.dynamic, chain))
    return sorted(found)


def cluster_configs(changed: Overrides) -> list[Described]:
    """What was changed for every broker (resource name "")."""
    return [
        Described(key.name, value, DYNAMIC_DEFAULT_BROKER, key.kind, key.about, False, [Synonym(key.name, value, DYNAMIC_DEFAULT_BROKER)])
        for name, value in sorted(changed.cluster.items())
        if (key := broker_keys().get(name)) is not None
    ]
