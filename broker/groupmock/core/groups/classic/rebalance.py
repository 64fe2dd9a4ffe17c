"""A rebalance of a classic group consists of the join phase and the sync phase.

In Kafka: GroupMetadataManager.prepareRebalance, maybeCompleteJoinPhase, completeClassicGroupJoin, classicGroupSync. The tables that lead
here are in `states`; numbered rules are those of docs/kafka/group-protocol.md and docs/kafka/seen-on-brokers.md.

**The join phase waits for every member** to send a JoinGroup, and for each id reserved with MEMBER_ID_REQUIRED (79) to be used, given back
or to expire (SERVER-27). It ends early only when none of them is missing. Otherwise it ends when the join timer fires: after the largest
rebalance timeout of the members, determined when the phase begins (SERVER-26; a leave does not shorten it, P1-d11). Then dynamic members
that did not join are removed. Static ones stay, because a process that restarts often does not join in time (SERVER-22, SERVER-23). If only
such members are left, the phase starts over without a new generation, because no member could be told of it (SERVER-24). If the leader did
not join, another member that did becomes the leader (SERVER-25).

**The initial phase** (KIP-134), of a group that was Empty, lasts its whole delay even when no one is missing. Otherwise the first of ten
members that start together would get all partitions, and the group would rebalance nine more times. If a member was added within a slice of
the delay, another slice follows; the rebalance timeout limits the sum (SERVER-08, SERVER-09). Joins and leaves do not cut it short
(SERVER-10). In 4.x an expiry may, because it takes another path through the code.

**The end of the join phase** has an order that is visible when something fails: first the generation is raised, then the vote is held and
the subscriptions are read, then the state changes. Kafka throws in the middle if a list names a protocol twice or a Subscription is
malformed (P1-b5, P1-b6): the generation has been raised, no join is answered, and the group stays in PreparingRebalance. Here that is
`PhaseOutcome.FAILED` and no exception, because a broken client causes it in a healthy broker. The one JoinGroup that ended the phase is
answered UNKNOWN_SERVER_ERROR (-1) and its member still counts as joined. If a timer ended the phase, no client is told.

**The sync phase** waits for the leader only. The leader's SyncGroup answers all parked ones, and makes the group Stable; later ones are
answered from the stored assignment (SERVER-38, SERVER-40). But every member has to send a SyncGroup within one rebalance timeout from the
end of the join phase, and heartbeats do not replace it. A member that has not sent one is removed, in Stable as well, and the group
rebalances (KAFKA-12890, SERVER-41). Before that rule, a leader whose assignment hung while its heartbeats continued kept the group in
CompletingRebalance for ever.

**Parked requests** are data (`Parked`), and not all are treated alike. If the member of a parked JoinGroup joins again, the first request
is *abandoned*: the second is parked in its place, and the first is never answered. As Kafka reads no further request of a connection before
it has answered, that connection stays mute (P1-d6, P1-d8). The same holds for a second SyncGroup, and for the SyncGroup of a removed
member. A removed member's JoinGroup, however, is answered UNKNOWN_MEMBER_ID (25). A closed connection changes nothing: its request still
counts (P1-d7).

**Sessions** continue while a request is parked, but do not expire then, because the connection cannot carry a heartbeat. The timer that
fires is used up, and the answer starts a new one (SERVER-30). New members are the exception: they have 300 s and then expire nevertheless
(SERVER-29, KAFKA-7610), because nothing else would remove a client that went away during its first join.

All of this happens in one call for up to `work.AT_ONCE` members. For larger groups, the end of either phase is work in steps: requests
and timers of the group wait meanwhile (`core.work`). The answers, which may be ten thousand, are an effect that makes them one by one.
"""

from __future__ import annotations

from collections.abc import Generator
from enum import Enum
from typing import Final

from groupmock_codec import error_codes
from groupmock_codec.messages.k14_sync_group import SyncGroupRequest
from groupmock_codec.units import NS_PER_MS

from ...events import Request
from ...turn import Turn
from ...work import Steps, at_once, parts
from .. import causes
from ..causes import Why
from . import answers, membership, sessions, storage
from .group import Group, Member, Parked, lists, metadata_of
from .states import COMPLETE, COMPLETING, EMPTY, PREPARING, REBALANCE, STABLE, Do
from .subscription import MOST_TOPICS, NO_TOPICS, UNKNOWN, Malformed, Subscribed, read_topics
from .vote import select_protocol


class PhaseOutcome(Enum):
    """The outcome of starting, checking or ending a join phase."""

    FINE = "the phase is over, or waits for its members"
    FAILED = "Kafka's completion throws: the generation has moved, nobody is answered, the state stays (P1-b5, P1-b6)"


FINE: Final = PhaseOutcome.FINE
FAILED: Final = PhaseOutcome.FAILED


def go_on(turn: Turn, group: Group, do: Do, why: Why) -> PhaseOutcome:
    """Do the action that the table states.ANSWERS gives for a member that joined, rejoined, or left."""
    if do is COMPLETE:
        return maybe_complete(turn, group, why)
    if do is REBALANCE:
        return prepare(turn, group, why)
    assert do is Do.NOTHING, f"{do} is not for who comes or goes"
    return FINE


def prepare(turn: Turn, group: Group, why: Why) -> PhaseOutcome:
    """Start a join phase, in which the group collects JoinGroup requests. Return FAILED if the phase ended at once and failed."""
    # Members that wait for an assignment of the old generation are told to join again (SERVER-21).
    if group.state is COMPLETING:
        _reset_assignments(group)
        refuse_syncs(turn, group, error_codes.REBALANCE_IN_PROGRESS)
    group.pending_syncs.clear()  # The old generation ends here, and with it the wait for its SyncGroups.
    turn.timers.cancel(("sync", group.group_id))
    initial = group.state is EMPTY
    group.join_phase_dead = False
    turn.group_moved(group, group.move(PREPARING, turn.wall_ms), why)
    if initial:
        # The rebalance timeout of the first member limits the delay. Members that join within the delay neither lengthen nor shorten this
        # limit (P1-d14).
        delay = turn.settings.group_initial_rebalance_delay_ms
        group.initial = (delay, max(group.rebalance_timeout_ms() - delay, 0))
        group.new_member_added = False
        turn.timers.set(("join", group.group_id), turn.after(delay))
    elif group.everybody_joined():
        return complete(turn, group, causes.NOBODY_AWAITED)
    else:
        # The rebalance timeout is fixed when the join phase starts: if the member with the largest timeout leaves, the phase does not
        # become shorter (P1-d11).
        turn.timers.set(("join", group.group_id), turn.after(group.rebalance_timeout_ms()))
    return FINE


def _reset_assignments(group: Group) -> None:
    for member in group.members.values():
        member.assignment = b""


def refuse_syncs(turn: Turn, group: Group, error: int) -> None:
    """Answer every parked SyncGroup with an error, which restarts the sessions of these members."""
    waiting = at_once(_take_syncs(turn, group))
    if waiting:
        turn.replies(answers.all_syncs_refused(error, [parked for parked, _ in waiting]))


def _take_syncs(turn: Turn, group: Group) -> Generator[None, None, list[tuple[Parked, bytes]]]:
    waiting: list[tuple[Parked, bytes]] = []
    since = turn.now
    for number, some in enumerate(parts(group.ordered())):
        if number:
            yield
        synced = []
        for member in some:
            sync = member.sync
            if sync is not None:
                member.sync = None
                synced.append(member)
                waiting.append((sync, member.assignment))
        # A parked SyncGroup does not renew the session, but its answer does, even an error (SERVER-30).
        sessions.renew_all(turn, group, synced, since)
    return waiting


def maybe_complete(turn: Turn, group: Group, why: Why) -> PhaseOutcome:
    """End the join phase if every member has joined, unless the initial rebalance delay is running. The initial delay is not cut short
    (SERVER-10)."""
    if group.state is PREPARING and group.previous_state is not EMPTY and group.everybody_joined():
        return complete(turn, group, why)
    return FINE


def on_join_timer(turn: Turn, group: Group) -> None:
    """Extend the initial rebalance delay or end the join phase, because the join timer fired (SERVER-09)."""
    delay, remaining = group.initial
    initial = group.previous_state is EMPTY
    # Only new members extend the initial rebalance delay; members that rejoin within the delay do not.
    if initial and group.new_member_added and remaining:
        group.new_member_added = False
        step = min(turn.settings.group_initial_rebalance_delay_ms, remaining)
        group.initial = (step, max(remaining - delay, 0))
        turn.timers.set(("join", group.group_id), turn.after(step))
        return
    why = causes.INITIAL_DELAY_OVER if initial else causes.REBALANCE_TIMEOUT_OVER
    turn.begin(lambda turn: _complete_in_steps(turn, group, why), group)


def _complete_in_steps(turn: Turn, group: Group, why: Why) -> Steps:
    """End the join phase because of a timer, which thousands of members may not have heard."""
    if not _is_kept_open(turn, group):
        yield from _remove_silent(turn, group, why)
        _end_phase(turn, group, why)


def complete(turn: Turn, group: Group, why: Why) -> PhaseOutcome:
    """End the join phase of the group. If that fails, a note has the reason, and only the sender of the last request has to be told."""
    if _is_kept_open(turn, group):
        return FINE
    at_once(_remove_silent(turn, group, why))
    return _end_phase(turn, group, why)


def _is_kept_open(turn: Turn, group: Group) -> bool:
    """True if the join phase may not end now."""
    return group.join_phase_dead or turn.environment.holds.holds_phase(group.group_id)


def _end_phase(turn: Turn, group: Group, why: Why) -> PhaseOutcome:
    # The phase goes on, because no member has joined, and all remaining members are static.
    if not _leader_joined(turn, group) and group.members:
        group.initial = (0, 0)
        # The timer is set to 1 ms or more, because with a rebalance timeout of 0 this call would never end (Kafka's timer thread stays
        # busy).
        again = max(group.rebalance_timeout_ms(), 1)
        turn.timers.set(("join", group.group_id), turn.after(again))
        return FINE
    # The generation is raised before the vote, because Kafka raises it even when the vote fails (P1-b5).
    group.next_generation()
    if group.members:
        return _begin_generation(turn, group, why)
    _become_empty(turn, group, why)
    return FINE


def _remove_silent(turn: Turn, group: Group, why: Why) -> Generator[None, None, None]:
    turn.timers.cancel(("join", group.group_id))
    if group.awaiting == len(group.members):
        return
    silent = [member for member in group.members.values() if member.join is None and member.group_instance_id is None]
    yield from membership.discard_all(turn, group, silent, lambda member: causes.member_silent(member.member_id, why))


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
    """True if a command chose the leader (core.steering.joins) and the chosen member has joined."""
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
    # The protocol type stays in an Empty group, to show that it had members, so that offsets age from the time when it became Empty
    # (SERVER-57).
    group.protocol_name = None
    group.subscribed = NO_TOPICS if group.protocol_type == "consumer" else UNKNOWN
    turn.group_moved(group, group.move(EMPTY, turn.wall_ms), causes.no_members_left(why))
    storage.store(turn, group)


def _begin_generation(turn: Turn, group: Group, why: Why) -> PhaseOutcome:
    chosen = select_protocol(group, turn.quirks.scala_vote_order)
    # A protocol that one member lists twice is counted twice, so the winner may be missing in another member's list. Kafka throws when it
    # reads that member's metadata (P1-b6).
    if chosen is None or (group.duplicates_count and not all(lists(protocols, chosen) for protocols in group.listings)):
        return _fail(turn, group, "no protocol is listed by all members once each (a list names one twice)")
    group.protocol_name = chosen
    # Only the metadata of protocol type "consumer" is parsed, as in Kafka (P1-b5).
    metadata = [metadata_of(protocols, chosen) for protocols in group.listings] if group.protocol_type == "consumer" else None
    wrong = _malformed(metadata) if metadata is not None and turn.quirks.malformed_subscription_hangs else None
    if wrong is not None:
        return _fail(turn, group, f"a Subscription is malformed: {wrong}")
    group.subscribed = UNKNOWN if metadata is None else Subscribed(metadata)
    turn.begin(lambda turn: _answer_joins(turn, group, why), group)
    return FINE


def _answer_joins(turn: Turn, group: Group, why: Why) -> Steps:
    since = turn.now
    waiting = yield from _take_joins(turn, group)
    # Static members that did not join have to send a SyncGroup as well (P1-b2).
    group.pending_syncs = set(group.members)
    if not group.pending_joins:
        group.pending_joins.clear()  # An empty set keeps the room for all the ids that it ever had.
    listed = yield from answers.member_list_in_steps(group)
    turn.timers.set(("sync", group.group_id), since + max(group.rebalance_timeout_ms(), 0) * NS_PER_MS)
    turn.group_moved(group, group.move(COMPLETING, turn.wall_ms), why)
    turn.replies(answers.joined(group).all(waiting, listed))


def _take_joins(turn: Turn, group: Group) -> Generator[None, None, list[tuple[Parked, str]]]:
    """Take every parked JoinGroup from its member, and return them with the member ids in the order in which Kafka answers. All sessions
    start again, and members that joined are no longer new. Later requests on the answered connections are handled in that order, too."""
    waiting: list[tuple[Parked, str]] = []
    since = turn.now
    for number, some in enumerate(parts(group.ordered())):
        if number:
            yield
        for member in some:
            join = member.join
            if join is not None:
                member.join = None
                member.is_new = False
                group.awaiting -= 1
                # A JoinGroup that a failed attempt refused with UNKNOWN_SERVER_ERROR (-1) counts as joined, but is not answered again
                # (P1-b5).
                if not join.answered:
                    waiting.append((join, member.member_id))
    # The sessions of all members restart, even of static members that did not join and get no answer (P1-b2).
    for number, some in enumerate(parts([*group.members.values()])):
        if number:
            yield
        sessions.renew_all(turn, group, some, since)
    return waiting


def _malformed(metadata: list[bytes]) -> Malformed | None:
    """Return the first error in the members' metadata that makes Kafka's parser throw, or None. It stops at the first Subscription that
    merely ends too early: then all topics are unknown. Here it also stops after MOST_TOPICS topics."""
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


def collect(turn: Turn, group: Group, member: Member, request: Request, message: SyncGroupRequest) -> None:
    """Park a SyncGroup in CompletingRebalance; the leader's SyncGroup brings the assignments (SERVER-40)."""
    earlier, member.sync = member.sync, Parked(request.ticket, request.version)
    if earlier is not None:
        turn.abandon(earlier.ticket, f"member {member.member_id} sent another SyncGroup")
    settle(turn, group, member)
    if group.is_leader(member):
        turn.begin(lambda turn: _assign(turn, group, message), group)


def settle(turn: Turn, group: Group, member: Member) -> None:
    group.pending_syncs.discard(member.member_id)
    if not group.pending_syncs:
        group.pending_syncs.clear()  # An empty set keeps the room for all the ids that it ever had.
        turn.timers.cancel(("sync", group.group_id))


def _assign(turn: Turn, group: Group, message: SyncGroupRequest) -> Steps:
    # If the leader names a member id twice, the last entry counts. Unknown ids are ignored.
    wanted = {one.member_id: one.assignment for one in message.assignments}
    for number, some in enumerate(parts([*group.members.values()])):
        if number:
            yield
        for member in some:
            member.assignment = wanted.get(member.member_id, b"")
    # If the assignment cannot be stored, all parked SyncGroups are refused and the group rebalances again
    # (docs/kafka/group-protocol.md#s-leader-failure).
    if (yield from storage.too_large_in_steps(turn, group)):
        _reset_assignments(group)
        refuse_syncs(turn, group, error_codes.UNKNOWN_SERVER_ERROR)
        prepare(turn, group, causes.assignment_too_large(group.leader_id))
        return
    waiting = yield from _take_syncs(turn, group)
    turn.group_moved(group, group.move(STABLE, turn.wall_ms), causes.leader_assigned(group.leader_id))
    storage.store(turn, group)
    turn.replies(answers.all_synced(group, waiting))


def on_sync_timer(turn: Turn, group: Group) -> bool:
    """When the sync timer fires, remove the members that have not sent their SyncGroup, and rebalance (KAFKA-12890, SERVER-41)."""
    if group.state not in (COMPLETING, STABLE) or not group.pending_syncs:
        return False
    late = [group.members[member_id] for member_id in group.pending_syncs if member_id in group.members]
    # `pending_syncs` is a set, whose order differs between processes, but a replay must repeat the order.
    late.sort(key=lambda member: member.member_id)
    turn.begin(lambda turn: _remove_late(turn, group, late), group)
    return True


def _remove_late(turn: Turn, group: Group, late: list[Member]) -> Steps:
    timeout = group.rebalance_timeout_ms()
    yield from membership.discard_all(turn, group, late, lambda member: causes.member_sync_overdue(member.member_id, timeout))
    # Kafka rebalances even if no member is late because only the old id of a replaced static member is pending
    # (docs/kafka/group-protocol.md#static-replacement).
    prepare(turn, group, causes.sync_overdue([member.member_id for member in late], timeout) if late else causes.REPLACED_ID_OVERDUE)
