"""Changing configs of topics and brokers: what AlterConfigs and IncrementalAlterConfigs share, in the words of Kafka's controller."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from groupmock_codec.errors import ErrorCode

from . import configs, names, zookeeper_admin
from .altering_brokers import alter_broker
from .change import DELETE, Alteration, made
from .config_keys import topic_keys
from .refusal import TopicRefused

if TYPE_CHECKING:
    from ..turn import Turn
    from .topics import Topics

TOPIC: Final = 2
BROKER: Final = 4


def alter(turn: Turn, topics: Topics, node: int, wanted: Alteration, validate_only: bool) -> None:
    """Change one resource, or only say whether it could be. Raises TopicRefused."""
    old = turn.quirks.zookeeper_admin
    if old and wanted.replace and wanted.kind == TOPIC:
        topics.require(wanted.name)
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
        _alter_topic(turn, topics, node, wanted, validate_only)
    elif wanted.kind == BROKER:
        alter_broker(turn, topics, node, wanted, validate_only)
    else:
        raise TopicRefused(ErrorCode.INVALID_REQUEST, f"Unknown resource type {wanted.kind}")


def _alter_topic(turn: Turn, topics: Topics, node: int, wanted: Alteration, validate_only: bool) -> None:
    """In the order of Kafka's controller: list operations, name, values, and only then whether there is such a topic."""
    overrides = topics.broker_overrides(node)
    old = turn.quirks.zookeeper_admin
    if old:
        zookeeper_admin.check_path(wanted.name)
    current = known.configs if (known := topics.get(wanted.name)) is not None else {}
    keys = topic_keys(turn.quirks)
    if old and not wanted.replace:
        changed = zookeeper_admin.changed(current, wanted.changes, keys)
        topics.require(wanted.name)
    else:
        changed = made(current, wanted, keys, lambda name: configs.effective(name, current, overrides, turn.settings))
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
