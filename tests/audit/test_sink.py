"""An audit attached to a running cluster reports the same as an audit of its journal, although it never sees repeated heartbeats."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from fault_script import Run
from hypothesis import given
from hypothesis import strategies as st
from properties.leases import MEMBERS, Side, play
from searching import examples
from witness import Beside, figures, told_of
from witness import witness as witness

from groupmock.audit.verdicts import BROKEN, KEPT

ROWS = re.compile(r"\([0-9, ]*\)")
SEEDS = 60
SHARES = 2


@pytest.mark.usefixtures("witness")
@pytest.mark.parametrize("share", range(SHARES))
def test_whatever_rules_and_holds_there_are(tmp_path: Path, share: int) -> None:
    repeated = beaten = 0
    for seed in range(20_000 + share, 20_000 + SEEDS, SHARES):
        run = Run(seed, tmp_path / "j.jsonl", chaos=seed % 3 > 0)
        beside = Beside(run.driver, run.clock)
        run.play()
        told, audit = told_of(tmp_path / "j.jsonl")
        assert beside.told() == told, f"seed {seed}"
        assert figures(beside.sink.audit()) == figures(audit), f"seed {seed}"
        repeated += run.driver.counters.repeated_heartbeats
        beaten += sum("Heartbeat v" in sentence for _, sentence, _, _ in told)
    assert repeated > 50 and beaten > 100, f"{repeated} heartbeats were repeated, {beaten} judged: the script proves nothing"


correlations = st.integers(0, 3)
oddities = st.sampled_from(["", "", "", "", "ghost", "client", "trailing"])
places = st.integers(0, MEMBERS - 1)
steps = st.one_of(
    st.tuples(st.just("beats"), places, st.lists(correlations, min_size=1, max_size=4)),
    st.tuples(
        st.just("mixed"),
        places,
        st.lists(st.tuples(correlations, st.sampled_from([4, 4, 4, 0]), oddities), min_size=1, max_size=4),
        st.one_of(st.just(0), st.integers(1, 400)),
    ),
    st.tuples(st.just("wait"), st.sampled_from([1, 332, 333, 334, 600, 1001])),
    st.tuples(st.just("leave"), places),
    st.tuples(st.just("join"), places),
)


@pytest.mark.property
@pytest.mark.usefixtures("witness")
@examples(60)
@given(st.lists(steps, min_size=3, max_size=16), st.booleans())
def test_whatever_heartbeats_come_and_when(
    tmp_path_factory: pytest.TempPathFactory, script: list[tuple[object, ...]], leases: bool
) -> None:
    folder = tmp_path_factory.mktemp("audited")
    side = Side(folder / "j.jsonl", leases)
    beside = Beside(side.driver, side.clock)
    side.connect()
    play(side, script)
    side.rig.close()
    # An audit does not ask for repeated heartbeats, so without a journal file the cluster writes no rows for most of them.
    alone = Side(folder / "alone.jsonl", leases)
    alone.driver.journal.remove(alone.sink)
    only = Beside(alone.driver, alone.clock)
    alone.connect()
    play(alone, script)
    alone.rig.close()
    told, _ = told_of(folder / "j.jsonl")
    assert beside.told() == told
    assert list(map(_unnumbered, only.told())) == list(map(_unnumbered, beside.told()))


def _unnumbered(told: tuple[int, str, str, object]) -> tuple[int, str]:
    return told[0], ROWS.sub("()", told[1])


@pytest.mark.parametrize("leases", [True, False])
@pytest.mark.parametrize(("pause_ms", "is_blamed"), [(1, True), (100, False)])
def test_heartbeats_without_rows_are_counted_as_those_of_a_file_are(tmp_path: Path, leases: bool, pause_ms: int, is_blamed: bool) -> None:
    """A running audit gets no row of most of these heartbeats, which a file has."""
    script = [*[("beats", 0, [0]), ("wait", pause_ms)] * 300, ("wait", 1000), ("beats", 0, [0])]
    side = Side(tmp_path / "j.jsonl", leases)
    alone = Side(tmp_path / "alone.jsonl", leases)
    alone.driver.journal.remove(alone.sink)
    audits = []
    for each in (side, alone):
        beside = Beside(each.driver, each.clock)
        each.connect()
        play(each, script)
        each.rig.close()
        audits.append(figures(beside.sink.audit()))
    _, audit = told_of(tmp_path / "j.jsonl")
    assert audits == [figures(audit)] * 2
    assert audit.rules["CLIENT-72"].verdict == (BROKEN if is_blamed else KEPT)
