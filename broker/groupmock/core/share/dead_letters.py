"""Writes to the dead letter queue of a share group: a topic has a record for each one that was archived, but not accepted (KIP-1191).

The topic must have the setting errors.deadletterqueue.group.enable and a name with the broker's prefix. Otherwise records are archived all
the same, and nothing is written (SG-283).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from groupmock_codec.compression import RecordsError
from groupmock_codec.records import NewRecord, Record, encode_batch, iter_records

from ..log.refusal import TopicRefused
from .rules import RecordRules
from .runs import Run

if TYPE_CHECKING:
    from ..log.topics import Topics
    from ..turn import Turn
    from .share_partition import SharePartition

MADE: Final = "errors.deadletterqueue.auto.create.topics.enable"
PREFIX: Final = "errors.deadletterqueue.topic.name.prefix"
ENABLED: Final = "errors.deadletterqueue.group.enable"
FEATURE: Final = "share.version"
LEVEL: Final = 2
MOST: Final = 10_000
"""The largest number of dead letters that one acknowledgement, or the end of one lock, writes."""


def bury(turn: Turn, topics: Topics, partition: SharePartition, rules: RecordRules, runs: Sequence[Run], message: str) -> None:
    """Write a record to the dead letter queue for each archived record."""
    if turn.environment.levels.get(FEATURE, LEVEL) < LEVEL:
        return
    name, place = rules.dead_letters, partition.place
    changed, settings = topics.broker_overrides(partition.node), turn.settings
    if not name.startswith(changed.get(PREFIX) or settings.errors_deadletterqueue_topic_name_prefix):
        return
    makes = changed.get(MADE)
    if name not in topics and (settings.errors_deadletterqueue_auto_create_topics_enable if makes is None else makes == "true"):
        topics.create(turn, name, 1, None, {ENABLED: "true", "message.timestamp.type": "CreateTime"})
    topic = topics.get(name)
    if topic is None or topic.configs.get(ENABLED) != "true":
        return
    target = place.partition % len(topic.partitions)
    copies = _copies(turn, partition, runs) if rules.copies else {}
    letters: list[NewRecord] = []
    for run in runs:
        for offset in range(run.first, run.last + 1):
            if len(letters) == MOST:
                break
            copy = copies.get(offset)
            letters.append(_letter(partition, offset, run.count, message, turn.wall_ms, copy))
    try:
        topics.append(turn, name, target, encode_batch(letters))
    except (TopicRefused, RecordsError) as refused:
        turn.note("dead_letters_lost", group=place.group_id, topic=name, partition=target, reason=str(refused))


def _letter(partition: SharePartition, offset: int, count: int, message: str, timestamp: int, copy: Record | None) -> NewRecord:
    place = partition.place
    headers = (
        ("__dlq.errors.topic", place.topic),
        ("__dlq.errors.partition", str(place.partition)),
        ("__dlq.errors.offset", str(offset)),
        ("__dlq.errors.group", place.group_id),
        ("__dlq.errors.delivery.count", str(count)),
        ("__dlq.errors.message", message),
    )
    return NewRecord(
        key=None if copy is None else copy.key,
        value=None if copy is None else copy.value,
        timestamp=timestamp,
        headers=tuple((name, text.encode()) for name, text in headers),
    )


def _copies(turn: Turn, partition: SharePartition, runs: Sequence[Run]) -> dict[int, Record]:
    return {record.offset: record for record in _records(turn, partition, runs)}


def _records(turn: Turn, partition: SharePartition, runs: Sequence[Run]) -> Iterator[Record]:
    room = turn.settings.room()
    for run in runs:
        size = partition.log.available(run.first, run.last + 1)
        for batch in partition.log.whole_batches(run.first, run.last + 1, size, at_least_one=True, most=MOST):
            try:
                yield from iter_records(batch, room.unpacked(batch))
            except RecordsError:
                continue
