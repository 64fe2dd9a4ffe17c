"""What compare() reports, and what it evens out: each test changes one thing in one side of an equal pair."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import msgspec
from cases import for_each

from tools.fidelity.compare.canonical import Difference, canonical, compare
from tools.fidelity.play.core_player import play
from tools.fidelity.script.script import Pause, Script, Send, Step, TopicNeed
from tools.fidelity.script.transcript import ANSWERED, PARKED, Event, Facts, TopicFact, Transcript, imagined

HEARTBEAT = Send("A", 12, 4, {"group_id": {"group": 1}, "generation_id": 1, "member_id": "m"})
SCRIPT = Script("groups", 3, "4.3", "plain", [HEARTBEAT, Pause(10), HEARTBEAT], 1, [TopicNeed(2)])
FACTS = Facts("4.3", "plain", 1, "h", 1, "c", "/h", 0, ["d3-1"], [TopicFact("shared-1-2", b"\1" * 16, 2)], "d3")


def pair() -> tuple[Transcript, Transcript]:
    """Two equal plays."""
    first = play(SCRIPT)
    return first, deepcopy(first)


def paths(found: list[Difference]) -> list[tuple[int, str]]:
    return [(each.step, each.path) for each in found]


def even(key: int, answer: dict[str, Any], *, release: str = "4.3", **fields: Any) -> Any:
    facts = msgspec.structs.replace(FACTS, release=release)
    return canonical(Send("A", key, 0, fields), Event(status=ANSWERED, answer=answer), facts)


def test_equal_plays_are_equal() -> None:
    assert compare(SCRIPT, *pair()) == []


def test_a_changed_field_is_told_with_both_values() -> None:
    real, ours = pair()
    real.events[2].answer = {"throttle_time_ms": 0, "error_code": 22}
    (found,) = compare(SCRIPT, real, ours)
    assert str(found) == "step 2 (api 12 v4): error_code: Kafka 22, ours 25"
    assert found.seed == SCRIPT.seed


def test_a_field_that_one_side_lacks_is_told() -> None:
    real, ours = pair()
    real.events[0].answer = {"error_code": 25}
    assert paths(compare(SCRIPT, real, ours)) == [(0, "answer")]


def test_a_list_of_another_length_is_told_as_a_whole() -> None:
    real, ours = pair()
    described = real.events[3].answer
    assert described is not None
    described["groups"] = []
    assert paths(compare(SCRIPT, real, ours)) == [(3, "groups")]


@for_each("which", ["real", "ours"])
def test_a_missing_answer_is_told(which: str) -> None:
    real, ours = pair()
    event = (real if which == "real" else ours).events[0]
    event.status, event.answer, event.answered_ms = PARKED, None, None
    (found,) = compare(SCRIPT, real, ours)
    assert found.path == "status"
    assert (found.real if which == "real" else found.ours) == PARKED


def test_what_is_no_request_is_as_it_is() -> None:
    step: Step = Pause(5)
    assert canonical(step, Event(), imagined(SCRIPT)) is None
