"""Follow the share sessions of a connection as their client knows them (KIP-932): the epoch of the next request, and the records that it
acquired and has not acknowledged.

A session is followed on the connection that opened it, because its records are released when that connection ends. A member whose session
was opened on another connection, or before the journal begins, has no session here.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from groupmock_codec import error_codes
from groupmock_codec.acknowledge_types import RENEW
from groupmock_codec.api_keys import SHARE_FETCH
from groupmock_codec.units import NS_PER_MS

from ..rounds.record_runs import Run, without

if TYPE_CHECKING:
    from .subjects import Exchange, Json, Link

OPENING, FINAL = 0, -1
LARGEST_EPOCH: Final = 2**31 - 1
BEGIN_ANEW: Final = {
    error_codes.SHARE_SESSION_NOT_FOUND: "SHARE_SESSION_NOT_FOUND", error_codes.INVALID_SHARE_SESSION_EPOCH: "INVALID_SHARE_SESSION_EPOCH",
}  # fmt: skip
"""The errors after which a client opens a session anew."""
REMEMBERED: Final = 1_000
"""At most this many runs of records of one partition are remembered."""
_NOTE: Final = "share sessions"
Place = tuple[str, int]


class Lock(NamedTuple):
    """The lock of records that the client holds: they belong to it for `lasts` ns from the answer to `since`, which delivered them or
    renewed their lock."""

    run: Run
    since: Exchange
    lasts: int


class Records:
    """The records of one partition that were delivered in a session. `locks` has those that the client has not acknowledged, and `done`
    those that it has acknowledged last, with the request; `forgot` says that there were more. `unsure` is true if the client held more
    runs than are remembered here."""

    __slots__ = ("_highest", "done", "forgot", "locks", "unsure")

    def __init__(self) -> None:
        self.locks: list[Lock] = []
        self.done: deque[tuple[Run, Exchange]] = deque(maxlen=REMEMBERED)
        self.forgot = self.unsure = False
        self._highest = -1

    @property
    def held(self) -> list[Run]:
        return [lock.run for lock in self.locks]

    def acquires(self, run: Run, since: Exchange, lasts: int) -> None:
        self._without(run)
        self.locks.append(Lock(run, since, lasts))
        if run[0] <= self._highest:
            again = ((part, x) for done, x in self.done for part in without([done], [run]))
            self.done = deque(again, maxlen=REMEMBERED)
        if len(self.locks) > REMEMBERED:
            self.unsure, self.locks = True, []

    def renews(self, run: Run, since: Exchange, lasts: int) -> None:
        """Note that the broker has renewed the locks of records that the client still holds."""
        again = [max(run[0], lock.run[0]) for lock in self.locks if overlap(lock.run, run)]
        ends = [min(run[1], lock.run[1]) for lock in self.locks if overlap(lock.run, run)]
        self._without(run)
        self.locks += [Lock(part, since, lasts) for part in zip(again, ends, strict=True)]

    def _without(self, run: Run) -> None:
        self.locks = [lock._replace(run=part) for lock in self.locks for part in without([lock.run], [run])]

    def acknowledges(self, run: Run, x: Exchange) -> None:
        self._without(run)
        self.forgot = self.forgot or len(self.done) == REMEMBERED
        self.done.append((run, x))
        self._highest = max(self._highest, run[1])


class ShareSession:
    """The share session of one member. `epoch` is that of its next request (None: unknown), and `told` the request whose answer says so.
    `late` is the last acknowledgement that came after the end of a lock, unless one in time followed."""

    __slots__ = ("epoch", "late", "records", "said", "told")

    def __init__(self) -> None:
        self.late: Exchange | None = None
        self.said: Exchange | None = None
        self.epoch: int | None = None
        self.told: Exchange | None = None
        self.records: dict[Place, Records] = {}

    def says(self, x: Exchange) -> None:
        """Note that the client sent a request. Nothing is known of the next epoch before its answer."""
        self.said, self.epoch, self.told = x, None, None
        for place, run, types in acknowledged(x):
            if RENEW not in types:
                self.records.setdefault(place, Records()).acknowledges(run, x)

    def hears(self, x: Exchange, answer: Json) -> None:
        """Note that the client got the answer to a request."""
        error, said = int(answer["error_code"]), int(x.asked["share_session_epoch"])
        if self.said is x and error in BEGIN_ANEW:
            self.epoch, self.told = OPENING, x
        elif self.said is x and not error:
            self.epoch, self.told = 1 if said == LARGEST_EPOCH else said + 1, x
        since, lasts = x.bare(), int(answer.get("acquisition_lock_timeout_ms") or 0) * NS_PER_MS
        for place, run, types in acknowledged(x):
            if RENEW in types and place in self.records and not refused_in(x, place):
                self.records[place].renews(run, since, lasts)
        for topic in answer["responses"] if x.key == SHARE_FETCH else ():
            for row in topic["partitions"]:
                for run in row["acquired_records"]:
                    found = self.records.setdefault((str(topic["topic_id"]), int(row["partition_index"])), Records())
                    found.acquires((int(run["first_offset"]), int(run["last_offset"])), since, lasts)


def session_of(x: Exchange) -> ShareSession | None:
    """Return the session that a ShareFetch or ShareAcknowledge belongs to, or None if it was not opened on this connection."""
    found: ShareSession | None = _sessions(x.link).get(_key(x))
    return found


def says(x: Exchange) -> None:
    """Note a ShareFetch or ShareAcknowledge."""
    sessions, epoch = _sessions(x.link), int(x.asked["share_session_epoch"])
    if epoch == OPENING:
        sessions[_key(x)] = ShareSession()
    session = sessions.get(_key(x))
    if session is not None:
        session.says(x)
        if epoch == FINAL:
            del sessions[_key(x)]


def hears(x: Exchange, answer: Json) -> None:
    """Note the answer to a ShareFetch or ShareAcknowledge."""
    session = session_of(x)
    if session is not None and int(x.asked["share_session_epoch"]) != FINAL:
        session.hears(x, answer)


def acknowledged(x: Exchange) -> Iterator[tuple[Place, Run, list[int]]]:
    """Yield the acknowledgements in a request: partition, first and last offset, and their types."""
    for topic in x.asked["topics"] or ():
        for row in topic["partitions"]:
            for batch in row["acknowledgement_batches"]:
                place = str(topic["topic_id"]), int(row["partition_index"])
                yield place, (int(batch["first_offset"]), int(batch["last_offset"])), list(batch["acknowledge_types"])


def refused_in(x: Exchange, place: Place) -> bool:
    """Return whether the answer refuses the request's acknowledgements in a partition, or all of them."""
    if x.answer is None or x.error:
        return True
    name = "acknowledge_error_code" if x.key == SHARE_FETCH else "error_code"
    rows = ((str(topic["topic_id"]), int(row["partition_index"]), row) for topic in x.answer["responses"] for row in topic["partitions"])
    return any(int(row[name]) for topic_id, index, row in rows if (topic_id, index) == place)


def overlap(one: Run, other: Run) -> bool:
    return one[0] <= other[1] and other[0] <= one[1]


def _sessions(link: Link) -> dict[tuple[str, str], ShareSession]:
    return link.note(_NOTE, dict)


def _key(x: Exchange) -> tuple[str, str]:
    return str(x.asked["group_id"]), str(x.asked["member_id"])
