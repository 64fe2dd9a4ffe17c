"""Members of a streams group join, change and leave, with the effects on the group (GroupMetadataManager.streamsGroupHeartbeat,
streamsGroupLeave; ST-33, ST-110 to ST-119)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from .. import causes, timing
from ..consumer.group import no_session
from ..consumer.states import JOINING, Progress
from ..modern import settle
from . import reconciliation
from .group import Endpoint, Group, Member, in_words

if TYPE_CHECKING:
    from ...turn import Turn
    from ..causes import Why
    from .beat import Beat, Owned

DELAY: Final = "streams_delay"
"""The timer of the initial rebalance delay."""


class Admitted(NamedTuple):
    """The member that sent a heartbeat. `joined`: it was no member before, or takes the place of the static member `replaced`. `calls_for`
    is the cause of a new target, or None. `recorded`: its record was written. `endpoint_before` is the endpoint that it had."""

    member: Member
    joined: bool
    replaced: str | None
    calls_for: Why | None
    recorded: bool
    endpoint_before: Endpoint | None


def calls(turn: Turn, group: Group, beat: Beat, known: Member | None) -> bool:
    """True if the heartbeat would call for a new target, because its member is new or because of what changes in its record."""
    holder = None if beat.group_instance_id is None else group.static_members.get(beat.group_instance_id)
    record = known or (None if holder is None else group.members[holder])
    if record is None:
        return True
    changed = msgspec.structs.replace(record)
    _fill(changed, beat, turn.quirks.streams_endpoints_follow_tasks)
    return _calls(beat, _recorded(record), _recorded(changed))


def admit(turn: Turn, group: Group, beat: Beat, known: Member | None) -> Admitted:
    """Return the member that sent the heartbeat: `known`, or else a new member. That may be a static member that was away and is back,
    with any member id (ST-114)."""
    if known is not None:
        before = _recorded(known)
        endpoint = _update(turn, group, known, beat)
        return Admitted(known, False, None, _cause(turn, group, beat, known, before), _recorded(known) != before, endpoint)
    away = None if beat.group_instance_id is None else group.static_members.get(beat.group_instance_id)
    if away is not None:
        old = group.members[away]
        before = _recorded(old)
        member = _returned(turn, group, old, beat)
        endpoint = _update(turn, group, member, beat)
        return Admitted(member, True, away, _cause(turn, group, beat, member, before), True, endpoint)
    member = Member(beat.member_id, beat.group_instance_id, beat.client_id, beat.client_host)
    member.offsets, member.end_offsets = group.strays.pop(beat.member_id, ({}, {}))
    group.put(member)
    endpoint = _update(turn, group, member, beat)
    why = causes.member_joined(member.member_id)
    turn.member_changed(group, member.member_id, "added", why, member)
    return Admitted(member, True, None, why, True, endpoint)


def _returned(turn: Turn, group: Group, old: Member, beat: Beat) -> Member:
    """Return the static member that came back, with the tasks and the target of its former process. Its epoch starts from 0."""
    timing.stop(turn, group, old.member_id)
    offsets, end_offsets = group.strays.pop(beat.member_id, ({}, {}))
    anew = {"epoch": JOINING, "previous_epoch": -1, "session": no_session(), "offsets": offsets, "end_offsets": end_offsets}
    new = msgspec.structs.replace(old, member_id=beat.member_id, **anew)
    group.replace(old, new)
    why = causes.instance_replaced(str(old.group_instance_id), new.member_id, old.member_id)
    turn.member_changed(group, new.member_id, "replaced", why, new)
    return new


def _cause(turn: Turn, group: Group, beat: Beat, member: Member, before: tuple[object, ...]) -> Why | None:
    """Return the cause of a new target if something of the member's record has changed that calls for one. If the heartbeat has an
    instance id, that is less (ST-33, ST-116)."""
    if not _calls(beat, before, _recorded(member)):
        return None
    why = causes.record_changed(member.member_id)
    turn.member_changed(group, member.member_id, "updated", why, member)
    return why


def _calls(beat: Beat, before: tuple[object, ...], now: tuple[object, ...]) -> bool:
    counted = len(now) if beat.group_instance_id is None else COUNTED_OF_STATIC
    return now[:counted] != before[:counted]


COUNTED_OF_STATIC: Final = 4


def _recorded(member: Member) -> tuple[object, ...]:
    """Return the fields of a member's record. The first COUNTED_OF_STATIC ones call for a new target even if the heartbeat has an
    instance id."""
    return (
        member.process_id, member.tags, member.rack_id, member.topology_epoch,
        member.endpoint, member.rebalance_timeout_ms, member.client_id, member.client_host,
    )  # fmt: skip


def _update(turn: Turn, group: Group, member: Member, beat: Beat) -> Endpoint | None:
    """Update the stored fields of a member, and return the endpoint that it had."""
    before, endpoint = _recorded(member), member.endpoint
    if beat.group_instance_id is not None and beat.group_instance_id != member.group_instance_id:
        group.name_instance(member, beat.group_instance_id)
    _fill(member, beat, turn.quirks.streams_endpoints_follow_tasks)
    group.report(member.member_id, beat.offsets, beat.end_offsets)
    if _recorded(member) != before:
        # The core has to see the group's next heartbeats, because a heartbeat that a connection repeats on its own would change the fields
        # back.
        group.end_leases()
    return endpoint


def _fill(member: Member, beat: Beat, kept: bool) -> None:
    """Update the fields of a member's record. `kept`: a join without an endpoint does not remove it, as before Kafka 4.4."""
    member.client_id, member.client_host = beat.client_id, beat.client_host
    if beat.process_id is not None:
        member.process_id = beat.process_id
    if beat.tags is not None:
        member.tags = beat.tags
    if beat.rack_id is not None:
        member.rack_id = beat.rack_id
    if beat.topology is not None:
        member.topology_epoch = beat.topology.epoch
    if beat.endpoint is not None or (beat.epoch == JOINING and not kept):
        member.endpoint = beat.endpoint
    if beat.rebalance_timeout_ms != -1:
        member.rebalance_timeout_ms = beat.rebalance_timeout_ms


def advance(turn: Turn, group: Group, member: Member, owned: Owned | None) -> bool:
    """Do the member's step towards its target, and emit an event if anything changed. `owned` has the tasks that its heartbeat lists.
    Return True if its assigned tasks changed."""
    before, revoking = (member.epoch, member.progress), member.revoking
    changed = reconciliation.reconcile(group, member, owned, not turn.quirks.streams_roles_change_in_turn)
    if not changed and before == (member.epoch, member.progress) and revoking.same_as(member.revoking):
        return False
    if member.progress is Progress.UNREVOKED:
        timing.await_revocation(turn, group, member)
        lost = {*member.revoking.active, *member.revoking.standby}
        what, why = "revoking", causes.must_revoke(member.member_id, in_words(lost))
    else:
        timing.revoked(turn, group, member)
        awaited = in_words(reconciliation.missing(group, member)) if member.progress is Progress.UNRELEASED else ""
        what, why = "reconciled", causes.reconciled(member.member_id, member.epoch, _has(member), awaited)
    turn.member_changed(group, member.member_id, what, why, member)
    return changed


def _has(member: Member) -> str:
    """Return the member's tasks as text, with those for which it only stands by."""
    active, standby = member.assigned
    return in_words(active) + (f", and stands by for {in_words(standby)}" if standby else "")


def go_away(turn: Turn, group: Group, member: Member) -> None:
    """Let a static member leave temporarily, without effect on the other members (ST-113)."""
    timing.revoked(turn, group, member)
    reconciliation.go_away(group, member)
    why = causes.instance_away(str(member.group_instance_id), member.member_id)
    turn.member_changed(group, member.member_id, "away", why, member)
    settle(turn, group, why)


def remove(turn: Turn, group: Group, members: list[Member], why: Why) -> None:
    """Remove members from the group for good: their tasks become free, and the next heartbeat of a remaining member computes a target."""
    for member in members:
        timing.stop(turn, group, member.member_id)
        group.drop(member)
        group.table.discard(member.member_id)
        turn.member_changed(group, member.member_id, "removed", why, member)
    group.bump()
    if not group.members and not turn.quirks.emptied_group_keeps_assignment_epoch:
        group.catch_up()
    settle(turn, group, why, bumped=True)
