"""A static member that returns to a Stable group is answered after the group record was written, and the generation stays (KIP-345;
GroupMetadataManager.updateStaticMemberThenRebalanceOrCompleteJoin).

Kafka 4's coordinator answers when the record is committed and handles other requests meanwhile (its `appendFuture`). Until then the
JoinGroup is parked and treated as in a join phase: a second replacement fences it (FENCED_INSTANCE_ID, 82), a LeaveGroup by the instance id
refuses it (UNKNOWN_MEMBER_ID, 25), and a rebalance counts it as joined and may answer it with the next generation (all seen on 4.3.0).

Writing takes no time here: the timer "write" is due at once. On a virtual clock it fires after everything that has arrived. On the event
loop it fires a millisecond later (net.clock), because two requests that were sent together may come in two iterations of the loop.
"""

from __future__ import annotations

from groupmock_codec import error_codes

from ...events import Request
from ...turn import Turn
from .. import causes
from . import answers, membership, sessions, storage
from .group import Group, Member, Parked


def keep_generation(turn: Turn, group: Group, request: Request, old: Member, new: Member, before: str | None) -> None:
    """Let a static member return without a rebalance. `before` is the former leader: below v9 the member is told that the old id leads.
    A group that was a consumer group a moment ago has no former leader (KIP-848, online downgrade)."""
    led = before or ""
    # Below v9 no answer has skip_assignment (KIP-814). So a returning leader is told that its old id leads, acts as a follower and fetches
    # its stored assignment (SERVER-34).
    group.park_join(new, Parked(request.ticket, request.version, led=led))
    if storage.too_large(turn, group):
        _undo(turn, group, request, old, new, led)
        return
    sessions.end(turn, group, old.member_id)
    storage.store(turn, group)
    if turn.quirks.replacement_answered_at_once:
        written(turn, group, new.member_id)
    else:
        turn.timers.set(("write", group.group_id, new.member_id), turn.now)


def _undo(turn: Turn, group: Group, request: Request, old: Member, new: Member, led: str) -> None:
    group.park_join(new, None)
    membership.swap(group, new, old)  # The session timer of the old member still runs.
    sessions.end(turn, group, new.member_id)
    turn.member_changed(group, old.member_id, "replaced", causes.replacement_undone(new.member_id), old)
    # Kafka fills in all fields of the refused JoinGroup answer except the member id.
    refused = answers.joined(group, led).to(request.version, "", [])
    refused.error_code = error_codes.UNKNOWN_SERVER_ERROR
    turn.reply(request.ticket, refused)


def written(turn: Turn, group: Group, member_id: str) -> bool:
    """Answer the returned static member, because the group record with its new id is written. Return False if it was answered already."""
    member = group.members.get(member_id)
    join = member.join if member is not None else None
    if member is None or join is None or join.led is None or join.answered:
        return False
    # The session of a returned static member began with the replacement, and the answer does not renew the session.
    group.park_join(member, None)
    leads = group.is_leader(member)
    if join.version >= 9:
        members = answers.member_list(group)() if leads else []
        message = answers.joined(group).to(join.version, member_id, members, skip_assignment=leads)
    else:
        message = answers.joined(group, join.led).to(join.version, member_id, [])
    turn.reply(join.ticket, message)
    return True
