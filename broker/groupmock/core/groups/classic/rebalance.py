"""The join phase and the sync phase: what a rebalance is made of.

In Kafka: GroupMetadataManager.prepareRebalance, maybeCompleteJoinPhase, completeClassicGroupJoin, classicGroupSync. The tables that lead
here are in `states`; rules with numbers are those of docs/kafka/group-protocol.md and docs/kafka/seen-on-brokers.md.

**The join phase waits for everybody**: for a JoinGroup of each member, and for each reserved id (79) to be used, given back or to expire
(SERVER-27). It ends early only when nobody is awaited, else when the join timer fires: the largest rebalance timeout of the members,
taken when the phase begins (SERVER-26; a leave does not shorten it, P1-d11). Then dynamic members that did not join are removed; static
ones stay, for a process that restarts is exactly who does not join in time (SERVER-22, SERVER-23). If only such are left the phase starts
over, and the generation does not move: there is nobody to tell it (SERVER-24). If the leader did not join somebody who did leads
(SERVER-25).

**The initial phase** (KIP-134), of a group that was Empty, is the other way round: it lasts its delay even when nobody is awaited,
because the first of ten members that start together would otherwise be given all partitions, and the group rebalance nine times more.
When a slice of the delay is over and a member was added within it another slice follows; all of it is bounded by the rebalance timeout
(SERVER-08, SERVER-09). Joins and leaves do not cut it short (SERVER-10). An expiry may, in 4.x, where it takes another path through the
code.

**Ending it** has an order that shows when something fails: the generation is raised, then the vote is held and the subscriptions are
read, then the state moves. Kafka throws in the middle where a list names a protocol twice or a Subscription is malformed (P1-b5, P1-b6):
the generation has moved, nobody is answered, the group stays in PreparingRebalance. That is `Outcome.FAILED`, no exception here, since it
is what a broken client makes of a healthy broker. The one JoinGroup that ended the phase is answered -1 and its member still counts as
joined. A timer that ended it has nobody to tell.

**The sync phase** waits for the leader alone. Its SyncGroup answers all that wait, and makes the group Stable; whoever comes later is
answered from what is stored (SERVER-38, SERVER-40). But every member *owes* a SyncGroup, within one rebalance timeout from the end of the
join phase, and heartbeats do not pay for it: who has not sent one is removed, in Stable as well, and the group rebalances (KAFKA-12890,
SERVER-41). A leader whose assignment hangs while its heartbeats go on used to hold the group in CompletingRebalance for ever.

**Requests that wait** are data (`Parked`), and what happens to them is not symmetric. A JoinGroup whose member joins again is
*abandoned*: the second is parked in its place, the first is never answered, and since Kafka reads no further request of a connection
before it has answered, that connection stays mute (P1-d6, P1-d8). The same goes for a second SyncGroup, and for the SyncGroup of a member
that is removed; a removed member's JoinGroup however is answered 25. A connection that closes changes nothing: its request still counts
(P1-d7).

**Sessions** run on while a request waits, but end nothing then: its connection cannot carry a heartbeat. The timer that fires is spent,
and the answer starts a new one (SERVER-30). New members are the exception: they have 300 s and then expire all the same (SERVER-29,
KAFKA-7610), for nothing else would end the place of a client that went away during its first join.

All of it happens in one call; only the answers, which may be ten thousand, are an effect that makes them one by one.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from groupmock_codec import error_codes
from groupmock_codec.messages.k14_sync_group import SyncGroupRequest

from ...events import Request
from ...turn import Turn
from .. import causes, telling
from ..causes import Why
from . import answers, membership, sessions, storage
from .group import Group, Member, Parked, lists, metadata_of
from .states import COMPLETE, COMPLETING, EMPTY, PREPARING, REBALANCE, STABLE, Do
from .subscription import MOST_TOPICS, NO_TOPICS, UNKNOWN, Malformed, Subscribed, read_topics
from .vote import select_protocol


class PhaseOutcome(Enum):
    """How it went to begin a join phase, to look at one, or to end it."""

    FINE = "the phase is over, or waits for its members"
    FAILED = "Kafka's completion throws: the generation has moved, nobody is answered, the state stays (P1-b5, P1-b6)"


FINE: Final = PhaseOutcome.FINE
FAILED: Final = PhaseOutcome.FAILED


def go_on(turn: Turn, group: Group, do: Do, why: Why) -> PhaseOutcome:
    """Do what the table (states.ANSWERS) says about a member that came, came back, or left."""
    if do is COMPLETE:
        return maybe_complete(turn, group, why)
    if do is REBALANCE:
        return prepare(turn, group, why)
    assert do is Do.NOTHING, f"{do} is not for who comes or goes"
    return FINE


# -- starting ----------------------------------------------------------------------------------------------------------


def prepare(turn: Turn, group: Group, why: Why) -> PhaseOutcome:
    """Begin to collect JoinGroup requests. Returns FAILED if the phase was over at once, and failed."""
    # Who waits for an assignment of a generation that is over is told to join again (SERVER-21)
    if group.state is COMPLETING:
        _reset_assignments(group)
        refuse_syncs(turn, group, error_codes.REBALANCE_IN_PROGRESS)
    group.pending_syncs.clear()  # debts are to a generation, and this one is over
    turn.timers.cancel(("sync", group.group_id))
    initial = group.state is EMPTY
    group.join_phase_dead = False
    telling.moved(turn, group, group.move(PREPARING, turn.wall_ms), why)
    if initial:
        # The timeout of the first member alone: who joins within the delay neither lengthens nor shortens it (P1-d14)
        delay = turn.settings.group_initial_rebalance_delay_ms
        group.initial = (delay, max(group.rebalance_timeout_ms() - delay, 0))
        group.new_member_added = False
        turn.timers.set(("join", group.group_id), turn.after(delay))
    elif group.everybody_joined():
        return complete(turn, group, causes.NOBODY_AWAITED)
    else:
        # Taken once: the leave of the member with the largest timeout does not shorten it (P1-d11)
        turn.timers.set(("join", group.group_id), turn.after(group.rebalance_timeout_ms()))
    return FINE


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
    # Waiting was no sign of life, being answered is, whatever the answer (SERVER-30)
    sessions.renew_all(turn, group, synced)
    return waiting


# -- the join phase ----------------------------------------------------------------------------------------------------


def maybe_complete(turn: Turn, group: Group, why: Why) -> PhaseOutcome:
    """End a normal join phase if nobody is awaited; the initial delay is not cut short (SERVER-10)."""
    if group.state is PREPARING and group.previous_state is not EMPTY and group.everybody_joined():
        return complete(turn, group, why)
    return FINE


def on_join_timer(turn: Turn, group: Group) -> None:
    """The join timer fired: extend the initial delay or end the phase (SERVER-09)."""
    delay, remaining = group.initial
    initial = group.previous_state is EMPTY
    if initial and group.new_member_added and remaining:  # added, not joined: who comes back within the delay extends nothing
        group.new_member_added = False
        step = min(turn.settings.group_initial_rebalance_delay_ms, remaining)
        group.initial = (step, max(remaining - delay, 0))
        turn.timers.set(("join", group.group_id), turn.after(step))
        return
    complete(turn, group, causes.INITIAL_DELAY_OVER if initial else causes.REBALANCE_TIMEOUT_OVER)


def complete(turn: Turn, group: Group, why: Why) -> PhaseOutcome:
    """End the phase in which members join. If it fails, a note says why, and only the asker has to be told."""
    if group.join_phase_dead or turn.environment.holds.holds_phase(group.group_id):
        return FINE
    turn.timers.cancel(("join", group.group_id))
    _remove_silent(turn, group, why)
    if not _leader_joined(turn, group) and group.members:  # only silent static members are left
        group.initial = (0, 0)
        again = max(group.rebalance_timeout_ms(), 1)  # a timeout of 0 keeps Kafka's timer thread busy; in one call here it would never end
        turn.timers.set(("join", group.group_id), turn.after(again))
        return FINE
    # Before the vote, which may fail: each attempt that does adds one all the same (P1-b5)
    group.next_generation()
    if group.members:
        return _begin_generation(turn, group, why)
    _become_empty(turn, group, why)
    return FINE


def _remove_silent(turn: Turn, group: Group, why: Why) -> None:
    if group.awaiting == len(group.members):
        return
    silent = [member for member in group.members.values() if member.join is None and member.group_instance_id is None]
    membership.discard_all(turn, group, silent, lambda member: causes.member_silent(member.member_id, why))


def _leader_joined(turn: Turn, group: Group) -> bool:
    if _leads_as_chosen(turn, group):
        return True
    leader = group.members.get(group.leader_id) if group.leader_id is not None else None
    if leader is not None and leader.join is not None:
        return True
    chosen = group.first(awaiting_only=True)
    if chosen is not None:
        membership.lead(turn, group, chosen, causes.LEADER_SILENT)
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
        membership.lead(turn, group, chosen, causes.LEADER_CHOSEN)
    return True


def _become_empty(turn: Turn, group: Group, why: Why) -> None:
    # The type stays: it says that the group had members, so that offsets age from when it became Empty (SERVER-57)
    group.protocol_name = None
    group.subscribed = NO_TOPICS if group.protocol_type == "consumer" else UNKNOWN
    telling.moved(turn, group, group.move(EMPTY, turn.wall_ms), causes.no_members_left(why))
    storage.store(turn, group)


def _begin_generation(turn: Turn, group: Group, why: Why) -> PhaseOutcome:
    chosen = select_protocol(group, turn.quirks.scala_vote_order)
    # A winner that was counted twice may be missing on a list: then Kafka throws over that member's metadata (P1-b6)
    if chosen is None or (group.duplicates_count and not all(lists(protocols, chosen) for protocols in group.listings)):
        return _fail(turn, group, "no protocol is listed by all members once each (a list names one twice)")
    group.protocol_name = chosen
    # Other types' metadata is never parsed (P1-b5)
    metadata = [metadata_of(protocols, chosen) for protocols in group.listings] if group.protocol_type == "consumer" else None
    wrong = _malformed(metadata) if metadata is not None and turn.quirks.malformed_subscription_hangs else None
    if wrong is not None:
        return _fail(turn, group, f"a Subscription is malformed: {wrong}")
    group.subscribed = UNKNOWN if metadata is None else Subscribed(metadata)
    telling.moved(turn, group, group.move(COMPLETING, turn.wall_ms), why)
    waiting = _take_joins(turn, group)
    # Static members that did not join owe one as well (P1-b2)
    group.pending_syncs = set(group.members)
    turn.timers.set(("sync", group.group_id), turn.after(group.rebalance_timeout_ms()))
    turn.replies(answers.joined(group).all(waiting, answers.member_list(group)))
    return FINE


def _take_joins(turn: Turn, group: Group) -> list[tuple[Parked, str]]:
    """Every parked join with its member's id, in the order in which Kafka answers; all members' sessions start again and nobody who joined
    is new any more. What else waits on the answered connections is handled in that order, too."""
    waiting = []
    for member in group.ordered():
        join = member.join
        if join is not None:
            member.join = None
            member.is_new = False
            # Refused with -1 by an attempt that failed, it counts as joined and is answered no second time (P1-b5)
            if not join.answered:
                waiting.append((join, member.member_id))
    # Sessions of all members: also of static ones that did not join, who are answered nothing (P1-b2)
    group.awaiting = 0
    sessions.renew_all(turn, group, group.members.values())
    return waiting


def _malformed(metadata: list[bytes]) -> Malformed | None:
    """Return what makes Kafka's parser fail, if anything. It stops at the first Subscription that merely ends too early: then all topics
    are unknown. Here it stops behind MOST_TOPICS topics, too."""
    left = MOST_TOPICS
    try:
        for one in metadata:
            found = read_topics(one, left)
            if found is None:
                break
            left -= len(found)
    except Malformed as error:
        return error
    return None


def _fail(turn: Turn, group: Group, why: str) -> PhaseOutcome:
    group.join_phase_dead = turn.quirks.failing_join_unanswered
    turn.note("join_phase_failed", group=group.group_id, generation=group.generation, reason=why)
    return FAILED


# -- the sync phase ----------------------------------------------------------------------------------------------------


def collect(turn: Turn, group: Group, member: Member, request: Request, message: SyncGroupRequest) -> None:
    """A SyncGroup in CompletingRebalance: park it; the leader's brings the assignments (SERVER-40)."""
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
    wanted = {one.member_id: one.assignment for one in message.assignments}  # of an id named twice the last counts; strangers are ignored
    for member in group.members.values():
        member.assignment = wanted.get(member.member_id, b"")
    # What cannot be written was never assigned: all who wait hear of it and start over (docs/kafka/group-protocol.md#s-leader-failure)
    if storage.too_large(turn, group):
        _reset_assignments(group)
        refuse_syncs(turn, group, error_codes.UNKNOWN_SERVER_ERROR)
        prepare(turn, group, causes.assignment_too_large(group.leader_id))
        return
    telling.moved(turn, group, group.move(STABLE, turn.wall_ms), causes.leader_assigned(group.leader_id))
    storage.store(turn, group)
    waiting = _take_syncs(turn, group)
    turn.replies(answers.all_synced(group, waiting))


def on_sync_timer(turn: Turn, group: Group) -> bool:
    """The sync timer fired: whoever still owes a SyncGroup is removed and the group rebalances (KAFKA-12890, SERVER-41)."""
    if group.state not in (COMPLETING, STABLE) or not group.pending_syncs:
        return False
    late = [group.members[member_id] for member_id in group.pending_syncs if member_id in group.members]
    # `pending_syncs` is a set, whose order another process does not repeat; a replay has to
    late.sort(key=lambda member: member.member_id)
    timeout = group.rebalance_timeout_ms()
    membership.discard_all(turn, group, late, lambda member: causes.member_sync_overdue(member.member_id, timeout))
    # Nobody is late where only a replaced id owed: Kafka rebalances all the same (docs/kafka/group-protocol.md#static-replacement)
    prepare(turn, group, causes.sync_overdue([member.member_id for member in late], timeout) if late else causes.REPLACED_ID_OVERDUE)
    return True
