"""Changing configs in the order and the words of the admin manager: what `core.log.altering` is for the controller."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

from groupmock_codec.errors import ErrorCode

from ..log import broker_checks, configs
from ..log.altering import BROKER, TOPIC, check_topic_name
from ..log.altering_brokers import check_broker_name, check_changed, target_of
from ..log.broker_configs import BrokerKey, key_of
from ..log.change import DELETE, OPERATION_NAMES, SET, Alteration, Change, made
from ..log.config_keys import LIST, topic_keys
from ..log.refusal import TopicRefused
from . import admin_manager

if TYPE_CHECKING:
    from ..log.topics import Topics
    from ..turn import Turn


def alter(turn: Turn, topics: Topics, node: int, wanted: Alteration, validate_only: bool) -> None:
    """See `core.log.altering.Alter`."""
    if wanted.replace and wanted.kind == TOPIC:
        topics.require(wanted.name)
    twice = [name for name, times in Counter(change.name for change in wanted.changes).items() if times > 1]
    if twice and not wanted.replace:
        raise TopicRefused(ErrorCode.INVALID_REQUEST, f"Error due to duplicate config keys : {','.join(twice)}")
    nulls = [f"SET:{change.name}" for change in wanted.changes if change.value is None and change.operation != DELETE]
    if nulls:
        raise TopicRefused(ErrorCode.INVALID_REQUEST, f"Null value not supported for : {', '.join(nulls)}")
    if wanted.kind == TOPIC:
        _alter_topic(turn, topics, wanted, validate_only)
    elif wanted.kind == BROKER:
        _alter_broker(turn, topics, node, wanted, validate_only)
    else:
        raise TopicRefused(ErrorCode.INVALID_REQUEST, f"Unknown resource type {wanted.kind}")


def _alter_topic(turn: Turn, topics: Topics, wanted: Alteration, validate_only: bool) -> None:
    admin_manager.check_path(wanted.name)
    current = known.configs if (known := topics.get(wanted.name)) is not None else {}
    keys = topic_keys(turn.quirks)
    if wanted.replace:
        changed = made(current, wanted, keys, str)  # AlterConfigs only sets: nobody asks what held before
    else:
        # Before the topic is looked for: a bad operation on a topic that is not there is told of, not the topic:
        # docs/kafka/differences.md#found-by-generated-exchanges-of-the-data-plane-and-by-hostile-bytes
        changed = admin_manager.changed(current, wanted.changes, keys)
        topics.require(wanted.name)
    check_topic_name(wanted.name)
    try:
        checked = configs.check_all(changed, keys)
    except configs.UnknownConfig as bad:
        raise TopicRefused(ErrorCode.INVALID_CONFIG, str(bad)) from None
    except configs.BadConfig as bad:
        raise TopicRefused(ErrorCode.INVALID_REQUEST, admin_manager.invalid(wanted.name, str(bad))) from None
    topic = topics.require(wanted.name)
    if not validate_only:
        topics.configure(turn, topic, checked)


def _alter_broker(turn: Turn, topics: Topics, node: int, wanted: Alteration, validate_only: bool) -> None:
    check_broker_name(wanted.name, node, f"expected {node}")
    target = target_of(turn, topics, node, wanted.name)
    for change in wanted.changes:
        _check_operation(change, target.keys)
    if wanted.replace:
        after = made(target.before, wanted, target.plain, target.effective)
    else:
        after = admin_manager.changed(target.before, wanted.changes, target.plain)
    try:
        check_changed(target, after, turn.quirks)
        if not validate_only:
            _check_passwords(after, target.keys)
    except broker_checks.NoCleaner:
        # log.cleaner.threads=0 divides by zero in 2.8: docs/kafka/differences.md#configs-of-brokers
        raise TopicRefused(ErrorCode.UNKNOWN_SERVER_ERROR, "") from None
    except configs.BadConfig as bad:
        raise TopicRefused(ErrorCode.INVALID_REQUEST, admin_manager.invalid(wanted.name, str(bad), "BROKER")) from None
    if not validate_only:
        topics.configure_broker(turn, target.name, after)


def _check_operation(change: Change, keys: Mapping[str, BrokerKey]) -> None:
    if change.operation in (SET, DELETE):
        return
    key = key_of(change.name, keys)
    if change.operation not in OPERATION_NAMES or key is None:
        raise TopicRefused(ErrorCode.UNKNOWN_SERVER_ERROR, "")
    if key.key.kind != LIST:
        verb = OPERATION_NAMES[change.operation].lower()
        raise TopicRefused(ErrorCode.INVALID_REQUEST, f"Config value {verb} is not allowed for config key: {change.name}")


def _check_passwords(after: Mapping[str, str], keys: Mapping[str, BrokerKey]) -> None:
    """They are kept in ZooKeeper, and there is no key to write them with, unless the broker was started with one."""
    if any(key.sensitive for name in after if (key := key_of(name, keys)) is not None):
        raise configs.BadConfig("Password encoder secret not configured")
