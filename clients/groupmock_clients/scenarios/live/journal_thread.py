"""Read the journal of a live run on a thread of its own while the broker writes it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final

from groupmock.journal.follow import Follower
from groupmock.rounds import Rebalances
from groupmock_codec.api_keys import (
    CONSUMER_GROUP_HEARTBEAT,
    FETCH,
    HEARTBEAT,
    JOIN_GROUP,
    LEAVE_GROUP,
    STREAMS_GROUP_HEARTBEAT,
    SYNC_GROUP,
)

from ..play import Row

EVERY_S: Final = 0.05
GROUP_APIS: Final = frozenset({JOIN_GROUP, HEARTBEAT, LEAVE_GROUP, SYNC_GROUP, CONSUMER_GROUP_HEARTBEAT, STREAMS_GROUP_HEARTBEAT})


class JournalThread:
    """Reads journal rows as the file grows. `rows`, `group` and `counts` (topic -> partitions) are updated and `changed` is notified. Hold
    `changed` to look at them.

    `connected(client_id, port, role)` is called once for every connection and role (`group`, `data`) that its requests show.
    """

    def __init__(self, path: Path, group: str, connected: Callable[[str, int, str], None]) -> None:
        self.rows: list[Row] = []
        self._rebalances = Rebalances(group)
        self.group, self.counts = self._rebalances.groups[group], self._rebalances.counts
        self.changed = threading.Condition()
        self._connected = connected
        self._ports: dict[int, int] = {}
        self._known: set[tuple[int, str]] = set()
        self._follower = Follower(path)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="journal", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Read the rest of the file, then stop."""
        self._ended.set()
        self._thread.join()
        self._follower.close()

    def _follow(self) -> None:
        while not self._ended.wait(EVERY_S):
            self._read()
        self._read()

    def _read(self) -> None:
        rows = self._follower.json_rows()
        if rows:
            with self.changed:
                self.rows += rows
                for row in rows:
                    self._rebalances.feed(row)
                self.changed.notify_all()
            for row in rows:
                self._connection(row)

    def _connection(self, row: Row) -> None:
        if row["kind"] == "open":
            self._ports[row["connection"]] = row["client_port"]
        elif row["kind"] == "request":
            role = "group" if row["api_key"] in GROUP_APIS else "data" if row["api_key"] == FETCH else ""
            if role and (row["connection"], role) not in self._known:
                self._known.add((row["connection"], role))
                self._connected(str(row.get("client_id")), self._ports[row["connection"]], role)
