"""Changes the configs of topics and brokers for AlterConfigs and IncrementalAlterConfigs, with the errors of Kafka's controller."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from groupmock_codec import error_codes

from . import configs, names
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
    """Change one resource on behalf of the broker `node`, or with `validate_only` only check the change. Raises TopicRefused."""
    check_changes(wanted)
    if wanted.kind == TOPIC:
        _alter_topic(turn, topics, node, wanted, validate_only)
    elif wanted.kind == BROKER:
        alter_broker(turn, topics, node, wanted, validate_only)
    else:
        raise TopicRefused(error_codes.INVALID_REQUEST, f"Unknown resource type {wanted.kind}")


def check_changes(wanted: Alteration) -> None:
    """Refuse an alteration that lists a config twice, or has a null where a value is needed. Raises TopicRefused."""
    wanted_names = [change.name for change in wanted.changes]
    if len(set(wanted_names)) < len(wanted_names):
        raise TopicRefused(error_codes.INVALID_REQUEST, "Error due to duplicate config keys")
    nulls = [change.name for change in wanted.changes if change.value is None and change.operation != DELETE]
    if nulls:
        raise TopicRefused(error_codes.INVALID_REQUEST, f"Null value not supported for : {', '.join(nulls)}")


def _alter_topic(turn: Turn, topics: Topics, node: int, wanted: Alteration, validate_only: bool) -> None:
    """Change a topic after checks in the order of Kafka's controller: list operations first, then names and values, and then whether the
    topic exists."""
    overrides = topics.broker_overrides(node)
    current = known.configs if (known := topics.get(wanted.name)) is not None else {}
    keys = topic_keys(turn.quirks)
    changed = made(current, wanted, keys, lambda name: configs.effective(name, current, overrides, turn.settings))
    check_topic_name(wanted.name)
    try:
        checked = configs.check_all(changed, keys)
    except configs.BadConfig as bad:
        raise TopicRefused(error_codes.INVALID_CONFIG, str(bad)) from None
    topic = topics.require(wanted.name)
    if not validate_only:
        topics.configure(turn, topic, checked)


def check_topic_name(name: str) -> None:
    """Refuse a name that no topic may have. Raises TopicRefused."""
    if not name:
        raise TopicRefused(error_codes.INVALID_REQUEST, "Default topic resources are not allowed.")
    reason = names.why_invalid(name)
    if reason is not None:
        raise TopicRefused(error_codes.INVALID_TOPIC_EXCEPTION, f"Topic name is invalid: {reason}")
