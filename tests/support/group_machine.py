"""The hypothesis state machine over GroupModel: one rule, an action of one client with one number, weighted by LIKELY."""

from __future__ import annotations

from typing import NamedTuple

from group_model import LIKELY, GroupModel
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

CLIENTS, NUMBERS = 8, 10


class Step(NamedTuple):
    """An action of one client with one number, as a failure prints it."""

    action: str
    who: int
    number: int


# One draw a step, not three: hypothesis spends most of a run on its draws.
STEPS = [Step(action, who, number) for action in LIKELY for who in range(CLIENTS) for number in range(NUMBERS)]


class GroupMachine(RuleBasedStateMachine):
    """Random members of two groups, judged after every step and once more when all is quiet."""

    old = False
    max_size = 2**31 - 1

    def __init__(self) -> None:
        super().__init__()
        self.model = GroupModel(self.old, self.max_size)
        self.broken = False

    @rule(step=st.sampled_from(STEPS))
    def act(self, step: Step) -> None:
        self.broken = True
        if step.action == "tick":
            self.model.tick(step.number)
        else:
            getattr(self.model, step.action)(step.who, step.number)
        self.model.check()
        self.broken = False

    def teardown(self) -> None:
        if not self.broken:  # else the failure is told already
            self.model.finish()


class OldGroupMachine(GroupMachine):
    """The same on the older releases' quirks."""

    old = True


class SmallGroupMachine(GroupMachine):
    """The same with room for three members."""

    max_size = 3


class OldSmallGroupMachine(OldGroupMachine):
    """Both."""

    max_size = 3


MACHINES = (GroupMachine, OldGroupMachine, SmallGroupMachine, OldSmallGroupMachine)
