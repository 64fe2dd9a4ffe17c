"""CLIENT-45 requires that a member's TxnOffsetCommit has its member id and generation."""

from __future__ import annotations

from typing import Final

from groupmock_codec.api_keys import TXN_OFFSET_COMMIT

from ..judgement import ANOTHER_PROCESS, UNREAD
from ..rule import WARNING, Broken, Judgements, Rule, asked
from ..subjects import Exchange

SINCE: Final = 3
"""TxnOffsetCommit has the member's id and generation from this version on (KIP-447)."""
BEGUN: Final = """
topics: t1:1
do stable1(A)
A: InitProducerId v3 transactional_id="till" transaction_timeout_ms=60000 -> 0 producer_id=?pid producer_epoch=?epoch eventually
A: AddOffsetsToTxn v2 transactional_id="till" producer_id=$pid producer_epoch=$epoch group_id=$group -> 0 eventually
"""
COMMIT: Final = (
    'A: TxnOffsetCommit v3 transactional_id="till" group_id=$group producer_id=$pid producer_epoch=$epoch topics=[t($t1, o(0, 5))]'
)


class SaysWhoItIsInTransactions(Rule):
    code = "CLIENT-45"
    title = "A member's offsets in a transaction carry its member id and generation"
    severity = WARNING
    what = (
        "When the consumer whose offsets a producer sends is a member of that group, TxnOffsetCommit (v3 and newer) carries its member id "
        "and generation, and its instance id if it has one."
    )
    why = (
        "By them the group refuses the offsets of a member that lost its partitions (UNKNOWN_MEMBER_ID, ILLEGAL_GENERATION). Without them "
        "it takes them from anybody: a zombie with a transactional id of its own commits beside the member that has its partitions now, "
        "and records are processed twice. It is right only where each partition has a transactional id, which its new owner takes first."
    )
    source = ("clients.md#client-45", "transactions.md#tx-75", "KIP-447")
    fix = "Send the consumer's group metadata with the offsets, not the group's name alone."
    kept = f"""{BEGUN}pause 300
{COMMIT} member_id=$A.member_id generation_id=1 -> 0
"""
    broken = f"""{BEGUN}pause 300
{COMMIT} member_id="" generation_id=-1 -> 0
"""

    @asked(TXN_OFFSET_COMMIT)
    def says(self, x: Exchange) -> Judgements:
        """Judge a transactional commit by the process of its connection, which must have a member in that group."""
        member = self.world.processes.sole_member(x.link)
        if x.member is not None:
            joined = None if x.member is not member else member.joined
            yield ANOTHER_PROCESS if joined is None else self.right(x, joined)
            return
        if x.asked.get("member_id") or member is None or member.group is not x.group or member.joined is None or member.ended is not None:
            return
        if x.version >= SINCE and x.at - member.alive > member.session_ns:
            return  # The member has noticed that its session is over, and no longer acts as a member.
        if not self.knew(x, member.joined):
            yield UNREAD
        else:
            yield Broken(
                f"{member.name} sends offsets of group {member.group.name!r} in a transaction and does not say that it is a member of it",
                (*member.joined.rows, x.seq),
                f"TxnOffsetCommit v3 or newer with its member id and generation {member.generation}",
            )
