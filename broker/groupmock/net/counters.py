"""The counters of the driver are plain numbers, which cost the data path nothing when metrics are read
(docs/reference/architecture.md#rule-2)."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec


class Counters(msgspec.Struct):
    """Totals since the start of the server, unless a comment says otherwise."""

    handled: int = 0  # All requests of the run, which is also the number of the last ticket.
    # Maps API keys to the number of requests that the core handled; a connection answers repeated heartbeats by itself.
    requests: dict[int, int] = {}
    replies: int = 0  # Answers to the requests that the core handled.
    # Maps (API key, Kafka's name of the error) to the number of answers with that error, if a sink wants such rows.
    errors: dict[tuple[int, str], int] = {}
    lost_replies: int = 0  # Answers that were made for a connection that was gone.
    connections_opened: int = 0
    connections_closed: int = 0
    refused: int = 0  # Connections that were closed because of the bytes they sent.
    over_budget: int = 0  # Refused connections whose request would have cost too much (core.budget).
    abandoned: int = 0  # Requests that will never be answered, so that their connections stay mute.
    faults: int = 0  # Counts how often fault rules fired.
    held_bytes: int = 0  # The bytes of incomplete or waiting requests that all connections hold at present, not in total.
    accept_failures: int = 0
    internal_errors: int = 0  # Defects of groupmock itself, each of which has a note in the journal.

    def met(self, key: int, errors: Iterable[str]) -> None:
        """Count an answer of an API once for each of its errors."""
        for name in errors:
            self.errors[key, name] = self.errors.get((key, name), 0) + 1

    @property
    def repeated_heartbeats(self) -> int:
        """Return the number of heartbeats that were answered by repeating the last answer, without asking the core."""
        return self.handled - sum(self.requests.values())
