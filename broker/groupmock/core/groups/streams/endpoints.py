"""Builds the table of endpoints for interactive queries: where each partition of the group's topics is processed (ST-130 to ST-138)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from groupmock_codec.messages import k88_streams_group_heartbeat as k88

from ...java.hashes import java_hash
from ...java.orders import java_order
from .. import timing
from ..consumer.states import JOINING, Progress
from .group import NOTHING, Endpoint, Entry, Group, Member, Tasks
from .readiness import MISSING_INTERNAL
from .reconciliation import still_owns

if TYPE_CHECKING:
    from ...turn import Turn
    from .beat import Beat
    from .readiness import Prospect
    from .tasks import Task


def fails(
    turn: Turn, group: Group | None, beat: Beat, known: Member | None, prospect: Prospect, delayed: bool, session_timeout_ms: int
) -> bool:
    """True if Kafka fails at a heartbeat, because it builds the table while source topics are missing or have wrong counts, or while a
    member of the table has tasks that read a missing topic (ST-137). The group keeps what Kafka has changed before that."""
    status = prospect.configured.status
    if status is None:
        return False
    record = known or (None if group is None else _away(group, beat))
    before = None if record is None else record.endpoint
    kept = turn.quirks.streams_endpoints_follow_tasks or beat.epoch != JOINING
    endpoint = before if beat.endpoint is None and kept else beat.endpoint
    steps = record is not None and not delayed and not (record.progress is Progress.UNREVOKED and still_owns(beat.owned, record.revoking))
    loses = record is not None and steps and record.assigned.any
    raised = (loses and endpoint is not None) or moves(turn, beat, before, endpoint)
    epoch = int(raised) + (0 if group is None else group.endpoint_epoch)
    others = () if group is None else [each for each in group.members.values() if each.member_id != beat.member_id]
    listed = [each.assigned for each in others if each.endpoint is not None]
    if endpoint is not None:
        listed.append(NOTHING if record is None or steps else record.assigned)
    if status[0] == MISSING_INTERNAL:
        listed = [each for each in listed if group is not None and _reads_missing_topics(group, each)]
    failed = beat.endpoint_epoch != epoch and bool(listed)
    if failed:
        if group is not None and raised:
            group.raise_endpoint_epoch()
        if group is not None and beat.shuts_down:
            group.shut_down(beat.member_id)
        if group is not None:
            group.report(beat.member_id, beat.offsets, beat.end_offsets)
            if beat.member_id in group.members:
                timing.renew(turn, group, group.members[beat.member_id], session_timeout_ms)
            if known is not None and steps:
                _await_tasks(turn, group, beat, known)
    return failed


def _away(group: Group, beat: Beat) -> Member | None:
    """Return the static member that comes back with this heartbeat."""
    holder = None if beat.group_instance_id is None else group.static_members.get(beat.group_instance_id)
    return None if holder is None else group.members[holder]


def _reads_missing_topics(group: Group, has: Tasks) -> bool:
    subtopologies = {subtopology for tasks in (has.active, has.standby) for subtopology, _ in tasks}
    return any(name not in group.home.topics for each in subtopologies for name in group.reads.get(each, ()))


def _await_tasks(turn: Turn, group: Group, beat: Beat, member: Member) -> None:
    """Start or stop the revocation timer as if the member had to give up all tasks, because Kafka has done so before it fails. A member
    whose record says nothing of that is removed at the timer's end, unless it has another epoch then."""
    timing.revoked(turn, group, member)
    if member.assigned.any and still_owns(beat.owned, member.assigned) and member.progress is not Progress.UNREVOKED:
        timeout_ms = beat.rebalance_timeout_ms if beat.rebalance_timeout_ms != -1 else member.rebalance_timeout_ms
        timing.await_revocation(turn, group, member, timeout_ms)


def moves(turn: Turn, beat: Beat, before: Endpoint | None, after: Endpoint | None) -> bool:
    """True if the change of a member's endpoint raises the endpoint epoch. Before Kafka 4.4 only a join with an endpoint does."""
    if turn.quirks.streams_endpoints_follow_tasks:
        return beat.epoch == JOINING and after is not None
    return before != after


def table(group: Group, member: Member, unchecked: bool) -> list[k88.EndpointToPartitions]:
    """Return an entry for each member with an endpoint, `member` last. `unchecked`: as before Kafka 4.4, a topic has the first of the
    tasks, as many as it has partitions, whatever their numbers are."""
    # A member that joins is not in the table of members yet, and a member that was replaced still is.
    seated = [group.members[member_id] for member_id in group.table if member_id in group.members]
    others = [each for each in seated if each is not member and each.endpoint is not None]
    listed = [*others, member] if member.endpoint is not None else others
    return [_line(group, each, unchecked) for each in listed]


def _line(group: Group, member: Member, unchecked: bool) -> k88.EndpointToPartitions:
    """Return the line of a member, which is kept until its tasks, its endpoint or the topics change, because a table may have hundreds."""
    endpoint, known = member.endpoint, group.entries.get(member.member_id)
    assert endpoint is not None
    if known is not None and known.tasks is member.assigned and known.topics is group.topics and known.endpoint == endpoint:
        return known.line
    line = k88.EndpointToPartitions(
        user_endpoint=k88.Endpoint(host=endpoint[0], port=endpoint[1]),
        active_partitions=_partitions(group, member.assigned.active, unchecked),
        standby_partitions=_partitions(group, member.assigned.standby, unchecked),
    )
    group.entries[member.member_id] = Entry(member.assigned, group.topics, endpoint, line)
    return line


def _partitions(group: Group, tasks: Iterable[Task], unchecked: bool) -> list[k88.TopicPartition]:
    """Return the partitions that the tasks read, with an entry for each topic of each subtopology."""
    numbers: dict[str, list[int]] = {}
    for subtopology, number in sorted(tasks):
        numbers.setdefault(subtopology, []).append(number)
    found = []
    for subtopology in reversed(java_order(numbers, java_hash)):  # In Kafka this order differs from one start of the broker to another.
        for name in group.reads.get(subtopology, ()):
            topic = group.home.topics.get(name)
            count, read_by = 0 if topic is None else len(topic.partitions), numbers[subtopology]
            partitions = read_by[:count] if unchecked else [number for number in read_by if number < count]
            if partitions:
                found.append(k88.TopicPartition(topic=name, partitions=partitions))
    return found
