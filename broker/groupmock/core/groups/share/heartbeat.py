"""Handles a ShareGroupHeartbeat of a known group, in the order of GroupMetadataManager.shareGroupHeartbeat."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

import msgspec

from groupmock_codec.messages.k76_share_group_heartbeat import Assignment, ShareGroupHeartbeatResponse, TopicPartitions

from ...effects import Lease
from ...turn import Turn
from ...work import A_FEW
from .. import causes, timing
from ..causes import Why
from ..consumer.orders import in_log
from ..consumer.states import LEAVING
from ..consumer.targets import may_compute
from ..modern import in_words, settle
from ..timing import Timing
from . import initializing, targets
from .beat import Beat, sender
from .group import Group, Member

if TYPE_CHECKING:
    from ..consumer.assignors import Computed, Steps, Target


def leave(turn: Turn, group: Group, beat: Beat) -> ShareGroupHeartbeatResponse:
    """Handle a heartbeat of a leaving member, with epoch -1; other fields are ignored (SG-24). Raises Refused."""
    member = sender(group, beat)
    assert member is not None, "only a member that joins may be unknown"
    remove(turn, group, member, causes.member_left(member.member_id, None))
    return ShareGroupHeartbeatResponse(member_id=beat.member_id, member_epoch=LEAVING)


def remove(turn: Turn, group: Group, member: Member, why: Why) -> None:
    """Remove a member from the group: the remaining members need a new target, which their next heartbeat computes (SG-54, SG-55)."""
    turn.timers.cancel(("session", group.group_id, member.member_id))
    group.drop(member)
    turn.member_changed(group, member.member_id, "removed", why, member)
    group.count_topics()
    group.bump()
    if not group.members and not turn.quirks.emptied_group_keeps_assignment_epoch:
        group.catch_up()
    settle(turn, group, why, bumped=True)


class Moment(msgspec.Struct):
    """A heartbeat whose member is in the group with its new names, but has not got its target yet. `joined` says that it was no member
    before, and `bumped` that the heartbeat raised the group epoch. `computed` is the member's new target in the order in which it was
    computed."""

    group: Group
    settings: Timing
    beat: Beat
    member: Member
    joined: bool
    bumped: bool
    asks: bool
    computed: Computed | None = None


def answer(turn: Turn, ticket: int, group: Group, settings: Timing, beat: Beat, known: Member | None) -> None:
    """Answer a heartbeat with epoch 0 or more, sent by the member `known` or by a new member. If a target is computed, which may take
    long, the answer comes after it."""
    pending = group.assignment_epoch >= group.generation and group.awaits_target()
    member = _admitted(turn, group, beat) if known is None else _updated(group, known, beat)
    renamed = beat.listed is not None and (known is None or frozenset(beat.listed) != member.names)
    if renamed and known is not None:
        group.subscribe(member, frozenset(beat.listed or ()))
    asks = renamed or group.stale
    # The group epoch is raised once for all reasons together (SG-30 to SG-44).
    bumped = (asks or pending) and (group.refresh_topics() or renamed or pending)
    why = None
    if bumped:
        group.bump()
        why = _cause(member, known is None, renamed, pending)
    moment = Moment(group, settings, beat, member, known is None, bumped, asks)
    if not may_compute(turn, group, settings):
        turn.reply(ticket, *_answered(turn, moment, why))
        return

    def computing(turn: Turn) -> Steps[None]:
        moment.computed = yield from targets.compute(turn, group, member, beat.listed)
        if len(group.members) > A_FEW:
            yield
        turn.reply(ticket, *_answered(turn, moment, why or causes.TARGET_COMPUTED))

    turn.begin(computing, group)


def _cause(member: Member, joined: bool, renamed: bool, pending: bool) -> Why:
    if joined:
        return causes.member_joined(member.member_id)
    if renamed:
        return causes.resubscribed(member.member_id)
    return causes.PARTITIONS_INITIALIZED if pending else causes.TOPICS_CHANGED


def _admitted(turn: Turn, group: Group, beat: Beat) -> Member:
    member = Member(beat.member_id, beat.client_id, beat.client_host, beat.rack_id, frozenset(beat.listed or ()))
    group.enter(member)
    turn.member_changed(group, member.member_id, "added", causes.member_joined(member.member_id), member)
    return member


def _updated(group: Group, member: Member, beat: Beat) -> Member:
    """Update the stored fields of a member that do not affect its target (SG-33, SG-38)."""
    rack_id = member.rack_id if beat.rack_id is None else beat.rack_id
    if (member.client_id, member.client_host, member.rack_id) != (beat.client_id, beat.client_host, rack_id):
        member.client_id, member.client_host, member.rack_id = beat.client_id, beat.client_host, rack_id
        # The core has to see the group's next heartbeats, because a heartbeat that a connection repeats on its own would change the fields
        # back.
        group.end_leases()
    return member


def _answered(turn: Turn, moment: Moment, why: Why | None) -> tuple[ShareGroupHeartbeatResponse, Lease | None]:
    group, member, beat, settings = moment.group, moment.member, moment.beat, moment.settings
    if moment.joined:
        group.stay()
    before = member.assigned
    moved = moment.bumped or member.epoch != group.assignment_epoch
    if moved:
        _advance(turn, group, member)
    timing.renew(turn, group, member, settings.session_ms)
    if moment.bumped or group.state != group.present():
        settle(turn, group, why or causes.member_arrived(member.member_id, member.epoch), moment.bumped)
    if moment.asks:
        initializing.ask(turn, group)
    told = None  # A member that joins always gives names, so that its answer has the assignment (SG-33).
    if beat.listed is not None or not _same(before, member.assigned):
        # An assignment comes in the order in which this heartbeat has computed it, another one in the order of the log.
        order: Iterable[tuple[bytes, Collection[int]]] = member.assigned.items() if moved else in_log(member.assigned)
        if moment.computed is not None:
            order = [(topic_id, moment.computed[topic_id]) for topic_id in moment.computed if topic_id in member.assigned]
        told = Assignment([TopicPartitions(topic_id, list(indexes)) for topic_id, indexes in order])
    response = ShareGroupHeartbeatResponse(
        member_id=member.member_id, member_epoch=member.epoch, heartbeat_interval_ms=settings.heartbeat_ms, assignment=told
    )
    at_rest = group.generation == group.assignment_epoch == member.epoch and not group.stale
    return response, Lease(group, member, group.epoch) if at_rest and not moved else None


def _advance(turn: Turn, group: Group, member: Member) -> None:
    """Give the member its target, without topics that it does not name (SG-42, SG-63)."""
    ids = {group.topics[name][0] for name in member.names if name in group.topics}
    target = group.targets.get(member.member_id, {})
    assigned = {topic_id: indexes for topic_id, indexes in target.items() if topic_id in ids}
    if member.epoch == group.assignment_epoch and assigned == member.assigned:
        return
    group.give(member, assigned, group.assignment_epoch)
    has = in_words(group, [(topic_id, index) for topic_id, indexes in assigned.items() for index in indexes])
    turn.member_changed(group, member.member_id, "reconciled", causes.reconciled(member.member_id, member.epoch, has, ""), member)


def _same(before: Target, after: Target) -> bool:
    return before.keys() == after.keys() and all(set(before[topic_id]) == set(after[topic_id]) for topic_id in after)
