"""Follow the transactions of one journal row by row: from when until when each is open, how it ends, and in which partitions it holds the
last stable offset back meanwhile."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Final

from groupmock_codec.api_keys import ADD_PARTITIONS_TO_TXN, FETCH, PRODUCE
from groupmock_codec.units import NS_PER_S

from ..journal.rows import CommandRow, NoteRow, ReplyRow, RequestRow
from ..rounds import Partition
from ..story.exchanged import ANSWERED, TopicNames, said
from ..story.reading import Answered
from ..story.transactional import ONGOING, WRITES, id_of, partitions_of
from ..story.words import count, facts, partitions_text, shortened, text
from .model import Event, HeldBack, Transaction, TransactionLane

READ: Final = frozenset((ADD_PARTITIONS_TO_TXN, PRODUCE, FETCH))
"""The APIs of which partitions and offsets of transactions are learned. They are read only in a journal that has transactions, because
most rows of other journals are theirs."""
MOST_IDS: Final = 100
MOST: Final = 5_000
"""At most this many transactions, and as many held back partitions, are kept."""
OPEN_REQUESTS: Final = 10_000
LONG: Final = NS_PER_S
"""A headline tells of a transaction that is open for at least this long (ns)."""
NAMED: Final = 3
DECIDED: Final = {"PrepareCommit": "commit", "PrepareAbort": "abort", "PrepareEpochFence": "abort"}
ENDED: Final = {"CompleteCommit": "committed", "CompleteAbort": "aborted"}


@dataclass(slots=True)
class _Open:
    """An open transaction, and the held back partitions of it."""

    transaction: Transaction
    partitions: set[Partition] = field(default_factory=set)
    held: dict[Partition, HeldBack] = field(default_factory=dict)


class TransactionTrack:
    """The lanes of the transactional ids of a journal. `found` says whether there is any."""

    def __init__(self) -> None:
        self.left_out = 0
        self._lanes: dict[str, TransactionLane] = {}
        self._open: dict[str, _Open] = {}
        self._asked: OrderedDict[int, RequestRow] = OrderedDict()
        self._held: list[HeldBack] = []
        self._ends: dict[Partition, int] = {}
        self._names = TopicNames()
        self._kept = 0

    @property
    def found(self) -> bool:
        """Return whether a transactional id was seen."""
        return bool(self._lanes)

    def lanes(self) -> tuple[list[TransactionLane], list[HeldBack]]:
        """Return the lanes, and what was held back."""
        for each in self._open.values():
            each.transaction.partitions = partitions_text(each.partitions)
        return list(self._lanes.values()), self._held

    def headline(self, now: int) -> str:
        """Return a sentence for each transaction that is open for long, "" if there is none."""
        long = [name for name, each in self._open.items() if now - each.transaction.since >= LONG]
        more = f" {count(len(long) - NAMED, 'more transaction')} stayed open as well." if len(long) > NAMED else ""
        return " ".join(self._told(name, self._open[name], now) for name in long[:NAMED]) + more

    def _told(self, name: str, under_way: _Open, now: int) -> str:
        since = under_way.transaction.since
        begun = f"The transaction of {text(name)} is open since {since / NS_PER_S:.1f} s, for {(now - since) / NS_PER_S:.1f} s"
        held = sorted(under_way.held.values(), key=lambda each: each.records, reverse=True)
        if not held:
            return f"{begun}; it has written nothing."
        where = [f"offset {each.offset} of {each.partition} ({count(each.records, 'record')} behind it)" for each in held[:NAMED]]
        more = f" and in {count(len(held) - NAMED, 'more partition')}" if len(held) > NAMED else ""
        return f"{begun}: read_committed readers wait at {', '.join(where)}{more}."

    def note(self, row: NoteRow) -> None:
        """Read a change of a transactional id, or the name of a new topic."""
        if row.what == "topic_created":
            self._names.learn(row.fields.get("topic_id"), row.fields.get("topic"))
        name, after = row.fields.get("transactional_id"), row.fields.get("after")
        if row.what != "transaction_moved" or not isinstance(name, str) or (lane := self._lane(name)) is None:
            return
        lane.producer = f"producer {row.fields.get('producer_id')}, epoch {row.fields.get('producer_epoch')}"
        under_way, reason = self._open.get(name), shortened(str(row.fields.get("reason", "")))
        if after == ONGOING:
            self._begin(name, lane, row.t, reason)
        elif under_way is not None:
            if after in DECIDED:
                under_way.transaction.decided, under_way.transaction.outcome = row.t, DECIDED[after]
                under_way.transaction.reason = reason
            else:
                self._end(name, row.t, ENDED.get(str(after), text(str(after))))

    def command(self, row: CommandRow) -> None:
        """Note a command about a transactional id."""
        name = row.arguments.get("transactional_id")
        if isinstance(name, str) and (lane := self._lane(name)) is not None and len(lane.events) < MOST:
            lane.events.append(Event(row.t, row.t, "command", text(row.name), facts(row.arguments)))

    def request(self, row: RequestRow) -> None:
        if self._lanes and row.api_key in READ:
            self._asked[row.ticket] = row
            if len(self._asked) > OPEN_REQUESTS:
                self._asked.popitem(last=False)

    def reply(self, row: ReplyRow) -> None:
        """Read the partitions and offsets of an answer."""
        asked = self._asked.pop(row.ticket, None)
        if asked is None:
            return
        if row.api_key == FETCH:
            for each in Answered.of(row, self._names):
                self._reaches(each.partition, each.end)
            return
        under_way = self._open.get(id_of(asked.message) or "")
        if under_way is not None and row.error is None and row.api_name in WRITES:
            under_way.partitions.update(partitions_of(asked, self._names))
        if row.api_key == PRODUCE:
            for part in said(row.message, ANSWERED["Produce"], self._names):
                if part.error is None and part.value >= 0:
                    self._wrote(under_way, part.partition, part.value, row.t)

    def _lane(self, name: str) -> TransactionLane | None:
        if name not in self._lanes:
            if len(self._lanes) >= MOST_IDS:
                self.left_out += 1
                return None
            self._lanes[name] = TransactionLane(text(name))
        return self._lanes[name]

    def _begin(self, name: str, lane: TransactionLane, at: int, reason: str) -> None:
        self._end(name, at, "")
        if self._kept >= MOST:
            self.left_out += 1
            return
        self._kept += 1
        lane.transactions.append(Transaction(at, reason=reason))
        self._open[name] = _Open(lane.transactions[-1])

    def _end(self, name: str, at: int, outcome: str) -> None:
        ended = self._open.pop(name, None)
        if ended is None:
            return
        ended.transaction.until, ended.transaction.outcome = at, outcome or ended.transaction.outcome
        ended.transaction.partitions = partitions_text(ended.partitions)
        for held in ended.held.values():
            held.until = at

    def _wrote(self, by: _Open | None, partition: Partition, offset: int, at: int) -> None:
        """Note that records were written, from an offset on. The first ones of a transaction are where the last stable offset stays."""
        if by is not None and partition not in by.held and len(self._held) < MOST:
            name = next(lane.name for lane in self._lanes.values() if lane.transactions[-1:] == [by.transaction])
            by.held[partition] = HeldBack(at, partitions_text([partition]), name, offset)
            self._held.append(by.held[partition])
        self._reaches(partition, offset + 1)

    def _reaches(self, partition: Partition, end: int) -> None:
        end = self._ends[partition] = max(end, self._ends.get(partition, 0))
        for each in self._open.values():
            if partition in each.held:
                each.held[partition].records = end - each.held[partition].offset
