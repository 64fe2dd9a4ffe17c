"""The join phase and the sync phase (spec 2.5-2.7, 2.9)."""

from __future__ import annotations

from enum import Enum

from groupmock_codec.messages.k14_sync_group import SyncGroupRequest

from ..events import Request
from ..turn import Turn
from . import answers, codes, membership, sessions, storage, telling
from .group import Group, Member, Parked, metadata_of
from .states import COMPLETING, EMPTY, PREPARING, STABLE, Do
from .subscription import NO_TOPICS, UNKNOWN, Malformed, Subscribed, read_topics
from .vote import select_protocol


class Outcome(Enum):
    """How it went to begin a join phase, to look at one, or to end it."""

    FINE = "the phase is over, or waits for its members"
    FAILED = "Kafka's completion throws: the generation has moved, nobody is answered, the state stays (checked part 1 (b)5, 6)"


def go_on(turn: Turn, group: Group, do: Do, why: str) -> Outcome:
    """What the table (states.ANSWERS) says about somebody who came, came back, or went."""
    if do is Do.REBALANCE:
        return prepare(turn, group, why)
    if do is Do.COMPLETE:
        return maybe_complete(turn, group, why)
    assert do is Do.NOTHING, f"{do} is not for who comes or goes"
    return Outcome.FINE


# -- starting ----------------------------------------------------------------------------------------------------------


def prepare(turn: Turn, group: Group, why: str) -> Outcome:
    """Begin to collect JoinGroups (spec 2.5). FAILED: the phase was over at once, and failed."""
    if group.state is COMPLETING:
        _reset_assignments(group)
        refuse_syncs(turn, group, codes.REBALANCE_IN_PROGRESS)
    group.pending_syncs.clear()
    turn.timers.cancel(("sync", group.group_id))
    initial = group.state is EMPTY
    group.join_phase_dead = False
    telling.move(turn, group, PREPARING, why)
    if initial:
        _begin_initial_phase(turn, group)
    elif group.everybody_joined():
        return complete(turn, group, "nobody else is awaited")
    else:
        turn.timers.set(("join", group.group_id), turn.after(group.rebalance_timeout_ms()))
    return Outcome.FINE


def _begin_initial_phase(turn: Turn, group: Group) -> None:
    delay = turn.settings.group_initial_rebalance_delay_ms
    group.initial = (delay, max(group.rebalance_timeout_ms() - delay, 0))
    group.new_member_added = False
    turn.timers.set(("join", group.group_id), turn.after(delay))


def _reset_assignments(group: Group) -> None:
    for member in group.members.values():
        member.assignment = b""


def refuse_syncs(turn: Turn, group: Group, error: int) -> None:
    """Answer every parked SyncGroup with an error; each of these members' sessions starts again."""
    waiting = _take_syncs(turn, group)
    if waiting:
        turn.replies(answers.all_syncs_refused(error, [parked for parked, _ in waiting]))


def _take_syncs(turn: Turn, group: Group) -> list[tuple[Parked, bytes]]:
    synced = [member for member in group.ordered() if member.sync is not None]
    waiting = [(member.sync, member.assignment) for member in synced if member.sync is not None]
    for member in synced:
        member.sync = None
    sessions.renew_all(turn, group, synced)
    return waiting


# -- the join phase ----------------------------------------------------------------------------------------------------


def maybe_complete(turn: Turn, group: Group, why: str) -> Outcome:
    """End a normal join phase if nobody is awaited; the initial delay is not cut short (spec 2.5)."""
    if group.state is PREPARING and group.previous_state is not EMPTY and group.everybody_joined():
        return complete(turn, group, why)
    return Outcome.FINE


def on_join_timer(turn: Turn, group: Group) -> None:
    """The join timer fired: extend the initial delay or end the phase (spec 2.6)."""
    delay, remaining = group.initial
    initial = group.previous_state is EMPTY
    if initial and group.new_member_added and remaining:
        group.new_member_added = False
        step = min(turn.settings.group_initial_rebalance_delay_ms, remaining)
        group.initial = (step, max(remaining - delay, 0))
        turn.timers.set(("join", group.group_id), turn.after(step))
        return
    complete(turn, group, "the initial delay is over" if initial else "the rebalance timeout is over")


def complete(turn: Turn, group: Group, why: str) -> Outcome:
    """End the join phase (spec 2.6, 'Completion'). Where it fails a note says why, and only who asked has to be told."""
    if group.join_phase_dead or turn.environment.holds.holds_phase(group.group_id):
        return Outcome.FINE
    turn.timers.cancel(("join", group.group_id))
    _remove_silent(turn, group, why)
    if not _leader_joined(turn, group) and group.members:  # only silent static members are left
        group.initial = (0, 0)
        again = max(group.rebalance_timeout_ms(), 1)  # a timeout of 0 keeps Kafka's timer thread busy; in one call here it would never end
        turn.timers.set(("join", group.group_id), turn.after(again))
        return Outcome.FINE
    group.next_generation()
    if group.members:
        return _begin_generation(turn, group, why)
    _become_empty(turn, group, why)
    return Outcome.FINE


def _remove_silent(turn: Turn, group: Group, why: str) -> None:
    if group.awaiting == len(group.members):
        return
    silent = [member for member in group.members.values() if member.join is None and member.group_instance_id is None]
    membership.discard_all(turn, group, silent, lambda member: f"member {member.member_id} did not join again: {why}")


def _leader_joined(turn: Turn, group: Group) -> bool:
    if _leads_as_chosen(turn, group):
        return True
    leader = group.members.get(group.leader_id) if group.leader_id is not None else None
    if leader is not None and leader.join is not None:
        return True
    chosen = group.first(awaiting_only=True)
    if chosen is not None:
        membership.lead(turn, group, chosen, "the leader did not join again" if leader is not None else "there was none")
    return chosen is not None


def _leads_as_chosen(turn: Turn, group: Group) -> bool:
    """Somebody chose who leads (core.steering.joins), and it joined."""
    holds = turn.environment.holds
    name = holds.leader(group.group_id)
    if name is None:
        return False
    joined = (member for member in group.ordered() if member.join is not None)
    chosen = next((member for member in joined if name in (member.member_id, member.group_instance_id, member.client_id)), None)
    if chosen is None:
        return False
    holds.leads(group.group_id)
    if not group.is_leader(chosen):
        membership.lead(turn, group, chosen, "it was chosen")
    return True


def _become_empty(turn: Turn, group: Group, why: str) -> None:
    group.protocol_name = None
    group.subscribed = NO_TOPICS if group.protocol_type == "consumer" else UNKNOWN
    telling.move(turn, group, EMPTY, f"no members are left: {why}")
    storage.store(turn, group)


def _begin_generation(turn: Turn, group: Group, why: str) -> Outcome:
    chosen = select_protocol(group, turn.quirks.scala_vote_order)
    if chosen is None:
        return _fail(turn, group, "no protocol is listed by all members once each (a list names one twice)")
    group.protocol_name = chosen
    metadata = [metadata_of(protocols, chosen) for protocols in group.listings] if group.protocol_type == "consumer" else None
    wrong = _malformed(metadata) if metadata is not None and turn.quirks.malformed_subscription_hangs else None
    if wrong is not None:
        return _fail(turn, group, f"a Subscription is malformed: {wrong}")
    group.subscribed = UNKNOWN if metadata is None else Subscribed(metadata)
    telling.move(turn, group, COMPLETING, why)
    waiting = _take_joins(turn, group)
    group.pending_syncs = set(group.members)
    turn.timers.set(("sync", group.group_id), turn.after(group.rebalance_timeout_ms()))
    turn.replies(answers.joined(turn, group).all(waiting, answers.member_list(group)))
    return Outcome.FINE


def _take_joins(turn: Turn, group: Group) -> list[tuple[Parked, str]]:
    """Every parked join with its member's id, in the order in which Kafka answers; all members' sessions start again and nobody who joined
    is new any more. What else waits on the answered connections is handled in that order, too."""
    waiting = []
    for member in group.ordered():
        join = member.join
        if join is not None:
            member.join = None
            member.is_new = False
            if not join.answered:
                waiting.append((join, member.member_id))
    group.awaiting = 0
    sessions.renew_all(turn, group, group.members.values())
    return waiting


def _malformed(metadata: list[bytes]) -> Malformed | None:
    """What makes Kafka's parser fall over. It stops at the first Subscription that merely ends too early: then all topics are unknown."""
    try:
        for one in metadata:
            if read_topics(one) is None:
                break
    except Malformed as error:
        return error
    return None


def _fail(turn: Turn, group: Group, why: str) -> Outcome:
    group.join_phase_dead = turn.quirks.failing_join_unanswered
    turn.note("join_phase_failed", group=group.group_id, generation=group.generation, reason=why)
    return Outcome.FAILED


# -- the sync phase ----------------------------------------------------------------------------------------------------


def collect(turn: Turn, group: Group, member: Member, request: Request, message: SyncGroupRequest) -> None:
    """A SyncGroup in CompletingRebalance: park it; the leader's brings the assignments (spec 2.9, S9)."""
    earlier, member.sync = member.sync, Parked(request.ticket, request.version)
    if earlier is not None:
        turn.abandon(earlier.ticket, f"member {member.member_id} sent another SyncGroup")
    settle(turn, group, member)
    if group.is_leader(member):
        _assign(turn, group, message)


def settle(turn: Turn, group: Group, member: Member) -> None:
    """The member sent the SyncGroup it owed."""
    group.pending_syncs.discard(member.member_id)
    if not group.pending_syncs:
        turn.timers.cancel(("sync", group.group_id))


def _assign(turn: Turn, group: Group, message: SyncGroupRequest) -> None:
    wanted = {one.member_id: one.assignment for one in message.assignments}
    for member in group.members.values():
        member.assignment = wanted.get(member.member_id, b"")
    if storage.too_large(turn, group):
        _reset_assignments(group)
        refuse_syncs(turn, group, codes.UNKNOWN_SERVER_ERROR)
        prepare(turn, group, f"the assignment of leader {group.leader_id} is too large to be stored")
        return
    telling.move(turn, group, STABLE, f"leader {group.leader_id} brought the assignments")
    storage.store(turn, group)
    waiting = _take_syncs(turn, group)
    turn.replies(answers.all_synced(turn, group, waiting))


def on_sync_timer(turn: Turn, group: Group) -> bool:
    """The sync timer fired: whoever still owes a SyncGroup is removed and the group rebalances (spec 2.9, KAFKA-12890)."""
    if group.state not in (COMPLETING, STABLE) or not group.pending_syncs:
        return False
    late = [group.members[member_id] for member_id in group.pending_syncs if member_id in group.members]
    late.sort(key=lambda member: member.member_id)
    timeout = group.rebalance_timeout_ms()
    membership.discard_all(turn, group, late, lambda member: f"member {member.member_id} sent no SyncGroup within {timeout} ms")
    names = ", ".join(member.member_id for member in late[:3]) + (f" and {len(late) - 3} more" if len(late) > 3 else "")
    prepare(turn, group, f"{names} sent no SyncGroup within {timeout} ms" if late else "a replaced member's id still owed a SyncGroup")
    return True
