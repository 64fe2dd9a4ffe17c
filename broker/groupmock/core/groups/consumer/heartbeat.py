"""A heartbeat, from the group it names to the answer, in the order of GroupMetadataManager.consumerGroupHeartbeat."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from groupmock_codec.messages.k68_consumer_group_heartbeat import Assignment, ConsumerGroupHeartbeatResponse, TopicPartitions

from ...effects import Lease
from ...turn import Turn
from .. import causes
from ..causes import Why
from . import membership, subscription, targets, timing
from .beat import Beat, sender
from .group import Group, Member
from .orders import as_laid_out, by_topic
from .states import AWAY, JOINING, LEAVING
from .timing import Timing

if TYPE_CHECKING:
    from ...log.topics import Topics
    from ...re2j.matching import Matcher
    from .assignors import Steps

Answer = tuple[ConsumerGroupHeartbeatResponse, Lease | None]


def leave(turn: Turn, group: Group, beat: Beat) -> ConsumerGroupHeartbeatResponse:
    """Epoch -1 or -2: what else it says is not looked at (CG-23, CG-92). Raises Refused."""
    member = sender(group, beat)
    assert member is not None, "only who joins is nobody yet"
    if beat.epoch == AWAY:
        membership.go_away(turn, group, member)
    else:
        membership.remove(turn, group, [member], causes.member_left(member.member_id, None))
    return ConsumerGroupHeartbeatResponse(member_id=beat.member_id, member_epoch=AWAY if beat.epoch == AWAY else LEAVING)


class Moment(msgspec.Struct):
    """A heartbeat whose member is in the group and subscribes to what it says, before its step towards the target. `replaced`: whose place
    the member takes; `joined`: was it nobody yet; `bumped`: has the group another epoch by that; `upgraded`: was it a classic group?"""

    group: Group
    topics: Topics
    settings: Timing
    beat: Beat
    member: Member
    replaced: str | None
    joined: bool
    resubscribed: bool
    bumped: bool
    upgraded: bool


def answer(
    turn: Turn,
    ticket: int,
    group: Group,
    topics: Topics,
    settings: Timing,
    beat: Beat,
    known: Member | None,
    matcher: Matcher | None,
    upgraded: bool,
) -> None:
    """Epoch 0 or more, by who may speak: `known`, or somebody who joins. With a lease where the next one like it is answered alike. Where a
    target is computed, which may take long, the answer comes behind that."""
    subscribes = known is None or beat.listed is not None or beat.regex is not None
    before, resolved = group.alike() if subscribes else None, group.last_resolved()
    nameless = beat.group_instance_id is not None and beat.group_instance_id not in group.static_members
    member, replaced, why = (known, None, None) if known is not None else membership.admit(turn, group, beat)
    membership.update(turn, group, member, beat)
    resubscribed, called_for = subscription.subscribe(group, member, beat, matcher)
    subscription.resolve_soon(turn, group, topics, resolved)
    why = why or (causes.resubscribed(member.member_id) if called_for else None)
    looks, bumped = called_for or group.stale, _bump(group, called_for)
    if bumped:
        why = why or causes.TOPICS_CHANGED
    moment = Moment(group, topics, settings, beat, member, replaced, known is None, resubscribed, bumped, upgraded)
    if not targets.may_compute(turn, group, settings):
        # An instance id that is new has no target yet, whoever has it now (ConsumerGroup.targetAssignment)
        turn.reply(ticket, *_answered(turn, moment, why, aimless=nameless))
        return
    alike = None if looks else group.alike() if before is None else before

    def computing(turn: Turn) -> Steps[None]:
        yield from targets.compute(turn, group, member, beat.listed, replaced, alike)
        yield
        turn.reply(ticket, *_answered(turn, moment, why or causes.TARGET_COMPUTED, aimless=False))

    turn.begin(computing, group)


def _answered(turn: Turn, moment: Moment, why: Why | None, aimless: bool) -> Answer:
    group, member, beat, settings = moment.group, moment.member, moment.beat, moment.settings
    if moment.upgraded:
        group.reseat()
    if moment.joined:
        group.seat(member.member_id, moment.replaced)
    had, stood = member.assigned, (member.epoch, member.previous_epoch, member.progress)
    changed = membership.advance(turn, group, member, beat.owned, moment.resubscribed, aimless)
    moved = changed or stood != (member.epoch, member.previous_epoch, member.progress)
    if moved or moment.resubscribed or moment.joined:
        group.judge_anew(settled=moved)
    timing.renew(turn, group, member, settings.session_ms)
    if group.state != group.present() or why is not None or changed:
        membership.settle(turn, group, why or _arrived(member), moment.bumped)
    told = _told(member, anew=member.assigned is not had) if changed or beat.epoch == JOINING or beat.is_full else None
    return _response(member, settings.heartbeat_ms, told), _lease(turn, group, moment.topics, member)


def _told(member: Member, anew: bool) -> list[tuple[bytes, list[int]]]:
    """`anew`: it was laid out in this heartbeat, though it may be the same as before; else it is as the log gave it."""
    return as_laid_out(member.assigned) if anew else by_topic(member.assigned)


def _bump(group: Group, called_for: bool) -> bool:
    """Once for all that calls for it, the topics as they are now included (CG-31 to CG-38)."""
    if not (called_for or group.stale):
        return False
    bumped = group.refresh_topics() or called_for
    if bumped:
        group.bump()
    return bumped


def _arrived(member: Member) -> Why:
    return causes.member_arrived(member.member_id, member.epoch)


def _response(member: Member, interval_ms: int, told: list[tuple[bytes, list[int]]] | None) -> ConsumerGroupHeartbeatResponse:
    parts = None if told is None else [TopicPartitions(topic_id=topic, partitions=indexes) for topic, indexes in told]
    return ConsumerGroupHeartbeatResponse(
        member_id=member.member_id,
        member_epoch=member.epoch,
        heartbeat_interval_ms=interval_ms,
        assignment=None if parts is None else Assignment(topic_partitions=parts),
    )


def _lease(turn: Turn, group: Group, topics: Topics, member: Member) -> Lease | None:
    """Where nothing is under way for this member, a heartbeat like this one changes nothing; whatever does ends the lease."""
    quiet = group.at_rest(member) and group.generation == group.assignment_epoch
    if not quiet or subscription.wants_resolution(turn, group, topics):
        return None
    return Lease(group, member, group.epoch, subscription.resolved_until(turn, group))
