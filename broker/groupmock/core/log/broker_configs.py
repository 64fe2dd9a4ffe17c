"""Broker configs: which a release has, what this broker was started with, what was changed at run time, which may be changed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from itertools import dropwhile
from typing import TYPE_CHECKING, Final, NamedTuple

from ..settings import Settings, declarations
from . import tables
from .config_keys import CLASS, KINDS, LIST, PASSWORD, TOPIC_CONFIGS, ConfigKey
from .value_checks import Check, ListCheck, at_least, between, compression_level, fine, one_of, something, words, words_or_nothing

if TYPE_CHECKING:
    from ..identity import Identity
    from ..settings import Quirks

CLUSTER_WIDE: Final = ""  # The resource name of configs that hold for every broker
INTERNAL: Final = "i"
READ_ONLY: Final = "r"
ONE_BROKER: Final = "b"

# Numbers of Kafka's ConfigSource
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
"""The configs from which a config without a value takes one, in order (DynamicBrokerConfig.brokerConfigSynonyms)."""
FROM_ANOTHER: Final = {"log.retention.ms": "604800000"}
"""Settings with a default where Kafka's config has none, because its value comes from another config of its family
(log.retention.hours=168)."""
ANY_ENTRIES: Final = "config.providers"
"""The only LIST of 4.3 that may have empty entries (seen on 4.3.0)."""
_LISTENER: Final = re.compile(r"listener\.name\.[^.]*\.(.+)")


class BrokerKey(NamedTuple):
    """A broker config has no value if `default` is None. `change` is INTERNAL, READ_ONLY, ONE_BROKER, or else "for one broker and for
    all"."""

    key: ConfigKey
    default: str | None
    change: str

    @property
    def fixed(self) -> bool:
        """Return whether it cannot be changed at run time."""
        return self.change in (INTERNAL, READ_ONLY)

    @property
    def sensitive(self) -> bool:
        """Return whether its value is never shown."""
        return self.key.kind == PASSWORD


class Overrides(NamedTuple):
    """The run-time changes that one node sees: its own, and those of the whole cluster. `ever` says that something was changed once."""

    node: Mapping[str, str]
    cluster: Mapping[str, str]
    ever: bool = False

    def get(self, name: str) -> str | None:
        """Return the nearest changed value, or None if it was not changed."""
        return self.node.get(name, self.cluster.get(name))


class Synonym(NamedTuple):
    """One place that a value may come from, nearest first. A hidden value is None."""

    name: str
    value: str | None
    source: int


@cache
def _setting_fields() -> dict[str, str]:
    return {declared.name: field for field, _, declared in declarations(Settings)}


def started_with(name: str, settings: Settings) -> str | None:
    """Return a broker config as this broker was started with it, or None if it is not one of groupmock's settings or has no value of its
    own."""
    field = _setting_fields().get(name)
    value = None if field is None else _text(getattr(settings, field))
    return None if value in ("", FROM_ANOTHER.get(name)) else value


def broker_keys(quirks: Quirks) -> dict[str, BrokerKey]:
    """Return every broker config of that release by name, in the order in which Kafka checks them."""
    return _release_keys("3.9" if quirks.topic_configs_before_4 else "4.3")


@cache
def _release_keys(release: str) -> dict[str, BrokerKey]:
    told = {declared.name: _sentence(declared.about) for _, _, declared in declarations(Settings)}
    told |= {key.synonym: key.about for key in TOPIC_CONFIGS.values() if key.synonym is not None and key.synonym not in told}
    keys = {}
    for row in tables.rows(release):
        kind = KINDS[row.kind]
        refuse, refuse_list = _checks(kind, row, release)
        about = told.get(row.name) or f"A config of Kafka {release}'s brokers. groupmock keeps and shows it; nothing here follows from it."
        key = ConfigKey(row.name, kind, row.default or "", None, refuse, about, refuse_list, distinct=_distinct(row.name, release))
        keys[row.name] = BrokerKey(key, row.default, row.change)
    return keys


def _distinct(name: str, release: str) -> bool:
    return name == "log.cleanup.policy" and release == "4.3"


def _checks(kind: int, row: tables.ConfigRow, release: str) -> tuple[Check, ListCheck | None]:
    if row.bounds == "-":
        if kind == CLASS:
            return _known_class(row.default), None
        return fine, something if kind == LIST and release == "4.3" and row.name != ANY_ENTRIES else None
    if ":" not in row.bounds:
        known = row.bounds.split(",")
        if kind == LIST:
            return fine, words_or_nothing(*known) if release == "4.3" else words(*known)
        return one_of(*known), None
    lowest, _, highest = row.bounds.removesuffix("|-1").partition(":")
    if row.bounds.endswith("|-1"):
        return compression_level(int(lowest), int(highest)), None
    return between(int(lowest), int(highest)) if highest else at_least(int(lowest)), None


def _known_class(default: str | None) -> Check:
    """Accept only the class that Kafka uses by default, because there are no Java classes here."""
    return lambda value: None if value == default else f"Class {value} could not be found."


def started(settings: Settings, identity: Identity, node: int) -> dict[str, str]:
    """Return what this node's broker was started with where it is not Kafka's default, by Kafka's names: settings, limits, addresses,
    ids."""
    keys = broker_keys(settings.quirks)
    told = {name: value for name in _setting_fields() if (value := started_with(name, settings)) is not None} | dict(identity.limits)
    found = {name: value for name, value in told.items() if name in keys and value != keys[name].default}
    return found | {name: value for name, value in _host(identity, node, settings.quirks).items() if name in keys}


def _host(identity: Identity, node: int, quirks: Quirks) -> dict[str, str]:
    """Return ids, addresses and roles. A real broker is told more about its host (directories, quorum), which groupmock has not."""
    told = identity.endpoints[node].values()
    host = {
        "advertised.listeners": ",".join(f"{each.name}://{each.host}:{each.port}" for each in told),
        "listeners": ",".join(f"{each.name}://{each.listens or f'{each.host}:{each.port}'}" for each in told),
    }
    rack = next(each.rack for each in identity.nodes if each.node_id == node)
    if rack is not None:
        host["broker.rack"] = rack
    roles = "broker,controller" if node == identity.nodes[0].node_id else "broker"
    return {**host, "broker.id": str(node), "node.id": str(node), "process.roles": roles}


def base_name(name: str) -> str | None:
    """Return the config that `listener.name.NAME.CONFIG` sets for one listener, or None for another name."""
    found = _LISTENER.fullmatch(name)
    return found and found[1]


def key_of(name: str, keys: Mapping[str, BrokerKey]) -> BrokerKey | None:
    """Return the config of that name, or the one it sets for a listener, or None if Kafka knows none."""
    return keys.get(name) or keys.get(base_name(name) or "")


def chain(name: str, keys: Mapping[str, BrokerKey], changed: Overrides, static: Mapping[str, str]) -> list[Synonym]:
    """Return where a broker config's value may come from: changed at run time, given at start, Kafka's default, then synonyms. A value
    that comes from a synonym alone is not shown (ConfigHelper drops what stands before the config's own name)."""
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
