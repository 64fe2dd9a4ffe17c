"""Records that are too old to keep go (retention.ms): a broker looks for them at fixed times, and they go segment by segment
(LogManager.cleanupLogs).

Kafka looks every log.retention.check.interval.ms. Here there is a timer for the first of these moments at which something will be too old,
and none where nothing ages: a clock that is stepped on by a month does not stop nine thousand times.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from ..units import NS_PER_MS

if TYPE_CHECKING:
    from ..turn import Turn
    from .topics import Topic, Topics

KEY: Final = ("log_retention",)
FAR_NS: Final = 100 * 365 * 24 * 3600 * 1000 * NS_PER_MS
"""A century: what is due later is not waited for."""


def watch(turn: Turn, topics: Topics, among: Iterable[Topic]) -> None:
    """See to it that the next look comes when something in these topics is too old."""
    due = [due for topic in among if (due := _due_ms(topics, topic)) is not None]
    if due:
        arm(turn, min(due))


def arm(turn: Turn, due_ms: int) -> None:
    """Look when that moment (ms since 1970) has passed, if not before."""
    interval = turn.settings.log_retention_check_interval_ms * NS_PER_MS
    wanted = max((due_ms - turn.environment.wall_ms(0)) * NS_PER_MS, turn.now + 1)
    at = -(-wanted // interval) * interval
    armed = turn.timers.get(KEY)
    if at - turn.now < FAR_NS and (armed is None or at < armed.deadline):
        turn.timers.set(KEY, at)


def sweep(turn: Turn, topics: Topics) -> bool:
    """Drop what is too old. True: also where nothing was, so that a replay looks at the very same moments."""
    everything = [topics.require(name) for name in topics.names()]
    for topic in everything:
        for partition in topic.partitions:
            limits = topics.limits(topic, partition.leader)
            start = None if limits.retention_ms < 0 else partition.segments.expire(turn.wall_ms, limits.retention_ms, partition.end)
            if start is not None and start > partition.start:
                partition.delete_before(start)
                turn.note("records_expired", topic=topic.name, partition=partition.index, log_start_offset=start)
    watch(turn, topics, everything)
    return True


def _due_ms(topics: Topics, topic: Topic) -> int | None:
    due = []
    for partition in topic.partitions:
        retention_ms = topics.limits(topic, partition.leader).retention_ms
        first = None if retention_ms < 0 else partition.segments.due_ms(retention_ms)
        if first is not None:
            due.append(first)
    return min(due, default=None)
