"""Hostile inputs that were recorded from real Kafka brokers get the same answers and the same end of the connection here.

Recorded by `python -m tools.fidelity bytes --record` against real brokers.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.fidelity.compare.bytes_run import corpus_file, load, ours
from tools.fidelity.compare.reaction import reaction
from tools.fidelity.families.bytes_family import KINDS

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
RELEASES = ("4.3", "3.9")
FEWEST = 400


@pytest.mark.parametrize("release", RELEASES)
def test_kafkas_reactions_are_ours(release: str) -> None:
    different = []
    for number, kept in enumerate(load(corpus_file(GOLDEN, release))):
        mine = reaction(ours(release, kept.writes), kept.writes, kept.token)
        if mine != kept.reaction:
            sent = [data.hex() for data in kept.writes]
            different.append(f"{number} {kept.name}: {sent}\n  Kafka {kept.reaction}\n  ours  {mine}")
    assert not different, f"{len(different)} differ:\n" + "\n".join(different[:5])


@pytest.mark.parametrize("release", RELEASES)
def test_every_class_of_input_is_there(release: str) -> None:
    names = [kept.name for kept in load(corpus_file(GOLDEN, release))]
    assert len(names) >= FEWEST
    assert set(names) == set(KINDS)


def test_a_falsified_reaction_is_noticed() -> None:
    kept = next(kept for kept in load(corpus_file(GOLDEN, "4.3")) if kept.reaction["end"] == "closed")
    mine = reaction(ours("4.3", kept.writes), kept.writes, kept.token)
    assert mine == kept.reaction
    assert mine != {**kept.reaction, "end": "open"}
    assert mine != {**kept.reaction, "answers": [*kept.reaction["answers"], {"key": 18, "version": 0, "error_code": 0}]}
