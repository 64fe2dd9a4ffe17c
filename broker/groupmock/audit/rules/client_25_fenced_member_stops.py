"""CLIENT-25 requires that a static member sends no group request after FENCED_INSTANCE_ID (82)."""

from __future__ import annotations

from groupmock_codec.api_keys import HEARTBEAT, JOIN_GROUP, SYNC_GROUP

from ..judgement import UNREAD
from ..rule import KEPT, Broken, Judgements, Rule, asked, closed
from ..subjects import FENCED_INSTANCE_ID, Exchange, Link, Member


class StopsWhenFenced(Rule):
    code = "CLIENT-25"
    title = "After FENCED_INSTANCE_ID a static member stops"
    what = (
        "A static member that any request was answered 82 sends no JoinGroup, SyncGroup or Heartbeat any more: neither with its old "
        "member id "
        "nor, by the same connection, as a new member with the same instance id. A commit as it closes is refused and does no harm."
    )
    why = (
        "Another process with its `group.instance.id` has taken its place. If it joins again it throws that one out, which then does the "
        "same: two processes take turns and the group never settles."
    )
    source = ("clients.md#client-25", "KIP-345")
    fix = (
        "Make FencedInstanceIdException fatal: hand it to the application and close without leaving. Give each process its own instance id."
    )
    implies = ()
    kept = """
member A: group_instance_id=a
member B: group_instance_id=b
do static_stable2(A, B)
N: JoinGroup member_id="" group_instance_id=b -> 0 eventually
B: Heartbeat -> 82
B drops
"""
    broken = """
member A: group_instance_id=a
member B: group_instance_id=b
do static_stable2(A, B)
N: JoinGroup member_id="" group_instance_id=b -> 0 eventually
B: Heartbeat -> 82
pause 300
B: Heartbeat -> 82
"""

    @asked(JOIN_GROUP, SYNC_GROUP, HEARTBEAT)
    def goes_on(self, x: Exchange) -> Judgements:
        """Judge whether the client continues as the fenced member, or joins as a new member with the same instance id."""
        last = x.link.last
        if last is None or not _fenced(last) or last.ended is None or x.group is None or x.group.name != last.group.name:
            return
        sent, instance = x.asked["member_id"], x.asked.get("group_instance_id")
        anew = x.key == JOIN_GROUP and not sent and instance is not None and instance == last.instance_id
        if sent != last.id and not anew:
            return
        last.notes[self.code] = x
        if not self.knew(x, last.ended):
            yield UNREAD
        else:
            yield Broken(
                f"{last.name} was fenced (FENCED_INSTANCE_ID, in answer to {last.ended.name}): another process has its instance id. It "
                f"sent a {x.name} " + ("to take the place back" if anew else "all the same"),
                (*last.ended.rows, x.seq),
                "no request: the error is fatal and for the application",
            )

    @closed
    def stops(self, link: Link) -> Judgements:
        if link.last is not None and _fenced(link.last) and self.code not in link.last.notes:
            yield KEPT


def _fenced(member: Member) -> bool:
    return member.ended is not None and FENCED_INSTANCE_ID in member.ended.errors
