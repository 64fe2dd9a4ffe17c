"""Check that transactions are atomic, isolated and fenced. Judged by rows, answers, and what one reader of committed records and offsets
sees.

A transaction that its producer knows to be committed is read whole, once, each partition's records in order; one that was never asked to
commit is never read; one whose producer does not know is read whole or not at all, and its offset with it. The last stable offset never
goes back and never passes the first record of a transaction that is open. Epochs of an id grow, and whoever has another one than the last
row of the id tells is not served. Sources: docs/kafka/transactions.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from groupmock.core.effects import Note
from groupmock.core.environment import NO_HOLDS
from groupmock_codec.api_keys import ADD_OFFSETS_TO_TXN, ADD_PARTITIONS_TO_TXN, END_TXN, PRODUCE, TXN_OFFSET_COMMIT
from groupmock_codec.error_codes import INVALID_PRODUCER_EPOCH, PRODUCER_FENCED
from groupmock_codec.records import read_batches
from groupmock_codec.units import NS_PER_MS

if TYPE_CHECKING:
    from groupmock.core.cluster import Cluster
    from groupmock.core.events import Request

    from .findings import Findings

JUDGE: Final = "transactions"
FENCED_SINCE: Final = 2
"""The version from which on coordinators answer a fenced producer with PRODUCER_FENCED (90), and before with INVALID_PRODUCER_EPOCH (47)
(TX-30)."""
NEW_SINCE: Final = 5
GRACE_MS: Final = 2_500
"""A transaction may stay open for this time beyond its timeout, because coordinators look for expired transactions every second."""
GONE, EMPTY, ONGOING = "", "Empty", "Ongoing"
PREPARED: Final = {"PrepareCommit": "CompleteCommit", "PrepareAbort": "CompleteAbort"}
IDLE: Final = frozenset((EMPTY, *PREPARED.values()))
MAY_FOLLOW: Final[Mapping[str, frozenset[str]]] = {
    ONGOING: frozenset((*PREPARED, GONE)),
    **{state: frozenset((done, GONE)) for state, done in PREPARED.items()},
    **{state: frozenset((ONGOING, EMPTY, "PrepareAbort", GONE)) for state in IDLE},
}
"""Maps each state of a transactional id to the states that may follow. One that was not there may be loaded in any."""
Place = tuple[str, int]
Register = tuple[str, str, int]
PREFIX: Final = "x/"


class PlayedTransaction:
    """One transaction of a simulated run, as its producer knows it. `outcome`: did it commit? None: its producer does not know (yet)."""

    def __init__(self, number: int, transactional_id: str, places: Mapping[Place, int], register: Register | None) -> None:
        self.number, self.transactional_id, self.register = number, transactional_id, register
        self.values = {
            place: [f"{PREFIX}{number}/{place[0]}/{place[1]}/{each}".encode() for each in range(count)] for place, count in places.items()
        }
        self.written: dict[Place, int] = {}
        self.open = True
        self.asked_to_commit = False
        self.outcome: bool | None = None

    @property
    def whole(self) -> set[bytes]:
        """Return the values of all records of the transaction."""
        return {value for values in self.values.values() for value in values}


class TransactionJudge:
    """Checks what the answers tell producers and readers of transactions. For each transactional id, `current` has the producer id and
    epoch of its last row, `timeouts` its longest timeout in ms, and `ongoing` the time in ns at which its open transaction began."""

    cluster: Cluster

    def __init__(self, bench: Findings) -> None:
        self.bench = bench
        self.transactions: list[PlayedTransaction] = []
        self.states: dict[str, str] = {}
        self.timeouts: dict[str, int] = {}
        self.ongoing: dict[str, int] = {}
        self.current: dict[str, tuple[int, int]] = {}
        self.seen: dict[Place, list[bytes]] = {}
        self.stable: dict[Place, int] = {}
        self.offsets: dict[Register, int] = {}
        self._stale: dict[int, str] = {}

    # -- what producers tell

    def begins(self, transactional_id: str, places: Mapping[Place, int], register: Register | None) -> PlayedTransaction:
        """Register a transaction that a producer begins, with its number of records in each partition."""
        self.transactions.append(PlayedTransaction(len(self.transactions) + 1, transactional_id, places, register))
        return self.transactions[-1]

    def wrote(self, transaction: PlayedTransaction, place: Place, base: int) -> None:
        """Record that the transaction's records in one partition were acknowledged."""
        transaction.written[place] = base

    def asks_end(self, transaction: PlayedTransaction, commit: bool) -> None:
        """Record that the producer is about to commit or abort the transaction."""
        transaction.open, transaction.asked_to_commit = False, commit

    def ends(self, transaction: PlayedTransaction, outcome: bool | None) -> None:
        """Record the outcome of a transaction, which is None if its producer cannot know it."""
        transaction.open, transaction.outcome = False, outcome

    # -- who is served

    def asks(self, event: Request) -> None:
        """Note a request with an outdated producer id or epoch, which must be refused."""
        holder = _holder(event)
        if holder is None or self.cluster.environment.holds is not NO_HOLDS:
            return
        name, producer_id, epoch = holder
        current = self.current.get(name)
        if current is None or current == (producer_id, epoch):
            return
        state = self.states.get(name, GONE)
        retries = event.key == END_TXN and event.version >= NEW_SINCE and current == (producer_id, epoch + 1)
        # Until the marker is written, partitions accept records of the producer whose transaction is ending.
        lasts = event.key in (PRODUCE, TXN_OFFSET_COMMIT) and state in (*PREPARED, GONE)
        if not (retries or lasts or current[0] != producer_id):
            self._stale[event.ticket] = name

    def answered(self, asked: Request, answer: Any) -> None:
        """Check that an outdated producer gets the error code of its request's version."""
        name = self._stale.pop(asked.ticket, None)
        if name is None:
            return
        codes = _codes(asked.key, answer)
        fenced = asked.key not in (PRODUCE, TXN_OFFSET_COMMIT) and asked.version >= FENCED_SINCE
        wrong = codes & {0, INVALID_PRODUCER_EPOCH if fenced else PRODUCER_FENCED}
        if wrong:
            told = f"a producer of {name!r} whose epoch is over is answered {min(wrong)} to API {asked.key} v{asked.version}"
            self.bench.found(JUDGE, f"{told}, not {PRODUCER_FENCED if fenced else INVALID_PRODUCER_EPOCH}")

    # -- rows

    def happened(self, effect: Any) -> None:
        """Follow the rows about transactional ids, and check their states and epochs."""
        if not (isinstance(effect, Note) and effect.what == "transaction_moved"):
            return
        fields: dict[str, Any] = effect.fields
        name, before, after = fields["transactional_id"], fields["before"], fields["after"]
        known = self.states.get(name, GONE)
        if before != known:
            self.bench.found(JUDGE, f"transactional id {name!r} was {known or 'not there'} and leaves {before or 'nothing'}")
        if before != GONE and after not in MAY_FOLLOW[before]:
            self.bench.found(JUDGE, f"transactional id {name!r} moved from {before} to {after or 'nothing'}")
        holder = fields["producer_id"], fields["producer_epoch"]
        current = self.current.get(name, holder)
        if holder[0] == current[0] and holder[1] < current[1]:
            self.bench.found(JUDGE, f"the epoch of {name!r} went from {current[1]} back to {holder[1]}")
        self.states[name], self.current[name] = after, holder
        if after == ONGOING:
            self.ongoing[name] = self.bench.now
        else:
            self.ongoing.pop(name, None)
        if after in PREPARED and before != GONE:
            self._decided(name, after == "PrepareCommit")

    def _decided(self, name: str, committed: bool) -> None:
        mine = [each for each in self.transactions if each.transactional_id == name]
        if committed and not any(each.asked_to_commit and each.outcome is None for each in mine):
            self.bench.found(JUDGE, f"a transaction of {name!r} commits, and its producer did not ask for that")
        for each in mine:
            each.open = False

    # -- what is read

    def reads(self, place: Place, values: Iterable[bytes], stable: int, end: int) -> None:
        """Check records that a reader of committed records got, with the last stable offset and the high watermark."""
        where = f"{place[0]}-{place[1]}"
        before = self.stable.get(place, 0)
        if stable > end or stable < before:
            self.bench.found(JUDGE, f"the last stable offset of {where} is {stable}, after {before}, and its end is {end}")
        self.stable[place] = stable
        for name, since in self.ongoing.items():
            late = (self.bench.now - since) // NS_PER_MS - self.timeouts[name]
            if late > GRACE_MS:
                self.bench.found(JUDGE, f"the transaction of {name!r} is open {late} ms after its timeout")
        for each in self.transactions:
            if each.open and each.written.get(place, stable) < stable:
                text = f"{where} is stable up to {stable}, and transaction {each.number} is open from {each.written[place]} on"
                self.bench.found(JUDGE, text)
        for value in values:
            self._read(where, self.seen.setdefault(place, []), value)

    def _read(self, where: str, seen: list[bytes], value: bytes) -> None:
        text = value.decode("utf-8", "replace")
        if not text.startswith(PREFIX):
            return
        transaction = self.transactions[int(text.split("/")[1]) - 1]
        if not transaction.asked_to_commit or transaction.outcome is False:
            self.bench.found(JUDGE, f"{text} is read in {where}, and its transaction did not commit")
        if value in seen:
            self.bench.found(JUDGE, f"{text} is read twice in {where}")
        seen.append(value)

    def reads_offset(self, register: Register, offset: int) -> None:
        """Check a committed offset that the reader got."""
        last = self.offsets.get(register, -1)
        if offset < last:
            self.bench.found(JUDGE, f"group {register[0]!r} had offset {last} for {register[1]}-{register[2]} and reads {offset}")
        if offset > 0:
            transaction = self.transactions[offset - 1]
            if transaction.register != register or not transaction.asked_to_commit or transaction.outcome is False:
                self.bench.found(JUDGE, f"group {register[0]!r} reads offset {offset}, and that transaction did not commit")
        self.offsets[register] = offset

    # -- in the end

    def all_or_nothing(self) -> None:
        """Check that each transaction was read as a whole or not at all, once the run has calmed down."""
        read = {value for values in self.seen.values() for value in values}
        last: dict[Register, int] = {}
        for each in self.transactions:
            found = each.whole & read
            if found not in (set(), each.whole):
                self.bench.found(JUDGE, f"of transaction {each.number} {len(found)} of {len(each.whole)} records are read")
            committed = each.outcome if each.outcome is not None else each.asked_to_commit and (bool(found) or not each.whole)
            if committed and found != each.whole:
                self.bench.found(JUDGE, f"transaction {each.number} was committed, and is not read")
            if each.register is not None and committed and (each.whole or each.outcome):
                last[each.register] = each.number
        for register, number in last.items():
            if self.offsets.get(register, -1) != number:
                text = f"transaction {number} committed an offset of group {register[0]!r}, which reads {self.offsets.get(register, -1)}"
                self.bench.found(JUDGE, text)
        for place, values in self.seen.items():
            for each in self.transactions:
                mine = [value for value in values if value in each.values.get(place, ())]
                if mine and mine != each.values[place]:
                    self.bench.found(JUDGE, f"records of transaction {each.number} are out of order in {place[0]}-{place[1]}")


def _holder(event: Request) -> tuple[str, int, int] | None:
    """Return the transactional id, producer id and epoch that a request carries."""
    message: Any = event.message
    if event.key in (END_TXN, ADD_OFFSETS_TO_TXN, TXN_OFFSET_COMMIT):
        return message.transactional_id, message.producer_id, message.producer_epoch
    if event.key == ADD_PARTITIONS_TO_TXN and message.v3_and_below_transactional_id:
        return message.v3_and_below_transactional_id, message.v3_and_below_producer_id, message.v3_and_below_producer_epoch
    if event.key == PRODUCE and message.transactional_id:
        batch = next(iter(read_batches(message.topic_data[0].partition_data[0].records or b"")))
        return message.transactional_id, batch.producer_id, batch.producer_epoch
    return None


def _codes(key: int, answer: Any) -> set[int]:
    if key == PRODUCE:
        return {each.error_code for topic in answer.responses for each in topic.partition_responses}
    if key == TXN_OFFSET_COMMIT:
        return {each.error_code for topic in answer.topics for each in topic.partitions}
    if key == ADD_PARTITIONS_TO_TXN:
        return {each.partition_error_code for topic in answer.results_by_topic_v3_and_below for each in topic.results_by_partition}
    return {answer.error_code}
