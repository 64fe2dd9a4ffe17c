"""The broker configs: the keys that the release defines, their values at the start, and the changes at run time."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from itertools import dropwhile
from typing import TYPE_CHECKING, Final, NamedTuple

from ..settings import Settings, declarations
from . import tables
from .config_keys import CLASS, KINDS, LIST, PASSWORD, TOPIC_CONFIGS, ConfigKey
from .value_checks import (
    Check,
    ListCheck,
    at_least,
    between,
    compression_level,
    each_once,
    fine,
    one_of,
    something,
    words,
    words_or_nothing,
)

if TYPE_CHECKING:
    from ..identity import Identity
    from ..settings import Quirks

CLUSTER_WIDE: Final = ""  # Configs that hold for every broker belong to the resource with this name.
INTERNAL: Final = "i"
READ_ONLY: Final = "r"
ONE_BROKER: Final = "b"

# Kafka's ConfigSource defines the numbers of these sources.
DYNAMIC_BROKER: Final = 2
DYNAMIC_DEFAULT_BROKER: Final = 3
STATIC_BROKER: Final = 4
DEFAULT: Final = 5

FAMILIES: Final = {
    name: family
    for family in (
        ("log.roll.ms", "log.roll.hours"),
        ("log.roll.jitter.ms", "log.roll.jitter.hours"),
        ("log.retention.ms", "log.retention.minutes", "log.retention.hours"),
    )
    for name in family
} | {"log.flush.interval.ms": ("log.flush.interval.ms", "log.flush.scheduler.interval.ms")}
"""Maps each config to the names from which its value is taken, in order (DynamicBrokerConfig.brokerConfigSynonyms)."""
FROM_ANOTHER: Final = {"log.retention.ms": "604800000"}
"""Configs that have a default of their own in groupmock, while Kafka takes their value from a synonym (log.retention.hours=168)."""
ANY_ENTRIES: Final = "config.providers"
"""The only LIST config of Kafka 4.3 that may have empty entries (seen on 4.3.0)."""
_LISTENER: Final = re.compile(r"listener\.name\.[^.]*\.(.+)")


class BrokerKey(NamedTuple):
    """A broker config of Kafka, with `default` None if it has no value. `change` is INTERNAL, READ_ONLY or ONE_BROKER, or else means
    "for one broker and for all"."""

    key: ConfigKey
    default: str | None
    change: str

    @property
    def fixed(self) -> bool:
        """True if the config cannot be changed at run time."""
        return self.change in (INTERNAL, READ_ONLY)

    @property
    def sensitive(self) -> bool:
        """True if Kafka never shows the config's value."""
        return self.key.kind == PASSWORD


class Overrides(NamedTuple):
    """The config changes at run time that apply to one node: its own, and those of the whole cluster. `ever` is True once anything was
    changed."""

    node: Mapping[str, str]
    cluster: Mapping[str, str]
    ever: bool = False

    def get(self, name: str) -> str | None:
        """Return the value that was set for the node, or else for the cluster, or None if the config was not changed."""
        return self.node.get(name, self.cluster.get(name))


class Synonym(NamedTuple):
    """One of the places from which a config may take its value. `value` is None if it must not be shown."""

    name: str
    value: str | None
    source: int


@cache
def _setting_fields() -> dict[str, str]:
    return {declared.name: field for field, _, declared in declarations(Settings)}


def started_with(name: str, settings: Settings) -> str | None:
    """Return the value that this broker was started with, or None if the config is no setting of groupmock or has no own value."""
    field = _setting_fields().get(name)
    value = None if field is None else _text(getattr(settings, field))
    return None if value in ("", FROM_ANOTHER.get(name)) else value


def broker_keys(quirks: Quirks) -> dict[str, BrokerKey]:
    """Return every broker config of the release by name, in the order in which Kafka checks them."""
    return _release_keys("3.9" if quirks.topic_configs_before_4 else "4.3" if quirks.configs_before_4_4 else "4.4")


@cache
def _release_keys(release: str) -> dict[str, BrokerKey]:
    texts = {declared.name: _sentence(declared.about) for _, _, declared in declarations(Settings)}
    texts |= {key.synonym: key.about for key in TOPIC_CONFIGS.values() if key.synonym is not None and key.synonym not in texts}
    keys = {}
    for row in tables.rows(release):
        kind = KINDS[row.kind]
        refuse, refuse_list = _checks(kind, row, release)
        if release == "4.4" and refuse_list is not None:
            refuse_list = each_once(refuse_list)
        about = texts.get(row.name) or f"A config of Kafka {release}'s brokers. groupmock keeps and shows it; nothing here follows from it."
        key = ConfigKey(row.name, kind, row.default or "", None, refuse, about, refuse_list, distinct=_distinct(row.name, release))
        keys[row.name] = BrokerKey(key, row.default, row.change)
    return keys


def _distinct(name: str, release: str) -> bool:
    return name == "log.cleanup.policy" and release != "3.9"


def _checks(kind: int, row: tables.ConfigRow, release: str) -> tuple[Check, ListCheck | None]:
    if row.bounds == "-":
        if kind == CLASS:
            return _known_class(row.default), None
        return fine, something if kind == LIST and release != "3.9" and row.name != ANY_ENTRIES else None
    if ":" not in row.bounds:
        known = row.bounds.split(",")
        if kind == LIST:
            return fine, words_or_nothing(*known) if release != "3.9" else words(*known)
        return one_of(*known), None
    lowest, _, highest = row.bounds.removesuffix("|-1").partition(":")
    if row.bounds.endswith("|-1"):
        return compression_level(int(lowest), int(highest)), None
    return between(int(lowest), int(highest)) if highest else at_least(int(lowest)), None


def _known_class(default: str | None) -> Check:
    """Return a check that accepts only the default class, because groupmock has no other Java classes."""
    return lambda value: None if value == default else f"Class {value} could not be found."


def started(settings: Settings, identity: Identity, node: int) -> dict[str, str]:
    """Return the configs at broker start that differ from Kafka's defaults: settings, limits, addresses and ids, by Kafka's names."""
    keys = broker_keys(settings.quirks)
    given = {name: value for name in _setting_fields() if (value := started_with(name, settings)) is not None} | dict(identity.limits)
    changed = {name: value for name, value in given.items() if name in keys and value != keys[name].default}
    return changed | {name: value for name, value in _host(identity, node, settings.quirks).items() if name in keys}


def _host(identity: Identity, node: int, quirks: Quirks) -> dict[str, str]:
    """Return the configs for the node's id, addresses and roles. A real broker is also given directories and a quorum, which groupmock
    does not have."""
    endpoints = identity.endpoints[node].values()
    host = {
        "advertised.listeners": ",".join(f"{each.name}://{each.host}:{each.port}" for each in endpoints),
        "listeners": ",".join(f"{each.name}://{each.listens or f'{each.host}:{each.port}'}" for each in endpoints),
    }
    rack = next(each.rack for each in identity.nodes if each.node_id == node)
    if rack is not None:
        host["broker.rack"] = rack
    roles = "broker,controller" if node == identity.nodes[0].node_id else "broker"
    return {**host, "broker.id": str(node), "node.id": str(node), "process.roles": roles}


def base_name(name: str) -> str | None:
    """Return the CONFIG in a name of the form `listener.name.NAME.CONFIG`, which is set for one listener, or None for any other name."""
    match = _LISTENER.fullmatch(name)
    return match and match[1]


def key_of(name: str, keys: Mapping[str, BrokerKey]) -> BrokerKey | None:
    """Return the config with this name, or the config that a name of the form `listener.name.NAME.CONFIG` sets for one listener, or None
    if Kafka knows neither."""
    return keys.get(name) or keys.get(base_name(name) or "")


def chain(name: str, keys: Mapping[str, BrokerKey], changed: Overrides, static: Mapping[str, str]) -> list[Synonym]:
    """Return where a broker config's value may come from, in order: changed at run time, given at start, Kafka's default, synonyms.

    A value that comes from a synonym alone is not shown (ConfigHelper drops the entries before the config's own name)."""
    names = FAMILIES.get(name, (name,))
    base = base_name(name)
    if base is not None and name not in keys:
        names = (name, *FAMILIES.get(base, (base,)))
    standard = _defaults(names, keys)
    sources = ((changed.node, DYNAMIC_BROKER), (changed.cluster, DYNAMIC_DEFAULT_BROKER), (static, STATIC_BROKER), (standard, DEFAULT))
    key = key_of(name, keys)
    hidden = key is None or key.sensitive
    found = [Synonym(each, None if hidden else values[each], source) for values, source in sources for each in names if each in values]
    return list(dropwhile(lambda synonym: synonym.name != name, found))


def _defaults(names: Iterable[str], keys: Mapping[str, BrokerKey]) -> dict[str, str]:
    return {name: keys[name].default or "" for name in names if name in keys and keys[name].default is not None}


def _sentence(about: str) -> str:
    return f"{about[:1].upper()}{about[1:]}."


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
