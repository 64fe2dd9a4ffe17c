"""Runs of records are put together and taken away as the sets of their offsets are."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from groupmock.rounds.record_runs import Run, joined, without

RUNS = st.lists(st.tuples(st.integers(0, 20), st.integers(0, 5)).map(lambda each: (each[0], each[0] + each[1])), max_size=6)


def offsets(runs: list[Run]) -> set[int]:
    return {offset for first, last in runs for offset in range(first, last + 1)}


@given(RUNS)
def test_joined_runs_have_the_same_offsets_and_gaps_between_them(runs: list[Run]) -> None:
    found = joined(runs)
    assert offsets(found) == offsets(runs)
    assert all(one[1] + 1 < other[0] for one, other in pairwise(found))


@given(RUNS, RUNS)
def test_runs_without_others_have_the_other_offsets(runs: list[Run], gone: list[Run]) -> None:
    assert offsets(without(runs, gone)) == offsets(runs) - offsets(gone)
