"""Profiles: what a release advertises, its defaults and its quirks, as data. One file per profile; the listing is the list.

`groupmock` (the default) is Kafka's newest semantics on the widest versions that any of Kafka 2.8 to 4.3 has, quick to start.
The others are one release each, rows copied from what running brokers answered (ApiVersions of 4.3.0 and 3.9.1).
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, NamedTuple

DEFAULT = "groupmock"

KAFKA_DEFAULTS: Mapping[str, Any] = {
    "group.initial.rebalance.delay.ms": 3000,  # 3 members wait 6 s: a join extends it (docs/kafka/limits.md#other-servers)
    "group.min.session.timeout.ms": 6000,
    "log.retention.bytes": -1,  # nothing is on disk here: what is kept is memory, so groupmock's own profile has a bound
    "queued.max.request.bytes": -1,
}
"""What every release has and groupmock's own profile has not, which is quick to start and bounded."""


class FeatureLevel(NamedTuple):
    """A row of the ApiVersions answer's feature tags (v3+)."""

    name: str
    lowest: int
    highest: int
    finalized: int | None


class Profile(NamedTuple):
    """One profile. `versions`: API key -> (lowest, highest); `settings`: Kafka's names; `quirks`: names of `core.settings.Quirks`."""

    name: str
    about: str
    versions: Mapping[int, tuple[int, int]]
    settings: Mapping[str, Any]
    quirks: frozenset[str]
    features: tuple[FeatureLevel, ...]
    finalized_features_epoch: int


def names() -> list[str]:
    """Every profile there is, the default first."""
    stems = (module.name for module in iter_modules(__path__))
    found = sorted(_public(stem) for stem in stems if not stem.startswith("_"))
    return [DEFAULT, *(name for name in found if name != DEFAULT)]


def load(name: str) -> Profile:
    """The profile of that name; KeyError names those there are."""
    if name not in names():
        raise KeyError(f"no profile {name!r}: there are {', '.join(names())}")
    profile = import_module("." + name.replace("-", "_").replace(".", "_"), __package__).PROFILE
    assert isinstance(profile, Profile)
    return profile


def _public(stem: str) -> str:
    head, *rest = stem.split("_")
    return f"{head}-{'.'.join(rest)}" if rest else head
