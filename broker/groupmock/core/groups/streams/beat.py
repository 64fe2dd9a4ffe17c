"""Checks the content and the sender of a StreamsGroupHeartbeat before the heartbeat changes anything (ST-10 to ST-40, ST-110 to ST-118).

In Kafka: KafkaApis.handleStreamsGroupHeartbeat, GroupCoordinatorService.throwIfStreamsGroupHeartbeatRequestIsInvalid, and the throwIf... of
GroupMetadataManager.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from groupmock_codec import error_codes

from ...log import names
from .. import reconciling
from ..consumer.states import AWAY, JOINING
from ..refused import Refused
from .group import Endpoint, Group, Member, Sums
from .tasks import Task

if TYPE_CHECKING:
    from groupmock_codec.messages.k88_streams_group_heartbeat import StreamsGroupHeartbeatRequest, TaskIds, TaskOffset, Topology

    from .topology import Configured


class Owned(NamedTuple):
    """The tasks that a member claims to own, by role."""

    active: frozenset[Task]
    standby: frozenset[Task]
    warmup: frozenset[Task]


class Beat(msgspec.Struct, frozen=True):
    """The values of one StreamsGroupHeartbeat request. None (and -1 for the timeout) means unchanged. `owned` is None unless the request
    has all three lists."""

    group_id: str
    member_id: str
    epoch: int
    endpoint_epoch: int
    group_instance_id: str | None
    rack_id: str | None
    rebalance_timeout_ms: int
    topology: Topology | None
    owned: Owned | None
    process_id: str | None
    endpoint: Endpoint | None
    tags: Mapping[str, str] | None
    offsets: Sums | None
    end_offsets: Sums | None
    shuts_down: bool
    client_id: str
    client_host: str


def read(message: StreamsGroupHeartbeatRequest, client_id: str | None, client_host: str) -> Beat:
    """Return the values of a request whose fields were checked."""
    lists = (message.active_tasks, message.standby_tasks, message.warmup_tasks)
    endpoint, tags = message.user_endpoint, message.client_tags
    return Beat(
        group_id=message.group_id,
        member_id=message.member_id,
        epoch=message.member_epoch,
        endpoint_epoch=message.endpoint_information_epoch,
        group_instance_id=message.instance_id,
        rack_id=message.rack_id,
        rebalance_timeout_ms=message.rebalance_timeout_ms,
        topology=message.topology,
        owned=Owned(*(frozenset(_tasks(each or ())) for each in lists)) if None not in lists else None,
        process_id=message.process_id,
        endpoint=None if endpoint is None else (endpoint.host, endpoint.port),
        tags=None if tags is None else {each.key: each.value for each in tags},
        offsets=_sums(message.task_offsets),
        end_offsets=_sums(message.task_end_offsets),
        shuts_down=message.shutdown_application,
        client_id=client_id or "",
        client_host=client_host,
    )


def _tasks(lists: Iterable[TaskIds]) -> Iterator[Task]:
    return ((each.subtopology_id, number) for each in lists for number in each.partitions)


def _sums(offsets: Iterable[TaskOffset] | None) -> Sums | None:
    return None if offsets is None else {(each.subtopology_id, each.partition): each.offset for each in offsets}


def check_names(topology: Topology) -> None:
    """Refuse a topology with topics of the broker, or with names that no topic can have. Kafka's request handler does so before all other
    checks (ST-13)."""
    used = list(_names(topology))
    internal = [name for name in used if name in names.INTERNAL]
    if internal:
        text = f"Use of Kafka internal topics {','.join(dict.fromkeys(internal))} in a Kafka Streams topology is prohibited."
        raise Refused(error_codes.STREAMS_INVALID_TOPOLOGY, text)
    invalid = [name for name in used if names.why_invalid(name) is not None]
    if invalid:
        raise Refused(error_codes.STREAMS_INVALID_TOPOLOGY, f"Topic names {','.join(invalid)} are not valid topic names.")


def _names(topology: Topology) -> Iterator[str]:
    for each in topology.subtopologies:
        yield from each.source_topics
        yield from each.repartition_sink_topics
        yield from (topic.name for topic in each.repartition_source_topics)
        yield from (topic.name for topic in each.state_changelog_topics)


def topics_of(topology: Topology) -> dict[str, None]:
    """Return the names of all topics of a topology, which its member must be allowed to describe (ST-302)."""
    return dict.fromkeys(_names(topology))


def check(message: StreamsGroupHeartbeatRequest, before_4_4: bool) -> None:
    """Check the fields of a heartbeat before its group is looked up, in Kafka's order (ST-10, ST-12, ST-35). Raises Refused."""
    topology = message.topology
    if topology is not None and any(each.source_topic_regex for each in topology.subtopologies):
        raise _invalid("Regular expressions for source topics are not supported yet.")
    if before_4_4:
        _check_not_served(message)
    if not message.member_id.strip():
        raise _invalid("MemberId can't be empty.")
    if not message.group_id.strip():
        raise _invalid("GroupId can't be empty.")
    if message.instance_id is not None and not message.instance_id.strip():
        raise _invalid("InstanceId can't be empty.")
    if message.rack_id is not None and not message.rack_id.strip():
        raise _invalid("RackId can't be empty.")
    if message.member_epoch == JOINING:
        _check_join(message)
    elif message.member_epoch == AWAY and message.instance_id is None:
        raise _invalid("InstanceId can't be null.")
    elif message.member_epoch < AWAY:
        raise _invalid(f"MemberEpoch is {message.member_epoch}, but must be greater than or equal to -2.")
    lists = (message.active_tasks, message.standby_tasks, message.warmup_tasks)
    if None in lists and any(each is not None for each in lists):
        raise _invalid("If one task-type is non-null, all must be non-null.")
    if topology is not None and message.member_epoch != JOINING:
        raise _invalid("Topology can only be provided when (re-)joining.")


def _check_not_served(message: StreamsGroupHeartbeatRequest) -> None:
    """Refuse the fields that Kafka 4.3 does not serve yet."""
    if message.instance_id is not None:
        raise _invalid("Static membership is not yet supported.")
    if message.task_offsets is not None:
        raise _invalid("TaskOffsets are not supported yet.")
    if message.task_end_offsets is not None:
        raise _invalid("TaskEndOffsets are not supported yet.")
    if message.warmup_tasks:
        raise _invalid("WarmupTasks are not supported yet.")


def _check_join(message: StreamsGroupHeartbeatRequest) -> None:
    if message.rebalance_timeout_ms == -1:
        raise _invalid("RebalanceTimeoutMs must be provided in first request.")
    for role, tasks in (("Active", message.active_tasks), ("Standby", message.standby_tasks), ("Warmup", message.warmup_tasks)):
        if tasks is None or tasks:
            raise _invalid(f"{role}Tasks must be empty when (re-)joining.")
    if message.topology is None:
        raise _invalid("Topology must be non-null when (re-)joining.")
    for subtopology in message.topology.subtopologies:
        for topic in subtopology.state_changelog_topics:
            if topic.partitions:
                text = f"Changelog topic {topic.name} must have an undefined partition count, but it is set to {topic.partitions}."
                raise Refused(error_codes.STREAMS_INVALID_TOPOLOGY, text)


def _invalid(text: str) -> Refused:
    return Refused(error_codes.INVALID_REQUEST, text)


def check_tags(message: StreamsGroupHeartbeatRequest) -> None:
    """Refuse a tag that has two values, at which Kafka fails (ST-36)."""
    tags = message.client_tags or ()
    if len({each.key for each in tags}) < len(tags):
        raise Refused(error_codes.UNKNOWN_SERVER_ERROR, "")


def check_offsets(message: StreamsGroupHeartbeatRequest) -> None:
    """Refuse reported offsets in which a task is listed twice (ST-35)."""
    for offsets in (message.task_offsets, message.task_end_offsets):
        seen: set[Task] = set()
        for each in offsets or ():
            task = (each.subtopology_id, each.partition)
            if task in seen:
                where = f"subtopology {each.subtopology_id} and partition {each.partition}"
                raise _invalid(f"Task offsets contain a duplicate entry for {where}.")
            seen.add(task)


def check_owned(lists: Sequence[Iterable[TaskIds] | None], configured: Configured) -> None:
    """Refuse owned tasks that the topology does not have (ST-24)."""
    for each in (task for tasks in lists for task in tasks or ()):
        count = configured.tasks.get(each.subtopology_id)
        if count is None:
            raise _invalid(f"Subtopology {each.subtopology_id} does not exist in the topology.")
        for number in each.partitions:
            if not 0 <= number < count:
                text = f"Task {number} for subtopology {each.subtopology_id} is invalid. Number of tasks for this subtopology: {count}"
                raise _invalid(text)


def sender(group: Group, beat: Beat) -> Member | None:
    """Return the member that sent the heartbeat, or None for a new member that joins. Raises Refused (`reconciling.sender`)."""
    return reconciling.sender(group, beat, _owns_no_more)


def _owns_no_more(beat: Beat, member: Member) -> bool:
    """True if the member says what it owns in each role, and was assigned all of it (ST-40)."""
    owned, has = beat.owned, member.assigned
    return owned is not None and owned.active <= has.active.keys() and owned.standby <= set(has.standby) and not owned.warmup
