"""Repeating heartbeats of consumer groups from a lease changes nothing that clients, journal or group can observe."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from properties.consumer_leases import CONNECTIONS, CONSUMER_LEASES, FORMS, MEMBERS, SUBSCRIPTIONS, Side, play
from searching import examples

from groupmock.rig import KeptRows

whos = st.integers(0, MEMBERS - 1)
beats = st.tuples(st.just("beats"), whos, st.sampled_from(FORMS), st.integers(0, CONNECTIONS - 1), st.sampled_from([1, 1, 2, 5]))
steps = st.one_of(
    beats,
    beats,
    beats,
    st.tuples(st.just("join"), whos, st.sampled_from(sorted(SUBSCRIPTIONS))),
    st.tuples(st.just("wait"), st.sampled_from([1, 1900, 9999, 10_001, 20_001])),
    st.tuples(st.sampled_from(["leave", "freeze", "thaw"]), whos),
    st.tuples(st.sampled_from(["grow", "topic", "rule", "no rule"])),
    st.tuples(st.just("interval"), st.sampled_from([6000, 7000])),
)
SETTLED: list[Any] = [["join", 0, "names"], ["beats", 0, "keep", 0, 1]]

AGAIN: list[Any] = 4 * [["beats", 0, "keep", 0, 1]]
NEWS: list[Any] = [step for news in (["interval", 7000], ["grow"], ["freeze", 0], ["thaw", 0]) for step in (news, *AGAIN)]


@pytest.mark.property
@example(True, [*SETTLED, ["beats", 0, "late", 1, 2], ["beats", 0, "soon", 0, 1], ["beats", 0, "late", 1, 1]])
@example(False, [["join", 0, "regex"], *6 * [["wait", 4000], ["beats", 0, "keep", 0, 1]]])
@example(False, [*SETTLED, ["rule"], ["beats", 0, "keep", 0, 2], ["no rule"], ["beats", 0, "keep", 0, 2]])
@example(True, [*SETTLED, *NEWS])
@examples(80)
@given(st.booleans(), st.lists(steps, min_size=3, max_size=16))
def test_consumer_leases_on_equal_consumer_leases_off(every: bool, script: list[Any]) -> None:
    CONSUMER_LEASES.check({"every": every, "steps": [["join", 0, "names"], *script]})


def test_heartbeats_of_consumer_groups_are_repeated() -> None:
    side = Side(True, every=True)
    play(side, [*SETTLED, ["beats", 0, "keep", 0, 90]])
    assert side.rig.driver.counters.repeated_heartbeats == 90
    rows = [row for row in side.kept.of("reply") if row.api_key == 68]
    assert len(rows) == 92


class Minding(KeptRows):
    """Keeps rows like an audit, which must receive every heartbeat of consumer groups."""

    pulse = True


def test_a_sink_that_minds_each_heartbeat_of_a_consumer_group_has_each() -> None:
    side, sink = Side(True, every=False), Minding()
    side.rig.journal.add(sink)
    play(side, [*SETTLED, ["beats", 0, "keep", 0, 30]])
    assert [len([row for row in kept.of("reply") if row.api_key == 68]) for kept in (sink, side.kept)] == [32, 1]
    assert side.rig.driver.counters.repeated_heartbeats == 0
