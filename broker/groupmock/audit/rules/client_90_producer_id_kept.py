"""CLIENT-90 requires that a producer does not ask for its producer id again and again."""

from __future__ import annotations

from groupmock_codec.api_keys import ADD_OFFSETS_TO_TXN, ADD_PARTITIONS_TO_TXN, INIT_PRODUCER_ID, PRODUCE, TXN_OFFSET_COMMIT

from ..judgement import TROUBLED, UNREAD
from ..pace import ROUNDS
from ..rule import KEPT, Broken, Judgements, Rule, asked
from ..subjects import Exchange
from ..transaction_example import ADDS_OFFSETS, BEGUN, COMMITS

NOBODY = -1
AGAIN = """
T: InitProducerId v3 transactional_id=$group transaction_timeout_ms=60000 -> 0 producer_id=?pid producer_epoch=*
"""


class Asked:
    """The last InitProducerId of a connection for one transactional id, and the rows of those before it that had no reason."""

    __slots__ = ("last", "rows")

    def __init__(self, last: Exchange, rows: tuple[int, ...]) -> None:
        self.last, self.rows = last, rows


class KeepsItsProducerId(Rule):
    code = "CLIENT-90"
    title = "A producer asks for its producer id once, not for each record"
    what = (
        "A producer keeps the producer id and epoch of InitProducerId for all its records and transactions. It asks again only for a "
        "reason: an error, an abort, or an answer that did not come."
    )
    why = (
        "Each InitProducerId of a transactional id raises its epoch and fences whoever has the epoch before. Sequence numbers begin anew, "
        "so a record that was sent twice is written twice. The coordinator writes each of them into its log."
    )
    source = ("clients.md#client-90", "transactions.md#tx-20", "KIP-98")
    fix = "Call InitProducerId when the producer is made (initTransactions), and again only to recover from an error."
    kept = f"""{BEGUN}{ADDS_OFFSETS}{COMMITS}{ADDS_OFFSETS}{COMMITS}
"""
    broken = f"""{BEGUN}{AGAIN}{AGAIN}{AGAIN}
"""

    @asked(INIT_PRODUCER_ID)
    def asks(self, x: Exchange) -> Judgements:
        """Judge an InitProducerId by those before it on its connection. One that names the producer's own epoch is a client's way to
        recover from an error that it alone knows of (KIP-360)."""
        known = x.link.note(self.code, dict[str, Asked])
        name = str(x.asked["transactional_id"] or "")
        before = known.get(name)
        if before is not None and (not before.last.heard or before.last.error):
            before.last = x
            return
        known[name] = since = Asked(x, ())
        if before is None:
            return
        if x.waited_since(before.last) < 0:
            yield UNREAD
            return
        if self._reason(x, before.last):
            yield TROUBLED
            return
        since.rows = (*before.rows, *before.last.rows)
        if len(since.rows) >= 2 * ROUNDS:
            rows, since.rows = since.rows, ()
            of = f"transactional id {name!r}" if name else "its connection"
            yield Broken(
                f"{x.who} asked for a producer id {ROUNDS + 1} times in a row for {of}, without an error or abort in between",
                (*rows, x.seq),
                "one InitProducerId when the producer begins",
            )

    def _reason(self, x: Exchange, before: Exchange) -> bool:
        """Return whether something happened since the InitProducerId before after which a client may ask again."""
        own = x.key == INIT_PRODUCER_ID and x.asked.get("producer_id", NOBODY) != NOBODY
        troubled = before.producer is not None and before.producer.troubled
        return own or troubled or self.world.processes.muffled(x.link) or self.world.processes.refused(x.link) >= before.at

    @asked(ADD_PARTITIONS_TO_TXN, ADD_OFFSETS_TO_TXN, TXN_OFFSET_COMMIT, PRODUCE)
    def goes_on(self, x: Exchange) -> Judgements:
        """Note that a producer began another transaction with the producer id that it has."""
        if x.producer is not None and x.producer.ended is not None:
            yield TROUBLED if self._reason(x, x.producer.begun) else KEPT
