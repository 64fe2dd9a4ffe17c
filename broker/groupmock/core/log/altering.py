"""Changing configs of topics and brokers: what AlterConfigs and IncrementalAlterConfigs share, in the words of Kafka's controller."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from groupmock_codec.errors import ErrorCode

from ..group.hashing import java_order
from . import configs, names, zookeeper_admin
from .broker_configs import CLUSTER_WIDE, IDENTITY_CONFIGS, broker_keys
from .config_keys import LIST, TOPIC_CONFIGS, ConfigKey, java_split, topic_keys
from .refusal import TopicRefused

if TYPE_CHECKING:
    from ..cluster import Cluster

TOPIC: Final = 2
BROKER: Final = 4
SET: Final = 0
DELETE: Final = 1
APPEND: Final = 2
SUBTRACT: Final = 3
OPERATION_NAMES: Final = {APPEND: "APPEND", SUBTRACT: "SUBTRACT"}


class Change(NamedTuple):
    """One config to change. `value` is None only to delete."""

    name: str
    operation: int
    value: str | None


class Alteration(NamedTuple):
    """All changes of one resource. `replace`: configs that are not named go back to their defaults (AlterConfigs)."""

    kind: int
    name: str
    changes: Sequence[Change]
    replace: bool


def alter(cluster: Cluster, node: int, wanted: Alteration, validate_only: bool) -> None:
    """Change one resource, or only say whether it could be. Raises TopicRefused."""
    old = cluster.settings.quirks.zookeeper_admin
    if old and wanted.replace and wanted.kind == TOPIC:
        cluster.topics.require(wanted.name)
    wanted_names = [change.name for change in wanted.changes]
    if len(set(wanted_names)) < len(wanted_names) and not (old and wanted.replace):
        twice = dict.fromkeys(name for name in wanted_names if wanted_names.count(name) > 1)
        named = f" : {','.join(twice)}" if old else ""
        raise TopicRefused(ErrorCode.INVALID_REQUEST, f"Error due to duplicate config keys{named}")
    nulls = [
        f"SET:{change.name}" if old else change.name for change in wanted.changes if change.value is None and change.operation != DELETE
    ]
    if nulls:
        raise TopicRefused(ErrorCode.INVALID_REQUEST, f"Null value not supported for : {', '.join(nulls)}")
    if wanted.kind == TOPIC:
        _alter_topic(cluster, node, wanted, validate_only)
    elif wanted.kind == BROKER:
        _alter_broker(cluster, node, wanted, validate_only)
    else:
        raise TopicRefused(ErrorCode.INVALID_REQUEST, f"Unknown resource type {wanted.kind}")


def _alter_topic(cluster: Cluster, node: int, wanted: Alteration, validate_only: bool) -> None:
    """In the order of Kafka's controller: list operations, name, values, and only then whether there is such a topic."""
    topics, overrides = cluster.topics, cluster.topics.broker_overrides(node)
    old = cluster.settings.quirks.zookeeper_admin
    if old:
        zookeeper_admin.check_path(wanted.name)
    current = known.configs if (known := topics.get(wanted.name)) is not None else {}
    keys = topic_keys(cluster.settings.quirks)
    if old and not wanted.replace:
        changed = zookeeper_admin.changed(current, wanted.changes, keys)
        topics.require(wanted.name)
    else:
        changed = _changed(current, wanted, keys, lambda name: configs.effective(name, current, overrides, cluster.settings))
    if not wanted.name:
        raise TopicRefused(ErrorCode.INVALID_REQUEST, "Default topic resources are not allowed.")
    reason = names.why_invalid(wanted.name)
    if reason is not None:
        raise TopicRefused(ErrorCode.INVALID_TOPIC_EXCEPTION, f"Topic name is invalid: {reason}")
    try:
        checked = configs.check_all(changed, keys)
    except configs.BadConfig as bad:
        if old and not isinstance(bad, configs.UnknownConfig):
            raise TopicRefused(ErrorCode.INVALID_REQUEST, zookeeper_admin.invalid(wanted.name, str(bad))) from None
        raise TopicRefused(ErrorCode.INVALID_CONFIG, str(bad)) from None
    topic = topics.require(wanted.name)
    if not validate_only:
        topics.configure(topic, checked)


def _alter_broker(cluster: Cluster, node: int, wanted: Alteration, validate_only: bool) -> None:
    check_broker_name(wanted.name, node, f"expected {node}")
    keys = broker_keys()
    fixed = [
        change.name
        for change in wanted.changes
        if change.name in IDENTITY_CONFIGS or (change.name in keys and not keys[change.name].dynamic)
    ]
    if fixed:
        raise TopicRefused(ErrorCode.INVALID_REQUEST, f"Cannot update these configs dynamically: [{', '.join(fixed)}]")
    overrides = cluster.topics.broker_overrides(node)
    current = overrides.cluster if wanted.name == CLUSTER_WIDE else overrides.node
    behind = {key.synonym: key._replace(name=key.synonym) for key in TOPIC_CONFIGS.values() if key.synonym is not None}
    changed = _changed(current, wanted, behind, lambda name: overrides.get(name) or behind[name].default)
    try:
        for name, value in changed.items():
            if name in behind:
                configs.check(behind[name], value)
    except configs.BadConfig as bad:
        raise TopicRefused(ErrorCode.INVALID_REQUEST, str(bad)) from None
    if not validate_only:
        cluster.topics.configure_broker(wanted.name, changed)


def check_broker_name(name: str, node: int, expected: str) -> None:
    """A broker answers for itself and for all (""). Raises TopicRefused(INVALID_REQUEST)."""
    if name == CLUSTER_WIDE:
        return
    if not name.isascii() or not name.removeprefix("-").isdigit():
        raise TopicRefused(ErrorCode.INVALID_REQUEST, f"Broker id must be an integer, but it is: {name}")
    if int(name) != node:
        raise TopicRefused(ErrorCode.INVALID_REQUEST, f"Unexpected broker id, {expected}, but received {name}")


def _changed(
    current: Mapping[str, str], wanted: Alteration, keys: Mapping[str, ConfigKey], effective: Callable[[str], str]
) -> dict[str, str]:
    found = {} if wanted.replace else dict(current)
    by_name = {change.name: change for change in wanted.changes}
    for change in (by_name[name] for name in java_order(by_name)):  # Kafka's controller has them in a map
        if change.operation == SET:
            found[change.name] = change.value or ""
        elif change.operation == DELETE:
            found.pop(change.name, None)
        elif change.operation in OPERATION_NAMES:
            found[change.name] = _listed(change, keys, found, effective)
        else:
            raise TopicRefused(ErrorCode.UNKNOWN_SERVER_ERROR, "")
    return found


def _listed(change: Change, keys: Mapping[str, ConfigKey], found: Mapping[str, str], effective: Callable[[str], str]) -> str:
    """APPEND or SUBTRACT: the list that results, from the one that holds now, default included. To append "" appends an empty entry."""
    key = keys.get(change.name)
    if key is None or key.kind != LIST:
        verb = OPERATION_NAMES[change.operation]
        raise TopicRefused(ErrorCode.INVALID_CONFIG, f"Can't {verb} to key {change.name} because its type is not LIST.")
    parts = [part for part in found.get(change.name, effective(change.name)).split(",") if part]
    for part in java_split(change.value or ""):
        if change.operation == APPEND and part not in parts:
            parts.append(part)
        elif change.operation == SUBTRACT and part in parts:
            parts.remove(part)
    return ",".join(parts)
