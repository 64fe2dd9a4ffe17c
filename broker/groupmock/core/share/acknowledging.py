"""Takes what members say of records that they hold: accept, release, reject, renew, or that an offset has no record (a gap).

All batches of one partition in a request are taken, or none of them (SG-207). In Kafka: SharePartition.acknowledge.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import msgspec

from groupmock_codec import error_codes
from groupmock_codec.acknowledge_types import ACCEPT, GAP, RELEASE, RENEW

from .rules import RecordRules
from .runs import ACKNOWLEDGED, ACQUIRED, ARCHIVED, NOBODY, InFlightBatch, Run
from .states import RecordStates

REJECTED: Final = "Offset rejected by client."
EXHAUSTED: Final = "Offset delivery count exceeded the threshold."

NOT_FOUND: Final = "Batch record not found. The request batch offsets are not found in the cache."
FIRST_IS_PAST: Final = "Batch record not found. The first offset in request is past acquired records."
LAST_IS_PAST: Final = "Batch record not found. The last offset in request is past acquired records."
BATCH_OF_ANOTHER: Final = "Member is not the owner of batch record"
OFFSET_OF_ANOTHER: Final = "Member is not the owner of offset"
BATCH_NOT_ACQUIRED: Final = "The batch cannot be acknowledged. The batch is not in the acquired state."
OFFSET_NOT_ACQUIRED: Final = "The offset cannot be acknowledged. The offset is not acquired."
NO_RENEWAL: Final = "Renewing acquisition locks is not enabled for the group."


class AcknowledgementRefused(Exception):
    """The acknowledgements of one partition are refused, and nothing of them was taken. `text` is the answer's error message."""

    def __init__(self, code: int, text: str | None) -> None:
        super().__init__(text)
        self.code, self.text = code, text


class RequestFailed(Exception):
    """The whole request fails with UNKNOWN_SERVER_ERROR, because a batch begins before the start offset and nothing is in flight there
    (a NullPointerException in SharePartition.fetchSubMapForAcknowledgementBatch)."""


class Acknowledgement(NamedTuple):
    """The offsets from `first` to `last` are acknowledged with one type."""

    first: int
    last: int
    kind: int


class AcknowledgedBatch(NamedTuple):
    """A batch of a request that was checked: its offsets, and a type for each part of them. With `one_by_one` the member has sent a type
    for each offset."""

    first: int
    last: int
    parts: list[Acknowledgement]
    one_by_one: bool


class Acknowledged(msgspec.Struct):
    """The records that a request has acknowledged, by what became of them. `exhausted` ones were released at the limit of deliveries."""

    accepted: list[Run] = []
    released: list[Run] = []
    rejected: list[Run] = []
    gaps: list[Run] = []
    exhausted: list[Run] = []
    renewed: list[Run] = []

    @property
    def changed(self) -> bool:
        """True if the states of records have changed, which a renewed lock does not do."""
        return bool(self.accepted or self.released or self.rejected or self.gaps or self.exhausted)


class Acknowledging:
    """Takes the acknowledgements of one member for one share partition, and can undo them."""

    def __init__(self, states: RecordStates, rules: RecordRules, member_id: str, lock_ends: int) -> None:
        self._states = states
        self._rules = rules
        self._member_id = member_id
        self._lock_ends = lock_ends
        self._before: dict[int, tuple[InFlightBatch, list[Run]]] = {}
        self.result = Acknowledged()

    def take(self, batches: Sequence[AcknowledgedBatch]) -> Acknowledged:
        """Take all batches of a request. Raises AcknowledgementRefused or RequestFailed with none of them taken."""
        try:
            for batch in batches:
                if batch.last >= self._states.start:
                    self._take(batch)
        except (AcknowledgementRefused, RequestFailed):
            self.undo()
            raise
        return self.result

    def undo(self) -> None:
        """Give all records the states that they had before. Locks stay renewed, as on a broker, which only rolls states back."""
        for batch, runs in self._before.values():
            self._states.restore(batch, runs)
        for renewed in self.result.renewed:
            for batch in self._states.overlapping(renewed.first, renewed.last):
                self._states.change(batch, max(renewed.first, batch.first), min(renewed.last, batch.last), self._renewed)

    def _take(self, acknowledged: AcknowledgedBatch) -> None:
        start = self._states.start
        for batch in self._found(acknowledged):
            if batch.last < start or batch.last < acknowledged.first:
                continue
            if not batch.split:
                self._check_whole(batch)
            self._before.setdefault(id(batch), (batch, batch.runs.copy()))
            within = batch.first >= acknowledged.first and batch.last <= acknowledged.last and batch.first >= start
            if batch.split or acknowledged.one_by_one or not within:
                batch.split = True
                for part in acknowledged.parts:
                    first, last = max(part.first, batch.first, start), min(part.last, batch.last)
                    if first <= last:
                        self._take_part(batch, first, last, part.kind)
            else:
                self._apply(batch, batch.first, batch.last, acknowledged.parts[0].kind)

    def _found(self, acknowledged: AcknowledgedBatch) -> Iterator[InFlightBatch]:
        """Return the batches in flight that the acknowledgement is about. Raises AcknowledgementRefused or RequestFailed."""
        states, first, last = self._states, acknowledged.first, acknowledged.last
        place = states.floor(first)
        if place < 0 and first < states.start <= last:
            place = states.floor(states.start)
            if place < 0:
                raise RequestFailed
        if place < 0:
            raise AcknowledgementRefused(error_codes.INVALID_RECORD_STATE, NOT_FOUND)
        latest = states.batches[states.floor(last)]
        if latest.last < first:
            raise AcknowledgementRefused(error_codes.INVALID_REQUEST, FIRST_IS_PAST)
        if latest.last < last:
            raise AcknowledgementRefused(error_codes.INVALID_REQUEST, LAST_IS_PAST)
        return iter(states.batches[place : states.floor(last) + 1])

    def _check_whole(self, batch: InFlightBatch) -> None:
        owner = batch.runs[0].member_id
        if owner != self._member_id:
            text = BATCH_NOT_ACQUIRED if owner == NOBODY else BATCH_OF_ANOTHER
            raise AcknowledgementRefused(error_codes.INVALID_RECORD_STATE, text)

    def _take_part(self, batch: InFlightBatch, first: int, last: int, kind: int) -> None:
        for run in batch.within(first, last):
            if run.state != ACQUIRED:
                raise AcknowledgementRefused(error_codes.INVALID_RECORD_STATE, OFFSET_NOT_ACQUIRED)
            if run.member_id != self._member_id:
                raise AcknowledgementRefused(error_codes.INVALID_RECORD_STATE, OFFSET_OF_ANOTHER)
        self._apply(batch, first, last, kind)

    def _apply(self, batch: InFlightBatch, first: int, last: int, kind: int) -> None:
        result = self.result
        if kind == RENEW:
            if not self._rules.renewable:
                raise AcknowledgementRefused(error_codes.INVALID_RECORD_STATE, NO_RENEWAL)
            result.renewed += self._states.change(batch, first, last, self._renewed)
        elif kind == ACCEPT:
            result.accepted += self._states.change(batch, first, last, lambda run: run.now(ACKNOWLEDGED, run.count))
        elif kind == RELEASE:
            for run in self._states.change(batch, first, last, self._rules.released):
                (result.exhausted if run.state == ARCHIVED else result.released).append(run)
        else:
            archived = self._states.change(batch, first, last, lambda run: run.now(ARCHIVED, run.count))
            (result.gaps if kind == GAP else result.rejected).extend(archived)

    def _renewed(self, run: Run) -> Run:
        return run.now(ACQUIRED, run.count, run.member_id, self._lock_ends)
