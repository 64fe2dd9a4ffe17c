"""The families that cross several areas generate what they are for."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import Final

import pytest
from cases import for_each

from groupmock_clients.probe.language.exchange import Pause, Send
from tools.fidelity.compare.counts import outcome
from tools.fidelity.families import RELEASES, family
from tools.fidelity.generated.script import Script, key_of, ms_of
from tools.fidelity.generated.settings_classes import BROKERS
from tools.fidelity.generated.transcript import imagined
from tools.fidelity.guided.core_player import STEP_MS, CorePlayer, play
from tools.fidelity.on_kafka import COUNTS, CROSSED, runs

SEEDS: Final = range(50)
SEEN: Final = {
    "migrations": {
        (28, "0"),
        (28, "25"),
        (26, "0"),
        (9, "88"),
        (42, "0"),
        (42, "68"),
        (47, "0"),
        (47, "86"),
        (68, "0"),
        (69, "69"),
        (11, "0"),
    },
    "regexes": {(19, "0"), (20, "0"), (37, "0"), (68, "0"), (68, "128"), (68, "110"), (69, "0")},
    "lies": {(68, "-1"), (68, "69"), (68, "110"), (8, "25"), (8, "100"), (8, "113"), (8, "22"), (14, "0"), (11, "23"), (69, "0")},
}
"""Pairs of an API and an error code that plays of the family must contain."""


@cache
def scripts(name: str) -> list[Script]:
    return [family(name)(seed, "4.4") for seed in SEEDS]


@for_each("name", CROSSED)
def test_a_crossed_family_meets_its_errors(name: str) -> None:
    seen = Counter[tuple[int, str]]()
    for script in scripts(name):
        steps = zip(script.steps, play(script).events, strict=False)
        seen.update((key_of(step), code) for step, event in steps if isinstance(step, Send) for code in outcome(event).split("+"))
    assert SEEN[name] - seen.keys() == set()


def test_groups_change_their_type_while_transactions_hold_offsets() -> None:
    """In many exchanges a group with pending offsets becomes one of the other type, and in some it is deleted."""
    changed = gone = 0
    for script in scripts("migrations"):
        before: tuple[str, bool] | None = None
        player, at_ms = CorePlayer(script, imagined(script)), 0.0
        for step in script.steps:
            at_ms += ms_of(step) if isinstance(step, Pause) else STEP_MS
            player.play(step, at_ms)
            group = player.core.cluster.groups.find(player.facts.groups[0])
            now = None if group is None else (group.group_type, bool(group.offsets.unstable))
            changed += before is not None and now is not None and before[0] != now[0] and now[1]
            gone += before is not None and before[1] and now is None
            before = now
    assert changed > len(SEEDS) / 5 and gone > 0


def test_regexes_wait_until_topics_are_looked_at_again_but_not_for_ever() -> None:
    waits = [sum(ms_of(step) for step in script.steps if isinstance(step, Pause)) for script in scripts("regexes")]
    assert max(waits) < 35_000, "a play may take 40 s"
    assert sum(wait > 10_000 for wait in waits) > len(waits) / 2


@pytest.mark.parametrize("release", BROKERS)
def test_crossed_families_are_played_where_there_are_consumer_groups(release: str) -> None:
    played = {name: run.settings for run in runs([release]) for name in run.families if name in CROSSED}
    assert played == (dict.fromkeys(CROSSED, "crossed") if release in RELEASES["lies"] else {})
    assert not played or {*CROSSED} <= COUNTS[release].keys()
