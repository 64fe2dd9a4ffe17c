"""Builds the views of a consumer group for tests and for ConsumerGroupDescribe (CG-50, CG-51)."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from functools import partial
from typing import TYPE_CHECKING, Final

from groupmock_codec.messages import k69_consumer_group_describe as k69

from ...turn import Turn
from ...work import made
from ..view import Assignment, GroupView, MemberView, group_view, member_view
from . import orders, targets
from .group import Group, Member

if TYPE_CHECKING:
    from ...log.topics import Topics

CLASSIC: Final = 0
CONSUMER: Final = 1
"""The member type of a member that uses the consumer protocol (KIP-1099)."""


def view_of(group: Group) -> GroupView:
    """Return a frozen view of the group, which has no leader."""
    return group_view(group, (_viewed(group, member) for member in group.members.values()))


def _viewed(group: Group, member: Member) -> MemberView:
    names = {topic_id: name for name, (topic_id, _) in group.topics.items()}
    assignment: Assignment = {}
    for topic, index in sorted(member.assigned):
        if topic in names:
            assignment.setdefault(names[topic], []).append(index)
    return member_view(member, sorted(group.subscription_of(member)), assignment, member.rebalance_timeout_ms)


def describe(turn: Turn, group: Group, topics: Topics) -> Generator[None, None, k69.DescribedGroup]:
    """Return the group as ConsumerGroupDescribe shows it, in steps, with its members in the order of the member table. The assignor is
    the present choice, even if another one computed the target (CG-100)."""
    members = yield from made(partial(_described, group, topics), group.ordered())
    return k69.DescribedGroup(
        group_id=group.group_id,
        group_state=group.state,
        group_epoch=group.generation,
        assignment_epoch=group.assignment_epoch,
        assignor_name=targets.preferred(turn, group),
        members=members,
    )


def _described(group: Group, topics: Topics, member: Member) -> k69.Member:
    return k69.Member(
        member_id=member.member_id,
        instance_id=member.group_instance_id,
        rack_id=member.rack_id,
        member_epoch=member.epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=orders.names(member.names),
        subscribed_topic_regex=member.regex,
        assignment=_named(topics, orders.held(member.assigned, member.revoking)),
        target_assignment=_named(topics, orders.by_topic(group.target_of(member))),
        member_type=CONSUMER if member.classic is None else CLASSIC,
    )


def _named(topics: Topics, parts: Iterable[tuple[bytes, list[int]]]) -> k69.Assignment:
    """Return the partitions with topic names instead of ids, without topics that no longer exist (CG-123)."""
    named = [(topic, topics.name_of(topic), indexes) for topic, indexes in parts]
    return k69.Assignment([k69.TopicPartitions(topic, name, indexes) for topic, name, indexes in named if name is not None])
