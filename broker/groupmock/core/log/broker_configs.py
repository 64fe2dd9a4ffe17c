"""Broker configs: what this broker was started with, what was changed at run time, which may be changed."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final, NamedTuple, get_type_hints

import msgspec

from ..settings import INT_MAX, Knob, Settings
from .config_keys import BOOLEAN, INT, LIST, LONG, STRING, TOPIC_CONFIGS, ConfigKey

CLUSTER_WIDE: Final = ""  # the resource name of configs that hold for every broker

# What a broker knows of itself beyond its settings, with the types: read-only.
IDENTITY_CONFIGS: Final = {"advertised.listeners": LIST, "broker.id": INT, "node.id": INT}


class BrokerKey(NamedTuple):
    """One broker config. `default`: Kafka's (or groupmock's own) default; `dynamic`: may be changed at run time."""

    name: str
    kind: int
    default: str
    dynamic: bool
    about: str


class Overrides(NamedTuple):
    """What was changed at run time, as one node sees it: its own, and those of the whole cluster."""

    node: Mapping[str, str]
    cluster: Mapping[str, str]

    def get(self, name: str) -> str | None:
        """The nearest value; None: not changed."""
        return self.node.get(name, self.cluster.get(name))


@cache
def knob_fields() -> dict[str, str]:
    """Kafka's name of each of our own settings -> the field of Settings."""
    return {mark.name: field for field, mark in _knobs()}


def started_with(name: str, settings: Settings) -> str | None:
    """A broker config as this broker was started with it; None: it is not one of groupmock's settings."""
    field = knob_fields().get(name)
    return None if field is None else _text(getattr(settings, field))


@cache
def broker_keys() -> dict[str, BrokerKey]:
    """Every broker config there is here, by name in alphabetical order: our settings, and those behind topic configs."""
    keys = {key.synonym: _behind(key, key.synonym) for key in TOPIC_CONFIGS.values() if key.synonym is not None}
    defaults = {field.name: _text(field.default) for field in msgspec.structs.fields(Settings)}
    for field, mark in _knobs():
        if mark.name not in keys:
            keys[mark.name] = BrokerKey(mark.name, _kind(mark, defaults[field]), defaults[field], dynamic=False, about=mark.about)
    return dict(sorted(keys.items()))


def _knobs() -> list[tuple[str, Knob]]:
    hints = get_type_hints(Settings, include_extras=True)
    return [(field, mark) for field, hint in hints.items() for mark in getattr(hint, "__metadata__", ()) if isinstance(mark, Knob)]


def _behind(key: ConfigKey, synonym: str) -> BrokerKey:
    return BrokerKey(synonym, key.kind, key.default, dynamic=True, about=key.about)


def _kind(mark: Knob, default: str) -> int:
    if default in ("true", "false"):
        return BOOLEAN
    if mark.lowest is None:
        return STRING
    return LONG if mark.highest is None or mark.highest > INT_MAX else INT


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
