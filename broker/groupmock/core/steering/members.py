"""Commands for one member expire its session, take over its instance, or let its requests wait."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from msgspec import Meta

from ..effects import TimerFired
from ..groups import causes
from ..groups.classic import leaving, membership, rebalance, sessions, storage
from ..groups.classic.group import Group as GroupData
from ..groups.classic.group import Member
from ..groups.classic.states import COMPLETING, PREPARING
from ..groups.consumer.states import AWAY
from ..groups.modern import ModernGroup
from ..groups.reconciling import ReconcilingGroup
from .find import classic_group_of, group_of, listed, member_of
from .groups import not_held
from .holds import Frozen, holds_of
from .register import Arguments, Group, MemberName, Milliseconds, NoSuch, NotNow, steers

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..turn import Turn


class ExpireMember(Arguments):
    """Let the session of a member (or of a reserved id) expire now, as if nothing had come from it for its session timeout."""

    group: Group
    member: MemberName


@steers("expire_member", ExpireMember)
def expire_member(cluster: Cluster, arguments: ExpireMember, turn: Turn) -> None:
    """Expire the member as Kafka's expireClassicGroupMemberHeartbeat does, which never expires a member with a parked request."""
    found = group_of(cluster, arguments.group)
    if isinstance(found, ModernGroup):
        not_held(cluster, arguments.group, "let a member expire")
        _expire(turn, found, arguments.member)
        cluster.groups.convert(turn, found)
        return
    group = classic_group_of(cluster, arguments.group)
    if arguments.member in group.pending_joins:
        member_id = arguments.member
    else:
        member = member_of(group, arguments.member)
        member_id = member.member_id
        if not member.is_new and (member.join is not None or member.sync is not None):
            api = "JoinGroup" if member.join is not None else "SyncGroup"
            raise NotNow(f"member {member_id} waits for the answer to its {api}: as in Kafka, its session cannot expire")
        if group.state is not PREPARING:
            not_held(cluster, arguments.group, "let a member expire")
    sessions.end(turn, group, member_id)
    turn.out.append(TimerFired("session", (group.group_id, member_id)))
    leaving.expire(turn, group, member_id)


def _expire(turn: Turn, group: ModernGroup[Any, Any], name: str) -> None:
    member = member_of(group, name)
    turn.out.append(TimerFired("session", (group.group_id, member.member_id)))
    group.expel(turn, member, causes.session_expired(member.member_id, member.session_timeout_ms, is_new=False))


class FenceInstance(Arguments):
    """Take a static member's place, as a second process with its instance id would: the process with the old member id is fenced
    (FENCED_INSTANCE_ID, 82).

    No process has the new id, so it expires after the member's session timeout unless the instance joins again."""

    group: Group
    instance: Annotated[str, Meta(description="group.instance.id", min_length=1)]


@steers("fence_instance", FenceInstance)
def fence_instance(cluster: Cluster, arguments: FenceInstance, turn: Turn) -> None:
    """Take over an instance as a JoinGroup without member id and with a known instance id does (KIP-345), but with unchanged protocols."""
    group = classic_group_of(cluster, arguments.group)
    member_id = group.static_members.get(arguments.instance)
    if member_id is None:
        raise NoSuch(f"group {arguments.group!r} has no instance {arguments.instance!r}: there are {listed(list(group.static_members))}")
    if group.state is COMPLETING:
        not_held(cluster, arguments.group, "fence an instance")
    old = group.members[member_id]
    membership.refuse_parked(turn, group, old)
    new = _successor(turn, group, old)
    sessions.end(turn, group, old.member_id)
    why = causes.instance_taken_over(arguments.instance, new.member_id, old.member_id)
    turn.member_changed(group, new.member_id, "replaced", why, new)
    if group.state is COMPLETING:
        rebalance.prepare(turn, group, why)
    # An unfinished rebalance is not stored, so a coordinator that loads the group restores the generation before it (P2-d11).
    elif group.state is not PREPARING:
        storage.store(turn, group)


def _successor(turn: Turn, group: GroupData, old: Member) -> Member:
    member_id = membership.new_id(turn, group, old.client_id, old.group_instance_id)
    session = turn.timers.set(sessions.key(group, member_id), turn.after(old.session_timeout_ms))
    new = msgspec.structs.replace(old, member_id=member_id, session=session, spread=0, is_new=False)
    membership.swap(group, old, new)
    return new


class FenceMember(Arguments):
    """Remove a member of a consumer or streams group and add it again without its process, whose epoch is invalid from then on: its next
    heartbeat is answered FENCED_MEMBER_EPOCH (110), a commit STALE_MEMBER_EPOCH (113). It has to give up everything and join again.

    Its partitions or tasks are free for other members. A static member that joins again finds its instance in use
    (UNRELEASED_INSTANCE_ID, 111), as on Kafka, until its session has expired."""

    group: Group
    member: MemberName


@steers("fence_member", FenceMember)
def fence_member(cluster: Cluster, arguments: FenceMember, turn: Turn) -> None:
    """Fence a member of a consumer or streams group. Members of the classic protocol have no epoch, and neither has a static one that is
    away."""
    group = group_of(cluster, arguments.group)
    if not isinstance(group, ReconcilingGroup):
        why = "only members of consumer and streams groups can be fenced"
        raise NotNow(f"group {arguments.group!r} is a {group.group_type} group: {why}")
    member = member_of(group, arguments.member)
    if group.speaks_classic(member):
        raise NotNow(f"member {member.member_id} speaks the classic protocol: it has no epoch to be fenced by")
    if member.epoch == AWAY:
        raise NotNow(f"member {member.member_id} is away: it joins again when it comes back")
    not_held(cluster, arguments.group, "fence a member")
    group.fence(turn, member)


class FreezeMember(Arguments):
    """Let every request of a member wait, unread, until it is thawed, like a process that pauses. Its session continues and may expire."""

    group: Group
    member: MemberName
    ms: Annotated[Milliseconds | None, Meta(description="thaw it after so long; null: when told to")] = None


@steers("freeze_member", FreezeMember)
def freeze_member(cluster: Cluster, arguments: FreezeMember, turn: Turn) -> None:
    """Let JoinGroup, SyncGroup, LeaveGroup, OffsetCommit and heartbeats with the member's id wait. For a member that is frozen already,
    the later end counts."""
    group = group_of(cluster, arguments.group)
    member = member_of(group, arguments.member)
    names = (member.member_id, member.group_instance_id, member.client_id)
    holds_of(cluster).frozen.setdefault((arguments.group, member.member_id), Frozen(names))
    group.end_leases()
    key = ("thaw", arguments.group, member.member_id)
    if arguments.ms is None:
        turn.timers.cancel(key)
    else:
        turn.timers.set(key, turn.after(arguments.ms))


class ThawMember(Arguments):
    """Let a frozen member continue: the requests that it sent meanwhile are handled now, in order. A member that is not frozen does not
    change."""

    group: Group
    member: MemberName


@steers("thaw_member", ThawMember)
def thaw_member(cluster: Cluster, arguments: ThawMember, turn: Turn) -> None:
    """Thaw a member by any name that it had when it was frozen, even if it is no longer in its group."""
    found = [key for key, frozen in holds_of(cluster).frozen.items() if key[0] == arguments.group and arguments.member in frozen.names]
    if not found:
        member_of(group_of(cluster, arguments.group), arguments.member)
    for group_id, member_id in found:
        turn.timers.cancel(("thaw", group_id, member_id))
        thaw(cluster, group_id, member_id)


def thaw(cluster: Cluster, group_id: str, member_id: str) -> bool:
    """Thaw the member, and return whether it was frozen."""
    holds = holds_of(cluster)
    frozen = holds.frozen.pop((group_id, member_id), None)
    if frozen is not None:
        holds.release(frozen.waiting)
    return frozen is not None
