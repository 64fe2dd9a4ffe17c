"""Handles a ConsumerGroupHeartbeat of a known group, in the order of GroupMetadataManager.consumerGroupHeartbeat."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from groupmock_codec.messages.k68_consumer_group_heartbeat import Assignment, ConsumerGroupHeartbeatResponse, TopicPartitions

from ...effects import Lease
from ...turn import Turn
from ...work import A_FEW
from .. import causes, timing
from ..causes import Why
from ..modern import settle
from ..timing import Timing
from . import membership, subscription, targets
from .beat import Beat, sender
from .group import Group, Member
from .orders import as_laid_out, by_topic
from .states import AWAY, JOINING, LEAVING

if TYPE_CHECKING:
    from ...log.topics import Topics
    from ...re2j.matching import Matcher
    from .assignors import Steps

Answer = tuple[ConsumerGroupHeartbeatResponse, Lease | None]


def leave(turn: Turn, group: Group, beat: Beat) -> ConsumerGroupHeartbeatResponse:
    """Handle a heartbeat of a leaving member, with epoch -1 or -2; other fields are ignored (CG-23, CG-92). Raises Refused."""
    member = sender(group, beat)
    assert member is not None, "only who joins is nobody yet"
    if beat.epoch == AWAY:
        membership.go_away(turn, group, member)
    else:
        membership.remove(turn, group, [member], causes.member_left(member.member_id, None))
    return ConsumerGroupHeartbeatResponse(member_id=beat.member_id, member_epoch=AWAY if beat.epoch == AWAY else LEAVING)


class Moment(msgspec.Struct):
    """A heartbeat whose member is already in the group with its new subscription, but has not done its step towards the target. `replaced`
    is the member that it replaces, and `joined` says that it was no member before. `bumped` says that the heartbeat raised the group epoch,
    and `upgraded` that the group was a classic one."""

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
    """Answer a heartbeat with epoch 0 or more, sent by the member `known` or by a new member. The answer has a lease if the next
    identical heartbeat is answered alike. The answer comes in steps if a target is computed, or if the member has many partitions."""
    subscribes = known is None or beat.listed is not None or beat.regex is not None
    before, resolved = group.alike() if subscribes else None, group.last_resolved()
    preferred = targets.preferred(turn, group) if group.votes else None
    nameless = beat.group_instance_id is not None and beat.group_instance_id not in group.static_members
    member, replaced, why = membership.admit(turn, group, beat, known)
    resubscribed, called_for = membership.subscribe(group, member, beat, matcher)
    if group.expressions:
        subscription.resolve_soon(turn, group, topics, resolved)
    if called_for:
        why = why or causes.resubscribed(member.member_id)
    elif (preferred or group.votes) and _prefers_another(turn, group, member, preferred):
        called_for, why = True, why or causes.assignor_changed(member.member_id, targets.preferred(turn, group, member))
    # The group epoch is raised once for all reasons together, including changed topics (CG-31 to CG-38).
    looks = called_for or group.stale
    bumped = looks and (group.refresh_topics() or called_for)
    if bumped:
        group.bump()
        why = why or causes.TOPICS_CHANGED
    moment = Moment(group, topics, settings, beat, member, replaced, known is None, resubscribed, bumped, upgraded)
    may_compute = targets.may_compute(turn, group, settings)
    # A new instance id has no target assignment yet, even if a member has the id by now (ConsumerGroup.targetAssignment).
    aimless = nameless and not may_compute
    alike = None if looks else group.alike() if before is None else before

    def answering(turn: Turn) -> Steps[None]:
        cause = why
        if may_compute:
            yield from targets.compute(turn, group, member, beat.listed, replaced, alike)
            cause = why or causes.TARGET_COMPUTED
            if len(group.members) > A_FEW:
                yield
        turn.reply(ticket, *(yield from _answered(turn, moment, cause, aimless)))

    turn.begin(answering, group)


def _prefers_another(turn: Turn, group: Group, member: Member, preferred: str | None) -> bool:
    """True if a heartbeat of the member makes another assignor than `preferred` the group's, which needs another target (CG-101;
    GroupMetadataManager.hasPreferredServerAssignorChanged). If every assignor has one vote, that holds for each heartbeat of a member that
    does not name the first one, because its own vote wins then (`targets.preferred`; seen on 4.4.0). None: nobody named one before."""
    before = preferred or targets.first_configured(turn)
    return not turn.quirks.assignor_change_computes_nothing and targets.preferred(turn, group, member) != before


def _answered(turn: Turn, moment: Moment, why: Why | None, aimless: bool) -> Steps[Answer]:
    group, member, beat, settings = moment.group, moment.member, moment.beat, moment.settings
    if moment.upgraded:
        group.reseat()
    if moment.joined:
        group.seat(member.member_id, moment.replaced)
    had, stood = member.assigned, (member.epoch, member.previous_epoch, member.progress)
    changed = yield from membership.advance(turn, group, member, beat.owned, moment.resubscribed, aimless)
    moved = changed or stood != (member.epoch, member.previous_epoch, member.progress)
    if moved or moment.resubscribed or moment.joined:
        group.judge_anew(settled=moved)
    timing.renew(turn, group, member, settings.session_ms)
    if moment.bumped or group.state != group.present():
        settle(turn, group, why or causes.member_arrived(member.member_id, member.epoch), moment.bumped)
    told = None
    if changed or beat.epoch == JOINING or beat.is_full:
        # If this heartbeat computed an assignment, the answer has the partitions in the order of that computation, even if they are
        # unchanged. Otherwise they are in the order of the log.
        order = as_laid_out if member.assigned is not had else by_topic
        told = Assignment([TopicPartitions(topic, indexes) for topic, indexes in order(member.assigned)])
    response = ConsumerGroupHeartbeatResponse(
        member_id=member.member_id, member_epoch=member.epoch, heartbeat_interval_ms=settings.heartbeat_ms, assignment=told
    )
    return response, _lease(turn, group, moment.topics, member)


def _lease(turn: Turn, group: Group, topics: Topics, member: Member) -> Lease | None:
    """Return the permission to repeat the heartbeat's answer, if the member has reached its target and nothing is pending, so that an
    identical heartbeat would change nothing. Any change ends the lease."""
    if group.generation != group.assignment_epoch or not group.at_rest(member):
        return None
    if group.votes and _prefers_another(turn, group, member, targets.preferred(turn, group)):
        return None
    if not group.expressions:
        return Lease(group, member, group.epoch)
    if subscription.wants_resolution(turn, group, topics):
        return None
    return Lease(group, member, group.epoch, subscription.resolved_until(turn, group))
