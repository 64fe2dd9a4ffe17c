"""CLIENT-87 requires that a transaction that has ended is not ended again."""

from __future__ import annotations

from groupmock_codec.api_keys import ADD_OFFSETS_TO_TXN, ADD_PARTITIONS_TO_TXN, END_TXN, PRODUCE, TXN_OFFSET_COMMIT

from ..judgement import TROUBLED, UNREAD, UNSEEN_PRODUCER
from ..rule import KEPT, WARNING, Broken, Judgements, NotJudged, Rule, asked
from ..subjects import Exchange
from ..transaction_example import ADDS_OFFSETS, BEGUN, COMMITS, WHO


class EndsATransactionOnce(Rule):
    code = "CLIENT-87"
    title = "A transaction that has ended is not ended again"
    severity = WARNING
    what = (
        "After EndTxn has succeeded, the producer sends the next EndTxn only when it has put a partition or the offsets of a group into "
        "its next transaction."
    )
    why = (
        "Whether the second one is taken for a retry or refused with INVALID_TXN_STATE (48) depends on how the transaction ended, so an "
        "application is told that something was committed, or aborted, that never was in a transaction."
    )
    source = ("clients.md#client-87", "transactions.md#tx-50", "TransactionManager")
    fix = "Count what was added since the last EndTxn, and send none for an empty transaction."
    kept = f"""{BEGUN}{ADDS_OFFSETS}{COMMITS}
pause 300
{ADDS_OFFSETS}{COMMITS}
"""
    broken = f"""{BEGUN}{ADDS_OFFSETS}{COMMITS}
pause 300
T: EndTxn v3 {WHO} committed=true -> 0
"""

    @asked(END_TXN)
    def ends(self, x: Exchange) -> Judgements:
        """Judge a second EndTxn of the producer. A client that closed the connection of the answer may have stopped waiting for it."""
        before = None if x.producer is None else x.producer.ended
        uncertain = UNSEEN_PRODUCER if x.producer is None else None if before is None else self._uncertain(x, before)
        if uncertain is not None:
            yield uncertain
        elif before is not None:
            yield Broken(
                f"{x.who} had ended its transaction {x.asked['transactional_id']!r}, has put nothing into the next one, and sent EndTxn "
                f"again {x.waited_since(before) // 1_000_000} ms later",
                (*before.rows, x.seq),
                "no EndTxn for a transaction that nothing was added to",
            )

    @asked(ADD_PARTITIONS_TO_TXN, ADD_OFFSETS_TO_TXN, TXN_OFFSET_COMMIT, PRODUCE)
    def goes_on(self, x: Exchange) -> Judgements:
        """Note that the producer began another transaction after EndTxn instead of a second EndTxn."""
        if x.producer is not None and x.producer.ended is not None:
            yield self._uncertain(x, x.producer.ended) or KEPT

    def _uncertain(self, x: Exchange, before: Exchange) -> NotJudged | None:
        """Return the reason why a second EndTxn in place of this request would not have been wrong for certain, or None."""
        if before.link is not x.link and before.link.gone:
            return TROUBLED
        return None if self.knew(x, before) else UNREAD
