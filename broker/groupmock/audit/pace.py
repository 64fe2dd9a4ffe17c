"""Judge how soon a client repeats a request that was refused with a retriable error.

One quick repetition proves nothing, because a timer may have been due just then, or an application may have made the same request twice. So
a loop counts only after several repetitions. They are counted from the first refusal, because a grace that began again with each refusal
would never end for a client that repeats every 40 ms. The broker must have answered immediately too, because a client that receives late
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
    SHARE_GROUP_HEARTBEAT,
    STREAMS_GROUP_HEARTBEAT,
    SYNC_GROUP,
    TXN_OFFSET_COMMIT,
)
from groupmock_codec.error_codes import error_name
from groupmock_codec.units import NS_PER_MS

from .judgement import KEPT, SLOW_BROKER, Broken, Judgements

if TYPE_CHECKING:
    from .subjects import Exchange

PACED: Final = (
    JOIN_GROUP, SYNC_GROUP, HEARTBEAT, LEAVE_GROUP, OFFSET_COMMIT, OFFSET_FETCH, TXN_OFFSET_COMMIT, CONSUMER_GROUP_HEARTBEAT,
    STREAMS_GROUP_HEARTBEAT, FIND_COORDINATOR, METADATA,
)  # fmt: skip
"""The APIs whose requests are judged when they are repeated."""
AT_ONCE_NS: Final = 20 * NS_PER_MS
"""A pause shorter than this between an answer and a repetition of its request counts as no pause (the Java client's is 100 ms)."""
ROUNDS: Final = 3
"""This many immediate repetitions count as a loop."""
BACKOFF_NS: Final = 80 * NS_PER_MS
"""A pause of this length ends a loop: clients back off for 100 ms, less their random fifth."""
HASTY_NS: Final = 50 * NS_PER_MS
HASTY_ROUNDS: Final = 10
"""This many repetitions count as a loop too if they follow each other within HASTY_NS on average, counted from the first refusal."""
BROKER_NS: Final = 30 * NS_PER_MS
"""A repetition is only judged if the broker took less time than this for the refusal."""

ROUNDS_OF_COMMITS: Final = 12
"""This many commits may follow each other closely, because an application may commit the same offsets repeatedly (auto-commit with
nothing new), each with a backoff of its own."""
TIMED: Final = frozenset(
    (HEARTBEAT, CONSUMER_GROUP_HEARTBEAT, SHARE_GROUP_HEARTBEAT, STREAMS_GROUP_HEARTBEAT, OFFSET_COMMIT, TXN_OFFSET_COMMIT)
)
"""The APIs whose pace is a setting of the application (heartbeat.interval.ms, auto.commit.interval.ms), so that HASTY_NS does not count."""


class Streak:
    """A request that was refused and is repeated. `first` is the first of these requests and `last` the last one, `errors` are those of the
    last answer, `times` counts the repetitions since `first`, and `rows` are those of the last requests that followed each other without a
    pause."""

    __slots__ = ("errors", "first", "last", "rows", "times")

    def __init__(self, first: Exchange) -> None:
        self.first = self.last = first
        self.errors: frozenset[int] = frozenset()
        self.times = 0
        self.rows: tuple[int, ...] = ()


Streaks = dict[int, Streak]
"""Maps API keys to the connection's last refused request of that API."""


def note_refusal(x: Exchange, rule: str, codes: frozenset[int]) -> None:
    """Note the errors in the answer to a request, as what the rule remembers about its connection. One of these errors begins or continues
    a streak; any other answer ends it."""
    streaks: Streaks = x.link.notes.pop(rule, {})
    streak = streaks.pop(x.key, None)
    if x.heard and x.errors & codes:
        if streak is None or streak.last is not x:
            streak = Streak(x)
        streak.errors = x.errors & codes
        streak.rows = (*streak.rows, *x.rows)
        streaks[x.key] = streak
    if streaks:
        x.link.notes[rule] = streaks


def again(streaks: Streaks, x: Exchange) -> Judgements:
    """Judge whether a request repeats the refused request without a pause."""
    streak = streaks.get(x.key)
    if streak is None or x.waited_since(streak.last) < 0:
        return  # No request was refused, or this request was sent before the refusal arrived.
    last, waited = streak.last, x.waited_since(streak.last)
    is_late = last.answered is None or last.answered - last.received >= BROKER_NS
    if (x.version, x.asked) != (last.version, last.asked):
        del streaks[x.key]
    elif is_late:
        del streaks[x.key]
        yield SLOW_BROKER
    elif waited >= BACKOFF_NS:
        del streaks[x.key]
        yield KEPT
    else:
        streak.last = x
        streak.times += 1
        if waited >= AT_ONCE_NS:
            streak.rows = ()
        yield from _loop(streak, x)


def _loop(streak: Streak, x: Exchange) -> Judgements:
    """Judge a streak by its repetitions so far, of which the request is the last."""
    rows = streak.rows
    within = (x.received - streak.first.received) // NS_PER_MS
    if len(rows) == 2 * (ROUNDS_OF_COMMITS if x.key == OFFSET_COMMIT else ROUNDS):
        times, how = len(rows) // 2, "at once"
    elif streak.times == HASTY_ROUNDS and x.key not in TIMED:
        times, how, rows = HASTY_ROUNDS, f"within {within} ms", streak.first.rows
        if within * NS_PER_MS >= HASTY_ROUNDS * HASTY_NS:
            streak.first, streak.times = x, 0
            return
    else:
        return
    streak.first, streak.times, streak.rows = x, 0, ()
    error = " or ".join(error_name(code) for code in sorted(streak.errors))
    yield Broken(
        f"{x.who} had {x.name} refused with {error} and sent the same again {how}, {times} times in a row",
        (*rows, x.seq),
        "a pause before each new try (retry.backoff.ms, 100 ms in the Java client), a longer one after each refusal",
    )
