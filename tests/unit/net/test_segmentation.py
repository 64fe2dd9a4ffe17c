"""However the bytes are cut and whenever the core answers, each connection gets its answers in the order of its requests."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from properties.segments import SEGMENTS
from searching import examples

kinds = st.lists(st.sampled_from([18, 18, 12, 12, 12, 11, 3]), min_size=1, max_size=12)
cuts = st.lists(st.integers(1, 60), max_size=25)


@pytest.mark.property
@examples(200)
@given(st.lists(st.tuples(kinds, cuts), min_size=1, max_size=3), st.integers(0, 2**31), st.integers(200, 5000))
def test_answers_come_in_order_whatever_the_segments(plans, order, read_ahead):
    SEGMENTS.check({"plans": plans, "order": order, "read_ahead": read_ahead})
