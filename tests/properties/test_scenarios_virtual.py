"""Every scenario keeps its invariants with random sizes and seeds on the virtual clock, loses no record, and repeats none for a
CooperativeConsumer."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from properties.scenarios import SCENARIO, case_of
from searching import examples

from groupmock_clients.scenarios.catalogue import SCENARIOS, VIRTUAL, plays
from groupmock_clients.scenarios.play import Protocol, Sizes, Speaks

ONE_BOUNCE = tuple(replace(each, bounces=(Speaks.BOTH,)) for each in VIRTUAL if each.design and not each.twin)


@st.composite
def sizes(draw: st.DrawFn) -> Sizes:
    """Draw sessions and delays of all proportions, and a delay that is long enough for a process to return."""
    members = draw(st.integers(3, 9))
    heartbeat = draw(st.sampled_from([50, 200, 500]))
    startup = draw(st.sampled_from([10, 400, 1500]))
    return Sizes(
        members=members,
        partitions=draw(st.integers(1, 30)),
        change=draw(st.integers(1, members - 1)),
        heartbeat_ms=heartbeat,
        session_ms=heartbeat * draw(st.integers(3, 10)),
        startup_ms=startup,
        absence_ms=draw(st.sampled_from([0, 300])),
        delay_ms=draw(st.sampled_from([1, 2, 5])) * 2 * (startup + heartbeat + 400),
        max_moves=draw(st.integers(1, 4)),
        move_interval_ms=draw(st.sampled_from([1, 300, 2000])),
        initial_delay_ms=draw(st.sampled_from([200, 1000])),
        metadata_ms=draw(st.sampled_from([100, 1000])),
        commit_ms=draw(st.sampled_from([100, 1000])),
        rate=draw(st.sampled_from([0.0, 1.0, 50.0])),
        seed=draw(st.integers(0, 2**32)),
    )


@pytest.mark.property
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda each: each.name)
@examples(8)
@given(data=st.data())
def test_any_group(scenario, data) -> None:
    protocol: Protocol = data.draw(st.sampled_from([each for each in (*VIRTUAL, *ONE_BOUNCE) if plays(scenario, each)]))
    SCENARIO.check(case_of(scenario, protocol, data.draw(sizes())))
