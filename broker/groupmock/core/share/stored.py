"""Keeps the states of share partitions that outlive them, as Kafka's share coordinator does in __share_group_state.

A state is written at each acknowledgement, release and expiry of a lock. The start offset in it is the one from before the write took
effect (SG-103), and acquired records are written as they were before they were acquired (SG-298). In Kafka: Persister,
ShareCoordinatorShard.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Final

import msgspec

from groupmock_codec import error_codes

from .runs import ACQUIRED, AVAILABLE, InFlightBatch, Run, joined
from .states import RecordStates, RunCount

if TYPE_CHECKING:
    from collections.abc import Iterable

NEVER_WRITTEN: Final = -1
DELETED: Final = "Error in write state RPC. Write operation on uninitialized share partition not allowed."
FENCED: Final = "Error in write state RPC. The coordinator rejected the request because the state epoch did not match."
FENCED_4_3: Final = (
    "Error in write state RPC. The share coordinator rejected the request because the share-group state epoch did not match."
)
Key = tuple[str, bytes, int]
"""A group id, a topic id and a partition."""


class WriteRefused(Exception):
    """The state of a share partition cannot be written, because its offsets were deleted or altered."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code, self.text = code, text


class Stored(msgspec.Struct):
    """The stored state of one share partition. `start_offset` is -1 as long as nothing was written. `runs` are the records that were
    delivered, as they were when the share partition was dropped from memory, and `resumes_at` is the start that it had then."""

    state_epoch: int
    start_offset: int = NEVER_WRITTEN
    leader_epoch: int = 0
    highest_leader_epoch: int = 0
    """The highest leader epoch that has read the state, or one that it replaces. That of a former leader cannot write any more."""
    done: int = 0
    resumes_at: int = NEVER_WRITTEN
    runs: list[Run] = []

    def read_at(self, leader_epoch: int) -> None:
        """Note that a leader reads the state, which writes its epoch if that is new (readStateAndMaybeUpdateLeaderEpoch)."""
        if leader_epoch != self.highest_leader_epoch:
            self.leader_epoch = self.highest_leader_epoch = leader_epoch

    def write(self, states: RecordStates) -> None:
        """Write the state before its start offset moves; the changed records count as done already. A start offset that is smaller than
        the stored one is not taken (ShareCoordinatorShard.generateShareStateRecord)."""
        if states.start >= self.start_offset:
            done = states.delivery_complete
            self.done = max(done, self.done) if states.start == self.start_offset else done
            self.start_offset = states.start
        states.written_start = None
        states.unwritten = [run for run in states.unwritten if run.last >= states.start]

    def keep(self, states: RecordStates) -> None:
        """Keep the states of records, because their share partition is dropped from memory."""
        if self.start_offset == NEVER_WRITTEN:
            return
        start = states.resumes_at
        runs = [_before(run) for batch in states.batches if not batch.fresh for run in batch.runs if run.last >= start]
        self.runs = joined([run.part(start, run.last) for run in runs if run.state != AVAILABLE or run.count])
        for run in states.unwritten:
            self.runs = without(self.runs, run)
        self.resumes_at = start

    def put(self, run: Run) -> None:
        """Replace the states of records that were kept."""
        self.runs = joined(sorted([*without(self.runs, run), run], key=attrgetter("first")))

    def resumed(self, total: RunCount) -> RecordStates:
        """Return the states that were kept. Records between them that no member has acknowledged are fetched anew."""
        states = RecordStates(self.start_offset if self.resumes_at == NEVER_WRITTEN else self.resumes_at, total)
        gaps = []
        for run in self.runs:
            if run.first > states.end:
                gaps.append(states.end)
                states.put(InFlightBatch([Run(states.end, run.first - 1, AVAILABLE, 0)], fresh=True))
            states.put(InFlightBatch([run]))
            states.end = run.last + 1
        if gaps:
            states.stored_with_gaps(gaps[0])
        states.move_start()
        return states


def without(runs: Iterable[Run], gone: Run) -> list[Run]:
    """Return the runs without the records of another one."""
    left = []
    for run in runs:
        parts = (run.first, min(run.last, gone.first - 1)), (max(run.first, gone.last + 1), run.last)
        left += [run.part(first, last) for first, last in parts if first <= last]
    return left


def _before(run: Run) -> Run:
    """Return the records of a run as they are stored: acquiring them is not."""
    return run.now(AVAILABLE, run.count - 1) if run.state == ACQUIRED else run


class StoredStates:
    """The stored states of all share partitions of the cluster."""

    def __init__(self, fenced: str) -> None:
        self._stored: dict[str, dict[tuple[bytes, int], Stored]] = {}
        self._fenced = fenced

    def initialize(self, group_id: str, topic_id: bytes, partitions: Iterable[int], state_epoch: int, start_offset: int) -> None:
        """Make new states, which replace those that there are."""
        of_group = self._stored.setdefault(group_id, {})
        for partition in partitions:
            former = of_group.get((topic_id, partition))
            highest = 0 if former is None else former.highest_leader_epoch
            of_group[topic_id, partition] = Stored(state_epoch, start_offset, highest_leader_epoch=highest)

    def find(self, group_id: str, topic_id: bytes, partition: int) -> Stored | None:
        return self._stored.get(group_id, {}).get((topic_id, partition))

    def of_group(self, group_id: str) -> dict[tuple[bytes, int], Stored]:
        """Return the states of a group by topic id and partition."""
        return self._stored.get(group_id, {})

    def groups(self) -> list[str]:
        return list(self._stored)

    def delete(self, group_id: str, topic_id: bytes | None) -> None:
        """Delete the states of one topic of a group, or of all its topics."""
        if topic_id is None:
            self._stored.pop(group_id, None)
            return
        of_group = self._stored.get(group_id, {})
        for place in [place for place in of_group if place[0] == topic_id]:
            del of_group[place]
        if not of_group:
            self._stored.pop(group_id, None)

    def check(self, key: Key, state_epoch: int) -> Stored:
        """Return the state into which a share partition writes that has read one of this state epoch. Raises WriteRefused.

        A state of a smaller epoch belongs to a group that was deleted and made anew, and is written into
        (ShareCoordinatorShard.maybeGetWriteStateError)."""
        stored = self.find(*key)
        if stored is None:
            raise WriteRefused(error_codes.UNKNOWN_SERVER_ERROR, DELETED)
        if stored.state_epoch > state_epoch:
            raise WriteRefused(error_codes.NOT_LEADER_OR_FOLLOWER, self._fenced)
        return stored
