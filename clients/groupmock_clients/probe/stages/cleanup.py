"""Remove the probe's traces from a broker: empty and delete its groups with their settings, delete its topics, and name what is left."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any, Final, TypeVar

from groupmock.rig.wire import Unreadable
from groupmock_codec.api_keys import (
    ALTER_CONFIGS,
    CONSUMER_GROUP_DESCRIBE,
    DELETE_GROUPS,
    DELETE_TOPICS,
    DESCRIBE_GROUPS,
    LEAVE_GROUP,
    LIST_CONFIG_RESOURCES,
    SHARE_GROUP_DESCRIBE,
    SHARE_GROUP_HEARTBEAT,
    STREAMS_GROUP_DESCRIBE,
    STREAMS_GROUP_HEARTBEAT,
)
from groupmock_codec.error_codes import NONE, UNKNOWN_TOPIC_OR_PARTITION
from groupmock_codec.group_states import DEAD
from groupmock_codec.messages.k13_leave_group import LeaveGroupRequest, MemberIdentity
from groupmock_codec.messages.k15_describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
from groupmock_codec.messages.k20_delete_topics import DeleteTopicsRequest, DeleteTopicsResponse
from groupmock_codec.messages.k33_alter_configs import AlterConfigsRequest, AlterConfigsResource
from groupmock_codec.messages.k42_delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from groupmock_codec.messages.k69_consumer_group_describe import ConsumerGroupDescribeRequest, ConsumerGroupDescribeResponse
from groupmock_codec.messages.k74_list_config_resources import ListConfigResourcesRequest, ListConfigResourcesResponse
from groupmock_codec.messages.k76_share_group_heartbeat import ShareGroupHeartbeatRequest
from groupmock_codec.messages.k77_share_group_describe import ShareGroupDescribeRequest
from groupmock_codec.messages.k88_streams_group_heartbeat import StreamsGroupHeartbeatRequest
from groupmock_codec.messages.k89_streams_group_describe import StreamsGroupDescribeRequest

from .tcp_broker import NoBroker, TcpBroker

GROUP_RESOURCE: Final = 32
# GROUP_ID_NOT_FOUND (69) counts as gone, because many dialogues are refused before their group is created (SERVER-04, SERVER-06).
GONE: Final = (0, 69)
AT_A_TIME: Final = 100
T = TypeVar("T")


def clean_up(broker: TcpBroker, seconds: float = 30) -> tuple[str, ...]:
    """Delete the probe's groups and topics and return the names of those left. Never raises, because the verdicts stand anyway."""
    end = time.monotonic() + seconds
    left = list(broker.groups)
    try:
        broker.renew()
        while left and time.monotonic() < end:
            for part in _parts(left):
                empty_groups(broker, part)
            before, left = left, [name for part in _parts(left) for name in delete_groups(broker, part)]
            if len(left) == len(before):
                break  # Nothing was deleted, because a group hangs or the broker cannot delete groups.
        _forget_settings(broker)
        broker.steering.clean_up()
        return (*left, *delete_topics(broker, list(broker.topics)))
    except (NoBroker, Unreadable) as problem:
        return (*left, *broker.topics, f"({problem})")


def _parts(names: Sequence[T]) -> Iterator[Sequence[T]]:
    for at in range(0, len(names), AT_A_TIME):
        yield names[at : at + AT_A_TIME]


def empty_groups(broker: TcpBroker, names: Sequence[str]) -> None:
    """Let every member leave its group, for each of the named groups. Raises NoBroker, Unreadable."""
    version = broker.best(DESCRIBE_GROUPS, 4)
    if version is None:
        return
    answer = broker.ask(DESCRIBE_GROUPS, version, DescribeGroupsRequest(groups=list(names)))
    assert isinstance(answer, DescribeGroupsResponse)
    members = [(group.group_id, member.member_id) for group in answer.groups for member in group.members]
    hidden = [group.group_id for group in answer.groups if group.group_state == DEAD]
    for group_id, member_id in (*members, *_consumers(broker, hidden)):
        _leave(broker, group_id, member_id)
    _leave_by_heartbeat(broker, hidden)


def _consumers(broker: TcpBroker, names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield group and id of every member in groups of the consumer protocol, which DescribeGroups does not show."""
    version = broker.best(CONSUMER_GROUP_DESCRIBE, 0)
    if version is None or not names:
        return
    answer = broker.ask(CONSUMER_GROUP_DESCRIBE, version, ConsumerGroupDescribeRequest(group_ids=list(names)))
    assert isinstance(answer, ConsumerGroupDescribeResponse)
    for group in answer.groups:
        yield from ((group.group_id, member.member_id) for member in group.members)


LEAVES: Final = {
    SHARE_GROUP_DESCRIBE: (1, ShareGroupDescribeRequest, SHARE_GROUP_HEARTBEAT, 1, ShareGroupHeartbeatRequest),
    STREAMS_GROUP_DESCRIBE: (0, StreamsGroupDescribeRequest, STREAMS_GROUP_HEARTBEAT, 0, StreamsGroupHeartbeatRequest),
}
"""The APIs of groups whose members LeaveGroup does not find: how to describe such a group, and with which heartbeat a member leaves. The
numbers are the highest versions to use."""


def _leave_by_heartbeat(broker: TcpBroker, names: Sequence[str]) -> None:
    """Let every member of a share or streams group leave by a heartbeat. A static member leaves for good, also if it is away."""
    for describe, (described, ask, heartbeat, beaten, beat) in LEAVES.items():
        version, leaving = broker.best(describe, described), broker.best(heartbeat, beaten)
        if version is None or leaving is None or not names:
            continue
        answer: Any = broker.ask(describe, version, ask(group_ids=list(names)))
        for group in answer.groups:
            for member in group.members:
                ids = {name: getattr(member, name) for name in ("member_id", "instance_id") if hasattr(member, name)}
                broker.ask(heartbeat, leaving, beat(group_id=group.group_id, member_epoch=-1, **ids))


def _leave(broker: TcpBroker, group_id: str, member_id: str) -> None:
    version = broker.best(LEAVE_GROUP, 3)
    if version is None:
        return
    # From v3 on LeaveGroup has a list of members (SERVER-44, KIP-345).
    if version >= 3:
        request = LeaveGroupRequest(group_id=group_id, members=[MemberIdentity(member_id=member_id)])
    else:
        request = LeaveGroupRequest(group_id=group_id, member_id=member_id)
    broker.ask(LEAVE_GROUP, version, request)


def delete_groups(broker: TcpBroker, names: Sequence[str]) -> list[str]:
    """Delete the groups and return the names of those that still exist. Raises NoBroker, Unreadable."""
    version = broker.best(DELETE_GROUPS, 1)
    if version is None:
        return []  # A broker without DeleteGroups drops empty groups by itself, or keeps them for ever.
    answer = broker.ask(DELETE_GROUPS, version, DeleteGroupsRequest(groups_names=list(names)))
    assert isinstance(answer, DeleteGroupsResponse)
    return [each.group_id for each in answer.results if each.error_code not in GONE]


def _forget_settings(broker: TcpBroker) -> None:
    """Delete settings of groups, which outlive the groups (docs/kafka/consumer-groups.md#cg-155). From v1 on ListConfigResources lists
    groups with settings."""
    if broker.best(LIST_CONFIG_RESOURCES, 1) != 1:
        return
    answer = broker.ask(LIST_CONFIG_RESOURCES, 1, ListConfigResourcesRequest(resource_types=[GROUP_RESOURCE]))
    assert isinstance(answer, ListConfigResourcesResponse)
    ours = {each.resource_name for each in answer.config_resources} & set(broker.groups)
    version = broker.best(ALTER_CONFIGS, 2)
    if ours and version is not None:
        nothing = [AlterConfigsResource(resource_type=GROUP_RESOURCE, resource_name=name, configs=[]) for name in sorted(ours)]
        broker.ask(ALTER_CONFIGS, version, AlterConfigsRequest(resources=nothing))


def delete_topics(broker: TcpBroker, names: list[str]) -> list[str]:
    """Delete the topics and return the names of those that still exist. Raises NoBroker, Unreadable."""
    version = broker.best(DELETE_TOPICS, 3)
    if version is None or not names:
        return names
    answer = broker.ask(DELETE_TOPICS, version, DeleteTopicsRequest(topic_names=names, timeout_ms=10_000))
    assert isinstance(answer, DeleteTopicsResponse)
    # A topic with the error UNKNOWN_TOPIC_OR_PARTITION (3) counts as deleted, because it does not exist any more.
    return [str(each.name) for each in answer.responses if each.error_code not in (NONE, UNKNOWN_TOPIC_OR_PARTITION)]
