"""Checks broker configs in combination, and each changed value against the former one (KafkaConfig, and the dynamic reconfigurables)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from ..java.numbers import trimmed, whole_number
from .broker_configs import BrokerKey, Overrides
from .config_keys import BITS, INT, number_of, split_list
from .configs import BadConfig

Values = Callable[[str], str | None]
"""A function that maps a config's name to its value without surrounding blanks, or to None if the config has no value."""
HOUR_MS: Final = 3_600_000
MINUTE_MS: Final = 60_000
CLEANER_BYTES: Final = 1024 * 1024
POOLS: Final = (
    "num.io.threads",
    "num.replica.fetchers",
    "num.recovery.threads.per.data.dir",
    "background.threads",
    "num.network.threads",
    "remote.log.reader.threads",
    "remote.log.manager.copier.thread.pool.size",
    "remote.log.manager.expiration.thread.pool.size",
    "remote.log.manager.follower.thread.pool.size",
)
"""The thread pools whose size one change may at most double or halve. Those of tiered storage are read-only before Kafka 4."""
CLEANERS: Final = "log.cleaner.threads"
CODECS: Final = ("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer")
ENDPOINT: Final = re.compile(r".*://\[?[0-9a-zA-Z\-%._:]*\]?:-?[0-9]+")
REPORTERS: Final = "metric.reporters"
LOCAL_LIMITS: Final = (("log.local.retention.bytes", "log.retention.bytes"), ("log.local.retention.ms", "log.retention.ms"))
PER_IP: Final = "max.connections.per.ip"


class NoCleaner(BadConfig):
    """The number of log cleaner threads is 0, and Kafka fails because it divides by this number. Only Kafka 3 and later treats the
    ArithmeticException as a bad config."""


def check_together(keys: Mapping[str, BrokerKey], static: Mapping[str, str], before: Overrides, after: Overrides) -> None:
    """Refuse a combination of configs that the broker would refuse although every single value is valid. Raises BadConfig."""

    def values_of(changed: Overrides) -> Values:
        def value(name: str) -> str | None:
            found = changed.get(name)
            if found is None:
                found = static.get(name, keys[name].default if name in keys else None)
            return None if found is None else trimmed(found)

        return value

    old, new = values_of(before), values_of(after)
    _check_overrides(new)
    _check_logs(new)
    _check_listeners(keys, old, new)
    trouble = _pool_trouble(keys, old, new) or _log_trouble(keys, new) or _listener_trouble(old, new)
    if trouble is not None:
        why = f"org.apache.kafka.common.config.ConfigException: {trouble}"
        raise BadConfig(f"Invalid value {why} for configuration Invalid dynamic configuration")


def _require(holds: bool, text: str) -> None:
    if not holds:
        raise BadConfig(f"requirement failed: {text}")


def _number(values: Values, name: str) -> int | None:
    text = values(name)
    return number_of(text) if text else None


def _ms(values: Values, name: str, *coarser: tuple[str, int]) -> int | None:
    """Return in ms the first value that is set among configs for the same time in different units."""
    found = _number(values, name)
    for other, factor in coarser:
        if found is None and (number := _number(values, other)) is not None:
            found = number * factor
    return found


def _retention_ms(values: Values) -> int:
    found = _ms(values, "log.retention.ms", ("log.retention.minutes", MINUTE_MS), ("log.retention.hours", HOUR_MS))
    return -1 if found is None or found < 0 else found


def _check_overrides(new: Values) -> None:
    for entry in split_list(new(f"{PER_IP}.overrides") or ""):
        _, colon, limit = entry.rpartition(":")
        if not colon:
            text = f"begin 0, end -1, length {len(entry)}"
            raise BadConfig(f"Error parsing configuration property '{PER_IP}.overrides': {text}")
        if whole_number(limit.strip(), BITS[INT]) is None:
            raise BadConfig(f'For input string: "{limit.strip()}"')


def _check_logs(new: Values) -> None:
    roll, jitter = _ms(new, "log.roll.ms", ("log.roll.hours", HOUR_MS)), _ms(new, "log.roll.jitter.ms", ("log.roll.jitter.hours", HOUR_MS))
    _require(roll is None or roll >= 1, "log.roll.ms must be greater than or equal to 1")
    _require(jitter is None or jitter >= 0, "log.roll.jitter.ms must be greater than or equal to 0")
    _require(_retention_ms(new) != 0, "log.retention.ms must be unlimited (-1) or, greater than or equal to 1")
    missing = [each for each in split_list(new("cordoned.log.dirs") or "") if each not in _log_dirs(new)]
    shown = ", ".join(dict.fromkeys(missing))
    _require(not missing, f"All entries in cordoned.log.dirs must be present in log.dirs or log.dir. Missing entries : {shown}")
    threads = _number(new, CLEANERS) or 0
    if threads == 0:
        raise NoCleaner("/ by zero")
    room = (_number(new, "log.cleaner.dedupe.buffer.size") or 0) // threads
    _require(room > CLEANER_BYTES, "log.cleaner.dedupe.buffer.size must be at least 1MB per cleaner thread.")


def _log_dirs(new: Values) -> list[str]:
    return split_list(new("log.dirs") or new("log.dir") or "")


def _check_listeners(keys: Mapping[str, BrokerKey], old: Values, new: Values) -> None:
    """Refuse a change of the listeners, because the sockets of groupmock cannot be reopened at run time as Kafka's can."""
    in_brackets = keys["listeners"].key.refuse_list is not None  # The config `listeners` is a LIST since Kafka 4.
    for name in ("listeners", "advertised.listeners"):
        text = new(name) or ""
        if text == (old(name) or ""):
            continue
        for entry in split_list(text):
            if not ENDPOINT.fullmatch(entry):
                shown = f"[{', '.join(split_list(text))}]" if in_brackets else text
                raise BadConfig(f"Error creating broker listeners from '{shown}': Unable to parse {entry} to a broker endpoint")
        raise BadConfig(f"groupmock cannot change {name} while it runs")
    protocols = split_list(new("listener.security.protocol.map") or "")
    for entry in protocols:
        if ":" not in entry:
            text = f"begin 0, end -1, length {len(entry)}"
            raise BadConfig(f"Error parsing configuration property 'listener.security.protocol.map': {text}")
    if not any(entry.startswith("PLAINTEXT:") for entry in protocols):
        addresses = f"[{', '.join(split_list(new('listeners') or ''))}]" if in_brackets else new("listeners")
        raise BadConfig(f"Error creating broker listeners from '{addresses}': No security protocol defined for listener PLAINTEXT")
    _require(
        _number(new, PER_IP) != 0 or bool(new(f"{PER_IP}.overrides")),
        f"{PER_IP} can be set to zero only if {PER_IP}.overrides property is set.",
    )


def _pool_trouble(keys: Mapping[str, BrokerKey], old: Values, new: Values) -> str | None:
    for name in POOLS:
        was, wanted = _number(old, name), _number(new, name)
        if name not in keys or was is None or wanted is None or was == wanted:
            continue
        why = _pool_step(was, wanted)
        if why is not None:
            return f"Dynamic thread count update validation failed for {name}={wanted}, value should {why}"
    return _cleaner_step(_number(old, CLEANERS) or 0, _number(new, CLEANERS) or 0)


def _cleaner_step(was: int, wanted: int) -> str | None:
    if wanted < was // 2:
        return f"Log cleaner threads cannot be reduced to less than half the current value {was}"
    return f"Log cleaner threads cannot be increased to more than double the current value {was}" if wanted > was * 2 else None


def _pool_step(was: int, wanted: int) -> str | None:
    if wanted <= 0:
        return "be at least 1"
    if wanted < was // 2:
        return f"be at least half the current value {was}"
    return f"not be greater than double the current value {was}" if wanted > was * 2 else None


def _log_trouble(keys: Mapping[str, BrokerKey], new: Values) -> str | None:
    """Return an error if the local retention exceeds the whole retention, because the local data is a part of all data (tiered storage)."""
    for local, whole in LOCAL_LIMITS:
        if local not in keys:
            continue
        part = _number(new, local)
        most = _retention_ms(new) if whole.endswith(".ms") else _number(new, whole)
        if part is None or part == -2 or most is None or most == -1:
            continue
        if part == -1:
            return f"Invalid value -1 for configuration {local}: Value must not be -1 as {whole} value is set as {most}."
        if part > most:
            return f"Invalid value {part} for configuration {local}: Value must not be more than {whole} property value: {most}"
    return None


def _listener_trouble(old: Values, new: Values) -> str | None:
    if new(REPORTERS) != old(REPORTERS) and split_list(new(REPORTERS) or ""):
        return f"Validation of dynamic config update of Set({REPORTERS}) failed with class class kafka.server.DynamicMetricsReporters"
    for name in ("max.connections", "max.connection.creation.rate"):
        if _number(new, name) == 0:
            return f"Invalid {name} 0"
    return None
