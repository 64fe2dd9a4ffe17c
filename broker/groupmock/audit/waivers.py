"""A waiver excuses findings that are known and tolerated for now. A file names the rule, the reason, and the day on which it ends.

::

    [[waiver]]
    rule = "CLIENT-14"
    reason = "the batch job beats every 20 s; TEAM-412"
    until = 2027-03-31
    group = "billing-*"      # optional, shell patterns
    client = "aiokafka*"     # optional

An expired waiver waives nothing: its findings count again, and a sentence says so. A waiver that matched no finding is reported too,
because it should be removed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final

from ..text.bounded import BadText, toml
from ..text.printable import one_line
from .rule import registered
from .verdicts import Finding

KEYS: Final = ("rule", "reason", "until", "group", "client")


class BadWaivers(ValueError):
    """Raised if a file of waivers has an impossible entry; the text names the place and the remedy."""


class Waiver:
    """A waiver of findings of one rule. `covered` counts the findings that it has waived."""

    def __init__(self, place: str, said: Mapping[str, Any]) -> None:
        if unknown := sorted(said.keys() - set(KEYS)):
            raise BadWaivers(f"{place}: no such key: {', '.join(unknown)}; there are {', '.join(KEYS)}")
        self.place, self.covered = place, 0
        self.rule, self.reason = _text(place, said, "rule"), _text(place, said, "reason")
        if self.rule not in registered():
            raise BadWaivers(f"{place}: no rule {self.rule!r} (`groupmock explain` lists them)")
        until = said.get("until")
        if type(until) is not date:
            raise BadWaivers(f"{place}: until is the day on which it ends, as 2027-03-31 (no quotation marks)")
        self.until = until
        self.group = _text(place, said, "group") if "group" in said else "*"
        self.client = _text(place, said, "client") if "client" in said else "*"

    def covers(self, finding: Finding) -> bool:
        """Return whether the waiver applies to this finding."""
        return (
            finding.rule == self.rule and fnmatchcase(finding.group or "", self.group) and fnmatchcase(finding.client_id or "", self.client)
        )


class Waivers:
    """The waivers of one file, as of one day. An Auditor takes `of` as its `waive`."""

    def __init__(self, waivers: list[Waiver], today: date) -> None:
        self._live = [each for each in waivers if each.until >= today]
        self._past = [each for each in waivers if each.until < today]
        self._missed = dict.fromkeys(self._past, 0)

    def of(self, finding: Finding) -> str | None:
        """Return the reason of the waiver that covers a finding, or None if no waiver does."""
        for each in self._live:
            if each.covers(finding):
                each.covered += 1
                return one_line(f"{each.reason} (until {each.until})")
        for each in self._past:
            if each.covers(finding):
                self._missed[each] += 1
        return None

    def notices(self) -> Iterator[str]:
        """Yield a sentence for each thing that should be changed in the file; call this after the audit."""
        for each, missed in self._missed.items():
            again = f"its findings count again ({missed} here)" if missed else "it waived nothing here"
            yield one_line(f"{each.place}: the waiver of {each.rule} ended on {each.until}: {again}; mend the client, or set another day")
        for each in self._live:
            if not each.covered:
                yield one_line(f"{each.place}: the waiver of {each.rule} waived nothing: it can go")


def read_waivers(path: str | Path, today: date) -> Waivers:
    """Read a file of waivers. Raises BadWaivers, OSError."""
    try:
        said = toml(Path(path).read_bytes())
    except BadText as bad:
        raise BadWaivers(f"{path} is {bad}") from None
    if unknown := sorted(said.keys() - {"waiver"}):
        raise BadWaivers(f"{path}: no such table: {', '.join(unknown)}; waivers are [[waiver]]")
    listed = said.get("waiver", [])
    if not isinstance(listed, list) or not all(isinstance(each, dict) for each in listed):
        raise BadWaivers(f"{path}: waivers are [[waiver]], with two brackets")
    return Waivers([Waiver(f"{path}: waiver {number}", each) for number, each in enumerate(listed, 1)], today)


def _text(place: str, said: Mapping[str, Any], key: str) -> str:
    value = said.get(key)
    if not isinstance(value, str) or not value.strip():
        raise BadWaivers(f"{place}: {key} is a text, and not empty")
    return value
