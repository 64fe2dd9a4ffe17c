"""JoinGroup (11) adds a member to a group (docs/kafka/group-protocol.md#joingroup: J4 to J8 give the order of the checks; which errors
echo the member id: P1-d4)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from groupmock_codec import error_codes
from groupmock_codec.messages.k11_join_group import JoinGroupRequest

from ..authorizer.acl import GROUP, READ
from ..authorizer.right import Right
from ..budget import OverBudget
from ..groups import causes
from ..groups.classic import answers, membership, rebalance, replacement, sessions
from ..groups.classic.membership import JoinTerms
from ..groups.classic.rebalance import FAILED, FINE, PhaseOutcome
from ..groups.classic.states import ANSWERS, EMPTY, JOIN_NEW, JOIN_RESERVE, PREPARING, RESERVE, Do, Question
from ..groups.classic.type import ClassicGroup
from ..groups.classic.vote import select_protocol
from ..groups.kinds import is_consumer

if TYPE_CHECKING:
    from groupmock_codec.messages.k11_join_group import JoinGroupResponse

    from ..cluster import Cluster
    from ..events import Request
    from ..groups.classic.group import Group, Member
    from ..groups.consumer.group import Group as Consumers
    from ..groups.consumer.type import ConsumerGroup
    from ..groups.type import GroupType
    from ..turn import Turn

FREE_BYTES: Final = 65_536
"""A JoinGroup is accepted unchecked if the group's metadata does not exceed this size, so groupmock.group.max.bytes may not be smaller."""

RIGHTS: Final = (Right(READ, GROUP, "group_id"),)


def handle(cluster: Cluster, request: Request, turn: Turn) -> None:
    """Answer the JoinGroup at once, reserve a member id, or park the request until the join phase ends."""
    message = request.message
    assert isinstance(message, JoinGroupRequest)
    if _refused_unseen(turn, request, message):
        return
    error, group = cluster.groups.reach(message.group_id, request.node)
    if error:
        # A refusal because of loading (14) or a wrong coordinator (16) has member id "" in Kafka 4 (P2-b1), but the request's id in Kafka
        # 3.9 (P2-c3).
        _refuse(turn, request, error, message.member_id if turn.quirks.refused_join_echoes_id else "")
        return
    if isinstance(group, ClassicGroup):
        offered = message.protocols
        if len(offered) != 1 or group.listed_bytes + len(offered[0].metadata) > FREE_BYTES:
            _check_size(turn, group, message)
    elif is_consumer(group) and group.members:
        _join_consumers(cluster, turn, request, message, group)
        return
    else:
        _check_size(turn, group, message)
        group = _claimed(cluster, turn, request, message, group)
        if group is None:
            return
    terms = _terms(request, message)
    # A full group is refused with GROUP_MAX_SIZE_REACHED (81) before its protocols are checked (P1-d3, J6 before J8).
    if not _has_room(turn, group, message.member_id):
        _refuse_for_room(turn, group, request, message)
    elif not _fits(group, terms):
        _refuse(turn, request, error_codes.INCONSISTENT_GROUP_PROTOCOL, message.member_id)
    else:
        _decide(turn, group, request, message, terms)


def _join_consumers(cluster: Cluster, turn: Turn, request: Request, message: JoinGroupRequest, group: ConsumerGroup) -> None:
    """Let a member that uses the classic protocol join a consumer group. It is answered at once, because the coordinator assigns
    (KIP-848, online migration)."""
    # These imports come late, because most clusters have no consumer group with classic members.
    from ..groups import timing
    from ..groups.consumer import classic_members, rehearsal

    _check_size(turn, group, message)
    client, settings = (request.client_id or "", request.client_host), timing.of(cluster.groups.configs, group.group_id, request.node)

    def done(turn: Turn, answer: JoinGroupResponse) -> None:
        turn.reply(request.ticket, answer)
        cluster.groups.convert(turn, group)

    def rehearsed(turn: Turn, group: Consumers) -> None:
        classic_members.join(turn, group, message, request.version, client, settings, lambda turn, answer: None)

    try:
        if group.untrue and rehearsal.fails(turn, group, rehearsed):
            raise classic_members.JoinRefused(error_codes.UNKNOWN_SERVER_ERROR)
        classic_members.join(turn, group, message, request.version, client, settings, done)
    except classic_members.JoinRefused as refused:
        _refuse(turn, request, refused.code, refused.member_id)


def _check_size(turn: Turn, group: GroupType | None, message: JoinGroupRequest) -> None:
    """Refuse too many or too large protocols, because the vote reads the lists of all members and the leader gets all their metadata in
    one answer (core.budget)."""
    settings, protocols = turn.settings, message.protocols
    if len(protocols) > settings.member_max_protocols:
        raise OverBudget(
            f"a JoinGroup with {len(protocols)} protocols where groupmock.member.max.protocols allows {settings.member_max_protocols}: "
            "list fewer, or raise that setting"
        )
    listed = group.listed_bytes if isinstance(group, ClassicGroup) or is_consumer(group) else 0
    wanted, most = sum([len(protocol.metadata) for protocol in protocols]), settings.group_max_bytes
    if listed + wanted > most:
        raise OverBudget(
            f"members of this group have {listed} bytes of metadata, with {wanted} more it would be more than groupmock.group.max.bytes "
            f"allows ({most}): subscribe to less, use fewer members, or raise that setting"
        )


def _refused_unseen(turn: Turn, request: Request, message: JoinGroupRequest) -> bool:
    """Refuse an empty group id or a session timeout out of range before the group or its coordinator is looked up (SERVER-06,
    SERVER-07)."""
    settings = turn.settings
    if not message.group_id:
        _refuse(turn, request, error_codes.INVALID_GROUP_ID, message.member_id)
    elif not settings.group_min_session_timeout_ms <= message.session_timeout_ms <= settings.group_max_session_timeout_ms:
        _refuse(turn, request, error_codes.INVALID_SESSION_TIMEOUT, message.member_id)
    else:
        return False
    return True


def _claimed(cluster: Cluster, turn: Turn, request: Request, message: JoinGroupRequest, other: GroupType | None) -> ClassicGroup | None:
    """Return a new classic group, which may replace an Empty group of another type, or refuse the JoinGroup and return None. It is
    refused to a client with a member id, which cannot be in a new group (25), and to one whose group has members of another type (23;
    GroupMetadataManager.classicGroupJoin)."""
    # UNKNOWN_MEMBER_ID (25) makes the client join again without its id (CLIENT-03). Only a JoinGroup without id may replace an Empty group
    # of another type (P1-b8).
    if message.member_id and (other is None or (other.is_empty() and other.gives_way)):
        if is_consumer(other):
            cluster.groups.mislay(turn, other, causes.MISLAID)
        _refuse(turn, request, error_codes.UNKNOWN_MEMBER_ID, message.member_id)
        return None
    # Kafka 3.9 writes no record of a group whose only JoinGroups were refused with MEMBER_ID_REQUIRED (79) or INCONSISTENT_GROUP_PROTOCOL
    # (23) (P1-c4).
    why, recorded = causes.first_join(request.client_id), not turn.quirks.empty_group_not_recorded
    group = cluster.groups.claim(turn, message.group_id, ClassicGroup, why, recorded)
    if group is None:
        # If the group is of another type, INCONSISTENT_GROUP_PROTOCOL (23) does not echo the member id, unlike in check J8: J1.
        _refuse(turn, request, error_codes.INCONSISTENT_GROUP_PROTOCOL, "")
    return group


def _refuse(turn: Turn, request: Request, error: int, member_id: str) -> None:
    turn.reply(request.ticket, answers.join_refused(error, request.version, member_id))


def _terms(request: Request, message: JoinGroupRequest) -> JoinTerms:
    """Return the fields of a JoinGroup in the same form for every version. In v0 the session timeout is the rebalance timeout, too
    (KIP-62, SERVER-26)."""
    return JoinTerms(
        protocol_type=message.protocol_type,
        # Names and metadata are compared in the order of the list, because another order is a change and causes a rebalance (SERVER-19).
        protocols=tuple([(protocol.name, protocol.metadata) for protocol in message.protocols]),
        session_timeout_ms=message.session_timeout_ms,
        rebalance_timeout_ms=message.rebalance_timeout_ms if request.version else message.session_timeout_ms,
        group_instance_id=message.group_instance_id,
    )


def _has_room(turn: Turn, group: Group, member_id: str) -> bool:
    """True if group.max.size allows the member to join (docs/kafka/group-protocol.md#group-size-limit). In PreparingRebalance only
    members that joined count."""
    # Only the request's member id counts: a static member that restarts with "" is refused by a full group, too
    # (docs/kafka/group-protocol.md#group-size-limit).
    limit = turn.settings.group_max_size
    member = group.members.get(member_id)
    # Only members that joined count here, so that after the limit was lowered the last members to rejoin are refused (SERVER-32).
    if group.state is PREPARING:
        return group.awaiting < limit or (member is not None and member.join is not None)
    # The size limit does not apply to an Empty group, which reserves member ids without limit (P1-d3).
    return group.state is EMPTY or member is not None or len(group.members) < limit


def _refuse_for_room(turn: Turn, group: Group, request: Request, message: JoinGroupRequest) -> None:
    """Refuse a JoinGroup to a full group with GROUP_MAX_SIZE_REACHED (81), and drop its member id. Kafka 4.3 does not check whether that
    ends the join phase; the old coordinator does (P1-d3)."""
    quirks, reserved = turn.quirks, message.member_id in group.pending_joins
    dropped = membership.refuse(turn, group, message.member_id, causes.group_full(turn.settings.group_max_size))
    error = error_codes.GROUP_MAX_SIZE_REACHED
    # In Kafka 3.9 dropping a member (P1-c6) or a reserved id (P1-c7) may end the join phase.
    if dropped and (quirks.refused_reservation_ends_phase if reserved else quirks.refused_member_ends_phase):
        outcome = rebalance.maybe_complete(turn, group, causes.LAST_HAD_NO_ROOM)
        if outcome is FAILED and quirks.failing_phase_replaces_refusal:
            error = error_codes.UNKNOWN_SERVER_ERROR
    # Neither GROUP_MAX_SIZE_REACHED (81) nor UNKNOWN_SERVER_ERROR (-1) echoes the member id (P1-d4).
    _refuse(turn, request, error, "")


def _fits(group: Group, terms: JoinTerms) -> bool:
    """Make check J8 of Kafka: the protocol type must be the group's, and at least one protocol must be listed by all members. An Empty
    group accepts any type and protocols, but needs both."""
    if group.state is EMPTY:
        return bool(terms.protocol_type and terms.protocols)
    # All members must list the same protocol; a different common protocol with each member is not enough. A lone member must share a
    # protocol with its own last list (P1-d10).
    return terms.protocol_type == group.protocol_type and any(group.supported_by_all(name) for name, _ in terms.protocols)


def _decide(turn: Turn, group: Group, request: Request, message: JoinGroupRequest, terms: JoinTerms) -> None:
    """Handle a JoinGroup that has passed the first checks, by the tables 'member id empty' and 'member id given' of the documentation."""
    member_id, instance = message.member_id, message.group_instance_id
    outcome = FINE
    if not member_id:
        outcome = _decide_without_id(turn, group, request, terms, message.reason)
    # Reserved ids are handled before validate(), which would refuse them with UNKNOWN_MEMBER_ID (25) because they are no members yet.
    elif member_id in group.pending_joins:
        # Member ids are reserved only for clients without an instance id. Kafka throws on a reserved id with an instance id, and does not
        # echo the id (P1-b4).
        if instance is not None:
            _refuse(turn, request, error_codes.UNKNOWN_SERVER_ERROR, "")
        else:
            outcome = _add(turn, group, request, member_id, terms, message.reason)
    elif error := membership.validate(turn, group, member_id, instance):
        _refuse(turn, request, error, member_id)
    else:
        outcome = _rejoin(turn, group, request, group.members[member_id], terms, message.reason)
    if outcome is FAILED:
        _refuse_failed(turn, group, request)


def _refuse_failed(turn: Turn, group: Group, request: Request) -> None:
    """Refuse the JoinGroup that ended a join phase, because the end of the phase failed. Its member counts as joined all the same
    (P1-b5)."""
    for member in group.members.values():
        if member.join is not None and member.join.ticket == request.ticket:
            member.join.answered = True
    _refuse(turn, request, error_codes.UNKNOWN_SERVER_ERROR, "")


def _decide_without_id(turn: Turn, group: Group, request: Request, terms: JoinTerms, reason: str | None) -> PhaseOutcome:
    instance = terms.group_instance_id
    if instance is not None and instance in group.static_members:
        return _replace(turn, group, request, group.members[group.static_members[instance]], terms, reason)
    # Without a reserved id, a client that never got its answer would leave behind a member at each retry (KIP-394). Clients below v4 do not
    # know MEMBER_ID_REQUIRED (79) (SERVER-02), and static members do not need it (SERVER-03).
    if instance is None and request.version >= 4:
        answer = ANSWERS[group.state, JOIN_RESERVE]
        assert answer.do is RESERVE, f"{answer.do} is not for who has no id"
        member_id = membership.reserve(turn, group, request.client_id, terms.session_timeout_ms)
        _refuse(turn, request, answer.error, member_id)
        return FINE
    return _add(turn, group, request, membership.new_id(turn, group, request.client_id, instance), terms, reason)


def _add(turn: Turn, group: Group, request: Request, member_id: str, terms: JoinTerms, reason: str | None) -> PhaseOutcome:
    """Add a new member, and start a rebalance or end the join phase if the group's state requires it."""
    do = ANSWERS[group.state, JOIN_NEW].do
    # Kafka 3.9 extends the delay of a group that never had a generation, Kafka 4.3 that of any group that was Empty (P1-c1, SERVER-09).
    initial = group.generation == 0 if turn.quirks.new_member_at_generation_zero else group.previous_state is EMPTY
    if group.state is PREPARING and initial:
        group.new_member_added = True
    why = causes.member_joined(member_id)
    membership.add(turn, group, request, member_id, terms, why)
    return rebalance.go_on(turn, group, do, causes.with_reason(why, reason) if reason else why)


def _rejoin(turn: Turn, group: Group, request: Request, member: Member, terms: JoinTerms, reason: str | None) -> PhaseOutcome:
    """Handle a JoinGroup of a member that is already in the group."""
    # A leader that rejoins wants a new assignment (CLIENT-47), so the group rebalances even if its list is unchanged (SERVER-18). A
    # follower that rejoins unchanged does not cause a rebalance (SERVER-17).
    same = member.protocols == terms.protocols
    leads = group.is_leader(member)
    ask = Question.JOIN_CHANGED if not same else Question.JOIN_LEADER if leads else Question.JOIN_FOLLOWER
    do = ANSWERS[group.state, ask].do
    if do is Do.ANSWER:
        # A follower gets no member list, whatever answer it missed (SERVER-12, SERVER-20).
        members = answers.member_list(group)() if leads else []
        turn.reply(request.ticket, answers.joined(group).to(request.version, member.member_id, members))
        return FINE
    # The member's timeouts change only when its JoinGroup is parked, not when it is answered at once
    # (docs/kafka/group-protocol.md#jg-timeouts).
    membership.update(turn, group, member, request, terms)
    if do is Do.COMPLETE:
        return rebalance.go_on(turn, group, do, causes.all_joined(member.member_id))
    why = causes.leader_rejoined(member.member_id, reason) if same else causes.member_changed(member.member_id, reason)
    return rebalance.go_on(turn, group, do, why)


def _replace(turn: Turn, group: Group, request: Request, old: Member, terms: JoinTerms, reason: str | None) -> PhaseOutcome:
    """Replace a static member that joined again without its member id (SERVER-33 to SERVER-36)."""
    leader_before, do = group.leader_id, ANSWERS[group.state, Question.JOIN_REPLACE].do
    new = membership.replace(turn, group, old, request, terms)
    if do is Do.KEEP:
        # Kafka 3.9 breaks ties of the vote in another hash order (P1-c9).
        voted = select_protocol(group, turn.quirks.scala_vote_order)
        if voted is None:
            return FAILED  # When Kafka's vote on the protocol throws, the static member is replaced already.
        # A restart that does not change the vote must not disturb the other members, even if the subscription changed (KIP-345; P1-d16).
        if voted == group.protocol_name:
            replacement.keep_generation(turn, group, request, old, new, leader_before)
            return FINE
    sessions.end(turn, group, old.member_id)
    why = causes.instance_returned(new.group_instance_id, new.member_id, reason)
    return rebalance.go_on(turn, group, Do.REBALANCE if do is Do.KEEP else do, why)


def refused(request: Request, code: int, text: str) -> JoinGroupResponse:
    # Unlike other early refusals, this one does not echo the member id (SEC-93).
    return answers.join_refused(code, request.version)
