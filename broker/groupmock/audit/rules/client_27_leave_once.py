"""CLIENT-27 requires that a dynamic member that is closed sends LeaveGroup with its id exactly once."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, ClassVar, Final

from groupmock_codec.api_keys import HEARTBEAT, JOIN_GROUP, LEAVE_GROUP, OFFSET_COMMIT, OFFSET_FETCH, SYNC_GROUP

from ..judgement import UNREAD
from ..order import GRACE_NS
from ..request_contents import leavers_of
from ..rule import KEPT, Broken, Judgements, Rule, answered, asked, closed, refused
from ..subjects import COORDINATOR_NOT_AVAILABLE, NONE, NOT_COORDINATOR, UNKNOWN_MEMBER_ID, Exchange, Link

if TYPE_CHECKING:
    from ..known_world import World

REMEMBERED: Final = 1024
"""At most this many departures are remembered, because groups and connections may be gone when a LeaveGroup is repeated."""


GONE: Final = frozenset((NONE, UNKNOWN_MEMBER_ID))
OF_MEMBERS: Final = (JOIN_GROUP, SYNC_GROUP, HEARTBEAT, LEAVE_GROUP, OFFSET_COMMIT, OFFSET_FETCH)


Departure = tuple[tuple[str, str | None], str, str]
"""The client (`Link.client`), group and member id of a LeaveGroup."""


class LeavesOnce(Rule):
    code = "CLIENT-27"
    title = "A dynamic member leaves its group when it is closed, once"
    what = (
        "When its application closes it, a member without an instance id sends LeaveGroup with its current id. A LeaveGroup that succeeded "
        "or was answered 25 is not sent again. That a process was closed and did not crash is on no wire: it is judged where a row of kind "
        "`client` says so."
    )
    why = "Without LeaveGroup nobody gets its partitions until its session has expired: a rolling restart stops the group for that long."
    source = ("clients.md#client-27", "AbstractCoordinator.close")
    fix = "Send LeaveGroup on close while the coordinator is known, wait a moment for the answer, and forget the member id with it."
    implies = ("CLIENT-02",)
    kept = """
do stable1(A)
A: LeaveGroup -> 0
A drops
"""
    broken = """
do stable1(A)
A: LeaveGroup v2 -> 0
pause 300
A: LeaveGroup v2 -> 25
"""

    also_broken: ClassVar[dict[str, str]] = {
        "by-a-new-connection": """
do stable1(A)
A: LeaveGroup v2 -> 0
pause 400
A reconnects
A: LeaveGroup v2 -> 25
""",
        "of-a-member-that-is-gone": """
member *: session_timeout_ms=1000
do stable1(A)
pause 1500
A: LeaveGroup -> 0 members=[left($A.member_id, null, 25)]
pause 1
A: LeaveGroup -> 0 members=[left($A.member_id, null, 25)]
""",
    }

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self._left: OrderedDict[Departure, Exchange] = OrderedDict()

    @answered(LEAVE_GROUP)
    def left(self, x: Exchange) -> Judgements:
        """Note the members that have left, or that the group did not know any more. Any other error may pass."""
        if x.heard and x.error in GONE:
            left = x.bare()
            refused = {str(each["member_id"]): each["error_code"] for each in (x.answer or {}).get("members") or ()}
            for departure in _departures(x):
                if refused.get(departure[2], NONE) in GONE:
                    self._left[departure] = left
        while len(self._left) > REMEMBERED:
            self._left.popitem(last=False)
        return iter(())

    @asked(LEAVE_GROUP)
    def leaves(self, x: Exchange) -> Judgements:
        """Judge a LeaveGroup that is repeated."""
        before = next((self._left[each] for each in _departures(x) if each in self._left), None)
        if before is None:
            if x.member is not None and x.member.joined is not None:
                yield KEPT
        elif not self.knew(x, before) or _hung_up_at_once(before):
            yield UNREAD
        else:
            yield Broken(f"{x.who} left its group and sends LeaveGroup with the same member id again", (*before.rows, x.seq), "no request")

    @refused(*OF_MEMBERS)
    def disturbed(self, x: Exchange) -> Judgements:
        """Note that the LeaveGroup of a client may be missing, because an answer on its connection was lost or its coordinator was not
        available."""
        if not x.heard or x.errors & {COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR}:
            x.link.notes[self.code] = True
            if x.member is not None:
                x.member.notes.pop(self.code, None)
        return iter(())

    @closed
    def gone(self, link: Link) -> Judgements:
        """Judge a process that closed its member's connection after it was asked to stop. A request that waits there may be a
        LeaveGroup. A process with other connections may still leave by one of them, so it is judged when the last one is closed."""
        member, ending = link.last, link.ending
        if self._went(link) and member is not None and ending is not None:
            member.notes[self.code] = (*member.joined.rows, link.stopping, ending.seq) if member.joined is not None else ()
        if self.world.processes.last_of(link):
            for each in self.world.processes.members_of(link.client):
                rows: tuple[int, ...] = each.notes.pop(self.code, ())
                if rows and not each.gone and not link.notes.get(self.code):
                    yield Broken(
                        f"{each.name} was asked to stop and closed its connection without leaving the group: its partitions wait until its "
                        f"session of {each.session_ns // 1_000_000} ms has expired",
                        rows,
                        "LeaveGroup with its member id before the connection is closed",
                    )

    def _went(self, link: Link) -> bool:
        member, ending = link.last, link.ending
        if member is None or member.gone or member.joined is None or member.link is not link or member.instance_id is not None:
            return False
        if ending is None or ending.by != "client" or link.stopping is None:
            return False
        disturbed = link.troubled >= 0 or self.code in link.notes
        return not (disturbed or link.open or ending.unread_bytes or ending.cut_bytes)


def _hung_up_at_once(left: Exchange) -> bool:
    """Return whether the client closed the connection so soon after the answer to LeaveGroup that it may not have read it. Whoever closes a
    client closes its connections, too, and franz-go asks again on a new one then."""
    closed, written = left.link.closed, left.written
    return closed is not None and closed[1] == "client" and (written is None or closed[0] - written < GRACE_NS)


def _departures(x: Exchange) -> list[Departure]:
    """Return the members that a LeaveGroup names by their ids."""
    return [(x.client, str(x.asked["group_id"]), member_id) for member_id, _ in leavers_of(x) if member_id]
