"""Random producers with two transactional ids, including zombies, are checked on the pure core.

The judge knows what each of them was told. It checks that:

- a read_committed reader sees each committed record once and no other, and all of them once no transaction is open;
- a log's last stable offset never goes back;
- no epoch of a producer id is given out twice;
- offsets and records of one transaction appear together, and of two commits of a partition the later one counts.
"""

from __future__ import annotations

from collections import Counter
from typing import ClassVar

from exactly_once import amounts, read_committed
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from log_world import batch
from offsets_world import OffsetsWorld
from transaction_world import TRANSACTIONAL, Pid

NAMES = ("x", "y")
PARTITIONS = (0, 1)
PATIENCE_MS = 100_000
DELAY_MS = 20


class Transaction:
    """The confirmed writes of one transaction: values by partition, and offsets by partition with their place in the order."""

    def __init__(self) -> None:
        self.values: dict[int, list[bytes]] = {0: [], 1: []}
        self.offsets: dict[int, tuple[int, int]] = {}


class Producer:
    """A process with its producer id, its protocol version and its sequence numbers."""

    def __init__(self, name: str, pid: Pid, new: bool) -> None:
        self.name, self.pid, self.new = name, pid, new
        self.sequences = dict.fromkeys(PARTITIONS, 0)


class TransactionMachine(RuleBasedStateMachine):
    """Tests transactions whose markers are written at once."""

    delay_ms: ClassVar[int] = 0

    def __init__(self) -> None:
        super().__init__()
        self.world = OffsetsWorld(transaction_markers_delay_ms=self.delay_ms)
        self.producers: list[Producer] = []
        self.open: dict[str, Transaction] = {}
        self.given: Counter[Pid] = Counter()
        self.committed: dict[int, Counter[bytes]] = {0: Counter(), 1: Counter()}
        self.stable = dict.fromkeys(PARTITIONS, 0)
        self.offsets: dict[int, tuple[int, int]] = {}
        self.number = 0

    def _anybody(self) -> st.SearchStrategy[Producer]:
        """Draw a producer, preferably a new one, because new producers can do most."""
        return st.sampled_from(self.producers[::-1])

    def _next(self) -> int:
        self.number += 1
        return self.number

    def _given(self, pid: Pid) -> None:
        self.given[pid] += 1
        assert self.given[pid] == 1, f"{pid} was handed out twice"

    def _over(self, name: str, committed: bool) -> None:
        """Record the end of a transaction, whose records become visible with its markers."""
        if self.delay_ms:
            self.readers_see_what_is_committed()
            self.offsets_are_those_written_last()
            self.world.sleep(self.delay_ms)
        transaction = self.open.pop(name, None)
        if transaction is None or not committed:
            return
        for partition, values in transaction.values.items():
            self.committed[partition].update(values)
        for partition, offset in transaction.offsets.items():
            self.offsets[partition] = max(self.offsets.get(partition, (0, 0)), offset)

    # -- The actions of producers

    @initialize(new=st.booleans())
    def somebody_is_there(self, new: bool) -> None:
        for name in NAMES:
            self.comes(name, new)
            new = not new

    @rule(name=st.sampled_from(NAMES), new=st.booleans())
    def comes(self, name: str, new: bool) -> None:
        code, *pid = self.world.init_code(name)
        if code == 51:
            self._over(name, committed=False)
            code, *pid = self.world.init_code(name)
        assert code == 0
        self._given(Pid(*pid))
        self.producers.append(Producer(name, Pid(*pid), new))

    @rule(data=st.data(), partition=st.sampled_from(PARTITIONS))
    def writes(self, data: st.DataObject, partition: int) -> None:
        one = data.draw(self._anybody())
        if not one.new:
            self.world.add(one.pid, partition, name=one.name)
        value = str(self._next()).encode()
        sent = batch(
            value,
            producer_id=one.pid.id,
            producer_epoch=one.pid.epoch,
            base_sequence=one.sequences[partition],
            attributes=TRANSACTIONAL,
        )
        row = self.world.produce(sent, transactional_id=one.name, version=12 if one.new else 9, partition=partition)
        if not row.get("error_code", 0):
            one.sequences[partition] += 1
            self.open.setdefault(one.name, Transaction()).values[partition].append(value)

    @rule(data=st.data(), partition=st.sampled_from(PARTITIONS))
    def commits_an_offset(self, data: st.DataObject, partition: int) -> None:
        one, offset = data.draw(self._anybody()), self._next()
        if not one.new:
            self.world.offsets(one.pid, name=one.name)
        if self.world.txn(one.pid, offset, partition=partition, name=one.name, version=5 if one.new else 3) == 0:
            self.open.setdefault(one.name, Transaction()).offsets[partition] = (self._next(), offset)

    @rule(data=st.data(), commit=st.booleans())
    def ends(self, data: st.DataObject, commit: bool) -> None:
        one = data.draw(self._anybody())
        before = self.world.state(one.name)
        code, *pid = self.world.finish(one.pid, commit, name=one.name, version=5 if one.new else 3)
        if code == 0 and before != self.world.state(one.name):
            self._over(one.name, commit)
        if code == 0 and one.new and Pid(*pid) != one.pid:
            # A retried EndTxn gets the same producer id and epoch again, so the id counts as new only after a change.
            if self.world.state(one.name)[1] != before[1]:
                self._given(Pid(*pid))
            one.pid = Pid(*pid)
            one.sequences = dict.fromkeys(PARTITIONS, 0)

    # -- The actions of an operator

    def _idle(self, name: str) -> bool:
        return self.world.state(name)[0] in ("Empty", "CompleteCommit", "CompleteAbort")

    @rule(name=st.sampled_from(NAMES))
    def the_transaction_is_aborted(self, name: str) -> None:
        if not self._idle(name):
            self.world.command("abort_transaction", transactional_id=name)
            self._over(name, committed=False)

    @rule(name=st.sampled_from(NAMES))
    def whoever_has_it_is_fenced(self, name: str) -> None:
        pid, idle = self.world.described(name)[0].producer_id, self._idle(name)
        self.world.command("fence_transaction", transactional_id=name)
        if not idle:
            self._over(name, committed=False)
        after = self.world.described(name)[0]
        assert (after.transaction_state, after.producer_id) == ("Empty", pid)
        self._given(Pid(pid, after.producer_epoch))

    @rule(name=st.sampled_from(NAMES), data=st.data(), commit=st.booleans())
    def its_markers_are_held_for_a_while(self, name: str, data: st.DataObject, commit: bool) -> None:
        self.world.command("hold_markers", transactional_id=name)
        self.ends(data, commit)
        self.world.command("release_markers", transactional_id=name)

    # -- The events around them

    @rule(partition=st.sampled_from(PARTITIONS))
    def somebody_writes(self, partition: int) -> None:
        value = str(self._next()).encode()
        self.world.append(batch(value), partition=partition)
        self.committed[partition][value] += 1

    @rule(partition=st.sampled_from(PARTITIONS))
    def somebody_commits(self, partition: int) -> None:
        offset = self._next()
        self.world.plain(offset, partition)
        self.offsets[partition] = (self._next(), offset)

    @rule()
    def time_passes(self) -> None:
        self.world.sleep(PATIENCE_MS)
        for name in list(self.open):
            assert self.world.state(name)[0] == "CompleteAbort"
            self.open.pop(name)

    @rule(of_groups=st.booleans())
    def a_coordinator_is_loaded_anew(self, of_groups: bool) -> None:
        cluster = self.world.cluster
        hosting = cluster.groups.hosting if of_groups else cluster.transactions.hosting
        for partition in range(hosting.places):
            hosting.load(self.world.turn(), partition, 1, 0)

    # -- The invariants

    def _read(self, partition: int) -> list[bytes]:
        """Read a partition as a read_committed consumer does."""
        row = self.world.ask_partition(partition)
        assert row.last_stable_offset >= self.stable[partition], "the last stable offset went back"
        self.stable[partition] = row.last_stable_offset
        return list(read_committed(row.records or b"", row.aborted_transactions))

    @invariant()
    def readers_see_what_is_committed(self) -> None:
        for partition in PARTITIONS:
            assert amounts(self._read(partition), self.committed[partition].elements(), everything=not self.open) == []

    @invariant()
    def offsets_are_those_written_last(self) -> None:
        for partition in PARTITIONS:
            wanted = self.offsets.get(partition, (0, -1))[1]
            assert self.world.seen(partition)[1] == wanted
            pending = any(partition in each.offsets for each in self.open.values())
            assert self.world.seen(partition, stable=True)[0] == (88 if pending else 0)


class LateMarkers(TransactionMachine):
    """Tests transactions whose markers are written later, so that nothing is visible before."""

    delay_ms = DELAY_MS


MACHINES = (TransactionMachine, LateMarkers)
