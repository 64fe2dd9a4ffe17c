"""State machines whose runs can be stored: each rule that hypothesis calls is a step of the case, and can be taken again."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ClassVar

from found import Case, Property
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

Condition = Callable[[Any], Any]
Method = Callable[..., None]
Decorates = Callable[..., Callable[[Method], Method]]
# hypothesis types these by what a rule puts into bundles; ours puts nothing there.
_begin: Decorates = initialize
_rule: Decorates = rule
_possible: Decorates = precondition


class RecordedMachine(RuleBasedStateMachine):
    """A machine that records its `case`: `constants` say what kind of machine it is, and `steps` are [rule, values]. Values are JSON
    values.

    Each kind of machine sets `proves`, and its variants set `constants`.
    """

    proves: ClassVar[Property]
    constants: ClassVar[Case] = {}

    def __init__(self, retaken: bool = False) -> None:
        super().__init__()
        self.retaken = retaken
        self.inside = False
        self.case: Case = {**self.constants, "steps": []}
        if not retaken:
            self.proves.shown(self.case)

    def retake(self, case: Case) -> None:
        """Take the steps of a case on this fresh machine. A step that is no longer possible is left out, as hypothesis would."""
        for name, values in case["steps"]:
            getattr(self, name)(**values)
        self.teardown()


def _recorded(method: Method, when: Condition | None) -> Method:
    @wraps(method)
    def step(self: RecordedMachine, *arguments: Any, **values: Any) -> None:
        if self.inside:  # the rule is a part of another rule
            return method(self, *arguments, **values)
        if self.retaken and when is not None and not when(self):
            return None
        self.case["steps"].append([method.__name__, values])
        self.inside = True
        try:
            return method(self, **values)
        finally:
            self.inside = False

    return step


def begins(**draws: st.SearchStrategy[Any]) -> Callable[[Method], Method]:
    """Record a rule that hypothesis' `initialize` calls."""
    return lambda method: _begin(**draws)(_recorded(method, None))


def step(when: Condition | None = None, /, **draws: st.SearchStrategy[Any]) -> Callable[[Method], Method]:
    """Record a rule that hypothesis' `rule` calls, possible only where `when` holds."""

    def made(method: Method) -> Method:
        ruled = _rule(**draws)(_recorded(method, when))
        return ruled if when is None else _possible(when)(ruled)

    return made
