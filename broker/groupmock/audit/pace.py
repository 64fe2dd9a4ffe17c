"""Judge how soon a client repeats a request that was refused with a retriable error.

One quick repetition proves nothing, because a timer may have been due just then, or an application may have made the same request twice. So
a loop counts only after several immediate repetitions. The broker must have answered immediately too, because a client that receives late
answers then sends its overdue requests.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from groupmock_codec.api_keys import (
    CONSUMER_GROUP_HEARTBEAT,
    FIND_COORDINATOR,
    HEARTBEAT,
    JOIN_GROUP,
    LEAVE_GROUP,
    METADATA,
    OFFSET_COMMIT,
    OFFSET_FETCH,
    SYNC_GROUP,
    TXN_OFFSET_COMMIT,
)
from groupmock_codec.error_codes import error_name
from groupmock_codec.units import NS_PER_MS

from .judgement import KEPT, Broken, Judgements

if TYPE_CHECKING:
    from .subjects import Exchange

PACED: Final = (
    JOIN_GROUP, SYNC_GROUP, HEARTBEAT, LEAVE_GROUP, OFFSET_COMMIT, OFFSET_FETCH, TXN_OFFSET_COMMIT, CONSUMER_GROUP_HEARTBEAT,
    FIND_COORDINATOR, METADATA,
)  # fmt: skip
"""The APIs whose requests are judged when they are repeated."""
AT_ONCE_NS: Final = 20 * NS_PER_MS
"""A pause shorter than this between an answer and a repetition of its request counts as no pause (the Java client's is 100 ms)."""
ROUND_NS: Final = 50 * NS_PER_MS
"""Repetitions are only judged if they follow each other within this time, including the broker's time."""
ROUNDS: Final = 3
"""This many immediate repetitions count as a loop."""

ROUNDS_OF_COMMITS: Final = 12
"""This many commits may follow each other closely, because an application may commit the same offsets repeatedly (auto-commit with
nothing new), each with a backoff of its own."""


class Streak:
    """A refused request with its errors, and the rows of the repetitions that followed without a pause."""

    __slots__ = ("errors", "last", "rows")

    def __init__(self, last: Exchange, errors: frozenset[int], rows: tuple[int, ...]) -> None:
        self.last, self.errors, self.rows = last, errors, rows


Streaks = dict[int, Streak]
"""Maps API keys to the connection's last refused request of that API."""


def refused(streaks: Streaks, x: Exchange, codes: frozenset[int]) -> None:
    """Note the errors in the answer to a request. One of these errors begins or continues a streak; any other answer ends it."""
    before = streaks.pop(x.key, None)
    if x.heard and x.errors & codes:
        rows = before.rows if before is not None and before.last is x else ()
        streaks[x.key] = Streak(x, x.errors & codes, (*rows, *x.rows))


def again(streaks: Streaks, x: Exchange) -> Judgements:
    """Judge whether a request repeats the refused request without a pause."""
    streak = streaks.get(x.key)
    if streak is None or x.waited_since(streak.last) < 0:
        return  # No request was refused, or this request was sent before the refusal arrived.
    last, waited = streak.last, x.waited_since(streak.last)
    if (x.version, x.asked) != (last.version, last.asked):
        del streaks[x.key]
    elif waited >= AT_ONCE_NS or x.received - last.received >= ROUND_NS:
        del streaks[x.key]
        yield KEPT
    else:
        streak.last = x
        rounds = ROUNDS_OF_COMMITS if x.key == OFFSET_COMMIT else ROUNDS
        if len(streak.rows) == 2 * rounds:
            rows, streak.rows = streak.rows, ()
            error = " or ".join(error_name(code) for code in sorted(streak.errors))
            yield Broken(
                f"{x.who} had {x.name} refused with {error} and sent the same again at once, {rounds} times in a row, the last time after "
                f"{waited / NS_PER_MS:.1f} ms",
                (*rows, x.seq),
                "a pause before each new try (retry.backoff.ms, 100 ms in the Java client), a longer one after each refusal",
            )
