"""The known and permanent differences from Kafka (recorded_differences.toml), each with its reason and its releases."""

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
"""The API key of a request (-1 for bytes that are no request), and the error code with which the broker answered, if it has one."""
FILE: Final = Path(__file__).with_name("recorded_differences.toml")


class Recorded(msgspec.Struct, rename="kebab"):
    """A known difference in an answer of `api-key` at a `path` (a regular expression, matched as a whole)."""

    id: str
    family: str
    releases: list[str]
    api_key: int
    path: str
    reason: str
    generated: bool = True
    """False if the generators avoid the difference."""
    versions: list[int] = []
    real: str = ".*"
    """A regular expression over the text of Kafka's value."""
    ours: str = ".*"
    """A regular expression over the text of groupmock's value."""
    breaks_connection: bool = False
    """The difference ends the connection, sometimes only when the next request on the connection comes, whatever its API. The rest of
    such a play is not compared, because later requests on that connection reached groupmock alone."""
    after: RequestKind | None = None
    """The difference occurs only if the broker has answered such a request with such an error on the same connection before."""

    def covers(self, family: str, release: str, difference: Difference, before: Sequence[RequestKind] = ()) -> bool:
        """Tell whether this entry covers a difference. `before` is the result of `asked_before`."""
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
    rows = tomllib.loads(FILE.read_text(encoding="utf-8")).get("difference", [])
    return tuple(msgspec.convert(rows, list[Recorded]))


def asked_before(script: Script, real: Transcript, index: int) -> list[RequestKind]:
    """Return the requests that the connection of that step sent earlier, with the errors in the broker's answers, oldest first."""
    sent = ((script.steps[at], real.events[at].answer or {}) for at in script.before(index))
    return [(key_of(step) if isinstance(step, Send) else -1, answer.get("error_code")) for step, answer in sent]


def known_as(family: str, release: str, difference: Difference, before: Sequence[RequestKind] = ()) -> Recorded | None:
    """Return the recorded entry that covers a difference, or None. `before` is the result of `asked_before`."""
    return next((one for one in recorded() if one.covers(family, release, difference, before)), None)
