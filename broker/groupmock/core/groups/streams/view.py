"""Builds the views of a streams group for tests and for StreamsGroupDescribe (ST-50 to ST-52)."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from functools import partial
from typing import TYPE_CHECKING

from groupmock_codec.messages import k89_streams_group_describe as k89

from ...java.hash_maps import string_rank
from ...work import made
from ..view import Assignment, GroupView, MemberView, group_view, member_view
from . import targets
from .group import NO_TARGET, Group, Member, Sums
from .heartbeat import in_answer

if TYPE_CHECKING:
    from groupmock_codec.messages.k88_streams_group_heartbeat import TopicInfo

    from .tasks import Task


def view_of(group: Group) -> GroupView:
    """Return a frozen view of the group, which has no leader."""
    return group_view(group, (_viewed(group, member) for member in group.members.values()))


def _viewed(group: Group, member: Member) -> MemberView:
    """Return a view of the member. Its assignment has the partitions that its active tasks read."""
    found: Assignment = {}
    for subtopology, number in sorted(member.assigned.active):
        for topic in group.reads.get(subtopology, ()):
            if number < group.topics.get(topic, (b"", 0))[1]:
                found.setdefault(topic, []).append(number)
    return member_view(member, sorted(group.readers), {topic: found[topic] for topic in sorted(found)}, member.rebalance_timeout_ms)


def describe(group: Group) -> Generator[None, None, k89.DescribedGroup]:
    """Return the group as StreamsGroupDescribe shows it, in steps, with its members in the order of the member table."""
    members = yield from made(partial(_described, group), group.ordered())
    return k89.DescribedGroup(
        group_id=group.group_id,
        group_state=group.state,
        group_epoch=group.generation,
        assignment_epoch=group.assignment_epoch,
        topology=_topology(group),
        members=members,
        assignor_name=targets.NAME,
    )


def _topology(group: Group) -> k89.Topology | None:
    """Return the topology with sorted names, with decided partition counts and each name once if it is ready, else as sent (ST-52)."""
    topology = group.topology
    if topology is None:
        return None
    shown = group.shown
    once, counts = (list, {}) if shown is None or shown.status is not None else (dict.fromkeys, shown.internal)
    subtopologies = [
        k89.Subtopology(
            subtopology_id=each.subtopology_id,
            source_topics=sorted(once(each.source_topics)),
            repartition_sink_topics=sorted(once(each.repartition_sink_topics)),
            state_changelog_topics=_decided(each.state_changelog_topics, counts),
            repartition_source_topics=_decided(each.repartition_source_topics, counts),
        )
        for each in sorted(topology.subtopologies, key=lambda each: string_rank(each.subtopology_id))
    ]
    return k89.Topology(epoch=topology.epoch, subtopologies=subtopologies)


def _decided(topics: Iterable[TopicInfo], counts: dict[str, int]) -> list[k89.TopicInfo]:
    return [_topic(topic, counts.get(topic.name, topic.partitions)) for topic in sorted(topics, key=lambda topic: topic.name)]


def _topic(topic: TopicInfo, partitions: int) -> k89.TopicInfo:
    return k89.TopicInfo(
        name=topic.name,
        partitions=partitions,
        replication_factor=topic.replication_factor,
        topic_configs=[k89.KeyValue(key=each.key, value=each.value) for each in topic.topic_configs],
    )


def _described(group: Group, member: Member) -> k89.Member:
    target, endpoint = group.targets.get(member.member_id, NO_TARGET), member.endpoint
    return k89.Member(
        member_id=member.member_id,
        member_epoch=member.epoch,
        instance_id=member.group_instance_id,
        rack_id=member.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        topology_epoch=member.topology_epoch,
        process_id=member.process_id,
        user_endpoint=None if endpoint is None else k89.Endpoint(host=endpoint[0], port=endpoint[1]),
        client_tags=[k89.KeyValue(key=key, value=value) for key, value in member.tags.items()],
        task_offsets=_sums(member.offsets),
        task_end_offsets=_sums(member.end_offsets),
        assignment=_assignment(member.assigned.active, member.assigned.standby),
        target_assignment=_assignment(target.active, target.standby),
    )


def _sums(sums: Sums) -> list[k89.TaskOffset]:
    return [k89.TaskOffset(subtopology_id=task[0], partition=task[1], offset=offset) for task, offset in sorted(sums.items())]


def _assignment(active: Iterable[Task], standby: Iterable[Task]) -> k89.Assignment:
    return k89.Assignment(active_tasks=_tasks(active), standby_tasks=_tasks(standby))


def _tasks(tasks: Iterable[Task]) -> list[k89.TaskIds]:
    return [k89.TaskIds(subtopology_id=each.subtopology_id, partitions=each.partitions) for each in in_answer(tasks)]
