"""How Kafka 2.8's admin manager, which works on ZooKeeper, changes lists among the configs of a topic and places replicas by hand.

Seen on Apache Kafka 2.8.2: nothing is known of topics here, a config that is no list is 42, one that there is not -1, and appending does
not look for what the list holds already.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from groupmock_codec.errors import ErrorCode

from ..log.change import without
from ..log.config_keys import LIST, ConfigKey, java_split
from ..log.refusal import TopicRefused

SET: Final = 0
DELETE: Final = 1
APPEND: Final = 2
VERBS: Final = {APPEND: "append", 3: "subtract"}
NO_PARTITION: Final = "The partition does not exist."
KINDS: Final = {2: "TOPIC", 4: "BROKER", 8: "BROKER_LOGGER"}
"""The resources that may be altered."""


def check_kinds(kinds: Iterable[int]) -> None:
    """One resource of another kind spoils the whole request. Raises TopicRefused(INVALID_REQUEST)."""
    if any(kind not in KINDS for kind in kinds):
        raise TopicRefused(ErrorCode.INVALID_REQUEST, "Unexpected resource type UNKNOWN")


def check_path(name: str) -> None:
    """A topic's configs are looked up in ZooKeeper first, whose client takes no path that ends so. Raises TopicRefused(INVALID_REQUEST)."""
    trouble = {
        "": "Path must not end with / character",
        ".": f'Invalid path string "/config/topics/{name}" caused by relative paths not allowed @16',
        "..": f'Invalid path string "/config/topics/{name}" caused by relative paths not allowed @17',
    }.get(name)
    if trouble is not None:
        raise TopicRefused(ErrorCode.INVALID_REQUEST, invalid(name, trouble))


def invalid(name: str, trouble: str, kind: str = "TOPIC") -> str:
    """What is said of a value that cannot be."""
    return f"Invalid config value for resource ConfigResource(type={kind}, name='{name}'): {trouble}"


def changed(current: Mapping[str, str], changes: Sequence[tuple[str, int, str | None]], keys: Mapping[str, ConfigKey]) -> dict[str, str]:
    """`current` with each change (name, operation, value) made in turn. Raises TopicRefused for what is no operation or no list."""
    found = dict(current)
    for name, operation, value in changes:
        if operation == SET:
            found[name] = value or ""
        elif operation == DELETE:
            found.pop(name, None)
        elif operation in VERBS:
            found[name] = _listed(name, operation, value or "", keys, found)
        else:
            raise TopicRefused(ErrorCode.UNKNOWN_SERVER_ERROR, "")
    return found


def _listed(name: str, operation: int, value: str, keys: Mapping[str, ConfigKey], found: Mapping[str, str]) -> str:
    key = keys.get(name)
    # To append to a config that there is not is -1, to set it 40:
    # docs/kafka/differences.md#found-by-generated-exchanges-of-the-data-plane-and-by-hostile-bytes
    if key is None:
        raise TopicRefused(ErrorCode.UNKNOWN_SERVER_ERROR, "")
    if key.kind != LIST:
        raise TopicRefused(ErrorCode.INVALID_REQUEST, f"Config value {VERBS[operation]} is not allowed for config key: {name}")
    # Java's split drops empty entries at the end:
    # docs/kafka/differences.md#found-by-generated-exchanges-of-the-data-plane-and-by-hostile-bytes
    parts = java_split(found.get(name, key.default))
    if operation == APPEND:
        # Later releases do not append what the list holds already:
        # docs/kafka/differences.md#found-by-generated-exchanges-of-the-data-plane-and-by-hostile-bytes
        return ",".join(parts + java_split(value))
    return ",".join(without(parts, java_split(value)))


def replicas(assignments: Sequence[tuple[int, Sequence[int]]]) -> list[list[int]]:
    """Replicas by partition, from (index, nodes): the last one of an index counts, and nobody asks whether there are such nodes.

    Raises TopicRefused(INVALID_REPLICA_ASSIGNMENT).
    """
    # Later releases refuse a partition that is assigned twice:
    # docs/kafka/differences.md#found-by-generated-exchanges-of-the-data-plane-and-by-hostile-bytes
    by_index = {index: list(nodes) for index, nodes in assignments}
    if len({len(nodes) for nodes in by_index.values()}) != 1:
        raise _misplaced("All partitions should have the same number of replicas")
    for nodes in by_index.values():
        if len(set(nodes)) < len(nodes):
            raise _misplaced(f"Duplicate replica assignment found: {by_index}")
    if sorted(by_index) != list(range(len(by_index))):
        raise _misplaced("partitions should be a consecutive 0-based integer sequence")
    return [by_index[index] for index in sorted(by_index)]


def _misplaced(message: str) -> TopicRefused:
    return TopicRefused(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)
