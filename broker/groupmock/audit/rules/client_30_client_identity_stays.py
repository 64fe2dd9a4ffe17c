"""CLIENT-30 requires that a member sends the same session timeout, rebalance timeout and protocol type in all of its JoinGroups."""

from __future__ import annotations

from groupmock_codec.api_keys import JOIN_GROUP

from ...text.printable import one_line
from ..rule import KEPT, WARNING, Broken, Judgements, Rule, asked
from ..subjects import Exchange


class SaysTheSameOfItself(Rule):
    code = "CLIENT-30"
    title = "Session timeout, rebalance timeout and protocol type do not change from one JoinGroup to the next"
    severity = WARNING
    what = (
        "`session_timeout_ms`, `rebalance_timeout_ms` and `protocol_type` come from the configuration: all JoinGroups of one connection, "
        "and of one member, for a group have the same."
    )
    why = (
        "The coordinator takes each JoinGroup's values from then on: a timeout that jumps makes sessions lapse that nobody expects to; "
        "another protocol type is refused (23) while others are in the group."
    )
    source = ("clients.md#client-30", "AbstractCoordinator.sendJoinGroupRequest")
    fix = "Read the configuration once, when the consumer is made."
    implies = ()
    kept = """
do stable1(A)
A: JoinGroup -> 0
"""
    broken = """
do stable1(A)
A: JoinGroup session_timeout_ms=7000 -> 0
"""

    @asked(JOIN_GROUP)
    def joins(self, x: Exchange) -> Judgements:
        """Compare the timeouts and the protocol type with the member's previous JoinGroup."""
        before: Exchange | None = x.link.notes.get(self.code)
        x.link.notes[self.code] = x
        if before is None or before.asked["group_id"] != x.asked["group_id"]:
            before = x.member.wish if x.member is not None else None
        if before is None:
            return
        changed = [
            f"{name} {one_line(before.asked[name])} and then {one_line(x.asked[name])}"
            for name in ("session_timeout_ms", "rebalance_timeout_ms", "protocol_type")
            if before.asked[name] != x.asked[name] and (name != "rebalance_timeout_ms" or (before.version > 0 and x.version > 0))
        ]
        if changed:
            yield Broken(
                f"{x.who} joined with {', '.join(changed)}",
                (before.seq, x.seq),
                "the same values in every JoinGroup of the process",
            )
        else:
            yield KEPT
