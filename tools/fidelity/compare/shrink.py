"""Shrink a script that differs: leave out clients, then runs of steps, then single steps, then elements of lists."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from groupmock_clients.probe.language.exchange import Pause, Send
from groupmock_clients.probe.language.syntax import Expr, Sequence

from ..generated.script import Script, client_of, without

Differs = Callable[[Script], bool]


def shrink(script: Script, differs: Differs) -> Script:
    """Return the smallest script found that the broker still answers differently than the core. `differs` plays a smaller script."""
    for client in script.clients():
        gone = {index for index, step in enumerate(script.steps) if not isinstance(step, Pause) and client_of(step) == client}
        script = _smaller(script, without(script, gone), differs)
    size = max(len(script.steps) // 2, 1)
    while size:
        for at in range(len(script.steps) - size, -size, -size):
            script = _smaller(script, without(script, set(range(max(at, 0), at + size))), differs)
        size //= 2
    for index in range(len(script.steps)):
        script = _lists(script, index, differs)
    return script


def _smaller(script: Script, smaller: Script, differs: Differs) -> Script:
    """Return the smaller script if it has fewer steps and the broker still answers it differently, and the original otherwise."""
    return smaller if smaller.steps and len(smaller.steps) < len(script.steps) and differs(smaller) else script


def _lists(script: Script, index: int, differs: Differs) -> Script:
    """Leave out elements of a step's lists (topics, members, protocols, groups) that do not matter for the difference."""
    at = 0
    while (fewer := _with_one_less(script, index, at)) is not None:
        if differs(fewer):
            script = fewer
        else:
            at += 1
    return script


def _with_one_less(script: Script, index: int, at: int) -> Script | None:
    """Return the script without the list element number `at` of that step, counted through all its lists, or None if there are no more."""
    step = script.steps[index]
    places = list(_places(step.fields)) if isinstance(step, Send) else []
    if not isinstance(step, Send) or at >= len(places):
        return None
    name, place = places[at]
    fields = tuple((each, _cut(value, place) if each == name else value) for each, value in step.fields)
    return replace(script, steps=[*script.steps[:index], replace(step, fields=fields), *script.steps[index + 1 :]])


def _places(fields: tuple[tuple[str, Expr], ...]) -> Iterator[tuple[str, int]]:
    yield from ((name, at) for name, value in fields if isinstance(value, Sequence) for at in range(len(value.items)))


def _cut(value: Expr, place: int) -> Expr:
    assert isinstance(value, Sequence)
    return Sequence(value.items[:place] + value.items[place + 1 :])
