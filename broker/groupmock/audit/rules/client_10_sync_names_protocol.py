"""CLIENT-10 requires that SyncGroup v5 has the protocol type and name of the JoinGroup answer."""

from __future__ import annotations

from groupmock_codec.api_keys import SYNC_GROUP

from ...text.printable import quoted
from ..judgement import UNSEEN_JOIN
from ..rule import KEPT, Broken, Judgements, Rule, asked
from ..subjects import Exchange


class SameProtocol(Rule):
    code = "CLIENT-10"
    title = "SyncGroup repeats the protocol type and name of the JoinGroup answer"
    what = "From version 5 on a SyncGroup carries `protocol_type` and `protocol_name` of the JoinGroup answer that it follows."
    why = "The coordinator refuses another type or name, and none, with 23 INCONSISTENT_GROUP_PROTOCOL, which clients take for fatal."
    source = ("clients.md#client-10", "KIP-559")
    fix = "Take both fields from the JoinGroup answer, not from the configuration: the group may have voted for another assignor."
    kept = """
do stable1(A)
"""
    broken = """
do completing1(A)
A: SyncGroup v5 protocol_name="roundrobin" assignments=[for($A.member_id, b"for A")] -> 23
"""

    @asked(SYNC_GROUP)
    def repeats(self, x: Exchange) -> Judgements:
        """Compare the protocol with the JoinGroup answer of the same generation."""
        member = x.member
        if x.version < 5:
            return
        if member is None or member.joined is None:
            yield UNSEEN_JOIN
            return
        if member.generation != x.asked["generation_id"]:
            return
        assert member.joined.answer is not None
        voted = (member.joined.answer.get("protocol_type") or member.joined.asked["protocol_type"], member.protocol)
        sent = (x.asked.get("protocol_type"), x.asked.get("protocol_name"))
        if sent == voted:
            yield KEPT
            return
        yield Broken(
            f"{member.name} joined generation {member.generation} with {_shown(voted)} and sent a SyncGroup with {_shown(sent)}",
            (*member.joined.rows, x.seq),
            f"a SyncGroup with {_shown(voted)}, as the JoinGroup answer says",
        )


def _shown(protocol: tuple[str | None, str | None]) -> str:
    kind, name = ("none" if each is None else quoted(str(each)) for each in protocol)
    return f"protocol type {kind} and name {name}"
