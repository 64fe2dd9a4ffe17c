"""shrink() on predicates whose shortest script is known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tools.fidelity.compare.shrink import shrink
from tools.fidelity.script.script import Pause, Script, Send, Step

Holds = Callable[[list[Step]], bool]


def asked(client: str, number: int, **fields: Any) -> Send:
    return Send(client, 12, 4, {"generation_id": number, **fields})


def shrunk(steps: list[Step], holds: Holds) -> tuple[list[Step], int]:
    """The shortest script's steps, and how many plays it took."""
    plays = 0

    def differs(smaller: Script) -> bool:
        nonlocal plays
        plays += 1
        assert smaller.steps, "an empty script is never played"
        return holds(smaller.steps)

    script = shrink(Script("groups", 1, "4.3", "plain", steps), differs)
    return script.steps, plays


def numbers(steps: list[Step]) -> list[int]:
    return [step.fields["generation_id"] for step in steps if isinstance(step, Send)]


LONG: list[Step] = [asked("ABC"[number % 3], number) for number in range(24)]


def test_two_steps_that_matter_together_are_what_is_left() -> None:
    steps, plays = shrunk(LONG, lambda left: {5, 16} <= set(numbers(left)))
    assert numbers(steps) == [5, 16]
    assert plays < 3 * len(LONG)


def test_the_first_and_the_last_step_can_matter() -> None:
    assert numbers(shrunk(LONG, lambda left: {0, 23} <= set(numbers(left)))[0]) == [0, 23]


def test_where_everything_matters_everything_is_left() -> None:
    assert shrunk(LONG, lambda left: left == LONG)[0] == LONG


def test_a_pause_that_matters_is_kept_and_others_are_not() -> None:
    steps, _ = shrunk([Pause(1), asked("A", 1), Pause(700), asked("B", 2)], lambda left: Pause(700) in left and 2 in numbers(left))
    assert steps == [Pause(700), asked("B", 2)]


def test_elements_of_lists_that_do_not_matter_are_left_out() -> None:
    steps, _ = shrunk([asked("A", 1, protocols=["a", "b", "c", "d"])], lambda left: "c" in getattr(left[0], "fields", {})["protocols"])
    assert steps == [asked("A", 1, protocols=["c"])]


def test_references_move_along_with_what_is_left() -> None:
    steps, _ = shrunk(
        [asked("B", 0), asked("A", 1), asked("A", 2, member_id={"$": "#1.member_id"})], lambda left: {1, 2} <= set(numbers(left))
    )
    assert steps == [asked("A", 1), asked("A", 2, member_id={"$": "#0.member_id"})]
