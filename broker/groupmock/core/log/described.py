"""Configs as DescribeConfigs and CreateTopics show them: effective value, where it comes from, and the chain it was found in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from ..settings import Settings
from . import configs
from .config_keys import TOPIC_CONFIGS, ConfigKey

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
    synonyms: list[Synonym]


def topic_configs(set_on_topic: Mapping[str, str], dynamic: Mapping[str, str], settings: Settings) -> list[Described]:
    """Every topic config in alphabetical order."""
    return [_topic_config(key, set_on_topic, dynamic, settings) for key in TOPIC_CONFIGS.values()]


def _topic_config(key: ConfigKey, set_on_topic: Mapping[str, str], dynamic: Mapping[str, str], settings: Settings) -> Described:
    chain = [Synonym(key.name, set_on_topic[key.name], DYNAMIC_TOPIC)] if key.name in set_on_topic else []
    if key.synonym is not None:
        chain += broker_chain(key.synonym, key.default, dynamic, settings)
    nearest = chain[0] if chain else Synonym(key.name, key.default, DEFAULT)
    return Described(key.name, nearest.value, nearest.source, key.kind, key.about, chain)


def broker_chain(name: str, default: str, dynamic: Mapping[str, str], settings: Settings) -> list[Synonym]:
    """Where a broker config's value may come from: changed at run time, given at start, Kafka's default."""
    chain = [Synonym(name, dynamic[name], DYNAMIC_DEFAULT_BROKER)] if name in dynamic else []
    started = configs.broker_value(name, settings)
    if started is not None and started != default:
        chain.append(Synonym(name, started, STATIC_BROKER))
    return [*chain, Synonym(name, default, DEFAULT)]
