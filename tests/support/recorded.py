"""State machines that record their runs: each rule that hypothesis calls becomes a step of the case, and a case can be run again."""

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
# These aliases hide the types of hypothesis, which depend on bundles that the rules here do not use.
_begin: Decorates = initialize
_rule: Decorates = rule
_possible: Decorates = precondition


class RecordedMachine(RuleBasedStateMachine):
    """A state machine that records its run as `case`: `constants` name the variant of the machine, and `steps` are [rule, values]. Values
    are JSON values.

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
        """Run the steps of a case on this fresh machine. A step that is no longer possible is skipped, as hypothesis would skip it."""
        for name, values in case["steps"]:
            getattr(self, name)(**values)
        self.teardown()


def _recorded(method: Method, when: Condition | None) -> Method:
    @wraps(method)
    def step(self: RecordedMachine, *arguments: Any, **values: Any) -> None:
        if self.inside:  # A rule that another rule calls is recorded as part of the calling rule.
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
    """Turn a method into a recorded rule that hypothesis calls first (`initialize`)."""
    return lambda method: _begin(**draws)(_recorded(method, None))


def step(when: Condition | None = None, /, **draws: st.SearchStrategy[Any]) -> Callable[[Method], Method]:
    """Turn a method into a recorded rule that hypothesis may call while `when` holds."""

    def made(method: Method) -> Method:
        ruled = _rule(**draws)(_recorded(method, when))
        return ruled if when is None else _possible(when)(ruled)

    return made
