"""A profile describes a Kafka release as data: the versions that it advertises, its defaults and its quirks. Each file of this folder is a
profile.

`groupmock` (the default) has Kafka's newest semantics on the widest versions of Kafka 2.8 to 4.4, and starts quickly. The others are one
release each, with rows copied from the ApiVersions responses of running brokers (4.4.0, 4.3.0 and 3.9.1).
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, NamedTuple

import msgspec

from groupmock_codec.listing import stems

DEFAULT = "groupmock"
KAFKA = "kafka-"

KAFKA_DEFAULTS: Mapping[str, Any] = {
    # With this delay three members wait 6 s, because a join extends the delay (docs/kafka/limits.md#other-servers).
    "group.initial.rebalance.delay.ms": 3000,
    "group.streams.initial.rebalance.delay.ms": 3000,
    "group.min.session.timeout.ms": 6000,
    "log.retention.bytes": -1,  # Kafka has no limit here; only groupmock's own profile sets one, because records are kept in memory.
    "queued.max.request.bytes": -1,
}
"""Settings of all Kafka releases, but not of groupmock's own profile, which has other bounds and starts quickly."""


class FeatureLevel(NamedTuple):
    """A feature with its versions, as a row in the tagged fields of an ApiVersions response (v3+)."""

    name: str
    lowest: int
    highest: int
    finalized: int | None


class Profile(msgspec.Struct, frozen=True):
    """The profile of a release. `versions` maps API keys to (lowest, highest); `settings` has Kafka's names and values; `quirks` has
    names of `core.settings.Quirks`."""

    name: str
    about: str
    versions: Mapping[int, tuple[int, int]]
    settings: Mapping[str, Any]
    quirks: frozenset[str]
    features: tuple[FeatureLevel, ...]
    finalized_features_epoch: int


def names() -> list[str]:
    """Return the names of all profiles, the default first."""
    found = sorted(_public(stem) for stem in stems(__path__) if not stem.startswith("_"))
    return [DEFAULT, *(name for name in found if name != DEFAULT)]


def releases() -> tuple[str, ...]:
    """Return the releases of Kafka that have a profile ("4.4"), the newest first."""
    found = [name.removeprefix(KAFKA) for name in names() if name.startswith(KAFKA)]
    return tuple(sorted(found, key=lambda release: [int(number) for number in release.split(".")], reverse=True))


def load(name: str) -> Profile:
    """Return the profile with that name. Raises KeyError with the existing names."""
    if name not in names():
        raise KeyError(f"no profile {name!r}: there are {', '.join(names())}")
    profile = import_module("." + name.replace("-", "_").replace(".", "_"), __package__).PROFILE
    assert isinstance(profile, Profile)
    return profile


def _public(stem: str) -> str:
    head, *rest = stem.split("_")
    return f"{head}-{'.'.join(rest)}" if rest else head
