"""Changes that AlterConfigs and IncrementalAlterConfigs ask for, and how they change the configs of a resource."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from groupmock_codec import error_codes

from ..java.hashes import java_hash
from ..java.orders import java_order
from .config_keys import LIST, ConfigKey, java_split
from .refusal import TopicRefused
from .value_checks import TOO_LONG, too_long

SET: Final = 0
DELETE: Final = 1
APPEND: Final = 2
SUBTRACT: Final = 3
OPERATION_NAMES: Final = {APPEND: "APPEND", SUBTRACT: "SUBTRACT"}


class Change(NamedTuple):
    """One config to change. Its `value` is None only if the config is deleted."""

    name: str
    operation: int
    value: str | None


class Alteration(NamedTuple):
    """All changes of one resource. `replace`: configs that are not named return to their defaults (AlterConfigs)."""

    kind: int
    name: str
    changes: Sequence[Change]
    replace: bool


def made(current: Mapping[str, str], wanted: Alteration, keys: Mapping[str, ConfigKey], effective: Callable[[str], str]) -> dict[str, str]:
    """`current` after the change; `effective` says what holds where nothing is set. Raises TopicRefused: no such operation, no list."""
    found = {} if wanted.replace else dict(current)
    by_name = {change.name: change for change in wanted.changes}
    for change in (by_name[name] for name in java_order(by_name, java_hash)):  # Kafka's controller keeps them in a hash map
        if change.operation == SET:
            found[change.name] = change.value or ""
        elif change.operation == DELETE:
            found.pop(change.name, None)
        elif change.operation in OPERATION_NAMES:
            found[change.name] = _listed(change, keys, found, effective)
        else:
            raise TopicRefused(error_codes.UNKNOWN_SERVER_ERROR, "")
        if too_long(found.get(change.name, "")):
            raise TopicRefused(error_codes.INVALID_CONFIG, TOO_LONG)
    return found


def _listed(change: Change, keys: Mapping[str, ConfigKey], found: Mapping[str, str], effective: Callable[[str], str]) -> str:
    """APPEND or SUBTRACT: the list that results, from the one that holds now, default included. To append "" appends an empty entry."""
    key = keys.get(change.name)
    if key is None or key.kind != LIST:
        verb = OPERATION_NAMES[change.operation]
        raise TopicRefused(error_codes.INVALID_CONFIG, f"Can't {verb} to key {change.name} because its type is not LIST.")
    parts = [part for part in found.get(change.name, effective(change.name)).split(",") if part]
    named = java_split(change.value or "")
    if change.operation == SUBTRACT:
        return ",".join(without(parts, named))
    # 2.8 appends an entry that the list holds already once more, by code of its own (docs/kafka/differences.md)
    held = set(parts)
    return ",".join([*parts, *(part for part in dict.fromkeys(named) if part not in held)])


def without(parts: Iterable[str], named: Iterable[str]) -> list[str]:
    """Return a list from which each named entry was removed once, the first of several equal ones."""
    left = Counter(named)
    kept = []
    for part in parts:
        if left[part]:
            left[part] -= 1
        else:
            kept.append(part)
    return kept
