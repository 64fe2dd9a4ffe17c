"""A difference is reported if it appears again in a second play, called unstable if it does not, and counted if it is already recorded."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any, cast

import pytest
from cases import for_each

from tools.fidelity.compare.canonical import Difference
from tools.fidelity.compare.counts import Counts, outcome
from tools.fidelity.compare.exchange_run import CHANCES, REPEATS, ComparisonRequest, ExchangeRun
from tools.fidelity.generated.script import Script, group, request
from tools.fidelity.generated.transcript import ANSWERED, CLOSED, PARKED, Event, imagined
from tools.fidelity.guided.core_player import CorePlayer, play
from tools.fidelity.guided.guided_player import Played
from tools.fidelity.guided.peer import Peer

SCRIPT = Script("groups", 9, "3.9", "plain", [request("A", 12, 2, {"group_id": group(1), "generation_id": 1, "member_id": "m"})])
REFUSED = Script("groups", 9, "3.9", "plain", [request("A", 11, 2), request("A", 13, 2, {"group_id": group(1), "member_id": "m"})])
CODE = Difference(0, "error_code", 25, 0, 12, 2, 9)
LEADER = Difference(0, "leader", "a", "b", 11, 2, 9)
RECORDED = Difference(1, "status", "closed", "answered", 13, 2, 9)
"""The recorded difference of REFUSED, whose JoinGroup the broker answered with UNKNOWN_SERVER_ERROR (-1)."""


class Staged(ExchangeRun):
    """A run with prepared plays: each is a list of differences, or None for a play on a machine that was too slow."""

    def __init__(self, *plays: list[Difference] | None) -> None:
        super().__init__(cast(Peer, None), ComparisonRequest("groups", "3.9", (9, 10)), io.StringIO())
        self._plays: Iterator[list[Difference] | None] = iter(plays)

    def _play(self, script: Script) -> tuple[Played | None, list[Difference]]:
        found = next(self._plays)
        if found is None:
            return None, []
        core = CorePlayer(script, imagined(script))
        real = play(script)
        if script is REFUSED:
            real.events[0].answer = {"error_code": -1}
        return Played(real, core.transcript(), set(), 0.0, False), found


def judged(*plays: list[Difference] | None, script: Script = SCRIPT) -> tuple[list[Difference], Counts]:
    run = Staged(*plays)
    return run.one(script), run.counts


def test_equal_is_played_once_and_counted() -> None:
    found, counts = judged([])
    assert (found, counts.exchanges, counts.unstable, counts.differences) == ([], 1, [], [])


def test_what_differs_three_times_differs() -> None:
    found, counts = judged(*[[CODE]] * REPEATS)
    assert found == counts.differences == [CODE]
    assert counts.differing == {(12, 2): 1}


@for_each("plays", [[[CODE], []], [[CODE], [CODE], []], [[CODE], None]])
def test_what_does_not_repeat_is_unstable_once(plays: list[list[Difference] | None]) -> None:
    found, counts = judged(*plays)
    assert (found, counts.unstable, counts.differences) == ([], [SCRIPT.seed], [])


def test_what_follows_from_ids_counts_when_it_comes_once_more() -> None:
    assert judged([LEADER], [], [], [LEADER])[0] == [LEADER]
    found, counts = judged([LEADER], *[[]] * CHANCES)
    assert (found, counts.unstable) == ([], [SCRIPT.seed])


def test_what_is_recorded_is_counted_and_no_difference() -> None:
    found, counts = judged([RECORDED], script=REFUSED)
    assert (found, counts.recorded) == ([], {"second-answer-to-a-refused-join": 1})


def test_what_looks_recorded_without_its_cause_differs() -> None:
    found, counts = judged(*[[RECORDED]] * REPEATS)
    assert (found, counts.recorded) == ([RECORDED], {})


def test_what_follows_a_recorded_break_of_the_connection_is_another_story() -> None:
    found, counts = judged([CODE, RECORDED, LEADER], *[[CODE]] * REPEATS, script=REFUSED)
    assert (found, counts.recorded) == ([CODE], {"second-answer-to-a-refused-join": 1})
    assert judged([RECORDED, CODE], script=REFUSED)[0] == []


def test_a_machine_that_is_too_slow_judges_nothing() -> None:
    found, counts = judged(None)
    assert (found, counts.unstable, counts.exchanges) == ([], [SCRIPT.seed], 0)


def queued_behind_a_join(rebalance_timeout_ms: int) -> CorePlayer:
    """Play a commit behind a JoinGroup on one connection; the commit waits until the join is answered, and the time to sync starts
    there."""
    join = {
        "group_id": group(1), "session_timeout_ms": 30_000, "rebalance_timeout_ms": rebalance_timeout_ms, "member_id": "",
        "protocol_type": "consumer", "protocols": [{"name": "range", "metadata": b""}],
    }  # fmt: skip
    commit: dict[str, Any] = {"group_id": group(1), "generation_id_or_member_epoch": -1, "member_id": "", "topics": []}
    script = Script("groups", 9, "4.3", "plain", [request("A", 11, 2, join), request("A", 8, 4, commit)])
    player = CorePlayer(script, imagined(script))
    for at, step in enumerate(script.steps):
        player.play(step, at)
    player.advance(1000)
    assert [event.status for event in player.events] == [ANSWERED, ANSWERED]
    return player


@for_each(("rebalance_timeout_ms", "chance"), [(1, True), (10_000, False)])
def test_a_queued_request_that_meets_a_deadline_is_noticed(rebalance_timeout_ms: int, chance: bool) -> None:
    assert queued_behind_a_join(rebalance_timeout_ms).crowded is chance


@for_each(("chance", "judged"), [(True, False), (False, True)])
def test_a_difference_that_is_chance_is_none(monkeypatch: pytest.MonkeyPatch, chance: bool, judged: bool) -> None:
    real = play(SCRIPT)
    real.events[0].answer = {"error_code": 99}

    def played(script: Script, peer: Peer) -> Played:
        return Played(real, play(script), set(), 0.0, chance)

    monkeypatch.setattr("tools.fidelity.compare.exchange_run.play", played)
    run = ExchangeRun(cast(Peer, None), ComparisonRequest("groups", "3.9", (9, 10)), io.StringIO())
    found = run.one(SCRIPT)
    assert (bool(found), run.counts.unstable) == (judged, [] if judged else [SCRIPT.seed])


@for_each(
    ("event", "word"),
    [
        (Event(status=PARKED), "parked"),
        (Event(status=CLOSED), "closed"),
        (Event(status=ANSWERED, answer={"error_code": 25}), "25"),
        (Event(status=ANSWERED, answer={"groups": []}), "0"),
        (Event(status=ANSWERED, answer={"error_code": 0, "topics": [{"partitions": [{"error_code": 3}, {"error_code": 0}]}]}), "0+3"),
    ],
)
def test_an_outcome_in_a_word(event: Event, word: str) -> None:
    assert outcome(event) == word
