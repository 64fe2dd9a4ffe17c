"""What a test is told where the cluster did not do what it waited for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

__tracebackhide__: Final = True


class GroupTimeout(AssertionError):
    """A group did not get where a test wanted it in time. The text has what was wanted, what is, and the group's story."""

    __module__ = "groupmock"  # a report calls it what a test imports

    def __init__(self, missed: str, story: Iterable[str] = (), bootstrap: str = "") -> None:
        super().__init__("\n".join([missed, *story]))
        self.missed = missed
        """The text without the story."""
        self.bootstrap = bootstrap
        """Of the cluster whose story it is."""


class FaultNeverFired(AssertionError):
    """A rule did nothing. The text has the call that came nearest and the condition that kept the rule from it."""

    __module__ = "groupmock"


class FaultNotSeen(AssertionError):
    """A rule did not fire as often as was waited for, in time. The text has what came nearest."""

    __module__ = "groupmock"
