"""Properties of the audit: unrelated traffic changes no verdict, a journal may end anywhere, and missing rows blame nobody."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from properties.audits import APART, HOLES, PREFIX, RULES, playable
from searching import examples

KINDS = ("kept", "broken")
codes = st.sampled_from(sorted(RULES))
kinds = st.sampled_from(KINDS)
begins = st.integers(0, 3_000)
holes = st.lists(st.tuples(st.integers(0, 60), st.integers(1, 20)), min_size=1, max_size=4)


def test_the_examples_that_can_be_played_for_any_group() -> None:
    """Only a few examples of rules cannot be played for a group of any name, so the property tests leave them out."""
    for which in KINDS:
        assert len(playable(which)) >= 0.8 * len(RULES), set(RULES) - set(playable(which))


@st.composite
def journals(draw: Any) -> list[tuple[str, str, int]]:
    """Draw two or three examples of rules, each with its starting time."""
    which = draw(st.lists(kinds, min_size=2, max_size=3))
    return [(draw(st.sampled_from(playable(each))), each, draw(begins)) for each in which]


@pytest.mark.property
@examples(120)
@given(journals(), st.integers(0, 2**31))
def test_groups_that_have_nothing_in_common_are_judged_apart(drawn: list[tuple[str, str, int]], ties: int) -> None:
    APART.check({"journals": [list(each) for each in drawn], "ties": ties})


@pytest.mark.property
@examples(200)
@given(codes, kinds, st.integers(0, 80))
def test_a_journal_may_end_anywhere(code: str, which: str, rows: int) -> None:
    PREFIX.check({"journal": [code, which], "rows": rows})


@pytest.mark.property
@examples(300)
@given(codes, holes)
def test_rows_that_are_missing_make_nobody_guilty(code: str, missing: list[tuple[int, int]]) -> None:
    HOLES.check({"journal": [code], "holes": [list(each) for each in missing]})
