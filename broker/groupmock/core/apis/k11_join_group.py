"""JoinGroup (docs/kafka/group-protocol.md#joingroup: J4 to J8 give the order of the checks; whose id an error echoes: P1-d4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groupmock_codec.messages.k11_join_group import JoinGroupRequest

from ..groups import causes, codes
from ..groups.classic import answers, membership, rebalance, replacement, sessions
from ..groups.classic.membership import JoinTerms
from ..groups.classic.rebalance import FAILED, FINE, PhaseOutcome
from ..groups.classic.states import ANSWERS, EMPTY, JOIN_NEW, JOIN_RESERVE, PREPARING, RESERVE, Do, Question
from ..groups.classic.type import ClassicGroup
from ..groups.classic.vote import select_protocol

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..events import Request
    from ..groups.classic.group import Group, Member
    from ..groups.type import GroupType
    from ..turn import Turn


def handle(cluster: Cluster, request: Request, turn: Turn) -> None:
    """Answer at once, reserve an id, or park the join until its phase ends."""
    message = request.message
    assert isinstance(message, JoinGroupRequest)
    if _refused_unseen(turn, request, message):
        return
    error, group = cluster.groups.reach(message.group_id, request.node)
    if error:
        _refuse(turn, request, error, message.member_id if turn.quirks.refused_join_echoes_id else "")
        return
    if not isinstance(group, ClassicGroup):
        group = _claimed(cluster, turn, request, message, group)
        if group is None:
            return
    terms = _terms(request, message)
    if not _has_room(turn, group, message.member_id):
        _refuse_for_room(turn, group, request, message)
    elif not _fits(group, terms):
        _refuse(turn, request, codes.INCONSISTENT_GROUP_PROTOCOL, message.member_id)
    else:
        _decide(turn, group, request, message, terms)


def _refused_unseen(turn: Turn, request: Request, message: JoinGroupRequest) -> bool:
    """Empty group id, session timeout out of range: before a group, or who coordinates it, is looked for (SERVER-06, SERVER-07)."""
    settings = turn.settings
    if not message.group_id:
        _refuse(turn, request, codes.INVALID_GROUP_ID, message.member_id)
    elif not settings.group_min_session_timeout_ms <= message.session_timeout_ms <= settings.group_max_session_timeout_ms:
        _refuse(turn, request, codes.INVALID_SESSION_TIMEOUT, message.member_id)
    else:
        return False
    return True


def _claimed(cluster: Cluster, turn: Turn, request: Request, message: JoinGroupRequest, other: GroupType | None) -> ClassicGroup | None:
    """A new group, perhaps in the place of an Empty one of another type. None, and it is answered: who has an id can be no member of a
    group that is to be made (25), and the members of another type speak another protocol (23; GroupMetadataManager.classicGroupJoin)."""
    if message.member_id and (other is None or other.is_empty()):
        _refuse(turn, request, codes.UNKNOWN_MEMBER_ID, message.member_id)
        return None
    why, recorded = causes.first_join(request.client_id), not turn.quirks.empty_group_not_recorded
    group = cluster.groups.claim(turn, message.group_id, ClassicGroup, why, recorded)
    if group is None:
        _refuse(turn, request, codes.INCONSISTENT_GROUP_PROTOCOL, "")
    return group


def _refuse(turn: Turn, request: Request, error: int, member_id: str) -> None:
    turn.reply(request.ticket, answers.join_refused(error, request.version, member_id))


def _terms(request: Request, message: JoinGroupRequest) -> JoinTerms:
    """What is asked for; v0 has no rebalance timeout: the session timeout serves (KIP-62, SERVER-26)."""
    return JoinTerms(
        protocol_type=message.protocol_type,
        protocols=tuple([(protocol.name, protocol.metadata) for protocol in message.protocols]),
        session_timeout_ms=message.session_timeout_ms,
        rebalance_timeout_ms=message.rebalance_timeout_ms if request.version else message.session_timeout_ms,
        group_instance_id=message.group_instance_id,
    )


# -- J6, J8 ------------------------------------------------------------------------------------------------------------


def _has_room(turn: Turn, group: Group, member_id: str) -> bool:
    """group.max.size (docs/kafka/group-protocol.md#group-size-limit). While a phase collects, those who joined count."""
    limit = turn.settings.group_max_size
    member = group.members.get(member_id)
    if group.state is PREPARING:
        return group.awaiting < limit or (member is not None and member.join is not None)
    return group.state is EMPTY or member is not None or len(group.members) < limit


def _refuse_for_room(turn: Turn, group: Group, request: Request, message: JoinGroupRequest) -> None:
    """81: the id is dropped. Kafka 4.3 does not look whether that ends the join phase; the old coordinator does (P1-d3)."""
    quirks, reserved = turn.quirks, message.member_id in group.pending_joins
    kept = reserved and quirks.refusal_keeps_reservation
    dropped = not kept and membership.refuse(turn, group, message.member_id, causes.group_full(turn.settings.group_max_size))
    error = codes.GROUP_MAX_SIZE_REACHED
    if dropped and (quirks.refused_reservation_ends_phase if reserved else quirks.refused_member_ends_phase):
        outcome = rebalance.maybe_complete(turn, group, causes.LAST_HAD_NO_ROOM)
        if outcome is FAILED and quirks.failing_phase_replaces_refusal:
            error = codes.UNKNOWN_SERVER_ERROR
    _refuse(turn, request, error, "")


def _fits(group: Group, terms: JoinTerms) -> bool:
    """J8: an Empty group takes any named type and non-empty list; others want their type and a name that all members list."""
    if group.state is EMPTY:
        return bool(terms.protocol_type and terms.protocols)
    return terms.protocol_type == group.protocol_type and any(group.supported_by_all(name) for name, _ in terms.protocols)


# -- who it is ---------------------------------------------------------------------------------------------------------


def _decide(turn: Turn, group: Group, request: Request, message: JoinGroupRequest, terms: JoinTerms) -> None:
    """The tables 'member id empty' and 'member id given'."""
    member_id, instance = message.member_id, message.group_instance_id
    outcome = FINE
    if not member_id:
        outcome = _decide_without_id(turn, group, request, terms, message.reason)
    elif member_id in group.pending_joins:
        if instance is not None:
            _refuse(turn, request, codes.UNKNOWN_SERVER_ERROR, "")
        else:
            outcome = _add(turn, group, request, member_id, terms, message.reason)
    elif error := membership.validate(turn, group, member_id, instance, joining=True):
        _refuse(turn, request, error, member_id)
    else:
        outcome = _rejoin(turn, group, request, group.members[member_id], terms, message.reason)
    if outcome is FAILED:
        _refuse_failed(turn, group, request)


def _refuse_failed(turn: Turn, group: Group, request: Request) -> None:
    """The join that would have ended a failing phase is refused, yet its member counts as joined (P1-b5)."""
    for member in group.members.values():
        if member.join is not None and member.join.ticket == request.ticket:
            member.join.answered = True
    _refuse(turn, request, codes.UNKNOWN_SERVER_ERROR, "")


def _decide_without_id(turn: Turn, group: Group, request: Request, terms: JoinTerms, reason: str | None) -> PhaseOutcome:
    instance = terms.group_instance_id
    if instance is not None and instance in group.static_members:
        return _replace(turn, group, request, group.members[group.static_members[instance]], terms, reason)
    if instance is None and request.version >= 4:
        answer = ANSWERS[group.state, JOIN_RESERVE]
        assert answer.do is RESERVE, f"{answer.do} is not for who has no id"
        member_id = membership.reserve(turn, group, request.client_id, terms.session_timeout_ms)
        _refuse(turn, request, answer.error, member_id)
        return FINE
    return _add(turn, group, request, membership.new_id(turn, request.client_id, instance), terms, reason)


# -- what happens ------------------------------------------------------------------------------------------------------


def _add(turn: Turn, group: Group, request: Request, member_id: str, terms: JoinTerms, reason: str | None) -> PhaseOutcome:
    """Add the member, then begin a rebalance or see whether the phase is over."""
    do = ANSWERS[group.state, JOIN_NEW].do
    initial = group.generation == 0 if turn.quirks.new_member_at_generation_zero else group.previous_state is EMPTY
    if group.state is PREPARING and initial:
        group.new_member_added = True
    why = causes.member_joined(member_id)
    membership.add(turn, group, request, member_id, terms, why)
    return rebalance.go_on(turn, group, do, causes.with_reason(why, reason) if reason else why)


def _rejoin(turn: Turn, group: Group, request: Request, member: Member, terms: JoinTerms, reason: str | None) -> PhaseOutcome:
    """A member sent another JoinGroup."""
    same = member.protocols == terms.protocols
    leads = group.is_leader(member)
    ask = Question.JOIN_CHANGED if not same else Question.JOIN_LEADER if leads else Question.JOIN_FOLLOWER
    do = ANSWERS[group.state, ask].do
    if do is Do.ANSWER:
        members = answers.member_list(group)() if leads else []
        turn.reply(request.ticket, answers.joined(turn, group).to(request.version, member.member_id, members))
        return FINE
    membership.update(turn, group, member, request, terms)
    if do is Do.COMPLETE:
        return rebalance.go_on(turn, group, do, causes.all_joined(member.member_id))
    why = causes.leader_rejoined(member.member_id, reason) if same else causes.member_changed(member.member_id, reason)
    return rebalance.go_on(turn, group, do, why)


# -- static replacement ------------------------------------------------------------------------------------------------


def _replace(turn: Turn, group: Group, request: Request, old: Member, terms: JoinTerms, reason: str | None) -> PhaseOutcome:
    """A static member came back without its id (SERVER-33 to SERVER-36)."""
    leader_before, do = group.leader_id, ANSWERS[group.state, Question.JOIN_REPLACE].do
    new = membership.replace(turn, group, old, request, terms)
    if do is Do.KEEP:
        voted = select_protocol(group, turn.quirks.scala_vote_order)
        if voted is None:
            return FAILED  # Kafka's vote throws, with the replacement done
        if voted == group.protocol_name:
            replacement.keep_generation(turn, group, request, old, new, leader_before)
            return FINE
    sessions.end(turn, group, old.member_id)
    why = causes.instance_returned(new.group_instance_id, new.member_id, reason)
    return rebalance.go_on(turn, group, Do.REBALANCE if do is Do.KEEP else do, why)
