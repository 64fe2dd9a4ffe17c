"""Applies the changes of AlterConfigs and IncrementalAlterConfigs to the configs of a resource."""

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
    """One change of one config. Its `value` is None only if the config is deleted."""

    name: str
    operation: int
    value: str | None


class Alteration(NamedTuple):
    """All changes that a request makes to one resource. With `replace`, configs that are not named return to their defaults
    (AlterConfigs)."""

    kind: int
    name: str
    changes: Sequence[Change]
    replace: bool


def made(current: Mapping[str, str], wanted: Alteration, keys: Mapping[str, ConfigKey], effective: Callable[[str], str]) -> dict[str, str]:
    """Return the configs `current` with the change applied; `effective` gives the value of a config that is not set. Raises TopicRefused
    for an operation that does not exist, or a list operation on a config that is no list."""
    changed = {} if wanted.replace else dict(current)
    by_name = {change.name: change for change in wanted.changes}
    for change in (by_name[name] for name in java_order(by_name, java_hash)):  # Kafka's controller iterates over a HashMap of the changes.
        if change.operation == SET:
            changed[change.name] = change.value or ""
        elif change.operation == DELETE:
            changed.pop(change.name, None)
        elif change.operation in OPERATION_NAMES:
            changed[change.name] = _listed(change, keys, changed, effective)
        else:
            raise TopicRefused(error_codes.UNKNOWN_SERVER_ERROR, "")
        if too_long(changed.get(change.name, "")):
            raise TopicRefused(error_codes.INVALID_CONFIG, TOO_LONG)
    return changed


def _listed(change: Change, keys: Mapping[str, ConfigKey], changed: Mapping[str, str], effective: Callable[[str], str]) -> str:
    """Return the value of a LIST config after an APPEND or SUBTRACT. Appending "" adds an empty entry."""
    key = keys.get(change.name)
    if key is None or key.kind != LIST:
        verb = OPERATION_NAMES[change.operation]
        raise TopicRefused(error_codes.INVALID_CONFIG, f"Can't {verb} to key {change.name} because its type is not LIST.")
    parts = [part for part in changed.get(change.name, effective(change.name)).split(",") if part]
    named = java_split(change.value or "")
    if change.operation == SUBTRACT:
        return ",".join(without(parts, named))
    # Kafka 2.8 appends even entries that the list already has (docs/kafka/differences.md).
    existing = set(parts)
    return ",".join([*parts, *(part for part in dict.fromkeys(named) if part not in existing)])


def without(parts: Iterable[str], named: Iterable[str]) -> list[str]:
    """Return the list without the first occurrence of each of the names."""
    remaining = Counter(named)
    kept = []
    for part in parts:
        if remaining[part]:
            remaining[part] -= 1
        else:
            kept.append(part)
    return kept
