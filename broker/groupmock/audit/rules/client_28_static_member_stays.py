"""CLIENT-28 requires that a static member does not leave its group when it is closed."""

from __future__ import annotations

from groupmock_codec.api_keys import LEAVE_GROUP

from ..rule import KEPT, WARNING, Broken, Judgements, Rule, asked, closed
from ..subjects import Exchange, Link


class StaticMembersStay(Rule):
    code = "CLIENT-28"
    title = "A static member does not send LeaveGroup when it is closed"
    severity = WARNING
    what = (
        "A member that joined with a `group_instance_id` just closes its connection: its successor comes back under that name. An "
        "application may ask for the opposite (KIP-1092), and an administrator may remove it."
    )
    why = "With LeaveGroup every restart of the process costs the group two rebalances: what static membership was made to avoid (KIP-345)."
    source = ("clients.md#client-28", "KIP-345", "KIP-1092")
    fix = "Send LeaveGroup on close only if there is no instance id, unless the application asked to leave for good."
    kept = """
member A: group_instance_id=a
do static_stable1(A)
A drops
"""
    broken = """
member A: group_instance_id=a
do static_stable1(A)
pause 300
A: LeaveGroup -> 0
"""

    @asked(LEAVE_GROUP)
    def leaves(self, x: Exchange) -> Judgements:
        """Judge a LeaveGroup of a static member on its own connection, because an administrator sends it on another one."""
        member = x.link.last
        if member is None or member.gone or member.joined is None or x.member is not member or member.instance_id is None:
            return
        yield Broken(
            f"{member.name} is a static member and left its group",
            (*member.joined.rows, x.seq),
            "no request: the connection is closed, and its successor takes its place within the session timeout",
        )

    @closed
    def stays(self, link: Link) -> Judgements:
        """Note that the static member closed its connection without leaving."""
        member = link.last
        if member is not None and not member.gone and member.joined is not None and member.link is link and member.instance_id is not None:
            yield KEPT
