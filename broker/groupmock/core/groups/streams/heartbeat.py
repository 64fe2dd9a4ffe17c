"""Handles a StreamsGroupHeartbeat of a known group, in the order of GroupMetadataManager.streamsGroupHeartbeat."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from groupmock_codec import error_codes
from groupmock_codec.messages.k88_streams_group_heartbeat import Status, StreamsGroupHeartbeatResponse, TaskIds
from groupmock_codec.units import NS_PER_MS

from ...effects import Lease
from ...java.hashes import java_hash
from ...java.orders import java_order
from ...log.config_keys import split_list
from ...turn import Turn
from ...work import A_FEW
from .. import causes, timing
from ..causes import Why
from ..configs import TAGS
from ..consumer.states import AWAY, JOINING, LEAVING
from ..modern import settle
from ..refused import Refused
from ..timing import Timing
from . import descriptions, endpoints, membership, readiness, targets
from .beat import Beat, sender
from .group import Group, Member
from .membership import DELAY, Admitted
from .readiness import Prospect
from .states import State

if TYPE_CHECKING:
    from ..configs import GroupConfigs
    from ..consumer.assignors import Steps
    from .tasks import Task

STALE_TOPOLOGY: Final = 0
SHUTDOWN: Final = 4
DELAYED: Final = 5
MISSING_TAGS: Final = 6
TAGS_SINCE: Final = 1
"""The first version whose answers have the status of missing tags (KAFKA-20744)."""


class Terms(msgspec.Struct, frozen=True):
    """The settings that a heartbeat needs, from the group's configs or else from the broker's. Times are ms."""

    timing: Timing
    standbys: int
    initial_delay_ms: int
    task_offset_interval_ms: int
    acceptable_recovery_lag: int
    tags: tuple[str, ...]


def terms_of(configs: GroupConfigs, group_id: str, node: int, before_4_4: bool) -> Terms:
    """Return the settings of the group that a heartbeat of its members needs. Kafka 4.3 answers no intervals of offsets and no lag."""
    return Terms(
        timing.of(configs, group_id, node, timing.OF_STREAMS),
        configs.number(group_id, "streams.num.standby.replicas"),
        configs.number(group_id, "streams.initial.rebalance.delay.ms"),
        0 if before_4_4 else configs.number(group_id, "streams.task.offset.interval.ms"),
        0 if before_4_4 else configs.number(group_id, "streams.acceptable.recovery.lag"),
        () if before_4_4 else tuple(tag for tag in split_list(configs.effective(group_id, TAGS, node)) if tag),
    )


def leave(turn: Turn, group: Group, beat: Beat) -> StreamsGroupHeartbeatResponse:
    """Handle a heartbeat of a leaving member, with epoch -1 or -2; most other fields are ignored (ST-32, ST-113). Raises Refused."""
    try:
        member = sender(group, beat)
    except Refused as refused:
        # A stranger can shut down the application, because Kafka notes the wish before it looks for the member (ST-143).
        if beat.shuts_down and refused.code == error_codes.UNKNOWN_MEMBER_ID:
            group.shut_down(beat.member_id)
        raise
    assert member is not None, "only a member that joins may be unknown"
    if beat.shuts_down:
        group.shut_down(member.member_id)
    if beat.epoch == AWAY:
        membership.go_away(turn, group, member)
    else:
        membership.remove(turn, group, [member], causes.member_left(member.member_id, None))
    return StreamsGroupHeartbeatResponse(member_id=beat.member_id, member_epoch=AWAY if beat.epoch == AWAY else LEAVING)


class Moment(msgspec.Struct):
    """A heartbeat whose member is in the group with its new record, but has not done its step towards the target. `made`: it created the
    group, and `converted`: in the place of an empty classic one. `bumped`: it raised the group epoch. `delay` is the status of a delayed
    target."""

    version: int
    group: Group
    terms: Terms
    beat: Beat
    admitted: Admitted
    made: bool
    converted: bool
    bumped: bool
    uncreatable: Sequence[str]
    delay: str | None = None


def answer(
    turn: Turn,
    ticket: int,
    version: int,
    group: Group,
    terms: Terms,
    beat: Beat,
    known: Member | None,
    prospect: Prospect,
    uncreatable: Sequence[str],
    made: bool,
    converted: bool,
) -> None:
    """Answer a heartbeat with epoch 0 or more, sent by the member `known` or by a new member. If a target is computed, which may take long,
    the answer comes after it."""
    if not group.members:
        start_delay(turn, group.group_id, terms)
    rests = group.state == State.STABLE
    admitted = membership.admit(turn, group, beat, known)
    why = admitted.calls_for or _called_for(group, terms, prospect)
    withheld = why is None and rests and group.lacks(admitted.member)
    if why is None and rests:
        group.withheld_epoch = 0
    if withheld:
        why = causes.tasks_withheld(admitted.member.member_id)
    if prospect.is_new:
        group.configure(prospect.topology, prospect.required, prospect.topics, prospect.configured)
    group.adjust(terms.standbys, terms.tags)
    if why is not None:
        group.bump()
    if withheld:
        group.keep_targets()
    if beat.shuts_down and not made:
        group.shut_down(admitted.member.member_id)
    moment = Moment(version, group, terms, beat, admitted, made, converted, why is not None, uncreatable)
    needed = group.generation > group.assignment_epoch
    moment.delay = delay_of(turn, group, terms) if needed else None
    if not needed or moment.delay is not None:
        turn.reply(ticket, *_answered(turn, moment, why))
        return

    def computing(turn: Turn) -> Steps[None]:
        yield from targets.compute(turn, group, admitted.member)
        if len(group.members) > A_FEW:
            yield
        turn.reply(ticket, *_answered(turn, moment, why or causes.TARGET_COMPUTED))

    turn.begin(computing, group)


def start_delay(turn: Turn, group_id: str, terms: Terms, end: int | None = None) -> None:
    """Start the initial rebalance delay of a group without members, unless it runs (ST-120). `end`: its end (ns of the run), if a join that
    failed has started it before."""
    if terms.initial_delay_ms > 0 and (DELAY, group_id) not in turn.timers:
        turn.timers.set((DELAY, group_id), turn.after(terms.initial_delay_ms) if end is None else end)


def note_failure(turn: Turn, group: Group, terms: Terms, beat: Beat, known: Member | None, prospect: Prospect) -> None:
    """Note in the group that the heartbeat failed when its table of endpoints was built, after Kafka had computed a target (ST-137)."""
    calls = _calls(turn, group, terms, beat, known, prospect)
    computes = group.generation + calls > group.assignment_epoch and delay_of(turn, group, terms) is None
    group.note_failure(calls, computes, not turn.quirks.streams_fields_not_served)


def is_delayed(turn: Turn, group: Group, terms: Terms, beat: Beat, known: Member | None, prospect: Prospect) -> bool:
    """True if the heartbeat may compute no target now. The assignment interval delays no heartbeat that needs no new target."""
    if delay_of(turn, group, terms) is None:
        return False
    calls = _calls(turn, group, terms, beat, known, prospect)
    return (DELAY, group.group_id) in turn.timers or group.generation + calls > group.assignment_epoch


def _calls(turn: Turn, group: Group, terms: Terms, beat: Beat, known: Member | None, prospect: Prospect) -> bool:
    """True if the heartbeat would raise the group epoch."""
    return membership.calls(turn, group, beat, known) or _called_for(group, terms, prospect) is not None


def _called_for(group: Group, terms: Terms, prospect: Prospect) -> Why | None:
    """Return the cause of a new target that is not the member's own, or None (ST-33)."""
    if prospect.topics != group.topics:
        return causes.USED_TOPICS_CHANGED
    if (prospect.configured.status is None) != group.is_ready:
        return causes.TOPOLOGY_READY
    if group.configured is not None and (terms.standbys, terms.tags) != (group.standbys, group.wanted_tags):
        return causes.SETTINGS_CHANGED
    return None


def delay_of(turn: Turn, group: Group, terms: Terms) -> str | None:
    """Return the status of heartbeats while no target may be computed, or None (ST-120 to ST-124)."""
    if (DELAY, group.group_id) in turn.timers:
        return "Assignment delayed due to the configured initial rebalance delay."
    if group.computed_at is not None and turn.now < group.computed_at + terms.timing.assignment_ms() * NS_PER_MS:
        return "Assignment delayed due to the configured assignment interval."
    return None


def end_delay(turn: Turn, group: Group) -> None:
    """Compute the target at the end of the initial rebalance delay, without a heartbeat (ST-121). Kafka computes none unless a heartbeat
    has configured the topology, which the one that made the group has not, as far as Kafka remembers."""
    if group.generation == group.assignment_epoch or group.shown is None or not group.members:
        return

    def computing(turn: Turn) -> Steps[None]:
        yield from targets.compute(turn, group, None)
        settle(turn, group, causes.INITIAL_DELAY_OVER, bumped=True)

    turn.begin(computing, group)


def _answered(turn: Turn, moment: Moment, why: Why | None) -> tuple[StreamsGroupHeartbeatResponse, Lease | None]:
    group, beat, terms, admitted = moment.group, moment.beat, moment.terms, moment.admitted
    member = admitted.member
    group.forget_withheld()
    changed = membership.advance(turn, group, member, beat.owned)
    if admitted.recorded and not changed:
        group.note_again(member)
    raised = endpoints.moves(turn, beat, admitted.endpoint_before, member.endpoint) or (changed and member.endpoint is not None)
    if raised and not moment.made:
        group.raise_endpoint_epoch()
    if moment.made or admitted.replaced == member.member_id:
        # Kafka keeps them beside the log: with a group that is not yet the one in the log, or under an id that the log then removes.
        member.offsets = member.end_offsets = {}
    timing.renew(turn, group, member, terms.timing.session_ms)
    if moment.bumped or group.state != group.present():
        settle(turn, group, why or causes.member_arrived(member.member_id, member.epoch), moment.bumped)
    statuses = _statuses(turn, moment)
    readiness.ask(turn, group, moment.uncreatable, 2 * terms.timing.heartbeat_ms)
    asks = descriptions.ask(turn, group, moment.version, any(each.status_code == STALE_TOPOLOGY for each in statuses))
    tells = changed or beat.epoch == JOINING
    # The join that makes the group raises an epoch that is forgotten with it, as Kafka keeps it beside the log.
    looks = beat.endpoint_epoch != group.endpoint_epoch + (raised and moment.made)
    response = StreamsGroupHeartbeatResponse(
        member_id=member.member_id,
        member_epoch=member.epoch,
        heartbeat_interval_ms=terms.timing.heartbeat_ms,
        task_offset_interval_ms=terms.task_offset_interval_ms,
        acceptable_recovery_lag=terms.acceptable_recovery_lag,
        status=statuses,
        active_tasks=in_answer(member.assigned.active) if tells else None,
        standby_tasks=in_answer(member.assigned.standby) if tells else None,
        warmup_tasks=[] if tells else None,
        topology_description_required=asks,
        endpoint_information_epoch=group.endpoint_epoch + (raised and moment.converted),
        partitions_by_user_endpoint=endpoints.table(group, member, turn.quirks.streams_endpoints_follow_tasks) if looks else None,
    )
    if admitted.joined:
        group.seat(member.member_id, admitted.replaced)
    if admitted.replaced is not None and len(group.members) == 1:
        # Kafka removes the former record first, and forgets the wish to shut down with the last member.
        group.shutdown_by = None
    return response, None if statuses or looks or tells or asks else _lease(turn, group, beat, member)


def _lease(turn: Turn, group: Group, beat: Beat, member: Member) -> Lease | None:
    """Return the permission to repeat the heartbeat's answer, if the member has reached its target and nothing is pending, so that an
    identical heartbeat would change nothing. Any change ends the lease."""
    pending = group.generation != group.assignment_epoch or group.stale or beat.epoch != member.epoch
    if pending or group.shown is not group.configured or not group.at_rest(member):
        return None
    if group.withheld_epoch or group.lacks(member):
        return None
    until = descriptions.asks_until(turn, group)
    return Lease(group, member, group.epoch) if until is None else Lease(group, member, group.epoch, until)


def _statuses(turn: Turn, moment: Moment) -> list[Status]:
    """Return everything that keeps tasks away from the member, in Kafka's order (ST-75)."""
    group, member, terms = moment.group, moment.admitted.member, moment.terms
    assert group.topology is not None
    found: list[tuple[int, str]] = []
    if member.topology_epoch < group.topology.epoch:
        behind = f"The member's topology epoch {member.topology_epoch} is behind the group's topology epoch {group.topology.epoch}."
        found.append((STALE_TOPOLOGY, behind))
    if moment.delay is not None:
        found.append((DELAYED, moment.delay))
    of_topics = readiness.status_of(turn, group, moment.uncreatable)
    if of_topics is not None:
        found.append(of_topics)
    shutdown_by = member.member_id if moment.made and moment.beat.shuts_down else group.shutdown_by
    if shutdown_by is not None:
        asked = "encountered a fatal error and requested a shutdown for the entire application."
        found.append((SHUTDOWN, f"Streams group member {shutdown_by} {asked}"))
    missing = [tag for tag in terms.tags if tag not in member.tags]
    if missing and moment.version >= TAGS_SINCE:
        text = f"Missing required client tags for rack-aware standby assignment: [{', '.join(missing)}]."
        found.append((MISSING_TAGS, f"{text} Configure them via 'client.tag.<tagKey>' in your Streams config."))
    return [Status(status_code=code, status_detail=text) for code, text in found]


def in_answer(tasks: Iterable[Task]) -> list[TaskIds]:
    """Return tasks by subtopology, in the order of a hash map of subtopology ids."""
    found: dict[str, list[int]] = {}
    for subtopology, number in sorted(tasks):
        found.setdefault(subtopology, []).append(number)
    return [TaskIds(subtopology_id=each, partitions=found[each]) for each in java_order(found, java_hash)]
