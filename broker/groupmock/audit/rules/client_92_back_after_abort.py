"""CLIENT-92 requires that a process reads the input of an aborted transaction again before it goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from groupmock_codec.api_keys import END_TXN, FETCH, JOIN_GROUP, TXN_OFFSET_COMMIT

from ..inside import named
from ..rule import KEPT, WARNING, Broken, Judgements, Rule, answered, asked
from ..subjects import FETCH_BY_ID, Exchange, Group, Place, Producer, committed_of
from ..transaction_example import ABORTS, ADDS_OFFSETS, BEGUN, COMMITS, SENDS_OFFSETS, WHO

if TYPE_CHECKING:
    from ..known_world import World

ABORTED: Final = f"{BEGUN}{ADDS_OFFSETS}{SENDS_OFFSETS}{ABORTS}pause 300\n{ADDS_OFFSETS}"
FURTHER: Final = f"T: TxnOffsetCommit v3 {WHO} topics=[t($t1, o(0, 9))] -> 0"


class Aborted:
    """The offsets that a producer sent in aborted transactions, with the EndTxn, and those that it sent in committed ones."""

    __slots__ = ("committed", "waiting")

    def __init__(self) -> None:
        self.waiting: dict[Place, tuple[Exchange, int]] = {}
        self.committed: dict[Place, int] = {}


class GoesBackAfterAnAbort(Rule):
    code = "CLIENT-92"
    title = "The input of an aborted transaction is read again before later offsets are committed"
    severity = WARNING
    what = (
        "After a transaction with offsets was aborted, the process goes back to what is committed: the next TxnOffsetCommit for a "
        "partition has no later offset than the aborted one before the partition was fetched from an earlier offset, or the group has "
        "rebalanced. An application that has kept the records and works on them again may do without."
    )
    why = (
        "The output of these records was dropped by the abort. Whoever goes on behind them skips them for ever: no other member reads them."
    )
    source = ("clients.md#client-92", "transactions.md#tx-71", "KIP-98")
    fix = "After abortTransaction seek each partition to its committed offset, and drop what was polled."
    kept = f"""{ABORTED}
A: Fetch v12 topics=[read($t1, 0, 0)] -> any
{FURTHER}{COMMITS}
"""
    broken = f"""{ABORTED}{FURTHER}{COMMITS}
"""
    also_kept: ClassVar[dict[str, str]] = {"the-same-again": f"{ABORTED}{SENDS_OFFSETS}{COMMITS}"}

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self._waiting: set[Producer] = set()

    @answered(END_TXN)
    def ends(self, x: Exchange) -> Judgements:
        """Note the offsets of a transaction with its end."""
        producer = x.producer
        if producer is not None and producer.ended is None and producer.sent and x.heard and not x.error:
            known = producer.note(self.code, Aborted)
            for place, (_, offset) in producer.sent.items():
                if x.asked["committed"]:
                    known.committed[place] = offset
                elif offset > known.committed.get(place, 0):
                    known.waiting[place] = x, offset
            if known.waiting:
                self._waiting = {each for each in self._waiting if not each.gone} | {producer}
        return iter(())

    @asked(FETCH)
    def reads(self, x: Exchange) -> Judgements:
        """Note that somebody on the producer's host reads the aborted input again."""
        for producer in tuple(self._waiting):
            if any(link.host == x.link.host for link in producer.links):
                waiting = producer.note(self.code, Aborted).waiting
                for place in [place for place, (_, offset) in waiting.items() if self._goes_back(x, place, offset)]:
                    del waiting[place]
                    yield KEPT
                if not waiting:
                    self._waiting.discard(producer)

    def _goes_back(self, fetch: Exchange, place: Place, offset: int) -> bool:
        """Return whether a Fetch names the partition with an earlier offset, or a topic id without a known name."""
        names = self.world.topic_names
        for topic in fetch.asked["topics"]:
            name = topic["topic"] if fetch.version < FETCH_BY_ID else names.get(str(topic["topic_id"]))
            if name is None:
                return True
            if name == place[1] and any(each["partition"] == place[2] and each["fetch_offset"] < offset for each in topic["partitions"]):
                return True
        return False

    @asked(JOIN_GROUP)
    def joins(self, x: Exchange) -> Judgements:
        """Forget the aborted offsets of a group that rebalances, because its members ask where to begin."""
        group: Group | None = x.group
        for producer in self._waiting if group is not None else ():
            waiting = producer.note(self.code, Aborted).waiting
            for place in [place for place in waiting if group is not None and place[0] == group.name]:
                del waiting[place]
        return iter(())

    @asked(TXN_OFFSET_COMMIT)
    def goes_on(self, x: Exchange) -> Judgements:
        """Judge the offsets that follow an aborted transaction."""
        producer = x.producer
        known: Aborted | None = None if producer is None else producer.notes.get(self.code)
        if known is None or not known.waiting:
            return
        wrong, told = set(), None
        for (topic, partition), offset in committed_of(x).items():
            end, aborted = known.waiting.pop((str(x.asked["group_id"]), topic, partition), (None, 0))
            if end is not None and offset <= aborted:
                yield KEPT
            elif end is not None and x.waited_since(end) > 0:
                wrong.add((topic, partition))
                told = end
        if told is not None:
            yield Broken(
                f"{x.who} aborted a transaction with offsets of {named(frozenset(wrong))} and sends later ones in the next transaction, "
                "without having read the records again",
                (*told.rows, x.seq),
                "a seek to the committed offset after an abort, and the same records again",
            )
