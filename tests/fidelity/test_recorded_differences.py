"""A recorded difference covers exactly the differences that its entry describes."""

from __future__ import annotations

from typing import Any

import msgspec
from cases import for_each

from tools.fidelity.compare.canonical import Difference
from tools.fidelity.compare.recorded_differences import Recorded, RequestKind, asked_before, known_as
from tools.fidelity.generated.script import Script, act, pause, raw, request
from tools.fidelity.generated.transcript import ANSWERED, Event, Transcript, imagined

ROW = Recorded("x", "log", ["3.9"], 44, r"responses\[\d+\]\.error_code", "why", versions=[0, 1], real="42")
SEEN: dict[str, Any] = {"step": 1, "path": "responses[3].error_code", "real": 42, "ours": 17, "key": 44, "version": 1}


def test_it_covers_what_it_says() -> None:
    assert ROW.covers("log", "3.9", Difference(**SEEN))


@for_each(
    "otherwise",
    [{"path": "responses[3].error_code.more"}, {"path": "a.responses[3].error_code"}, {"real": 421}, {"key": 33}, {"version": 2}],
    ids=str,
)
def test_it_covers_nothing_beside_it(otherwise: dict[str, object]) -> None:
    assert not ROW.covers("log", "3.9", Difference(**{**SEEN, **otherwise}))


def test_it_may_say_what_is_ours() -> None:
    ours = msgspec.structs.replace(ROW, ours="17")
    assert [ours.covers("log", "3.9", Difference(**{**SEEN, "ours": each})) for each in (17, 18)] == [True, False]


@for_each(("family", "release"), [("groups", "3.9"), ("log", "4.3")])
def test_it_holds_for_its_family_and_releases(family: str, release: str) -> None:
    assert not ROW.covers(family, release, Difference(**SEEN))


REFUSED: list[RequestKind] = [(11, 79), (11, -1)]


def closed(step: int, key: int) -> Difference:
    return Difference(step, "status", "closed", "answered", key, 2)


def test_a_difference_is_known_by_its_id_on_its_releases() -> None:
    one = known_as("groups", "3.9", closed(4, 13), REFUSED)
    assert one is not None
    assert one.id == "second-answer-to-a-refused-join"
    assert known_as("groups", "4.3", closed(4, 13), REFUSED) is None


@for_each("before", [[], [(11, 0)], [(11, None)], [(14, -1)]], ids=str)
def test_without_what_causes_it_it_is_another(before: list[RequestKind]) -> None:
    assert known_as("groups", "3.9", closed(4, 13), before) is None


def test_a_broken_connection_is_found_broken_by_the_next_request() -> None:
    one = known_as("groups", "3.9", closed(5, 8), [*REFUSED, (13, 0)])
    assert one is not None
    assert one.id == "second-answer-to-a-refused-join"
    assert known_as("groups", "3.9", closed(5, 8), [*REFUSED, (13, 0), (12, 25)]) is None
    assert known_as("groups", "3.9", closed(5, 8), [(13, 0)]) is None


def test_what_was_asked_before_is_what_the_same_connection_asked() -> None:
    steps = [
        request("A", 13, 3),
        request("B", 11, 1),
        pause(10),
        request("A", 8, 7),
        request("A", 12, 1, link="A/2"),
        raw("A", b""),
        request("A", 9, 1),
        act("A", "reconnects"),
        request("A", 9, 1),
    ]
    script = Script("groups", 1, "3.9", "plain", [*steps])
    answers: list[dict[str, Any]] = [{"error_code": at} if at != 3 else {"topics": []} for at in range(len(steps))]
    real = Transcript(imagined(script), [Event(status=ANSWERED, answer=answer) for answer in answers])
    assert [asked_before(script, real, index) for index in (-1, *range(len(steps) + 1))] == [
        [],
        *[[]] * 3,
        [(13, 0)],
        [],
        [(13, 0), (8, None)],
        [(13, 0), (8, None), (-1, 5)],
        [(13, 0), (8, None), (-1, 5), (9, 6)],
        [],
        [],
    ]
