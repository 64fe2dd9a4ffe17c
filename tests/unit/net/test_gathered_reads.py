"""Reads of one iteration of the loop are handled together, with the same result as one by one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from properties.gathered import GATHERED, MEMBERS, Clients
from searching import examples

from groupmock.net import gathering

places = st.integers(0, MEMBERS - 1)
sends = st.one_of(
    *(st.tuples(st.just(kind), places) for kind in ("join", "join", "sync", "sync", "leave", "finish", "hang up")),
    st.tuples(st.just("beats"), places, st.integers(1, 3)),
    st.tuples(st.just("cut"), places, st.integers(1, 40)),
)
turns = st.one_of(st.lists(sends, max_size=6), st.tuples(st.just("wait"), st.sampled_from([1, 600, 1001])))
EVERYBODY = range(MEMBERS)
SETTLED: list[Any] = [
    [("join", place) for place in EVERYBODY],
    [("join", place) for place in EVERYBODY],
    ("wait", 20),
    [],
    [("sync", place) for place in EVERYBODY],
    [("beats", place, 1) for place in EVERYBODY],
]
"""The turns in which all members get an id, join, get their assignments and begin to repeat heartbeats."""


@pytest.mark.property
@example([*SETTLED, [("leave", 0), ("beats", 1, 1), ("beats", 2, 2)]])
@example([*SETTLED, [("beats", 0, 1), ("beats", 0, 1), ("hang up", 0), ("beats", 1, 1)]])
@example([*SETTLED, [("cut", 0, 10), ("beats", 1, 3), ("finish", 1), ("join", 2)], ("wait", 1001)])
@examples(150)
@given(st.lists(turns, min_size=1, max_size=10).map(lambda more: [*SETTLED, *more]))
def test_gathered_reads_equal_reads_handled_at_once(script):
    GATHERED.check({"turns": script})


def test_reads_wait_for_the_end_of_the_iteration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gathering, "FROM_CONNECTIONS", 0)
    clients = Clients(tmp_path / "j", gathers=True)
    clients.send("join", 0)
    clients.send("join", 1)
    assert not clients.wires[0].data and len(clients.rig.driver.reads) == 2
    clients.loop.turn()
    assert clients.wires[0].data and clients.wires[1].data and not clients.rig.driver.reads


def test_few_connections_are_answered_at_once(tmp_path: Path) -> None:
    clients = Clients(tmp_path / "j", gathers=True)
    clients.send("join", 0)
    assert clients.wires[0].data


def test_a_timer_comes_after_what_was_read_before_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Heartbeats that were read save their members, although the sessions have expired when the reads are handled."""
    monkeypatch.setattr(gathering, "FROM_CONNECTIONS", 0)
    clients = Clients(tmp_path / "j", gathers=True)
    clients.play(SETTLED)
    clients.rig.driver.use_leases(False)
    clients.rig.sleep(999)
    for place in EVERYBODY:
        clients.send("beats", place, 1)
    clients.rig.sleep(2)
    group = clients.rig.core.cluster.groups.find("g")
    assert group is not None and [member in group.members for member, _ in clients.members] == [True] * MEMBERS
