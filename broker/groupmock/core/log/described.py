"""Builds the configs that DescribeConfigs and CreateTopics show: the effective value, its source, and the chain of synonyms."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cached_property, lru_cache
from typing import Final, NamedTuple

from ..java.hashes import java_hash, spread
from ..java.orders import java_order, scala_table_order
from ..settings import Quirks, Settings
from .broker_configs import (
    DEFAULT,
    DYNAMIC_DEFAULT_BROKER,
    INTERNAL,
    BrokerKey,
    Overrides,
    Synonym,
    broker_keys,
    chain,
    key_of,
    started_with,
)
from .config_keys import CHECKED, ConfigKey, topic_keys, written

DYNAMIC_TOPIC: Final = 1  # Kafka's ConfigSource.DYNAMIC_TOPIC_CONFIG has this number.
GIVEN_BUCKETS: Final = 64
"""The number of buckets in Kafka's map of the configs that a broker was given, which holds a usual server.properties and a few changes
(seen on 4.3.0)."""


class Described(NamedTuple):
    """One config of a resource, as DescribeConfigs shows it. `kind` is Kafka's ConfigType, 0 if unknown. `value` is None if there is
    none or the config is `sensitive`."""

    name: str
    value: str | None
    source: int
    kind: int
    about: str | None
    read_only: bool
    synonyms: list[Synonym]
    sensitive: bool = False


class TopicConfigs:
    """Builds the configs of topics for one request. Configs that a topic does not set are computed once for all topics. `changed` has the
    runtime changes of the node that answers."""

    def __init__(self, changed: Overrides, settings: Settings) -> None:
        self._changed, self._settings = changed, settings
        self._keys = topic_keys(settings.quirks)

    @cached_property
    def standard(self) -> dict[str, Described]:
        """Return the configs of a topic that has no own configs, by name in alphabetical order."""
        return {key.name: _topic_config(key, {}, self._changed, self._settings) for key in self._keys.values()}

    def of(self, set_on_topic: Mapping[str, str]) -> list[Described]:
        """Return every config of a topic in alphabetical order. Configs that it does not set are the same objects as in `standard`."""
        return [
            _topic_config(self._keys[name], set_on_topic, self._changed, self._settings) if name in set_on_topic else standard
            for name, standard in self.standard.items()
        ]


def _topic_config(key: ConfigKey, set_on_topic: Mapping[str, str], changed: Overrides, settings: Settings) -> Described:
    found = [Synonym(key.name, written(key, set_on_topic[key.name]), DYNAMIC_TOPIC)] if key.name in set_on_topic else []
    if key.synonym is not None:
        keys = broker_keys(settings.quirks)
        given = started_with(key.synonym, settings)
        static = {key.synonym: given} if given is not None and given != keys[key.synonym].default else {}
        found += chain(key.synonym, keys, changed, static)
    nearest = found[0] if found else Synonym(key.name, key.default, DEFAULT)
    return Described(key.name, written(key, nearest.value or ""), nearest.source, key.kind, key.about, read_only=False, synonyms=found)


def node_configs(static: Mapping[str, str], changed: Overrides, quirks: Quirks) -> list[Described]:
    """Return every config of one broker, where `static` has its values at start (`broker_configs.started`).

    The order is that of Kafka 4: first the names that no definition has, from the map of all given configs, then the map of the defined
    ones."""
    keys = broker_keys(quirks)
    names = [name for name, key in keys.items() if key.change != INTERNAL]
    given = [name for name in dict.fromkeys((*changed.node, *changed.cluster)) if name not in keys]
    given.sort(key=lambda name: spread(name) % GIVEN_BUCKETS)
    return [_node_config(name, keys, changed, static) for name in (*given, *java_order(names, java_hash))]


def _node_config(name: str, keys: Mapping[str, BrokerKey], changed: Overrides, static: Mapping[str, str]) -> Described:
    found, key = chain(name, keys, changed, static), key_of(name, keys)
    source = found[0].source if found else DEFAULT
    value = found[0].value if found else None
    if key is None:
        return Described(name, None, source, 0, None, read_only=True, synonyms=found, sensitive=True)
    shown = None if value is None else written(key.key, value)
    own = name in keys
    fixed = not own or key.fixed
    return Described(name, shown, source, key.key.kind, key.key.about if own else None, fixed, found, key.sensitive)


def cluster_configs(changed: Overrides, quirks: Quirks) -> list[Described]:
    """Return the configs that were changed for every broker (resource name ""), with the values as the client wrote them."""
    keys, here = broker_keys(quirks), Overrides({}, changed.cluster)
    return [
        _node_config(name, keys, here, {})._replace(value=synonyms[0].value, synonyms=synonyms)
        for name in java_order(changed.cluster, java_hash)
        if (synonyms := [each for each in chain(name, keys, here, {}) if each.source == DYNAMIC_DEFAULT_BROKER])
    ]


def as_answered(found: list[Described], wanted: Collection[str], quirks: Quirks) -> list[Described]:
    """Return the requested configs, or all if `wanted` is empty, in the order of Kafka's maps. 4.x picks them from the map of all
    configs; releases before it build a map of these alone."""
    by_name = {each.name: each for each in found}
    if quirks.topic_configs_before_4:
        return [by_name[name] for name in scala_table_order((name for name in by_name if not wanted or name in wanted), java_hash)]
    names = _in_order_of_checks(tuple(by_name)) if by_name.keys() >= set(CHECKED) else by_name
    return [by_name[name] for name in names if not wanted or name in wanted]


@lru_cache(maxsize=1)
def _in_order_of_checks(topic_configs: tuple[str, ...]) -> list[str]:
    # Kafka 4.4 defines its new configs before those of remote logs, one of which is in the same hash bucket.
    added = [name for name in topic_configs if name not in CHECKED]
    return java_order((*added, *CHECKED), java_hash)
