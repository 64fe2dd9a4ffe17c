"""CLIENT-89 requires that a transaction whose offsets were refused is aborted."""

from __future__ import annotations

from typing import ClassVar

from groupmock_codec.api_keys import END_TXN
from groupmock_codec.error_codes import error_name

from ..judgement import TROUBLED, UNREAD, UNSEEN_PRODUCER
from ..producers import refusals_of
from ..rule import KEPT, Broken, Judgements, Rule, asked
from ..subjects import Exchange, Producer
from ..transaction_example import ABORTS, ADDS_OFFSETS, BEGUN, COMMITS, SENDS_OFFSETS, WHO

REFUSED = f"""{BEGUN}do stable1(A)
{ADDS_OFFSETS}
T: TxnOffsetCommit v3 {WHO} generation_id=9 member_id=$A.member_id topics=[t($t1, o(0, 5))] -> 22
pause 300
"""
"""The shared part of the examples: the group refuses the offsets, because they are sent in a generation that it does not have."""


class CommitsNothingWithoutItsOffsets(Rule):
    code = "CLIENT-89"
    title = "A transaction whose offsets were refused is not committed"
    what = (
        "When the group has refused TxnOffsetCommit for a partition, or the transaction's coordinator AddOffsetsToTxn, and a repetition "
        "has not succeeded, the producer ends the transaction by an abort."
    )
    why = (
        "The output is committed and the input is not: whoever gets the partitions next reads the same records again and writes the output "
        "a second time, though each transaction looks whole."
    )
    source = ("clients.md#client-89", "transactions.md#tx-75", "KIP-447", "TransactionManager.TxnOffsetCommitHandler")
    fix = "Make the refusal fail the transaction: after it only an abort is allowed, and the records are read again."
    kept = f"""{REFUSED}{ABORTS}
"""
    broken = f"""{REFUSED}{COMMITS}
"""
    also_kept: ClassVar[dict[str, str]] = {
        "sent-again": f"""{REFUSED}{SENDS_OFFSETS}{COMMITS}
""",
    }

    @asked(END_TXN)
    def ends(self, x: Exchange) -> Judgements:
        """Judge how a transaction ends of which a part was refused."""
        producer = x.producer
        if producer is None:
            yield UNSEEN_PRODUCER
            return
        if producer.ended is not None:
            return
        refused = _refusals(producer)
        if not refused:
            if producer.sent and x.asked["committed"]:
                yield from self._whole(producer)
        elif not x.asked["committed"]:
            yield KEPT
        elif any(x.waited_since(each) <= 0 for each in refused):  # A client that did not wait for these answers would be wrong, too.
            yield UNREAD
        else:
            last = refused[-1]
            errors = " or ".join(error_name(code) for code in sorted(refusals_of(last)))
            yield Broken(
                f"{x.who} had {last.name} for group {last.asked['group_id']!r} refused with {errors} and committed its transaction "
                f"{x.asked['transactional_id']!r} all the same, without these offsets",
                (*last.rows, x.seq),
                "EndTxn with committed=false, and the same records again",
            )

    def _whole(self, producer: Producer) -> Judgements:
        yield KEPT if all(sent.heard for sent, _ in producer.sent.values()) else TROUBLED


def _refusals(producer: Producer) -> list[Exchange]:
    """Return the requests for offsets in the open transaction that were refused and not repeated with success, oldest first."""
    found = {added for added in producer.groups.values() if added.heard and refusals_of(added)}
    for (_, topic, partition), (sent, _) in producer.sent.items():
        if sent.heard and _code(sent, topic, partition):
            found.add(sent)
    return sorted(found, key=lambda each: each.seq)


def _code(sent: Exchange, topic: str, partition: int) -> int:
    """Return the error code of one partition in the answer to a TxnOffsetCommit, or 0 if the answer does not name it."""
    for each in (sent.answer or {}).get("topics", ()):
        if (each.get("name") or each.get("topic_id")) == topic:
            return next((int(one["error_code"]) for one in each["partitions"] if one["partition_index"] == partition), 0)
    return 0
