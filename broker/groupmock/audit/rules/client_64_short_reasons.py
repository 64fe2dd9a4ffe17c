"""CLIENT-64 asks clients to send short reasons."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from groupmock_codec.api_keys import JOIN_GROUP, LEAVE_GROUP

from ..rule import KEPT, WARNING, Broken, Judgements, Rule, asked
from ..subjects import Exchange

LONGEST: Final = 255


class ShortReasons(Rule):
    code = "CLIENT-64"
    title = "Reasons have at most 255 characters"
    severity = WARNING
    what = "The `reason` of JoinGroup (8 and up) and LeaveGroup (5 and up) is cut to 255 characters by the client."
    why = "It goes into the broker's log with every rebalance; with a stack trace in it the log is of no use to anybody."
    source = ("clients.md#client-64", "KIP-800", "JoinGroupRequest.maybeTruncateReason")
    fix = "Cut the text to 255 characters before it is sent."
    kept = """
A: JoinGroup reason="the subscription has changed" -> 79
"""
    broken = f"""
A: JoinGroup reason="{"why " * 64}" -> 79
"""

    @asked(JOIN_GROUP, LEAVE_GROUP)
    def short(self, x: Exchange) -> Judgements:
        for reason in _reasons(x):
            if len(reason) <= LONGEST:
                yield KEPT
            else:
                yield Broken(f"{x.who} gives {x.name} a reason of {len(reason)} characters", (x.seq,), f"its first {LONGEST} characters")


def _reasons(x: Exchange) -> Iterator[str]:
    for each in (x.asked, *x.asked.get("members", ())):
        if each.get("reason"):
            yield str(each["reason"])
