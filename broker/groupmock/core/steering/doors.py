"""Where requests and timers wait because somebody told them to: a held group, a frozen member, joins that are let in in an order.

A door keeps events as data, as a parked JoinGroup is; `Cluster.handle` asks `keeps` before a request reaches its behaviour, the
coordinator asks before a timer does something or a join phase ends. While nothing waits anywhere, a cluster has no doors.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import msgspec

from groupmock_codec.messages.k08_offset_commit import OffsetCommitRequest
from groupmock_codec.messages.k11_join_group import JoinGroupRequest
from groupmock_codec.messages.k12_heartbeat import HeartbeatRequest
from groupmock_codec.messages.k13_leave_group import LeaveGroupRequest
from groupmock_codec.messages.k14_sync_group import SyncGroupRequest
from groupmock_codec.messages.k42_delete_groups import DeleteGroupsRequest

from .. import apis
from ..events import Request
from ..group.group import Group, Member
from ..group.states import COMPLETING, EMPTY, PREPARING, STABLE, State
from ..turn import Turn

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..effects import Effects
    from ..timers import Key

OfMember = OffsetCommitRequest | JoinGroupRequest | HeartbeatRequest | LeaveGroupRequest | SyncGroupRequest
"""Requests that name the member that sends them."""


class Hold(msgspec.Struct):
    """A group that is to stay in `state` once it is there. `waiting`: what would have moved it, in order of arrival."""

    state: State
    waiting: list[Request | Key] = []


class Frozen(msgspec.Struct):
    """A member that is not heard: what it can be called, and what it sent meanwhile."""

    names: tuple[str | None, ...]
    waiting: list[Request] = []


class Order(msgspec.Struct):
    """In which order clients' JoinGroups are let in: `names[0]` is next."""

    names: list[str]
    waiting: list[Request] = []


class Doors:
    """Everything that waits in one cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.holds: dict[str, Hold] = {}
        self.frozen: dict[tuple[str, str], Frozen] = {}
        self.orders: dict[str, Order] = {}
        self.leaders: dict[str, str] = {}
        """Group -> who is to lead its next generation: member id, instance id or client id."""
        self.ready: deque[Request] = deque()

    # -- requests ------------------------------------------------------------------------------------------------------

    def keeps(self, request: Request) -> bool:
        """Does this request wait at a door? Then it is kept there."""
        message = request.message
        if isinstance(message, OfMember):
            return (
                self._keeps_frozen(message, request)
                or self._keeps_held(message, request)
                or (isinstance(message, JoinGroupRequest) and self._keeps_in_order(message, request))
            )
        return isinstance(message, DeleteGroupsRequest) and self._keeps_deletion(message, request)

    def admit(self, request: Request, now: int, out: Effects) -> None:
        """A request that waited goes on, unless another door keeps it."""
        if not self.keeps(request):
            apis.behaviour(request.key)(self._cluster, request, now, out)

    def admit_ready(self, now: int, out: Effects) -> None:
        """Let in what the last request made way for."""
        while self.ready:
            self.admit(self.ready.popleft(), now, out)

    def _keeps_frozen(self, message: OfMember, request: Request) -> bool:
        for member_id in _senders(message):
            frozen = self.frozen.get((message.group_id, member_id))
            if frozen is not None:
                frozen.waiting.append(request)
                return True
        return False

    def _keeps_held(self, message: OfMember, request: Request) -> bool:
        hold = self.holds.get(message.group_id)
        if hold is None or self._cluster.coordinators.gate(message.group_id, request.node):
            return False
        group = self._cluster.coordinators.find(message.group_id)
        state = EMPTY if group is None else group.state
        if state is not hold.state or not _would_move(state, group, message, request.version):
            return False
        hold.waiting.append(request)
        return True

    def _keeps_deletion(self, message: DeleteGroupsRequest, request: Request) -> bool:
        for group_id in message.groups_names:
            hold = self.holds.get(group_id)
            if hold is not None and hold.state is EMPTY:
                hold.waiting.append(request)
                return True
        return False

    def _keeps_in_order(self, message: JoinGroupRequest, request: Request) -> bool:
        order = self.orders.get(message.group_id)
        if order is None or _only_reserves(message, request.version) or self._cluster.coordinators.gate(message.group_id, request.node):
            return False
        if order.names[0] not in (message.member_id, message.group_instance_id, request.client_id):
            order.waiting.append(request)
            return True
        del order.names[0]
        waiting, order.waiting = order.waiting, []
        if not order.names:
            del self.orders[message.group_id]
        self.ready.extend(waiting)
        return False

    # -- the coordinator asks ------------------------------------------------------------------------------------------

    def defers(self, key: Key, group: Group) -> bool:
        """A timer of a held group that would move it waits. (A session that is renewed meanwhile goes on; see `released`.)"""
        hold = self.holds.get(group.group_id)
        if hold is None or hold.state is not group.state or group.state not in (COMPLETING, STABLE):
            return False
        if key[0] == "session" and key[2] not in group.members:
            return False
        group.end_leases()  # its timer is dead: no lease may move it
        hold.waiting.append(key)
        return True

    def holds_phase(self, group: Group) -> bool:
        """The join phase of a group that is held in PreparingRebalance does not end."""
        hold = self.holds.get(group.group_id)
        return hold is not None and hold.state is PREPARING

    def keeps_group(self, group_id: str) -> bool:
        """A held group is not swept away."""
        return group_id in self.holds

    def chosen_leader(self, group: Group) -> Member | None:
        """The member that was chosen to lead and that joined; it is chosen once."""
        name = self.leaders.get(group.group_id)
        if name is None:
            return None
        for member in group.ordered():
            if member.join is not None and name in (member.member_id, member.group_instance_id, member.client_id):
                del self.leaders[group.group_id]
                return member
        return None

    # -- letting go ----------------------------------------------------------------------------------------------------

    def released(self, turn: Turn, waiting: list[Request | Key]) -> None:
        """What waited happens, in order of arrival. A session that was renewed meanwhile, or a phase that is over, does not end."""
        for each in waiting:
            if isinstance(each, Request):
                self.admit(each, turn.now, turn.out)
            elif each not in turn.timers:
                self._cluster.fire(each, turn.now, turn.out)


def _senders(message: OfMember) -> list[str]:
    """The member ids that a request speaks for."""
    ids = [message.member_id]
    return ids + [each.member_id for each in message.members] if isinstance(message, LeaveGroupRequest) else ids


def _only_reserves(message: JoinGroupRequest, version: int) -> bool:
    """A JoinGroup that is answered 79 (KIP-394) moves nobody."""
    return version >= 4 and not message.member_id and message.group_instance_id is None


def _would_move(state: State, group: Group | None, message: OfMember, version: int) -> bool:
    """Could this request take the group out of that state?"""
    if isinstance(message, JoinGroupRequest):
        return state is not PREPARING and not _only_reserves(message, version) and not _answered_at_once(group, message)
    if isinstance(message, SyncGroupRequest):
        return state is COMPLETING and group is not None and message.member_id == group.leader_id
    return isinstance(message, LeaveGroupRequest) and state in (COMPLETING, STABLE)


def _answered_at_once(group: Group | None, message: JoinGroupRequest) -> bool:
    """An id that nobody has is refused, and a follower that joins again with the same protocols is told the generation."""
    if group is None or not message.member_id:
        return False
    member = group.members.get(message.member_id)
    if member is None:
        return message.member_id not in group.pending_joins
    if group.state is STABLE and group.is_leader(member):
        return False
    return member.protocols == tuple([(each.name, each.metadata) for each in message.protocols])
