"""CLIENT-92 requires that a process reads the input of an aborted transaction again before it goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from groupmock_codec.api_keys import END_TXN, FETCH, JOIN_GROUP, TXN_OFFSET_COMMIT

from ..inside import named
from ..judgement import ANOTHER_PROCESS, OWN_REASON, UNNAMED, UNREAD
from ..request_contents import FETCH_BY_ID
from ..rule import KEPT, WARNING, Broken, Judgements, Rule, answered, asked
from ..subjects import Exchange, Group, Place, Producer, committed_of
from ..transaction_example import ABORTS, ADDS_OFFSETS, ADDS_PARTITION, BEGUN, COMMITS, SENDS_OFFSETS, WHO

if TYPE_CHECKING:
    from ..known_world import World

ABORTED: Final = f"{BEGUN}{ADDS_OFFSETS}{SENDS_OFFSETS}{ABORTS}pause 300\n{ADDS_OFFSETS}"
FURTHER: Final = f"T: TxnOffsetCommit v3 {WHO} topics=[t($t1, o(0, 9))] -> 0"


class Aborted:
    """The offsets of a producer's aborted transactions, with the EndTxn, those that it sent in committed ones, and the latest offsets that
    were fetched since then. `readers` are the clients on the producer's host that read its input, at most two of them."""

    __slots__ = ("committed", "fetched", "readers", "waiting")

    def __init__(self) -> None:
        self.waiting: dict[Place, tuple[Exchange, int]] = {}
        self.committed: dict[Place, int] = {}
        self.fetched: dict[Place, int] = {}
        self.readers: set[tuple[str, str | None]] = set()


class GoesBackAfterAnAbort(Rule):
    code = "CLIENT-92"
    title = "The input of an aborted transaction is read again before later offsets are committed"
    severity = WARNING
    what = (
        "After a transaction was aborted, the process goes back to what is committed: the next TxnOffsetCommit for a partition has no "
        "later offset than the aborted one (or, if none was sent, the one that it fetched last) before the partition was fetched from an "
        "earlier offset, or the group has rebalanced. An application that has kept the records and works on them again may do without."
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
    also_broken: ClassVar[dict[str, str]] = {
        "before-its-offsets-were-sent": f"""{BEGUN}{ADDS_OFFSETS}{SENDS_OFFSETS}{COMMITS}
A: Fetch v12 topics=[read($t1, 0, 5)] -> any
A: Fetch v12 topics=[read($t1, 0, 7)] -> any
{ADDS_PARTITION}{ABORTS}pause 300
{ADDS_OFFSETS}{FURTHER}{COMMITS}
""",
    }
    also_kept: ClassVar[dict[str, str]] = {
        "the-same-again": f"{ABORTED}{SENDS_OFFSETS}{COMMITS}",
        "before-its-offsets-were-sent": f"""{BEGUN}{ADDS_OFFSETS}{SENDS_OFFSETS}{COMMITS}
A: Fetch v12 topics=[read($t1, 0, 5)] -> any
{ADDS_PARTITION}{ABORTS}pause 300
A: Fetch v12 topics=[read($t1, 0, 5)] -> any
{ADDS_OFFSETS}{FURTHER}{COMMITS}
""",
    }

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self._readers: set[Producer] = set()

    @answered(END_TXN)
    def ends(self, x: Exchange) -> Judgements:
        """Note the offsets of a transaction with its end. A transaction that was aborted before its offsets were sent has read at most as
        far as its process has fetched, or fetches next."""
        producer = x.producer
        if producer is None or producer.ended is not None or not x.heard or x.error:
            return iter(())
        known = producer.note(self.code, Aborted)
        sent = {place: offset for place, (_, offset) in producer.sent.items()}
        if x.asked["committed"]:
            known.committed.update(sent)
            known.fetched.clear()
        else:
            known.waiting.update((place, (x, offset)) for place, offset in sent.items() if offset > known.committed.get(place, 0))
            if not sent and producer.wrote is not None:
                known.waiting.update((place, (x, offset)) for place, offset in known.fetched.items() if offset >= known.committed[place])
        self._readers = {each for each in self._readers if not each.gone} | {producer}
        return iter(())

    @asked(FETCH)
    def reads(self, x: Exchange) -> Judgements:
        """Note how far somebody on the producer's host reads, and whether it reads the aborted input again."""
        host = x.link.host  # The host of a connection that is older than the journal is unknown ("").
        reader = (host, x.client_id)
        near = [each for each in self._readers if any(not host or link.host in (host, "") for link in each.links)]
        offsets = self._offsets(x) if near else {}
        for producer in near:
            known = producer.note(self.code, Aborted)
            for place in known.committed.keys() | known.waiting.keys():
                offset = offsets.get(place[1:]) if offsets is not None else 0
                if offset is None:
                    continue
                if len(known.readers) < 2:
                    known.readers.add(reader)
                end, aborted = known.waiting.get(place, (None, 0))
                if end is not None and offset < max(aborted, known.committed.get(place, 0) + 1):
                    del known.waiting[place]
                    known.fetched.pop(place, None)
                    yield UNNAMED if offsets is None else KEPT if host and known.readers == {reader} else ANOTHER_PROCESS
                elif end is not None and aborted <= known.committed.get(place, 0):
                    known.waiting[place] = end, offset
                if place in known.committed:
                    known.fetched[place] = max(offset, known.fetched.get(place, 0))

    def _offsets(self, fetch: Exchange) -> dict[tuple[str, int], int] | None:
        """Return the offset from which a Fetch reads each partition, or None if it names a topic id without a known name."""
        names = self.world.topic_names
        found: dict[tuple[str, int], int] = {}
        for topic in fetch.asked["topics"]:
            name = topic["topic"] if fetch.version < FETCH_BY_ID else names.get(str(topic["topic_id"]))
            if name is None:
                return None
            found.update(((str(name), int(each["partition"])), int(each["fetch_offset"])) for each in topic["partitions"])
        return found

    @asked(JOIN_GROUP)
    def joins(self, x: Exchange) -> Judgements:
        """Forget the aborted offsets of a group that rebalances, because its members ask where to begin."""
        group: Group | None = x.group
        for producer in self._readers if group is not None else ():
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
            place = str(x.asked["group_id"]), topic, partition
            end, aborted = known.waiting.pop(place, (None, 0))
            if end is not None and offset <= aborted:
                yield KEPT
            elif end is not None and x.waited_since(end) <= 0:
                yield UNREAD
            elif end is not None and aborted > known.committed.get(place, 0):
                wrong.add((topic, partition))
                told = end
            elif end is not None:
                yield OWN_REASON
        if told is not None:
            yield Broken(
                f"{x.who} aborted a transaction with records of {named(frozenset(wrong))} and sends later offsets in the next transaction, "
                "without having read these records again",
                (*told.rows, x.seq),
                "a seek to the committed offset after an abort, and the same records again",
            )
