"""Every verb that reads journals copes with damaged lines."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from properties.dirty_journals import DIRTY_JOURNALS
from searching import examples

LINE = st.integers(0, 79)
PLACE = st.integers(0, 3000)
BYTE = st.sampled_from([0x00, 0x0A, 0x0D, 0x22, 0x5C, 0x7B, 0x80, 0xC3, 0xE2, 0xED, 0xF0, 0xFF]) | st.integers(0, 255)
JSON = st.sampled_from(
    [
        "null", "true", "-1", "0", "1e400", "1.5", "9" * 400, "1" + "0" * 30, "-9223372036854775809", "18446744073709551616", '""', '"x"',
        '"\\ud800"', '"\\u0000"', '"\\u001b[2J"', '"99"', "[]", "{}", "[" * 2000 + "]" * 2000, '{"a":' * 2000 + "1" + "}" * 2000, '"AAAA"',
        '"!"', '"Stable"', '"Dead"', '"Empty"', '"member"', '"moved"', '"request"', '"reply"', '"close"', '"command"', '"note"', '"fault"',
    ]
)  # fmt: skip
STEP = st.one_of(
    st.tuples(st.sampled_from(["byte", "insert"]), LINE, PLACE, BYTE),
    st.tuples(st.just("cut"), LINE, PLACE),
    st.tuples(st.sampled_from(["drop", "twice"]), LINE),
    st.tuples(st.just("swap"), LINE, LINE),
    st.tuples(st.just("value"), LINE, st.integers(0, 60), JSON),
).map(list)


@pytest.mark.property
@examples(25, deadline=None)
@given(st.sampled_from(["aiokafka", "struck"]), st.lists(STEP, min_size=1, max_size=6))
def test_dirty_journals_are_read_by_every_verb(journal: str, steps: list[list[Any]]) -> None:
    DIRTY_JOURNALS.check({"journal": journal, "lines": 80, "steps": steps})
