"""Values are remembered for a time, and not too many of them."""

from __future__ import annotations

from groupmock.core.expiring import Expiring

MOST = 10


def test_value_is_forgotten_at_its_time() -> None:
    kept = Expiring[str](MOST)
    kept.note("t", "why", until=10)
    assert (kept.get("t", 9), kept.get("u", 9), kept.get("t", 10), [*kept.ends()]) == ("why", None, None, [])


def test_no_more_than_most_are_remembered() -> None:
    kept = Expiring[str](MOST)
    for number in range(MOST + 1):
        kept.note(f"t{number}", "why", until=10 + number)
    assert (kept.get("t0", 0), kept.get("t1", 0), len(kept.ends())) == (None, "why", MOST)
