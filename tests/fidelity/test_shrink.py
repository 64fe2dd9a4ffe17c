"""shrink() finds the shortest script for predicates whose shortest script is known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from groupmock_clients.probe.language.exchange import Send, Step
from groupmock_clients.probe.language.syntax import Literal, Sequence
from tools.fidelity.compare.shrink import shrink
from tools.fidelity.generated.script import Script, given, pause, request, told

Holds = Callable[[list[Step]], bool]


def asked(client: str, number: int, **fields: Any) -> Send:
    return request(client, 12, 4, {"generation_id": number, **fields})


def shrunk(steps: list[Step], holds: Holds) -> tuple[list[Step], int]:
    """Return the steps of the shortest script and the number of plays that shrinking took."""
    plays = 0

    def differs(smaller: Script) -> bool:
        nonlocal plays
        plays += 1
        assert smaller.steps, "an empty script is never played"
        return holds(smaller.steps)

    script = shrink(Script("groups", 1, "4.3", "plain", steps), differs)
    return script.steps, plays


def numbers(steps: list[Step]) -> list[int]:
    said = [given(step, "generation_id") for step in steps if isinstance(step, Send)]
    return [each.value for each in said if isinstance(each, Literal) and isinstance(each.value, int)]


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
    steps, _ = shrunk([pause(1), asked("A", 1), pause(700), asked("B", 2)], lambda left: pause(700) in left and 2 in numbers(left))
    assert steps == [pause(700), asked("B", 2)]


def test_elements_of_lists_that_do_not_matter_are_left_out() -> None:
    def holds(left: list[Step]) -> bool:
        names = given(left[0], "groups") if isinstance(left[0], Send) else None
        return isinstance(names, Sequence) and Literal("c") in names.items

    assert shrunk([request("A", 15, 4, {"groups": ["a", "b", "c", "d"]})], holds)[0] == [request("A", 15, 4, {"groups": ["c"]})]


def test_references_to_what_is_left_out_become_null() -> None:
    first, second = replace(asked("A", 1), bound="one"), replace(asked("A", 2), bound="two")
    speaks = [asked("A", 3, member_id=told("one", "error_code")), asked("A", 4, member_id=told("B", "member_id"))]
    steps, _ = shrunk([asked("B", 0), first, second, *speaks], lambda left: {2, 3, 4} <= set(numbers(left)))
    nothing = replace(speaks[0], fields=tuple((name, Literal(None) if name == "member_id" else value) for name, value in speaks[0].fields))
    assert steps[1] == nothing
    assert isinstance(steps[2], Send) and given(steps[2], "member_id") == Literal(None)
