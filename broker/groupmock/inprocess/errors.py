"""An AssertionError is raised if a test waited in vain for something in the cluster."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

__tracebackhide__: Final = True


class GroupTimeout(AssertionError):
    """Raised if a group did not reach in time the state that a test waited for. The text has the wanted and the present state, and the
    group's story."""

    __module__ = "groupmock"  # With this module name, reports show the name that tests import.

    def __init__(self, missed: str, story: Iterable[str] = (), bootstrap: str = "") -> None:
        super().__init__("\n".join([missed, *story]))
        self.missed = missed
        """The message of the error without the story of the group."""
        self.bootstrap = bootstrap
        """The bootstrap address of the group's cluster."""


class FaultNeverFired(AssertionError):
    """Raised if a fault rule never fired. The text names the call that came nearest and the condition that it missed."""

    __module__ = "groupmock"


class FaultNotSeen(AssertionError):
    """Raised if a fault rule did not fire the expected number of times in time. The text names the call that came nearest."""

    __module__ = "groupmock"
