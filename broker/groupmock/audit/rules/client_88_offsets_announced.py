"""CLIENT-88 requires that TxnOffsetCommit below version 5 comes after AddOffsetsToTxn."""

from __future__ import annotations

from typing import ClassVar, Final

from groupmock_codec.api_keys import TXN_OFFSET_COMMIT

from ..judgement import TROUBLED, UNREAD, UNSEEN_PRODUCER
from ..producers import refusals_of
from ..rule import KEPT, Broken, Judgements, Rule, asked
from ..subjects import Exchange
from ..transaction_example import ADDS_OFFSETS, ADDS_PARTITION, BEGUN, COMMITS, SENDS_OFFSETS, WHO

ADDS_BY_ITSELF: Final = 5
"""TxnOffsetCommit adds the group to the transaction by itself from this version on (KIP-890)."""


class AnnouncesOffsets(Rule):
    code = "CLIENT-88"
    title = "AddOffsetsToTxn comes before TxnOffsetCommit, in every transaction"
    what = (
        "Before TxnOffsetCommit below version 5 the producer sends AddOffsetsToTxn for the group, once in each transaction, and waits "
        "until it has succeeded."
    )
    why = (
        "The transaction's coordinator does not know of the offsets otherwise. Kafka 3 and later refuse them (48 or 120); older brokers "
        "take them, nothing ever commits them, and whoever asks for stable offsets of the group waits for ever."
    )
    source = ("clients.md#client-88", "transactions.md#tx-73", "KIP-98", "KIP-890")
    fix = "Forget which groups were added when the transaction ends, and add the group before the first offsets of the next one."
    kept = f"""{BEGUN}{ADDS_OFFSETS}{SENDS_OFFSETS}{COMMITS}
"""
    broken = f"""{BEGUN}{ADDS_PARTITION}
T: TxnOffsetCommit v3 {WHO} topics=[t($t1, o(0, 5))] -> 48
"""
    also_broken: ClassVar[dict[str, str]] = {
        "in-the-second-transaction": f"""{BEGUN}{ADDS_OFFSETS}{SENDS_OFFSETS}{COMMITS}
pause 300
{ADDS_PARTITION}
T: TxnOffsetCommit v3 {WHO} topics=[t($t1, o(0, 6))] -> 48
""",
    }

    @asked(TXN_OFFSET_COMMIT)
    def sends(self, x: Exchange) -> Judgements:
        producer = x.producer
        if x.version >= ADDS_BY_ITSELF:
            return
        if producer is None:
            yield UNSEEN_PRODUCER
            return
        added = None if producer.ended is not None else producer.groups.get(str(x.asked["group_id"]))
        group, since = x.asked["group_id"], producer.ended or producer.begun
        if added is None:
            yield Broken(
                f"{x.who} sent offsets of group {group!r} in a transaction without AddOffsetsToTxn",
                (*since.rows, x.seq),
                "AddOffsetsToTxn for the group to the transaction's coordinator, and TxnOffsetCommit when that has succeeded",
            )
        elif x.waited_since(added) < (1 if refusals_of(added) else 0):  # A client that did not wait for it is not seen: two brokers answer.
            yield UNREAD
        elif not added.heard:
            yield TROUBLED
        elif not refusals_of(added):
            yield KEPT
        else:
            yield Broken(
                f"{x.who} had AddOffsetsToTxn for group {group!r} refused and sent TxnOffsetCommit all the same",
                (*added.rows, x.seq),
                "AddOffsetsToTxn again if the error passes by itself, else an abort",
            )
