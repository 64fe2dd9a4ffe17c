"""Differences that are known and stay: recorded_differences.toml, each with its reason and the releases it holds for."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Final

import msgspec

from groupmock_clients.probe.language.exchange import Send

from ..generated.script import Script, key_of
from ..generated.transcript import Transcript
from .canonical import Difference

RequestKind = tuple[int, int | None]
"""A request's API key (-1: bytes that are none), and the error code that the broker answered, if the answer as a whole has one."""
FILE: Final = Path(__file__).with_name("recorded_differences.toml")


class Recorded(msgspec.Struct, rename="kebab"):
    """A known difference. It covers what differs in an answer of `api-key` at a `path` (a regular expression, matched as a whole)."""

    id: str
    family: str
    releases: list[str]
    api_key: int
    path: str
    reason: str
    generated: bool = True
    """False: the generators keep away from it."""
    versions: list[int] = []
    real: str = ".*"
    """A regular expression over the text of the broker's value."""
    ours: str = ".*"
    """The same of what we said."""
    breaks_connection: bool = False
    """The connection ends, sooner or later: it may be its next request, whatever that asks, that finds it closed. The rest of such a play
    is another story: requests on it reached us alone."""
    after: RequestKind | None = None
    """Only where the broker has answered that on the same connection before."""

    def covers(self, family: str, release: str, difference: Difference, before: Sequence[RequestKind] = ()) -> bool:
        """Is it this one? `before`: see `asked_before`."""
        return (
            self.family == family
            and release in self.releases
            and (self.api_key == difference.key or (self.breaks_connection and [self.api_key] == [key for key, _ in before[-1:]]))
            and (self.after is None or self.after in before)
            and (not self.versions or difference.version in self.versions)
            and re.fullmatch(self.path, difference.path) is not None
            and re.fullmatch(self.real, str(difference.real), re.DOTALL) is not None
            and re.fullmatch(self.ours, str(difference.ours), re.DOTALL) is not None
        )


@cache
def recorded() -> tuple[Recorded, ...]:
    """Return all recorded differences."""
    rows = tomllib.loads(FILE.read_text(encoding="utf-8")).get("difference", [])
    return tuple(msgspec.convert(rows, list[Recorded]))


def asked_before(script: Script, real: Transcript, index: int) -> list[RequestKind]:
    """Return the earlier requests on the connection of that step, oldest first, as the broker answered them."""
    sent = ((script.steps[at], real.events[at].answer or {}) for at in script.before(index))
    return [(key_of(step) if isinstance(step, Send) else -1, answer.get("error_code")) for step, answer in sent]


def known_as(family: str, release: str, difference: Difference, before: Sequence[RequestKind] = ()) -> Recorded | None:
    """The one that covers a difference; `before`: see `asked_before`."""
    return next((one for one in recorded() if one.covers(family, release, difference, before)), None)
