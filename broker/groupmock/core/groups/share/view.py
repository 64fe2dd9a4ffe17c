"""Builds the views of a share group for tests and for ShareGroupDescribe (SG-50, SG-51)."""

from __future__ import annotations

from collections.abc import Generator
from functools import partial
from typing import TYPE_CHECKING

from groupmock_codec.messages import k77_share_group_describe as k77

from ...work import made
from ..consumer.orders import in_log, names
from ..view import GroupView, MemberView, group_view, member_view
from . import simple_assignor
from .group import Group, Member

if TYPE_CHECKING:
    from ...log.topics import Topics


def view_of(group: Group) -> GroupView:
    """Return a frozen view of the group, which has no leader and no committed offsets."""
    return group_view(group, (_viewed(group, member) for member in group.members.values()))


def _viewed(group: Group, member: Member) -> MemberView:
    topics = group.home.topics
    named = {topics.name_of(topic_id): sorted(indexes) for topic_id, indexes in member.assigned.items()}
    return member_view(member, sorted(member.names), {name: named[name] for name in sorted(filter(None, named))})


def describe(group: Group, topics: Topics) -> Generator[None, None, k77.DescribedGroup]:
    """Return the group as ShareGroupDescribe shows it, in steps, with its members in the order of the member table."""
    members = yield from made(partial(_described, topics), group.ordered())
    return k77.DescribedGroup(
        group_id=group.group_id,
        group_state=group.state,
        group_epoch=group.generation,
        assignment_epoch=group.assignment_epoch,
        assignor_name=simple_assignor.NAME,
        members=members,
    )


def _described(topics: Topics, member: Member) -> k77.Member:
    named = [(topic_id, topics.name_of(topic_id), indexes) for topic_id, indexes in in_log(member.assigned)]
    assigned = [
        k77.TopicPartitions(topic_id=topic_id, topic_name=name, partitions=parts) for topic_id, name, parts in named if name is not None
    ]
    return k77.Member(
        member_id=member.member_id,
        rack_id=member.rack_id,
        member_epoch=member.epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=names(member.names),
        assignment=k77.Assignment(assigned),
    )
