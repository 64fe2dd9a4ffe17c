"""Incremental fetch sessions (KIP-227) remember what a client has requested and received, so that both sides only send changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

import msgspec

from groupmock_codec import error_codes
from groupmock_codec.error_codes import error_name
from groupmock_codec.messages.k01_fetch import FetchPartition, FetchRequest, PartitionData

from ..dice import Dice

NO_SESSION: Final = 0
INITIAL_EPOCH: Final = 0
FINAL_EPOCH: Final = -1
# This is a constant of Kafka: KafkaServer.MIN_INCREMENTAL_FETCH_SESSION_EVICTION_MS.
EVICTION_MS: Final = 120_000
INT_MAX: Final = 2**31 - 1
IDS_SINCE: Final = 13  # Since this Fetch version, requests name topics by id.

Key = tuple[str | bytes, int]
NameOf = Callable[[bytes], str | None]


class Slot(msgspec.Struct, gc=False):
    """One partition of a fetch, with its last request and, in a session, the last answer."""

    topic: str | None  # The topic is None if no topic has the requested id.
    topic_id: bytes
    partition: int
    fetch_offset: int
    max_bytes: int
    current_leader_epoch: int
    last_fetched_epoch: int
    told_high_watermark: int = -1
    told_log_start: int = -1

    def ask(self, newer: Slot) -> None:
        """Take over the offsets and limits of a later request of the session for this partition."""
        self.fetch_offset, self.max_bytes = newer.fetch_offset, newer.max_bytes
        self.current_leader_epoch, self.last_fetched_epoch = newer.current_leader_epoch, newer.last_fetched_epoch

    def news(self, found: PartitionData) -> bool:
        """True if `found` differs from the last answer (records, high watermark, log start, error). The method also stores `found` as
        the last answer."""
        # A partition's error is sent each time, and resets the stored answer, so that the partition is also sent once when the error is
        # gone: otherwise the client would not notice (FetchSession.CachedPartition.maybeUpdateResponseData).
        if found.error_code:
            self.told_high_watermark = -1
            return True
        changed = bool(found.records) or found.diverging_epoch.epoch >= 0 or found.preferred_read_replica >= 0
        changed |= (found.high_watermark, found.log_start_offset) != (self.told_high_watermark, self.told_log_start)
        self.told_high_watermark, self.told_log_start = found.high_watermark, found.log_start_offset
        return changed


class Session(msgspec.Struct):
    """A fetch session of one client (KIP-227). The next request of the session must have its `epoch`. Times are wall clock ms."""

    session_id: int
    uses_ids: bool
    slots: dict[Key, Slot]
    created: int
    used: int
    epoch: int = 1


class Context(msgspec.Struct):
    """The partitions that a fetch reads, and its session: the existing one of an incremental fetch, or with `create` a new one after a
    full fetch."""

    slots: dict[Key, Slot]
    session: Session | None = None
    create: bool = False


class SessionRefused(Exception):
    """The fetch has a wrong session id or epoch, so the whole answer is this error."""

    def __init__(self, code: int) -> None:
        super().__init__(error_name(code))
        self.code = code


class FetchSessions:
    """The fetch sessions of one node, limited to `slots` sessions (max.incremental.fetch.session.cache.slots)."""

    def __init__(self, dice: Dice, slots: int) -> None:
        self._dice = dice
        self._room = slots
        self._sessions: dict[int, Session] = {}

    def __len__(self) -> int:
        return len(self._sessions)

    def size(self, session_id: int) -> int:
        """Return how many partitions the session has, or 0 if the session does not exist."""
        session = self._sessions.get(session_id)
        return 0 if session is None else len(session.slots)

    def partitions(self, session_id: int) -> Iterator[tuple[str | None, bytes, int]]:
        """Yield (topic name or None, topic id, partition) for each partition of the session."""
        session = self._sessions.get(session_id)
        return ((slot.topic, slot.topic_id, slot.partition) for slot in (session.slots.values() if session is not None else ()))

    def context(self, request: FetchRequest, version: int, name_of: NameOf, wall_ms: int) -> Context:
        """Return the partitions that a fetch reads, and its session. Raises SessionRefused with 70, 71 or 106."""
        if request.session_epoch in (INITIAL_EPOCH, FINAL_EPOCH):
            # A client that starts over no longer uses its session, which would otherwise take a slot until its eviction (KIP-227).
            self._sessions.pop(request.session_id, None)
            return Context(_slots_of(request, version, name_of), create=request.session_epoch == INITIAL_EPOCH)
        session = self._sessions.get(request.session_id)
        if session is None:
            raise SessionRefused(error_codes.FETCH_SESSION_ID_NOT_FOUND)
        if session.epoch != request.session_epoch:
            raise SessionRefused(error_codes.INVALID_FETCH_SESSION_EPOCH)
        # A session stores partitions by topic name or by topic id, so a client that changes between the two begins a new session (KIP-516).
        if session.uses_ids != (version >= IDS_SINCE):
            raise SessionRefused(error_codes.FETCH_SESSION_TOPIC_ID_ERROR)
        self._update(session, request, version, name_of)
        if not session.slots:
            del self._sessions[session.session_id]
            return Context(_slots_of(request, version, name_of))  # If all slots are taken, Kafka serves the fetch without a session.
        session.used = wall_ms
        # The largest epoch is followed by 1, because 0 requests a new session (FetchMetadata.nextEpoch).
        session.epoch = session.epoch + 1 if session.epoch < INT_MAX else 1
        return Context(session.slots, session)

    def finish(
        self, context: Context, rows: list[tuple[Slot, PartitionData]], version: int, wall_ms: int
    ) -> tuple[int, list[tuple[Slot, PartitionData]]]:
        """Return the session id and the rows to send: all rows of a full fetch, but only changed rows of an incremental fetch. Creates
        the session that was asked for."""
        session = context.session
        if session is not None:
            sent = [(slot, found) for slot, found in rows if slot.news(found)]
            for slot, found in sent:
                if found.records:  # A partition with records moves to the end, so that max bytes does not starve the other partitions.
                    key = _key(slot, session.uses_ids)
                    if session.slots.pop(key, None) is not None:
                        session.slots[key] = slot
            return session.session_id, sent
        if not context.create or not self._make_room(len(rows), wall_ms):
            return NO_SESSION, rows
        for slot, found in rows:
            slot.news(found)
        uses_ids = version >= IDS_SINCE
        slots = {_key(slot, uses_ids): slot for slot, _ in rows}  # The session stores the partitions in the order of the answer.
        session = Session(self._new_id(), uses_ids, slots, wall_ms, wall_ms)
        self._sessions[session.session_id] = session
        return session.session_id, rows

    def _update(self, session: Session, request: FetchRequest, version: int, name_of: NameOf) -> None:
        for key, slot in _slots_of(request, version, name_of).items():
            known = session.slots.get(key)
            if known is None:
                session.slots[key] = slot
            else:
                known.ask(slot)
        for topic in request.forgotten_topics_data:
            for partition in topic.partitions:
                session.slots.pop((topic.topic_id if session.uses_ids else topic.topic, partition), None)
        for slot in session.slots.values():
            # A topic that was unknown may have been created since the session's last request.
            if slot.topic is None:
                slot.topic = name_of(slot.topic_id)

    def _make_room(self, size: int, wall_ms: int) -> bool:
        """True if the cache has room for a session of `size` partitions, perhaps after evicting a stale or a smaller session."""
        if len(self._sessions) < self._room:
            return True
        if not self._sessions:
            return False
        oldest = min(self._sessions.values(), key=lambda session: session.used)
        smallest = min(self._sessions.values(), key=lambda session: (len(session.slots), session.used))
        if wall_ms - oldest.used > EVICTION_MS:
            victim = oldest
        elif len(smallest.slots) < size and wall_ms - smallest.created > EVICTION_MS:
            victim = smallest
        else:
            return False
        del self._sessions[victim.session_id]
        return True

    def _new_id(self) -> int:
        while True:
            # A session id is never 0, which means "no session" in the protocol.
            session_id = self._dice.below(INT_MAX) + 1
            if session_id not in self._sessions:
                return session_id


def _key(slot: Slot, uses_ids: bool) -> Key:
    return (slot.topic_id if uses_ids else slot.topic or "", slot.partition)


def _slots_of(request: FetchRequest, version: int, name_of: NameOf) -> dict[Key, Slot]:
    by_id = version >= IDS_SINCE
    found: dict[Key, Slot] = {}
    for topic in request.topics:
        name = name_of(topic.topic_id) if by_id else topic.topic
        for slot in _slots(name, topic.topic_id, topic.partitions):
            found[_key(slot, by_id)] = slot
    return found


def _slots(name: str | None, topic_id: bytes, wanted: Iterable[FetchPartition]) -> Iterable[Slot]:
    for each in wanted:
        yield Slot(
            topic=name,
            topic_id=topic_id,
            partition=each.partition,
            fetch_offset=each.fetch_offset,
            max_bytes=each.partition_max_bytes,
            current_leader_epoch=each.current_leader_epoch,
            last_fetched_epoch=each.last_fetched_epoch,
        )
