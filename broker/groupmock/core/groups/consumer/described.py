"""A consumer group as ConsumerGroupDescribe tells of it (CG-50, CG-51)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from groupmock_codec.messages.k69_consumer_group_describe import Assignment, DescribedGroup, TopicPartitions
from groupmock_codec.messages.k69_consumer_group_describe import Member as DescribedMember

from ...turn import Turn
from . import orders, targets
from .group import Group, Member

if TYPE_CHECKING:
    from ...log.topics import Topics

CLASSIC: Final = 0
CONSUMER: Final = 1
"""Member types: which protocol it speaks (KIP-1099)."""


def describe(turn: Turn, group: Group, topics: Topics) -> DescribedGroup:
    """With all members, in the order of the coordinator's table. The assignor is today's choice, whoever computed the target (CG-100)."""
    return DescribedGroup(
        group_id=group.group_id,
        group_state=group.state,
        group_epoch=group.generation,
        assignment_epoch=group.assignment_epoch,
        assignor_name=targets.preferred(turn, group),
        members=[_member(group, topics, member) for member in group.ordered()],
    )


def _member(group: Group, topics: Topics, member: Member) -> DescribedMember:
    target = group.target_of(member)
    return DescribedMember(
        member_id=member.member_id,
        instance_id=member.group_instance_id,
        rack_id=member.rack_id,
        member_epoch=member.epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=orders.names(member.names),
        subscribed_topic_regex=member.regex,
        assignment=_assignment(topics, orders.held(member.assigned, member.revoking)),
        target_assignment=_assignment(topics, orders.by_topic(target)),
        member_type=CONSUMER if member.classic is None else CLASSIC,
    )


def _assignment(topics: Topics, parts: Iterable[tuple[bytes, list[int]]]) -> Assignment:
    """Topics that no longer exist are left out (CG-123)."""
    named = [(topic, topics.name_of(topic), indexes) for topic, indexes in parts]
    return Assignment([TopicPartitions(topic, name, indexes) for topic, name, indexes in named if name is not None])
