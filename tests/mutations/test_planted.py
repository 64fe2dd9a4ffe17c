"""The planted mistakes for the simulation match the source files and cover every category, and the recorded run found each of them."""

from __future__ import annotations

import json
from collections import Counter

from groupmock_clients.simulation.plan import EVERY_KIND
from tools.mutations import planted as sources
from tools.search import planted

LEAST = {"work": 3, "memory": 3, "fairness": 2, "liveness": 4, "protocol": 6, "history": 5, "bytes": 3}


def test_every_planted_mistake_stands_once_in_the_sources() -> None:
    stale = []
    for each in planted.load():
        try:
            sources.check(each.mutation)
        except sources.Stale as said:
            stale.append(str(said))
    assert not stale, "\n".join(stale)


def test_planted_mistakes_are_of_every_sort() -> None:
    listed = planted.load()
    counted = Counter(each.about for each in listed)
    assert len(listed) >= 30 and set(counted) == set(planted.ABOUT)
    assert all(counted[about] >= least for about, least in LEAST.items()), counted
    assert {each.kind for each in listed} <= {None, *EVERY_KIND}


def test_the_recorded_run_found_every_planted_mistake() -> None:
    rows = json.loads(planted.RECORD.read_text(encoding="utf-8"))["planted"]
    assert [each.mutation.name for each in planted.load()] == list(rows)
    assert [name for name, row in rows.items() if row.get("judge") is None] == []
