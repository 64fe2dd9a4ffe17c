"""CLIENT-29 requires that a static member sends its instance id in every request that has the field."""

from __future__ import annotations

from typing import Final

from groupmock_codec.api_keys import HEARTBEAT, JOIN_GROUP, OFFSET_COMMIT, SYNC_GROUP, TXN_OFFSET_COMMIT

from ...text.printable import one_line
from ..judgement import UNREAD
from ..rule import KEPT, Broken, Judgements, Rule, asked
from ..subjects import Exchange

SINCE: Final = {JOIN_GROUP: 5, SYNC_GROUP: 3, HEARTBEAT: 3, OFFSET_COMMIT: 7, TXN_OFFSET_COMMIT: 3}
"""Maps APIs to the first version that has a `group_instance_id` (KIP-345, KIP-447)."""


class SaysItsName(Rule):
    code = "CLIENT-29"
    title = "A static member sends the same instance id in all its requests"
    what = (
        "JoinGroup, SyncGroup, Heartbeat, OffsetCommit and TxnOffsetCommit of one member carry one `group_instance_id`, in every version "
        "that has the field; a dynamic member carries none."
    )
    why = (
        "By the instance id the coordinator notices that a process has been replaced (FENCED_INSTANCE_ID). Without it two processes with "
        "one name go on side by side, both reading the same partitions."
    )
    source = ("clients.md#client-29", "KIP-345")
    fix = "Keep the instance id beside member id and generation, and put all three into every request of the group."
    kept = """
member A: group_instance_id=a
do static_stable1(A)
pause 300
A: Heartbeat -> 0
"""
    broken = """
member A: group_instance_id=a
do static_stable1(A)
pause 300
A: Heartbeat group_instance_id=null -> 0
"""

    @asked(*SINCE)
    def says(self, x: Exchange) -> Judgements:
        """Compare the instance id with that of the last successful JoinGroup."""
        member = x.member
        if member is None or member.joined is None or x.version < SINCE[x.key] or member.joined.version < SINCE[JOIN_GROUP]:
            return
        told, said = member.joined.asked.get("group_instance_id"), x.asked.get("group_instance_id")
        if told is said is None:
            return
        if not self.knew(x, member.joined):
            yield UNREAD
        elif told == said:
            yield KEPT
        else:
            yield Broken(
                f"{member.name} joined {_named(told)} and sends {x.name} {_named(said)}",
                (*member.joined.rows, x.seq),
                f"{x.name} {_named(told)}",
            )


def _named(instance: str | None) -> str:
    return "without an instance id" if instance is None else f"with the instance id {one_line(instance)!r}"
