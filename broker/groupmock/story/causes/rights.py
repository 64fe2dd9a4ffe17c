"""Causes that are about rights, which an authorizer refuses to a client."""

from __future__ import annotations

from collections.abc import Iterator

from ..not_let_in import ALLOW_IT
from .case import Case, Likely, at


def lacks_a_right(case: Case) -> Iterator[Likely]:
    """A request was refused for want of a right, no such request of the client succeeded later, and no rights were given since."""
    for each in case.evidence.lacking.values():
        right = each.why.strip(" ()") or each.error
        told = f"{each.who} lacks a right: {right} ({each.api} {at(each.at)})"
        yield Likely(f"{told}. {ALLOW_IT}", frozenset((each.member,)))
