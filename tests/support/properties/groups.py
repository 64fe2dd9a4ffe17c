"""Random members of two groups never violate the checks of group_model.py. The machine has one rule, weighted by LIKELY.

Case: `old` (the quirks of older releases), `max_size`, `steps`: [action, who, number].
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from found import Case, Property
from group_model import LIKELY, GroupModel
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

CLIENTS, NUMBERS = 8, 10


class Step(NamedTuple):
    """An action of one client with a number, as a failing run prints it."""

    action: str
    who: int
    number: int


# A step is drawn at once and not in three draws, because hypothesis spends most of a run on drawing.
STEPS = [Step(action, who, number) for action in LIKELY for who in range(CLIENTS) for number in range(NUMBERS)]


def _model(case: Case) -> GroupModel:
    return GroupModel(case["old"], case["max_size"])


def _take(model: GroupModel, step: Sequence[Any]) -> None:
    action, who, number = step
    if action == "tick":
        model.tick(number)
    else:
        getattr(model, action)(who, number)
    model.check()


def _holds(case: Case) -> None:
    model = _model(case)
    for step in case["steps"]:
        _take(model, step)
    model.finish()


GROUP = Property("group", _holds)


class GroupMachine(RuleBasedStateMachine):
    """Random members act in two groups of one cluster. The judge checks them after every step and once more when all is quiet."""

    old = False
    max_size = 2**31 - 1

    def __init__(self) -> None:
        super().__init__()
        self.case = GROUP.shown({"old": self.old, "max_size": self.max_size, "steps": []})
        self.model = _model(self.case)
        self.broken = False

    @rule(step=st.sampled_from(STEPS))
    def act(self, step: Step) -> None:
        self.broken = True
        self.case["steps"].append(step)
        _take(self.model, step)
        self.broken = False

    def teardown(self) -> None:
        if not self.broken:  # A failed run is not checked again, because the failure is already reported.
            self.model.finish()


class OldGroupMachine(GroupMachine):
    """Tests random members with the quirks of older releases."""

    old = True


class SmallGroupMachine(GroupMachine):
    """Tests random members with room for three members per group."""

    max_size = 3


class OldSmallGroupMachine(OldGroupMachine):
    """Tests random members with older quirks and room for three members per group."""

    max_size = 3


MACHINES = (GroupMachine, OldGroupMachine, SmallGroupMachine, OldSmallGroupMachine)
