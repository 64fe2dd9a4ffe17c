"""Keeps the share sessions of nodes. A session has the partitions that a member fetches there, and the epoch of its next request.

A session belongs to a group and a member id, of which nothing else need exist. It ends with a request of epoch -1, or with the connection
that opened it. In Kafka: ShareSessionCache, ShareSessionContext.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Final

import msgspec

from groupmock_codec import error_codes
from groupmock_codec.error_codes import error_name

from ..budget import OverBudget

INITIAL: Final = 0
FINAL: Final = -1
INT_MAX: Final = 2**31 - 1
MOST_NAME_BYTES: Final = 16 << 20
"""The most characters that the names of the sessions of a node may have together. Kafka has no such limit."""
MOST_SLOTS: Final = 500_000
"""The most partitions that the sessions of a node may have together, each of which takes about 200 bytes. Kafka has no such limit."""
Slot = tuple[bytes, int]
"""A partition of a session, by topic id and number."""


class SessionRefused(Exception):
    """The request has a wrong session epoch, so the whole answer is this error."""

    def __init__(self, code: int) -> None:
        super().__init__(error_name(code))
        self.code = code


class ShareSession(msgspec.Struct, eq=False):
    """The session of one member on one node. `slots` are in the order in which they are fetched, each with the name of its topic, or None
    if no topic had that id."""

    group_id: str
    member_id: str
    node: int
    connection: int
    slots: dict[Slot, str | None] = {}
    due: set[Slot] = set()
    """The partitions that the next answer names although it has no records of them, because they have joined the session since, or had an
    error (CachedSharePartition.requiresUpdateInResponse)."""
    epoch: int = 1
    closed: bool = False

    def in_order(self, epoch: int, tried: Container[Slot]) -> list[Slot]:
        """Return the partitions in the order in which the request with this epoch fetches them: those that are tried in turn, and then the
        others (SG-189)."""
        slots = [slot for slot in self.slots if slot in tried]
        first = epoch % len(slots) if slots and epoch > 0 else 0
        return slots[first:] + slots[:first] + [slot for slot in self.slots if slot not in tried]

    def gave(self, slots: Iterable[Slot]) -> None:
        """Move partitions that gave records to the end, so that the others are not starved."""
        for slot in slots:
            if slot in self.slots:
                self.slots[slot] = self.slots.pop(slot)


class ShareSessions:
    """The sessions of one node, at most `most` of them."""

    def __init__(self, node: int, most: int) -> None:
        self.node = node
        self.most = most
        self._sessions: dict[str, dict[str, ShareSession]] = {}
        self._opened: dict[int, dict[tuple[str, str], ShareSession]] = {}
        self._latest: dict[int, str] = {}
        """The group of the session that was opened on each connection last, which may be closed since."""
        self._count = 0
        self._name_bytes = 0
        self.slot_count = 0
        """The number of partitions of all sessions."""

    def __len__(self) -> int:
        return self._count

    @property
    def full(self) -> bool:
        """True if no further session may be opened: there are as many as allowed, or their groups and members have very long names."""
        return self._count >= self.most or self._name_bytes > MOST_NAME_BYTES

    def find(self, group_id: str, member_id: str) -> ShareSession | None:
        return self._sessions.get(group_id, {}).get(member_id)

    def has_group(self, group_id: str) -> bool:
        """Return whether a member of the group has a session."""
        return group_id in self._sessions

    def all(self) -> list[ShareSession]:
        return [session for of_group in self._sessions.values() for session in of_group.values()]

    def opened_on(self, connection: int) -> list[ShareSession]:
        """Return the sessions that were opened on the connection and are not closed."""
        return list(self._opened.get(connection, {}).values())

    def latest_on(self, connection: int) -> str | None:
        """Return the group whose session was opened on the connection last, and forget it."""
        return self._latest.pop(connection, None)

    def open(self, group_id: str, member_id: str, connection: int) -> ShareSession:
        """Open a session for the member; the former one must have been removed."""
        session = ShareSession(group_id, member_id, self.node, connection)
        self._sessions.setdefault(group_id, {})[member_id] = session
        self._opened.setdefault(connection, {})[group_id, member_id] = session
        self._latest[connection] = group_id
        self._count += 1
        self._name_bytes += len(group_id) + len(member_id)
        return session

    def require(self, group_id: str, member_id: str, epoch: int) -> ShareSession:
        """Return the session to which a request belongs. Raises SessionRefused."""
        session = self.find(group_id, member_id)
        if session is None:
            raise SessionRefused(error_codes.SHARE_SESSION_NOT_FOUND)
        if epoch not in (FINAL, session.epoch):
            raise SessionRefused(error_codes.INVALID_SHARE_SESSION_EPOCH)
        return session

    def add(self, session: ShareSession, slot: Slot, name: str | None) -> None:
        """Add a partition to a session, which does not have it."""
        session.slots[slot] = name
        self.slot_count += 1

    def forget(self, session: ShareSession, slot: Slot) -> None:
        """Remove a partition from a session, if it has it."""
        if slot in session.slots:
            del session.slots[slot]
            self.slot_count -= 1
        session.due.discard(slot)

    def check_room(self, partitions: int) -> None:
        """Refuse a request after which the sessions could have too many partitions. Raises OverBudget."""
        if self.slot_count + partitions > MOST_SLOTS:
            raise OverBudget(
                f"the share sessions of this node have {self.slot_count} partitions, and {partitions} more could make more than "
                f"{MOST_SLOTS}: forget partitions, or close sessions"
            )

    def went_on(self, session: ShareSession) -> None:
        """Count a request of the session. The largest epoch is followed by 1, because 0 opens a session."""
        session.epoch = session.epoch + 1 if session.epoch < INT_MAX else 1

    def remove(self, session: ShareSession) -> None:
        session.closed = True
        of_group = self._sessions[session.group_id]
        del of_group[session.member_id]
        if not of_group:
            del self._sessions[session.group_id]
        opened = self._opened[session.connection]
        del opened[session.group_id, session.member_id]
        if not opened:
            del self._opened[session.connection]
        self._count -= 1
        self.slot_count -= len(session.slots)
        self._name_bytes -= len(session.group_id) + len(session.member_id)
