"""CLIENT-70 requires that a producer stops after PRODUCER_FENCED (90)."""

from __future__ import annotations

from typing import ClassVar, Final

from groupmock_codec import error_codes
from groupmock_codec.api_keys import ADD_OFFSETS_TO_TXN, ADD_PARTITIONS_TO_TXN, END_TXN, PRODUCE, TXN_OFFSET_COMMIT

from ..producers import identities_of, refusals_of
from ..rule import KEPT, Broken, Judgements, Rule, answered, asked, closed
from ..subjects import Exchange, Identity, Link
from ..transaction_example import ADDS_OFFSETS, BEGUN, WHO

FENCED: Final = frozenset((error_codes.PRODUCER_FENCED, error_codes.INVALID_PRODUCER_EPOCH))
USES: Final = (ADD_PARTITIONS_TO_TXN, ADD_OFFSETS_TO_TXN, TXN_OFFSET_COMMIT, PRODUCE, END_TXN)
OF_PARTITIONS: Final = (PRODUCE, TXN_OFFSET_COMMIT)
"""Requests to leaders of partitions and coordinators of groups, which answer INVALID_PRODUCER_EPOCH (47) in all versions (TX-30)."""

TAKEN_OVER: Final = "!fence_transaction transactional_id=$group"
FENCED_AT_ITS_END: Final = f"""{BEGUN}{ADDS_OFFSETS}{TAKEN_OVER}
T: EndTxn v3 {WHO} committed=true -> 90
pause 300
"""
"""The shared part of both examples: another producer has taken over the transactional id when the commit comes."""


class StopsWhenFencedAsProducer(Rule):
    code = "CLIENT-70"
    title = "After PRODUCER_FENCED a producer does not go on in that epoch"
    what = (
        "A producer whose AddPartitionsToTxn, AddOffsetsToTxn or EndTxn was answered PRODUCER_FENCED (90; INVALID_PRODUCER_EPOCH, 47, in "
        "versions that do not know it), or whose Produce or TxnOffsetCommit 47, sends none of these with that producer id and epoch any "
        "more, neither to commit nor to abort. InitProducerId it may send: with its own epoch it asks whether it may go on. After Produce "
        "or TxnOffsetCommit it may ask by an abort, too."
    )
    why = (
        "Another producer has its transactional id, and the transaction was aborted. Whoever takes the refusal for a passing one goes on "
        "for ever, or tells its application that something was committed which nobody will read."
    )
    source = ("clients.md#client-70", "transactions.md#tx-30", "KIP-98", "KIP-360")
    fix = "Make ProducerFencedException fatal: hand it to the application, close the producer without an abort, and begin anew."
    kept = f"""{FENCED_AT_ITS_END}T drops
"""
    broken = f"""{FENCED_AT_ITS_END}T: EndTxn v3 {WHO} committed=false -> 90
"""
    also_broken: ClassVar[dict[str, str]] = {
        "produces": f"""{BEGUN}{ADDS_OFFSETS}{TAKEN_OVER}
T: Produce v9 acks=-1 transactional_id=$group topic_data=[put($t1, 0, transactional($pid, $producer_epoch, 0, "a"))] -> 47
pause 300
T: Produce v9 acks=-1 transactional_id=$group topic_data=[put($t1, 0, transactional($pid, $producer_epoch, 0, "a"))] -> 47
""",
        "sends-offsets": f"""{BEGUN}{ADDS_OFFSETS}{TAKEN_OVER}
T: TxnOffsetCommit v3 {WHO} topics=[t($t1, o(0, 5))] -> 47
pause 300
T: TxnOffsetCommit v3 {WHO} topics=[t($t1, o(0, 6))] -> 47
""",
    }
    also_kept: ClassVar[dict[str, str]] = {
        "aborts": f"""{BEGUN}{ADDS_OFFSETS}{TAKEN_OVER}
T: TxnOffsetCommit v3 {WHO} topics=[t($t1, o(0, 5))] -> 47
pause 300
T: EndTxn v3 {WHO} committed=false -> 90
T drops
""",
    }

    @answered(*USES)
    def is_told(self, x: Exchange) -> Judgements:
        """Note the producer epochs that are fenced, at the producer or, if its beginning is not in the journal, at its connection."""
        if x.heard and refusals_of(x) & FENCED:
            told = (x.producer or x.link).note(self.code, dict[Identity, Exchange])
            for producer in identities_of(x):
                if producer not in told or x.key not in OF_PARTITIONS:
                    told[producer] = x
        return iter(())

    @asked(*USES)
    def goes_on(self, x: Exchange) -> Judgements:
        """Judge a request of a producer that was fenced. If it was told by a leader or by the coordinator of a group, an abort is allowed,
        because only the transaction's coordinator says whether the producer has to stop (KIP-360). A client that closed the connection of
        the answer and asks again on another one may have stopped waiting for the answer."""
        known: dict[Identity, Exchange] = (x.producer or x.link).notes.get(self.code) or {}
        for producer in identities_of(x):
            told = known.get(producer)
            asks = told is not None and told.key in OF_PARTITIONS and x.key == END_TXN and not x.asked["committed"]
            if told is not None and not asks and (told.link is x.link or not told.link.gone) and self.knew(x, told):
                name, producer_id, epoch = producer
                yield Broken(
                    f"{x.who} was fenced as producer {producer_id} with epoch {epoch} of transactional id {name!r} (in answer to "
                    f"{told.name}) and sent {x.name} in that epoch all the same",
                    (*told.rows, x.seq),
                    "nothing: the error is fatal and for the application; a new producer begins with InitProducerId",
                )

    @closed
    def stops(self, link: Link) -> Judgements:
        if any(each.notes.get(self.code) for each in (link, *self.world.producers.on(link))):
            yield KEPT
