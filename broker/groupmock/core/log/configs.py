"""Config values are checked as in Kafka, completed with the broker's values, and converted to the limits of a log."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ..java.numbers import double, trimmed, whole_number
from ..settings import Settings
from .broker_configs import Overrides, started_with
from .config_keys import (
    BITS,
    BOOLEAN,
    CHECKED,
    CLASS,
    DOUBLE,
    KIND_NAMES,
    LIST,
    LONG_MAX,
    TOPIC_CONFIGS,
    ConfigKey,
    number_of,
    split_list,
    topic_keys,
    written,
)
from .limits import LogLimits
from .value_checks import TOO_LONG, bad_value, too_long


class BadConfig(ValueError):
    """The config value is one that Kafka refuses with INVALID_CONFIG; the text is Kafka's error message."""


class UnknownConfig(BadConfig):
    """Kafka has no config with this name."""


def check(key: ConfigKey, value: str) -> None:
    """Check the value of one config. Raises BadConfig with Kafka's message. (The stored value keeps its blanks, as in Kafka 4.3.)"""
    if too_long(value):
        raise BadConfig(TOO_LONG)
    if key.kind == LIST:
        trouble = None if key.refuse_list is None else key.refuse_list(key.name, split_list(value))
        if trouble is not None:
            raise BadConfig(trouble)
        return
    trouble = _not_of_kind(key.kind, trimmed(value))
    if trouble is not None:
        raise BadConfig(bad_value(key.name, value, trouble))
    text = value if key.kind == CLASS else written(key, value)
    trouble = key.refuse(text)
    if trouble is not None:
        raise BadConfig(bad_value(key.name, text, trouble))


def _not_of_kind(kind: int, text: str) -> str | None:
    if kind == BOOLEAN:
        return None if text.lower() in ("true", "false") else "Expected value to be either true or false"
    if kind in BITS:
        return None if whole_number(text, BITS[kind]) is not None else f"Not a number of type {KIND_NAMES[kind]}"
    return "Not a number of type DOUBLE" if kind == DOUBLE and double(text) is None else None


def check_all(settings: Mapping[str, str | None], keys: Mapping[str, ConfigKey] = TOPIC_CONFIGS) -> dict[str, str]:
    """Check all configs of a topic in Kafka's order: nulls, then names, then values. Raises BadConfig for the first problem."""
    nulls = [name for name, value in settings.items() if value is None]
    if nulls:
        raise BadConfig(f"Null value not supported for topic configs: {','.join(nulls)}")
    checked = {name: value for name, value in settings.items() if value is not None}
    for name in checked:
        if name not in keys:
            raise UnknownConfig(f"Unknown topic config name: {name}")
    for name in dict.fromkeys((*CHECKED, *checked)):
        if name in checked:
            check(keys[name], checked[name])
    _fit_together(checked)
    return checked


def _fit_together(settings: Mapping[str, str]) -> None:
    shortest, longest = settings.get("min.compaction.lag.ms"), settings.get("max.compaction.lag.ms")
    if shortest is not None and longest is not None and number_of(shortest) > number_of(longest):
        raise BadConfig(f"conflict topic config setting min.compaction.lag.ms ({shortest}) > max.compaction.lag.ms ({longest})")
    if trimmed(settings.get("remote.storage.enable", "false")).lower() == "true":
        raise BadConfig("Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log storage.")


def effective(name: str, set_on_topic: Mapping[str, str], changed: Overrides, settings: Settings) -> str:
    """Return the value in effect for a topic: its own, or else the broker's (changed at run time or from start), or else Kafka's
    default."""
    if name in set_on_topic:
        return trimmed(set_on_topic[name])
    key = topic_keys(settings.quirks)[name]
    if key.synonym is None:
        return key.default
    value = changed.get(key.synonym)
    if value is None:
        value = started_with(key.synonym, settings)
    return key.default if value is None else trimmed(value)


def limits(set_on_topic: Mapping[str, str], changed: Overrides, settings: Settings) -> LogLimits:
    def value(name: str) -> str:
        return effective(name, set_on_topic, changed, settings)

    policies = split_list(value("cleanup.policy"))
    segment_ms = number_of(value("segment.ms"))
    if "compact" in policies:
        # The segment age is limited by max.compaction.lag.ms, too, as in LogConfig.maxSegmentMs.
        segment_ms = min(segment_ms, max(0, number_of(value("max.compaction.lag.ms"))))
    return LogLimits(
        compact="compact" in policies,
        max_message_bytes=number_of(value("max.message.bytes")),
        log_append_time=value("message.timestamp.type") == "LogAppendTime",
        before_max_ms=_stamp_bound(value, "message.timestamp.before.max.ms", settings),
        after_max_ms=_stamp_bound(value, "message.timestamp.after.max.ms", settings),
        # Size does not limit a topic that is only compacted (UnifiedLog.deleteOldSegments), so only groupmock's own memory limit applies to
        # it.
        retention_bytes=number_of(value("retention.bytes")) if "delete" in policies else settings.log_retention_bytes,
        producer_expiration_ms=_expiration_ms(changed, settings),
        producer_check_ms=settings.producer_id_expiration_check_interval_ms,
        retention_ms=number_of(value("retention.ms")) if "delete" in policies else -1,
        segment_ms=segment_ms,
        segment_bytes=number_of(value("segment.bytes")),
        delete_retention_ms=number_of(value("delete.retention.ms")),
        min_compaction_lag_ms=number_of(value("min.compaction.lag.ms")),
    )


def _expiration_ms(changed: Overrides, settings: Settings) -> int:
    value = changed.get("producer.id.expiration.ms")
    return number_of(value) if value else settings.producer_id_expiration_ms


def _stamp_bound(value: Callable[[str], str], name: str, settings: Settings) -> int:
    """Return the bound of timestamps, which before Kafka 4 is message.timestamp.difference.max.ms if the config `name` is not set
    (LogConfig, KIP-937)."""
    own = number_of(value(name))
    return own if own != LONG_MAX or not settings.quirks.topic_configs_before_4 else number_of(value("message.timestamp.difference.max.ms"))
