"""Tell the stories of transactional ids: how their transactions ended and why, which requests were refused, and what a test commanded."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import Any, Final

from ..journal.dispatch import RowReader, takes
from ..journal.read import UnknownRow
from ..journal.rows import CommandRow, NoteRow, ReplyRow, RequestRow, Row
from ..journal.whose import field
from ..rounds import Partition
from .bounded import FirstAndLast
from .exchanged import TopicNames, errors_of, items, number
from .folding import Folded, Line
from .sentences import of_transaction
from .words import MOST as FEW
from .words import SENTENCE, facts, seconds, text

MOST: Final = 400
"""At most this many lines are kept of one id's story."""
MOST_IDS: Final = 20
"""At most this many transactional ids get a story."""
OPEN_REQUESTS: Final = 10_000
OPEN_TRANSACTIONS: Final = 1000
ONGOING: Final = "Ongoing"
APIS: Final = frozenset(("InitProducerId", "AddPartitionsToTxn", "AddOffsetsToTxn", "EndTxn", "TxnOffsetCommit", "Produce"))
"""The APIs whose requests name a transactional id."""
WRITES: Final = frozenset(("AddPartitionsToTxn", "Produce"))
ENDED: Final = {"CompleteCommit": "committed", "CompleteAbort": "aborted"}


class OneId:
    """The state of a transactional id after the last row that was read. `epoch` is its newest epoch; lines before `since` (ns) are left
    out."""

    def __init__(self, name: str, most: int, since: int) -> None:
        self.name = name
        self._lines = FirstAndLast(most)
        self._folded = Folded()
        self._from = since
        self.epoch: int | None = None
        self._producer: Any = None
        self._state = ""
        self._since = 0
        self._ended = dict.fromkeys(ENDED.values(), 0)

    def keep(self, line: Line) -> None:
        self._add(self._folded.feed(line))

    def lines(self) -> list[str]:
        self._add(self._folded.rest())
        return list(self._lines.lines())

    def _add(self, lines: Iterable[Line]) -> None:
        for each in lines:
            if each.until >= self._from:
                self._lines.add(each.text, each.at)

    def moves(self, row: NoteRow) -> None:
        """Note the new state of the transactional id from a row."""
        self._producer = row.fields.get("producer_id")
        self.epoch = row.fields.get("producer_epoch")
        self._state, self._since = str(row.fields.get("after")), row.t
        if self._state in ENDED:
            self._ended[ENDED[self._state]] += 1

    @property
    def state(self) -> str:
        """Return the id with its state, to explain why a reader waits for the end of the id's transaction."""
        return f"{text(self.name)} ({text(self._state)} since {seconds(self._since)})"

    def head(self, now: int) -> str:
        """Return the first line of the id's story. `now` is in ns of the run."""
        parts = [text(self._state or "state unknown")]
        parts += [f"producer {self._producer}, epoch {self.epoch}"] if self.epoch is not None else []
        parts += [f"{times} {what}" for what, times in self._ended.items() if times]
        parts += [f"open for {seconds(max(0, now - self._since))} s"] if self._state == ONGOING else []
        return f"transactional id {text(self.name)}: {', '.join(parts)}"


class Transactions(RowReader):
    """Collects the stories of transactional ids from the rows passed to `feed`. `only` is the one id to follow, `names` has topic names,
    `most` is the number of lines for each id, and lines before `since` (ns) are left out."""

    def __init__(self, only: str | None = None, *, names: TopicNames | None = None, most: int = MOST, since: int = 0) -> None:
        self.ids: dict[str, OneId] = {}
        self.others = 0
        """The number of rows about ids that have no story because too many ids have one."""
        self._only, self._most, self._since = only, most, since
        self._names = names or TopicNames()
        self._open: dict[str, set[Partition]] = {}  # Maps transactional ids to the partitions of their open transactions.
        self._asked: OrderedDict[int, tuple[str, RequestRow]] = OrderedDict()  # Maps tickets to the transactional id and the request.

    def sections(self, now: int) -> Iterator[list[str]]:
        """Yield the lines of each id that has a story."""
        for each in self.ids.values():
            if lines := each.lines():
                yield [each.head(now), *lines]

    def open_on(self, partition: Partition) -> list[str]:
        """Return the ids, with their states, that have an open transaction in a partition."""
        ids = [each for each, partitions in self._open.items() if partition in partitions]
        return [self.ids[each].state if each in self.ids else text(each) for each in ids]

    def _of(self, name: Any) -> OneId | None:
        if not isinstance(name, str) or not name or (self._only is not None and name != self._only):
            return None
        if name not in self.ids and len(self.ids) >= MOST_IDS:
            self.others += 1
            return None
        return self.ids.setdefault(name, OneId(name, self._most, self._since))

    @takes
    def _note(self, row: NoteRow) -> None:
        name, after = row.fields.get("transactional_id"), row.fields.get("after")
        if after in ENDED:
            self._open.pop(str(name), None)
        elif after == ONGOING and len(self._open) < OPEN_TRANSACTIONS:
            self._open.setdefault(str(name), set())
        known = self._of(name)
        if known is None:
            return
        if row.what == "transaction_moved":
            known.moves(row)
        told = of_transaction(row) or f"{text(row.what.replace('_', ' '))}: {text(row.fields.get('reason', ''), SENTENCE)}"
        known.keep(Line(row.t, told))

    @takes
    def _command(self, row: CommandRow) -> None:
        if (known := self._of(row.arguments.get("transactional_id"))) is not None:
            known.keep(Line(row.t, f"ordered by the test: {text(row.name)} {facts(row.arguments)}".rstrip()))

    @takes
    def _request(self, row: RequestRow) -> None:
        if row.api_name in APIS and (name := id_of(row.message)) is not None:
            self._asked[row.ticket] = name, row
            if len(self._asked) > OPEN_REQUESTS:
                self._asked.popitem(last=False)

    @takes
    def _reply(self, row: ReplyRow) -> None:
        name, asked = self._asked.pop(row.ticket, (None, None))
        if name is not None and asked is not None:
            self._opens(name, asked, row)
        errors = errors_of(row)
        known = self._of(name) if errors and asked is not None else None
        if known is None or asked is None:
            return
        who, what = f"client {text(asked.client_id or 'without a name')}", _what(asked)
        for error in errors[:FEW]:
            told = f"{who}'s {what} REFUSED: {error}{_epochs(asked.message, known.epoch)}"
            known.keep(Line(row.t, told, (), ("refused", told)))

    def _opens(self, name: str, asked: RequestRow, row: ReplyRow) -> None:
        """Note the partitions that an answer adds to a transaction: one to AddPartitionsToTxn, or to a Produce that adds its partition
        itself (KIP-890)."""
        if row.error is None and asked.api_name in WRITES and name in self._open:
            self._open[name].update(partitions_of(asked, self._names))


def tell_id(rows: Iterable[Row | UnknownRow], transactional_id: str) -> list[str]:
    """Return the lines of one transactional id, in order."""
    found = Transactions(transactional_id)
    for row in rows:
        found.feed(row)
    return [line for section in found.sections(0) for line in section[1:]]


def partitions_of(asked: RequestRow, names: TopicNames) -> Iterator[Partition]:
    """Yield the partitions that a request adds to a transaction: an AddPartitionsToTxn, or a Produce (KIP-890)."""
    if asked.api_name == "Produce":
        for topic in items(asked.message, "topic_data"):
            name = names.of(topic)
            yield from ((name, number(each, "index")) for each in items(topic, "partition_data") if name is not None)
        return
    listed = items(asked.message, "transactions")
    for topic in items(listed[0], "topics") if listed else items(asked.message, "v3_and_below_topics"):
        yield from ((str(field(topic, "name")), each) for each in items(topic, "partitions"))


def id_of(message: Any) -> str | None:
    """Return the transactional id of a request. AddPartitionsToTxn has a list of ids from version 4 on, but clients send only one."""
    listed = items(message, "transactions")
    named = field(listed[0], "transactional_id") if listed else field(message, "transactional_id")
    found = named or field(message, "v3_and_below_transactional_id")
    return found if isinstance(found, str) and found else None


def _what(asked: RequestRow) -> str:
    if asked.api_name != "EndTxn":
        return text(asked.api_name)
    return f"EndTxn ({'commit' if field(asked.message, 'committed') else 'abort'})"


def _epochs(message: Any, current: int | None) -> str:
    """Say which epoch a request named, if that is not the current epoch."""
    listed = items(message, "transactions")
    said = field(listed[0], "producer_epoch") if listed else field(message, "producer_epoch")
    said = field(message, "v3_and_below_producer_epoch") if said is None else said
    return f" (it says epoch {said}, it is {current})" if isinstance(said, int) and current is not None and 0 <= said != current else ""
