"""Compare the APIs, features, configs and refusals of two brokers, and those of the newer one with groupmock's tables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec

from groupmock.config.declared import all_settings
from groupmock.config.profiles import FeatureLevel, Profile
from groupmock.core.groups.configs import KEYS
from groupmock.core.log.config_keys import TOPIC_CONFIGS
from groupmock_codec import error_codes
from groupmock_codec.declare import Versions

from .broker_facts import RESOURCES, BrokerFacts, Definition
from .proposal import ErrorCode

SERVED: Final = re.compile(r"(group|offsets?|producer|transaction|transactional|log|message|fetch|max|min|num|auto)\.")
"""Matches the beginning of a broker config's name if a behaviour that groupmock has may depend on it; other configs are about sockets, TLS,
quorums and tiers."""
_NAME: Final = re.compile(r"[a-z]+(\.[a-z]+)+")
_NUMBER: Final = re.compile(r"-?\d+")


class ApiChange(msgspec.Struct, frozen=True):
    """An advertised API whose versions differ between two releases. A range is "" if it is not advertised."""

    key: int
    name: str
    before: str
    after: str
    codec: str
    profile: str


class ConfigChange(msgspec.Struct, frozen=True):
    """A config that has different definitions in two releases. `kind` is that of its resource; a definition is None where there is no
    such config."""

    kind: str
    name: str
    before: Definition | None
    after: Definition | None


class RefusalChange(msgspec.Struct, frozen=True):
    """Values that both brokers refuse in different words, or that only one of them refuses: the first example of a pattern of words, and
    the names of all configs that show it."""

    kind: str
    name: str
    value: str
    before: str
    after: str
    names: tuple[str, ...]


class BrokerFindings(msgspec.Struct, frozen=True):
    """The differences between two brokers, and what the newer one has that groupmock does not know."""

    apis: tuple[ApiChange, ...]
    features: tuple[str, ...]
    errors: tuple[ErrorCode, ...]
    configs: tuple[ConfigChange, ...]
    refusals: tuple[RefusalChange, ...]
    shown: dict[str, tuple[int, int]]
    """Maps a kind of resource to the numbers of configs that DescribeConfigs shows, before and after."""
    unknown_here: dict[str, tuple[str, ...]]
    """Maps a kind of resource to the configs of the newer broker that groupmock's tables lack."""
    ignored: tuple[str, ...]
    """Broker configs about features that groupmock has, which are no settings of groupmock."""
    group_protocol: str


def compared(
    before: BrokerFacts, after: BrokerFacts, codec: Mapping[int, Versions], profile: Profile, names: Mapping[int, str]
) -> BrokerFindings:
    """Return the differences between two brokers. `names` has the names of APIs that the codec does not know."""
    return BrokerFindings(
        apis=tuple(_apis(before, after, codec, profile, names)),
        features=tuple(_features(before, after)),
        errors=unknown_errors(after.errors),
        configs=tuple(_configs(before, after)),
        refusals=tuple(refusals(before, after)),
        shown={kind: (len(before.shown[kind]), len(after.shown[kind])) for kind in RESOURCES},
        unknown_here={
            "topic": tuple(name for name in after.shown["topic"] if name not in TOPIC_CONFIGS),
            "group": tuple(name for name in after.shown["group"] if name not in KEYS),
        },
        ignored=tuple(_ignored(after)),
        group_protocol=f"{_protocol(before)} -> {_protocol(after)}",
    )


def _protocol(facts: BrokerFacts) -> str:
    found = facts.configs["consumer"].get("group.protocol")
    return "none" if found is None else str(found.default)


def _apis(
    before: BrokerFacts, after: BrokerFacts, codec: Mapping[int, Versions], profile: Profile, names: Mapping[int, str]
) -> Iterator[ApiChange]:
    ours = {key: Versions(*span) for key, span in profile.versions.items()}
    for key in sorted(before.apis.keys() | after.apis.keys()):
        spans = (ranges.get(key) for ranges in (before.ranges, after.ranges, codec, ours))
        yield ApiChange(key, names.get(key, "?"), *("" if span is None else str(span) for span in spans))


def _features(before: BrokerFacts, after: BrokerFacts) -> Iterator[str]:
    older = {each.name: each for each in before.features}
    for each in after.features:
        if older.get(each.name) != each:
            was = f"{_level(older[each.name])} -> " if each.name in older else "new, "
            yield f"`{each.name}`: {was}{_level(each)}"


def _level(feature: FeatureLevel) -> str:
    return f"{feature.lowest}-{feature.highest}, finalized {feature.finalized}"


def unknown_errors(codes: Sequence[ErrorCode]) -> tuple[ErrorCode, ...]:
    """Return the error codes of Kafka's table that the codec lacks or has under another name."""
    return tuple(each for each in codes if error_codes.NAMES.get(each.code) != each.name)


def _configs(before: BrokerFacts, after: BrokerFacts) -> Iterator[ConfigChange]:
    for kind, definitions in after.configs.items():
        older = before.configs[kind]
        for name in {**older, **definitions}:
            if older.get(name) != definitions.get(name):
                yield ConfigChange(kind, name, older.get(name), definitions.get(name))


def refusals(before: BrokerFacts, after: BrokerFacts) -> Iterator[RefusalChange]:
    """Yield one change for each pattern of words in refusals, with all configs that show it."""
    found: dict[tuple[str, str, str], list[tuple[str, str, str, str]]] = {}
    for kind, name, value in {**before.refusals, **after.refusals}:
        if name not in before.configs[kind] or name not in after.configs[kind]:
            continue
        one, other = (_refusal(facts, kind, name, value) for facts in (before, after))
        if one != other:
            pattern = (kind, _pattern(one, value), _pattern(other, value))
            found.setdefault(pattern, []).append((name, value, one, other))
    for (kind, *_), rows in found.items():
        yield RefusalChange(kind, *rows[0], tuple(dict.fromkeys(name for name, *_ in rows)))


def _pattern(text: str, value: str) -> str:
    """Return the text of a refusal with placeholders for what depends on the config and the value."""
    return _NUMBER.sub("N", _NAME.sub("NAME", text.replace(value, "VALUE") if value else text))


def _refusal(facts: BrokerFacts, kind: str, name: str, value: str) -> str:
    code, text = facts.refusals.get((kind, name, value), (0, "taken"))
    return f"{code} {text}".strip() if code else text


def _ignored(facts: BrokerFacts) -> Iterator[str]:
    settings = all_settings()
    for name, definition in facts.configs["broker"].items():
        if name not in settings and SERVED.match(name):
            yield f"{name}: {definition}"
