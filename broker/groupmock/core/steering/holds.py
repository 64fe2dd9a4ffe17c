"""Requests and timers can wait because of a command: for a held group, a frozen member, joins in a chosen order, or transaction markers.

Waiting requests are data, like a parked JoinGroup. The core calls `keeps` before a request reaches its behaviour. The coordinator asks
before a timer fires or a join phase ends. Released requests are put into `Environment.ready`, from which the core takes them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

import msgspec

from groupmock_codec.messages.k08_offset_commit import OffsetCommitRequest
from groupmock_codec.messages.k11_join_group import JoinGroupRequest
from groupmock_codec.messages.k12_heartbeat import HeartbeatRequest
from groupmock_codec.messages.k13_leave_group import LeaveGroupRequest
from groupmock_codec.messages.k14_sync_group import SyncGroupRequest
from groupmock_codec.messages.k42_delete_groups import DeleteGroupsRequest
from groupmock_codec.messages.k68_consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from groupmock_codec.messages.k88_streams_group_heartbeat import StreamsGroupHeartbeatRequest

from ..environment import Held
from ..events import Request
from ..groups.classic.states import COMPLETING, EMPTY, PREPARING, STABLE
from ..groups.classic.type import ClassicGroup
from ..groups.consumer.states import JOINING
from ..groups.consumer.states import State as ConsumerState
from ..groups.consumer.type import ConsumerGroup
from ..groups.kinds import kinds
from ..groups.streams.states import State as StreamsState
from ..groups.streams.type import StreamsGroup

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..groups.type import GroupType
    from ..timers import Key

Beat = ConsumerGroupHeartbeatRequest | StreamsGroupHeartbeatRequest
OfMember = OffsetCommitRequest | JoinGroupRequest | HeartbeatRequest | LeaveGroupRequest | SyncGroupRequest | Beat
"""The types of requests that name the member by which they are sent."""


ASSIGNING: Final = ConsumerState.ASSIGNING
RECONCILING: Final = ConsumerState.RECONCILING
HOLDABLE: Final = tuple(dict.fromkeys(str(state) for kind in kinds() for state in kind.may_follow if state not in ("", ConsumerState.DEAD)))
"""The states in which a group of some type can be held: those that another state may follow."""
BUSY: Final = (COMPLETING, STABLE, ASSIGNING, RECONCILING, StreamsState.NOT_READY)
"""The states in which a timer or a LeaveGroup may remove a member and so change the state. In PreparingRebalance a removal only ends the
phase."""


class Hold(msgspec.Struct):
    """A command holds the group in `state` as soon as the group is in this state. `waiting` has the requests and timers that would
    change the state, in order of arrival."""

    state: str
    waiting: list[Request | Key] = []


class Frozen(msgspec.Struct):
    """A frozen member with the names that identify it and its waiting requests."""

    names: tuple[str | None, ...]
    waiting: list[Request] = []


class Order(msgspec.Struct):
    """The order in which clients may join; the client `names[0]` is next."""

    names: list[str]
    waiting: list[Request] = []


class OperatorHolds:
    """The groups, members, joins and markers that commands hold back in one cluster, with everything that waits for their release.
    `environment.Holds` describes the calls of the core."""

    def __init__(self, cluster: Cluster) -> None:
        self._groups = cluster.groups
        self._ready = cluster.environment.ready
        self.groups: dict[str, Hold] = {}
        self.frozen: dict[tuple[str, str], Frozen] = {}
        self.orders: dict[str, Order] = {}
        self.leaders: dict[str, str] = {}
        """Maps a group id to the member that leads the next generation: member id, instance id or client id."""
        self.markers: set[str] = set()
        """The transactional ids whose markers are held back in the coordinator."""


    def keeps(self, request: Request) -> bool:
        """True if the request has to wait. The method then stores it."""
        message = request.message
        if isinstance(message, OfMember):
            return (
                self._keeps_frozen(message, request)
                or self._keeps_held(message, request)
                or (isinstance(message, JoinGroupRequest) and self._keeps_in_order(message, request))
            )
        return isinstance(message, DeleteGroupsRequest) and self._keeps_deletion(message, request)

    def _keeps_frozen(self, message: OfMember, request: Request) -> bool:
        for member_id in _senders(message):
            frozen = self.frozen.get((message.group_id, member_id))
            if frozen is not None:
                frozen.waiting.append(request)
                return True
        return False

    def _keeps_held(self, message: OfMember, request: Request) -> bool:
        hold = self.groups.get(message.group_id)
        # If the node does not coordinate the group, or is loading, the request need not wait, because it is refused anyway (14, 16).
        if hold is None or self._groups.gate(message.group_id, request.node):
            return False
        group = self._groups.find(message.group_id)
        if hold.state != (EMPTY if group is None else group.state) or not _would_move(hold.state, group, message, request.version):
            return False
        hold.waiting.append(request)
        return True

    def _keeps_deletion(self, message: DeleteGroupsRequest, request: Request) -> bool:
        for group_id in message.groups_names:
            hold = self.groups.get(group_id)
            if hold is not None and hold.state == EMPTY:
                hold.waiting.append(request)
                return True
        return False

    def _keeps_in_order(self, message: JoinGroupRequest, request: Request) -> bool:
        order = self.orders.get(message.group_id)
        if order is None or _only_reserves(message, request.version) or self._groups.gate(message.group_id, request.node):
            return False
        if order.names[0] not in (message.member_id, message.group_instance_id, request.client_id):
            order.waiting.append(request)
            return True
        del order.names[0]
        waiting, order.waiting = order.waiting, []
        if not order.names:
            del self.orders[message.group_id]
        # The waiting requests are checked again, in order of arrival, because the member that is to join next may be among them.
        self._ready.extend(waiting)
        return False


    def defers(self, key: Key, group_id: str, state: str) -> bool:
        """True if a timer has to wait, because firing would change the state of a held group. (The timer of a session that is renewed
        meanwhile is armed again.)"""
        hold = self.groups.get(group_id)
        if hold is None or hold.state != state or state not in BUSY:
            return False
        hold.waiting.append(key)
        return True

    def holds_phase(self, group_id: str) -> bool:
        """True if the group is held in PreparingRebalance, so that its join phase must not end."""
        hold = self.groups.get(group_id)
        return hold is not None and hold.state == PREPARING

    def keeps_group(self, group_id: str) -> bool:
        """True if the group is held, so that it must not be deleted as unused."""
        return group_id in self.groups

    def keeps_markers(self, transactional_id: str) -> bool:
        """True if a command holds back the markers of the id, so that they must not be written."""
        return transactional_id in self.markers

    def leader(self, group_id: str) -> str | None:
        """Return the member that a command has chosen as leader, who need not have joined, or None."""
        return self.leaders.get(group_id)

    def leads(self, group_id: str) -> None:
        """Forget the chosen leader, because the choice has been applied."""
        del self.leaders[group_id]


    def of(self, group_id: str) -> Held:
        """Return what a command holds back of the group: the state in which it is held, the number of waiting requests and timers, and
        the frozen members."""
        hold = self.groups.get(group_id)
        frozen = tuple(member_id for name, member_id in self.frozen if name == group_id)
        return Held(None, 0, frozen) if hold is None else Held(hold.state, len(hold.waiting), frozen)

    def release(self, waiting: Iterable[Request | Key]) -> None:
        """Let the waiting requests and timers happen now, in order of arrival."""
        self._ready.extend(waiting)


def holds_of(cluster: Cluster) -> OperatorHolds:
    """Return the record of what commands hold back in the cluster, and create it at the first call."""
    holds = cluster.environment.holds
    if not isinstance(holds, OperatorHolds):
        holds = cluster.environment.holds = OperatorHolds(cluster)
    return holds


def _senders(message: OfMember) -> list[str]:
    """Return the ids of the members that the request is about."""
    ids = [message.member_id]
    return ids + [each.member_id for each in message.members] if isinstance(message, LeaveGroupRequest) else ids


def _only_reserves(message: JoinGroupRequest, version: int) -> bool:
    """True if the JoinGroup only reserves a member id and is refused with MEMBER_ID_REQUIRED (79) (KIP-394)."""
    return version >= 4 and not message.member_id and message.group_instance_id is None


def _would_move(state: str, group: GroupType | None, message: OfMember, version: int) -> bool:
    """True if the request could move the group out of its state."""
    if isinstance(message, Beat) and message.member_epoch == JOINING:  # In a classic group, a new member's heartbeat converts it.
        return True
    if isinstance(message, ConsumerGroupHeartbeatRequest):
        return isinstance(group, ConsumerGroup) and _beat_would_move(group, message)
    if isinstance(message, StreamsGroupHeartbeatRequest):
        return isinstance(group, StreamsGroup) and _thread_would_move(group, message)
    if isinstance(message, JoinGroupRequest):
        return state != PREPARING and not _only_reserves(message, version) and not _answered_at_once(group, message)
    if isinstance(message, SyncGroupRequest):
        return state == COMPLETING and group is not None and message.member_id == group.leader_id
    return isinstance(message, LeaveGroupRequest) and state in BUSY


def _beat_would_move(group: ConsumerGroup, message: ConsumerGroupHeartbeatRequest) -> bool:
    """True if the heartbeat could move the consumer group out of its state. A refused one cannot. In Reconciling only that of the last
    member that has not reached its target can."""
    member, epoch = group.members.get(message.member_id), message.member_epoch
    if member is None or (epoch > 0 and epoch not in (member.epoch, member.previous_epoch)):
        return False
    names, regex = message.subscribed_topic_names, message.subscribed_topic_regex
    resubscribes = (names is not None and frozenset(names) != member.names) or (regex is not None and regex != member.regex)
    return epoch < 0 or resubscribes or group.stale or group.state == ASSIGNING or group.restless == {member.member_id}


def _thread_would_move(group: StreamsGroup, message: StreamsGroupHeartbeatRequest) -> bool:
    """True if the heartbeat could move the streams group out of its state, by the same rules as in a consumer group."""
    member, epoch = group.members.get(message.member_id), message.member_epoch
    if member is None or (epoch > 0 and epoch not in (member.epoch, member.previous_epoch)):
        return False
    said = (message.process_id, message.rack_id, message.user_endpoint, message.client_tags)
    changes = message.rebalance_timeout_ms not in (-1, member.rebalance_timeout_ms) or any(each is not None for each in said)
    return epoch < 0 or changes or group.stale or group.state == ASSIGNING or group.restless == {member.member_id}


def _answered_at_once(group: GroupType | None, message: JoinGroupRequest) -> bool:
    """True if the JoinGroup changes nothing, because it is refused for an unknown id or comes from a follower with unchanged protocols."""
    if not isinstance(group, ClassicGroup) or not message.member_id:
        return False
    member = group.members.get(message.member_id)
    if member is None:
        return message.member_id not in group.pending_joins
    if group.state is STABLE and group.is_leader(member):
        return False
    return member.protocols == tuple([(each.name, each.metadata) for each in message.protocols])
