"""With the heartbeat lease on, clients get the same bytes and a journal file the same lines as with the lease off."""

from __future__ import annotations

import asyncio

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from properties.leases import LEASES, MEMBERS, Side, beat
from searching import examples

correlations = st.one_of(st.integers(-(2**31), 2**31 - 1), st.integers(0, 3))
oddities = st.sampled_from(["", "", "", "", "", "", "ghost", "client", "trailing"])
places = st.integers(0, MEMBERS - 1)
steps = st.one_of(
    st.tuples(st.just("beats"), places, st.lists(correlations, min_size=1, max_size=5)),
    st.tuples(st.just("beats"), places, st.lists(correlations, min_size=1, max_size=1)),
    st.tuples(
        st.just("mixed"),
        places,
        st.lists(st.tuples(correlations, st.sampled_from([4, 4, 4, 0]), oddities), min_size=1, max_size=5),
        # The number is the position at which the bytes are cut in two; 0 means that they are not cut.
        st.one_of(st.just(0), st.integers(1, 400)),
    ),
    st.tuples(st.just("wait"), st.sampled_from([1, 600, 600, 1001])),
    st.tuples(st.just("leave"), places),
    st.tuples(st.just("join"), places),
)


@pytest.mark.property
@example([("beats", 0, [1]), ("mixed", 0, [(2, 4, "ghost")], 0)])
@example([("beats", 0, [1]), ("mixed", 0, [(2, 4, ""), (3, 4, ""), (4, 4, "ghost"), (5, 4, "")], 0)])
@example([("beats", 0, [1]), ("mixed", 0, [(2, 4, ""), (3, 4, ""), (4, 4, "trailing"), (5, 4, "")], 0)])
@examples(200)
@given(st.lists(steps, min_size=2, max_size=14))
def test_lease_on_equals_lease_off_byte_for_byte(script):
    LEASES.check({"steps": script})


def test_the_lease_is_used_at_all(tmp_path):
    async def one() -> None:
        side = Side(tmp_path / "j", True)
        side.join(0)
        for correlation in range(10):
            beat(side, 0, [correlation])
        beat(side, 0, list(range(90)))
        assert side.driver.counters.repeated_heartbeats == 99
        rows = [msgspec.json.decode(line) for line in side.lines().splitlines()[1:]]
        assert [row["seq"] for row in rows] == list(range(1, len(rows) + 1))
        assert len([row for row in rows if row["kind"] == "reply" and row["api_key"] == 12]) == 100

    asyncio.run(one())
