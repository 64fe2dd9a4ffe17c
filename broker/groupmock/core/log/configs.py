"""What becomes of config values: checked as Kafka checks them, laid over the broker's own, read into the limits of an append."""

from __future__ import annotations

from collections.abc import Mapping

from ..settings import Settings
from .broker_configs import Overrides, started_with
from .config_keys import BOOLEAN, DOUBLE, INT, KIND_NAMES, LIST, LONG, TOPIC_CONFIGS, ConfigKey, split_list
from .limits import Limits


class BadConfig(ValueError):
    """A config that Kafka refuses with INVALID_CONFIG; the text is what it says."""


def check(key: ConfigKey, value: str) -> None:
    """Raises BadConfig with Kafka's words. (A value is kept as it was written, blanks and all, as Kafka 4.3 does.)"""
    for text in split_list(value) if key.kind == LIST else [value.strip()]:
        trouble = _not_of_kind(key.kind, text)
        if trouble is None:
            trouble = key.refuse(text)
            text = str(float(text)) if key.kind == DOUBLE else text
        if trouble is not None:
            raise BadConfig(f"Invalid value {text} for configuration {key.name}: {trouble}")


def _not_of_kind(kind: int, text: str) -> str | None:
    if kind == BOOLEAN:
        return None if text.lower() in ("true", "false") else "Expected value to be either true or false"
    if kind in (INT, LONG):
        bits = 31 if kind == INT else 63
        digits = text[1:] if text[:1] in ("-", "+") else text
        fits = digits.isascii() and digits.isdigit() and -(2**bits) <= int(text) < 2**bits
        return None if fits else f"Not a number of type {KIND_NAMES[kind]}"
    if kind == DOUBLE:
        try:
            float(text)
        except ValueError:
            return "Not a number of type DOUBLE"
    return None


def check_all(settings: Mapping[str, str | None]) -> dict[str, str]:
    """A whole set of topic configs, checked. Raises BadConfig for an unknown name, a null or a value Kafka refuses."""
    checked: dict[str, str] = {}
    for name, value in settings.items():
        key = TOPIC_CONFIGS.get(name)
        if key is None:
            raise BadConfig(f"Unknown topic config name: {name}")
        if value is None:
            raise BadConfig(f"Null value not supported for topic configs: {name}")
        check(key, value)
        checked[name] = value
    _fit_together(checked)
    return checked


def _fit_together(settings: Mapping[str, str]) -> None:
    shortest, longest = settings.get("min.compaction.lag.ms"), settings.get("max.compaction.lag.ms")
    if shortest is not None and longest is not None and int(shortest) > int(longest):
        raise BadConfig(f"conflict topic config setting min.compaction.lag.ms ({shortest}) > max.compaction.lag.ms ({longest})")
    if settings.get("remote.storage.enable", "false").strip().lower() == "true":
        raise BadConfig("Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log storage.")


def effective(name: str, set_on_topic: Mapping[str, str], changed: Overrides, settings: Settings) -> str:
    """The value a topic works with: its own, else the broker's (changed at run time, else as started), else Kafka's default."""
    if name in set_on_topic:
        return set_on_topic[name].strip()
    key = TOPIC_CONFIGS[name]
    if key.synonym is None:
        return key.default
    value = changed.get(key.synonym)
    if value is None:
        value = started_with(key.synonym, settings)
    return key.default if value is None else value.strip()


def limits(set_on_topic: Mapping[str, str], changed: Overrides, settings: Settings) -> Limits:
    """What an append looks at."""

    def value(name: str) -> str:
        return effective(name, set_on_topic, changed, settings)

    return Limits(
        compact="compact" in split_list(value("cleanup.policy")),
        max_message_bytes=int(value("max.message.bytes")),
        log_append_time=value("message.timestamp.type") == "LogAppendTime",
        before_max_ms=int(value("message.timestamp.before.max.ms")),
        after_max_ms=int(value("message.timestamp.after.max.ms")),
        retention_bytes=int(value("retention.bytes")),
        producer_expiration_ms=settings.producer_id_expiration_ms,
    )
