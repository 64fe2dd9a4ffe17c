"""CLIENT-91 requires that a process that writes in transactions also commits its offsets in them."""

from __future__ import annotations

from typing import ClassVar

from groupmock_codec.api_keys import OFFSET_COMMIT, TXN_OFFSET_COMMIT

from ..commit_example import ALONE
from ..judgement import ANOTHER_PROCESS
from ..request_contents import epoch_of
from ..rule import KEPT, WARNING, Broken, Judgements, Rule, asked
from ..subjects import Exchange, Member, Producer, committed_of
from ..transaction_example import ADDS_OFFSETS, ADDS_PARTITION, BEGINS, WHO

WRITES = (ALONE + BEGINS + ADDS_PARTITION).replace("\nT: ", "\nA: ")
"""The shared part of both examples: a process with a member and a producer has written in a transaction."""


class Committed:
    """The offsets that a member last committed outside of transactions, and the transactions that were judged by their first request."""

    __slots__ = ("judged", "offsets", "since")

    def __init__(self) -> None:
        self.offsets: dict[tuple[str, int], int] = {}
        self.since = -1
        self.judged: Exchange | None = None


class CommitsInItsTransactions(Rule):
    code = "CLIENT-91"
    title = "A process that writes in transactions commits its offsets in them"
    severity = WARNING
    what = (
        "When a process has one member of a group and a transactional producer, under one client id, the offsets that the member has "
        "advanced while a transaction was open are sent by TxnOffsetCommit, not by OffsetCommit. A process whose transactions have nothing "
        "to do with what it reads may do otherwise."
    )
    why = (
        "If the process dies between the two commits, the records are processed a second time, or their output is lost: the transaction "
        "protects nothing."
    )
    source = ("clients.md#client-91", "KIP-98", "KIP-447")
    fix = "Turn auto-commit off, and send the offsets with the transaction (sendOffsetsToTransaction) before it is committed."
    kept = f"""{WRITES}{ADDS_OFFSETS.replace("T:", "A:")}
A: TxnOffsetCommit v3 {WHO} generation_id=1 member_id=$A.member_id topics=[t($t1, o(0, 5))] -> 0
A: EndTxn v3 {WHO} committed=true -> 0 eventually
"""
    broken = f"""{WRITES}
A: OffsetCommit topics=[t($t1, o(0, 5))] -> 0
A: EndTxn v3 {WHO} committed=true -> 0 eventually
"""
    also_broken: ClassVar[dict[str, str]] = {
        "after-the-transaction": f"""{WRITES}
A: EndTxn v3 {WHO} committed=true -> 0 eventually
pause 300
A: OffsetCommit topics=[t($t1, o(0, 5))] -> 0
""",
    }

    @asked(OFFSET_COMMIT)
    def commits(self, x: Exchange) -> Judgements:
        """Judge the commit of a member whose process has written in a transaction without offsets. After an abort an application may skip
        records that it cannot process."""
        member = x.member
        if member is None or epoch_of(x) < 0:
            return
        if self.world.processes.sole_member(x.link) is not member:
            if any(each.wrote is not None for each in self.world.producers.of_client(x.link.client)):
                yield ANOTHER_PROCESS
            return
        known, offsets = member.note(self.code, Committed), committed_of(x)
        advanced = any(offset > known.offsets.get(partition, -1) for partition, offset in offsets.items())
        since, known.since = max(known.since, member.since), x.at
        known.offsets.update(offsets)
        for producer in self.world.producers.of_client(x.link.client) if advanced else ():
            wrote = producer.wrote
            if wrote is not None and wrote is not known.judged and self._without_offsets(producer, since):
                known.judged = wrote
                yield Broken(
                    f"{member.name} commits offsets by OffsetCommit, and its process wrote in transaction {producer.identity[0]!r}, which "
                    "has none",
                    (*wrote.rows, x.seq),
                    "AddOffsetsToTxn and TxnOffsetCommit in the transaction, and no OffsetCommit",
                )

    def _without_offsets(self, producer: Producer, since: int) -> bool:
        """Return whether the producer's transaction is open, or was committed after this time (ns), and has no offsets."""
        ended = producer.ended
        open_or_committed = ended is None or (bool(ended.asked["committed"]) and (ended.answered or 0) >= since)
        return open_or_committed and not producer.sent and not producer.groups

    @asked(TXN_OFFSET_COMMIT)
    def sends(self, x: Exchange) -> Judgements:
        """Note that a process with a member sends its offsets in its transaction."""
        member: Member | None = self.world.processes.sole_member(x.link)
        if x.producer is None or x.producer.wrote is None:
            return
        if member is not None and member.group is x.group:
            yield KEPT
        elif member is None and self.world.processes.members_of(x.link.client):
            yield ANOTHER_PROCESS
