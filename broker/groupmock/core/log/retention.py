"""Retention by age (retention.ms) removes whole segments at fixed times, as Kafka does (LogManager.cleanupLogs).

Kafka checks every log.retention.check.interval.ms. Here a timer is set for the first of these moments at which something will be too old,
and none if nothing ages, so that a virtual clock that jumps by a month does not stop nine thousand times.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import TYPE_CHECKING, Final, NamedTuple

from groupmock_codec.units import NS_PER_MS

from ..work import A_FEW, at_once
from .limits import LogLimits
from .partition import Partition

if TYPE_CHECKING:
    from ..turn import Turn
    from ..work import Steps

KEY: Final = ("log_retention",)
FAR_NS: Final = 100 * 365 * 24 * 3600 * 1000 * NS_PER_MS
"""A sweep that is due in more than a century is not scheduled."""


class Aging(NamedTuple):
    """A log whose records may become too old, with its topic and limits."""

    topic: str
    partition: Partition
    limits: LogLimits


def watch(turn: Turn, logs: Iterable[Aging]) -> None:
    """Set the retention timer to the first time at which records in these logs are too old."""
    at_once(watch_many(turn, logs))


def watch_many(turn: Turn, logs: Iterable[Aging]) -> Generator[None, None, None]:
    first: int | None = None
    for number, log in enumerate(logs):
        due = None if log.limits.retention_ms < 0 else log.partition.segments.due_ms(log.limits.retention_ms)
        if due is not None and (first is None or due < first):
            first = due
        if number % A_FEW == A_FEW - 1:
            yield
    if first is None:
        return
    interval = turn.settings.log_retention_check_interval_ms * NS_PER_MS
    wanted = max((first - turn.environment.epoch_ms) * NS_PER_MS, turn.now + 1)
    at = -(-wanted // interval) * interval
    armed = turn.timers.get(KEY)
    if at - turn.now < FAR_NS and (armed is None or at < armed.deadline):
        turn.timers.set(KEY, at)


def shrink(turn: Turn, logs: list[Aging]) -> None:
    """Drop the batches beyond retention.bytes, because the limit has changed since the last append."""
    for topic, partition, limits in logs:
        before = partition.start
        partition.retain(limits.retention_bytes)
        _told(turn, topic, partition, before)


def _told(turn: Turn, topic: str, partition: Partition, before: int) -> None:
    if partition.start > before:
        turn.note("records_expired", topic=topic, partition=partition.index, log_start_offset=partition.start)


def sweep(turn: Turn, logs: Iterable[Aging]) -> Steps:
    """Drop the records that are older than retention.ms."""
    seen = []
    for log in logs:
        seen.append(log)
        topic, partition, limits = log
        start = None if limits.retention_ms < 0 else partition.segments.expire(turn.wall_ms, limits.retention_ms, partition.end)
        if start is not None:
            before = partition.start
            partition.delete_before(start)
            _told(turn, topic, partition, before)
        if not len(seen) % A_FEW:
            yield
    yield from watch_many(turn, seen)
