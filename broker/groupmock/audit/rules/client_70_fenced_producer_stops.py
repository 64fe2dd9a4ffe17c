"""CLIENT-70 requires that a producer stops after PRODUCER_FENCED (90)."""

from __future__ import annotations

from typing import Final

from groupmock_codec import error_codes
from groupmock_codec.api_keys import ADD_OFFSETS_TO_TXN, ADD_PARTITIONS_TO_TXN, END_TXN

from ..rule import KEPT, Broken, Judgements, Rule, answered, asked, closed
from ..subjects import Exchange, Link

FENCED: Final = frozenset((error_codes.PRODUCER_FENCED, error_codes.INVALID_PRODUCER_EPOCH))
Producer = tuple[str, int, int]
"""A producer, as its transactional id, producer id and epoch."""

BEGUN: Final = """
T: InitProducerId v3 transactional_id="till" transaction_timeout_ms=60000 -> 0 producer_id=?pid producer_epoch=?epoch eventually
T: AddOffsetsToTxn v2 transactional_id="till" producer_id=$pid producer_epoch=$epoch group_id="g" -> 0 eventually
!fence_transaction transactional_id="till"
T: EndTxn v2 transactional_id="till" producer_id=$pid producer_epoch=$epoch committed=true -> 90
pause 300
"""
"""The shared part of both examples: another producer has taken over the transactional id when the commit comes."""


class StopsWhenFencedAsProducer(Rule):
    code = "CLIENT-70"
    title = "After PRODUCER_FENCED a producer does not go on in that epoch"
    what = (
        "A producer whose AddPartitionsToTxn, AddOffsetsToTxn or EndTxn was answered PRODUCER_FENCED (90; INVALID_PRODUCER_EPOCH, 47, in "
        "versions that do not know it) sends none of these with that producer id and epoch any more, neither to commit nor to abort. "
        "InitProducerId it may send: with its own epoch it asks whether it may go on."
    )
    why = (
        "Another producer has its transactional id, and the transaction was aborted. Whoever takes the refusal for a passing one goes on "
        "for ever, or tells its application that something was committed which nobody will read."
    )
    source = ("clients.md#client-70", "transactions.md#tx-30", "KIP-98", "KIP-360")
    fix = "Make ProducerFencedException fatal: hand it to the application, close the producer without an abort, and begin anew."
    kept = f"""{BEGUN}T drops
"""
    broken = f"""{BEGUN}T: EndTxn v2 transactional_id="till" producer_id=$pid producer_epoch=$epoch committed=false -> 90
"""

    @answered(ADD_PARTITIONS_TO_TXN, ADD_OFFSETS_TO_TXN, END_TXN)
    def is_told(self, x: Exchange) -> Judgements:
        """Note the producer epochs that the connection was told are fenced."""
        if x.heard and x.answer is not None and _codes(x) & FENCED:
            x.link.note(self.code, dict[Producer, Exchange]).update(dict.fromkeys(_producers(x), x))
        return iter(())

    @asked(ADD_PARTITIONS_TO_TXN, ADD_OFFSETS_TO_TXN, END_TXN)
    def goes_on(self, x: Exchange) -> Judgements:
        """Judge a request of a producer that was fenced."""
        known: dict[Producer, Exchange] = x.link.notes.get(self.code) or {}
        for producer in _producers(x):
            told = known.get(producer)
            if told is not None and self.knew(x, told):
                name, producer_id, epoch = producer
                yield Broken(
                    f"{x.who} was fenced as producer {producer_id} with epoch {epoch} of transactional id {name!r} (in answer to "
                    f"{told.name}) and sent {x.name} in that epoch all the same",
                    (*told.rows, x.seq),
                    "nothing: the error is fatal and for the application; a new producer begins with InitProducerId",
                )

    @closed
    def stops(self, link: Link) -> Judgements:
        if link.notes.get(self.code):
            yield KEPT


def _producers(x: Exchange) -> list[Producer]:
    """Return the producers that a request is about. AddPartitionsToTxn has several from version 4 on (KIP-890); earlier versions have
    other field names."""
    if x.key != ADD_PARTITIONS_TO_TXN:
        found = [(x.asked, "")]
    elif x.version < 4:
        found = [(x.asked, "v3_and_below_")]
    else:
        found = [(each, "") for each in x.asked["transactions"]]
    return [(str(of[f"{of_version}transactional_id"]), int(of[f"{of_version}producer_id"]), int(of[f"{of_version}producer_epoch"]))
            for of, of_version in found]  # fmt: skip


def _codes(x: Exchange) -> frozenset[int]:
    """Return the error codes of an answer; in AddPartitionsToTxn those of partitions have a field name of their own."""
    assert x.answer is not None
    topics = list(x.answer.get("results_by_topic_v3_and_below") or ())
    for each in x.answer.get("results_by_transaction") or ():
        topics += each["topic_results"]
    return x.errors | {int(each["partition_error_code"]) for topic in topics for each in topic["results_by_partition"]}
