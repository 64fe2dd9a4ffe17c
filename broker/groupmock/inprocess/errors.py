"""Assertion errors of a test whose wait for the cluster was in vain."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

__tracebackhide__: Final = True


class GroupTimeout(AssertionError):
    """A group did not reach in time what a test waited for. The text says what was wanted, what is, and the group's story."""

    __module__ = "groupmock"  # reports show the name that tests import

    def __init__(self, missed: str, story: Iterable[str] = (), bootstrap: str = "") -> None:
        super().__init__("\n".join([missed, *story]))
        self.missed = missed
        """The message without the story of the group."""
        self.bootstrap = bootstrap
        """The bootstrap address of the group's cluster."""


class FaultNeverFired(AssertionError):
    """A fault rule never fired. The text names the call that came nearest and the condition that it missed."""

    __module__ = "groupmock"


class FaultNotSeen(AssertionError):
    """A fault rule did not fire the expected number of times in time. The text names the call that came nearest."""

    __module__ = "groupmock"
