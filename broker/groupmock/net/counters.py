"""Counters of the driver as plain numbers: a scrape reads them and costs the data path nothing (docs/reference/architecture.md#rule-2)."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec


class Counters(msgspec.Struct):
    """Totals since the start, unless a comment says otherwise."""

    handled: int = 0  # all requests; also the number of the last ticket
    requests: dict[int, int] = {}  # API key -> requests that took the full path
    replies: int = 0  # answers to these
    errors: dict[tuple[int, str], int] = {}  # API key and Kafka's name -> answers with the error, as far as a sink wants their rows
    lost_replies: int = 0  # answers made for a connection that was gone
    connections_opened: int = 0
    connections_closed: int = 0
    refused: int = 0  # connections closed because of what they sent
    over_budget: int = 0  # of these: because of what it would cost (core.budget)
    abandoned: int = 0  # requests that will never be answered; their connections stay mute
    faults: int = 0  # times that a fault rule fired
    held_bytes: int = 0  # at present: cut or waiting requests of all connections
    accept_failures: int = 0
    internal_errors: int = 0  # defects of groupmock itself: each has a note row

    def met(self, key: int, errors: Iterable[str]) -> None:
        """Count one answer of this API with each of these errors."""
        for name in errors:
            self.errors[key, name] = self.errors.get((key, name), 0) + 1

    @property
    def repeated_heartbeats(self) -> int:
        """The number of heartbeats answered under a lease."""
        return self.handled - sum(self.requests.values())
