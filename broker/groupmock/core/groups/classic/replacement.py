"""A static member that came back in Stable: its group keeps the generation, the record is written, then it is answered (KIP-345;
GroupMetadataManager.updateStaticMemberThenRebalanceOrCompleteJoin).

Kafka 4's coordinator answers when the record is committed and handles meanwhile what else has arrived (its `appendFuture`). Until then
the JoinGroup waits as in a join phase and is seen to by whatever looks at such: a second replacement fences it (82), a LeaveGroup by
the instance id refuses it (25), a rebalance counts it as joined and may answer it with the next generation (all seen on 4.3.0).
Writing takes no time here: the timer "write" is due at once. On a virtual clock that is after what has arrived; on the loop's a millisecond
later as well (net.clock), for two requests sent together may come in two of its turns.
"""

from __future__ import annotations

from groupmock_codec import error_codes

from ...events import Request
from ...turn import Turn
from .. import causes, telling
from . import answers, membership, sessions, storage
from .group import Group, Member, Parked


def keep_generation(turn: Turn, group: Group, request: Request, old: Member, new: Member, before: str | None) -> None:
    """Let a static member return without a rebalance. `before` led the group until now: below v9 the member is told that the old id
    leads. Nobody led a group that was a consumer group a moment ago (KIP-848, online downgrade)."""
    led = before or ""
    # Below v9 no answer can say "do not assign" (skip_assignment, KIP-814): a leader that came back is told that its old id leads, takes
    # itself for a follower and fetches its stored assignment (SERVER-34).
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
    membership.swap(group, new, old)  # the old timer runs on: it was not ended yet
    sessions.end(turn, group, new.member_id)
    telling.changed(turn, group, old.member_id, "replaced", causes.replacement_undone(new.member_id), old)
    refused = answers.joined(group, led).to(request.version, "", [])  # Kafka names all but the member
    refused.error_code = error_codes.UNKNOWN_SERVER_ERROR
    turn.reply(request.ticket, refused)


def written(turn: Turn, group: Group, member_id: str) -> bool:
    """The group record with the member's new id is written: answer it, unless that has been done."""
    member = group.members.get(member_id)
    join = member.join if member is not None else None
    if member is None or join is None or join.led is None or join.answered:
        return False
    group.park_join(member, None)  # its session began with the replacement and is not renewed by the answer
    leads = group.is_leader(member)
    if join.version >= 9:
        members = answers.member_list(group)() if leads else []
        message = answers.joined(group).to(join.version, member_id, members, skip_assignment=leads)
    else:
        message = answers.joined(group, join.led).to(join.version, member_id, [])
    turn.reply(join.ticket, message)
    return True
