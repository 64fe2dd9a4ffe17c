"""The shortest script that still differs: clients, then runs of steps, then single steps, then fields are left out."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from ..script.script import Pause, Script, Send, without

Differs = Callable[[Script], bool]


def shrink(script: Script, differs: Differs) -> Script:
    """Leave out what can be left out; `differs` plays a smaller script."""
    script = _clients(script, differs)
    size = max(len(script.steps) // 2, 1)
    while size:
        script = _runs(script, differs, size)
        size //= 2
    return _fields(script, differs)


def _clients(script: Script, differs: Differs) -> Script:
    for client in script.clients():
        gone = {index for index, step in enumerate(script.steps) if not isinstance(step, Pause) and step.client == client}
        smaller = without(script, gone)
        if smaller.steps and differs(smaller):
            script = smaller
    return script


def _runs(script: Script, differs: Differs, size: int) -> Script:
    at = len(script.steps) - size
    while at > -size:
        smaller = without(script, set(range(max(at, 0), at + size)))
        if smaller.steps and len(smaller.steps) < len(script.steps) and differs(smaller):
            script = smaller
        at -= size
    return script


def _fields(script: Script, differs: Differs) -> Script:
    """Elements of lists (topics, members, protocols, groups) that do not matter."""
    for index in range(len(script.steps)):
        step = script.steps[index]
        for name in step.fields if isinstance(step, Send) else ():
            script = _elements(script, differs, index, name)
    return script


def _elements(script: Script, differs: Differs, index: int, name: str) -> Script:
    at = 0
    while True:
        step = script.steps[index]
        assert isinstance(step, Send)
        value = step.fields[name]
        if not isinstance(value, list) or at >= len(value):
            return script
        shorter = msgspec.structs.replace(step, fields={**step.fields, name: [*value[:at], *value[at + 1 :]]})
        smaller = msgspec.structs.replace(script, steps=[*script.steps[:index], shorter, *script.steps[index + 1 :]])
        if differs(smaller):
            script = smaller
        else:
            at += 1
