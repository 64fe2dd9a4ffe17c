"""Topics that could not be created are remembered for a time, and not too many of them."""

from __future__ import annotations

from groupmock.core.log.failed_creations import MOST, FailedCreations


def test_reason_is_forgotten_at_its_time() -> None:
    failed = FailedCreations()
    failed.note("t", "why", until=10)
    assert (failed.why("t", 9), failed.why("u", 9), failed.why("t", 10), [*failed.ends()]) == ("why", None, None, [])


def test_no_more_than_most_are_remembered() -> None:
    failed = FailedCreations()
    for number in range(MOST + 1):
        failed.note(f"t{number}", "why", until=10 + number)
    assert (failed.why("t0", 0), failed.why("t1", 0), len(failed.ends())) == (None, "why", MOST)
