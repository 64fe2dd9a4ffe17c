"""Lies: alterations that make a true story false, at every possible place, to check that the judge finds them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from groupmock_codec.group_states import EMPTY, STABLE

Lines = list[str]
Lie = Callable[[str, Lines], Iterator[str]]
_TIME: Final = re.compile(r" *(\d+\.\d{3})  ")
_SPAN: Final = r"[^\s/]+/[\d,-]+"


class Planted(NamedTuple):
    """A story into which one lie was planted. `line` is the index of the altered line in the original."""

    line: int
    story: Lines


def planted(lie: str, story: Sequence[str]) -> Iterator[Planted]:
    """Yield every version of the story that has that lie in one place."""
    for number, line in enumerate(story):
        for altered in LIES[lie](line, [each for each in story if each != line]):
            if altered != line:
                yield Planted(number, [*story[:number], altered, *story[number + 1 :]])


def _each(pattern: str, other: Callable[[re.Match[str]], str]) -> Lie:
    """Return a lie that replaces the group named x of the pattern, at each match in the line."""
    compiled = re.compile(pattern)

    def lie(line: str, others: Lines) -> Iterator[str]:
        for found in compiled.finditer(line):
            yield line[: found.start("x")] + other(found) + line[found.end("x") :]

    return lie


def _somebody_else(pattern: str) -> Lie:
    """Return a lie that replaces a member's name by each other name in the story."""
    compiled = re.compile(pattern)

    def lie(line: str, others: Lines) -> Iterator[str]:
        names = sorted(set(re.findall(r"[\w.-]+#\w{4}", "\n".join([*others, line]))))
        for found in compiled.finditer(line):
            yield from (line[: found.start("x")] + name + line[found.end("x") :] for name in names if name != found["x"])

    return lie


def _more(found: re.Match[str]) -> str:
    return str(int(found["x"]) + 1)


def _later(line: str, others: Lines) -> Iterator[str]:
    """Yield the line with a later time, shifted by a value that no timer of a client has."""
    found = _TIME.match(line)
    if found is not None and re.search(CLAIMS, line):
        yield line.replace(f"{found[1]}  ", f"{float(found[1]) + 0.457:.3f}  ", 1)


def _swapped(line: str, others: Lines) -> Iterator[str]:
    """Yield the line with the partitions of two members of one generation swapped."""
    found = re.search(rf"(\S+) (keeps|gets) ({_SPAN})( \(new\))?; (\S+) (keeps|gets) ({_SPAN})( \(new\))?$", line)
    if found is not None and found[3] != found[7]:
        start, end = line[: found.start()], found.groups("")
        yield f"{start}{end[0]} {end[1]} {end[6]}{end[3]}; {end[4]} {end[5]} {end[2]}{end[7]}"


CLAIMS: Final = r"begins to read at|commits \S+/\d|: \d+ commits until|generation \d+ after"
LIES: Final[dict[str, Lie]] = {
    "begins at another offset": _each(r"begins to read at .*= (?P<x>\d+)", _more),
    "begins with another partition": _each(rf"begins to read at {_SPAN}(?P<x>) =", lambda found: ",77"),
    "begins as another member": _somebody_else(r"(?P<x>[\w.-]+#\w{4}) begins to read at"),
    "commits another offset": _each(r"commits \S+/[\d,-]+ = (?P<x>\d+)", _more),
    "commits another partition": _each(rf"commits {_SPAN}(?P<x>) =", lambda found: ",77"),
    "commits as another member": _somebody_else(r"(?P<x>[\w.-]+#\w{4}) commits \S+/"),
    "goes back from another offset": _each(r"BACK from (?P<x>\d+)", _more),
    "another one's partition": _somebody_else(r"gave it to (?P<x>[\w.-]+#\w{4})"),
    "puts another offset into its transaction": _each(r"puts .*= (?P<x>\d+) into", _more),
    "a transaction commits another offset": _each(r": .*= (?P<x>\d+) (?:is|are) the group's now", _more),
    "commits more often": _each(r": (?P<x>\d+) commits until", _more),
    "gets what it had": _each(rf"(?P<x>keeps (?P<had>{_SPAN}))(?=[,;]|$)", lambda found: f"gets {found['had']} (new)"),
    "keeps what is new": _each(r"(?P<x>gets \S+/[\d,-]+ \(new\))", lambda found: found[0].replace("gets", "keeps").removesuffix(" (new)")),
    "loses what it has": _each(r"(?P<x>keeps|gets) \S+/[\d,-]+(?= *[;,]|$)", lambda found: "loses"),
    "gets nothing": _each(r"(?P<x>(?:gets|keeps|loses) \S+/[\d,-]+(?: \(new\))?)$", lambda found: "gets nothing"),
    "has another partition": _each(rf" has {_SPAN}(?P<x>)(?=[;,]|$)", lambda found: ",77"),
    "shares swapped": _swapped,
    "share of another member": _somebody_else(r"(?P<x>[\w.-]+#\w{4}) (?:gets|keeps|loses) \S+/"),
    "another generation": _each(r"  generation (?P<x>\d+) after", _more),
    "another leader": _somebody_else(r"(?P<x>[\w.-]+#\w{4}) leads;"),
    "nobody leads": _each(r": (?P<x>[\w.-]+#\w{4}) leads;", lambda found: "nobody"),
    "awaited as the leader": _somebody_else(r"SyncGroup of the leader (?P<x>[\w.-]+#\w{4})"),
    "at another epoch": _each(r" is at epoch (?P<x>\d+) with", _more),
    "at an epoch with another partition": _each(r" is at epoch \d+ with [^\s/]+/\d+(?P<x>)", lambda found: "77"),
    "at an epoch as another member": _somebody_else(r"(?P<x>[\w.-]+#\w{4}) is at epoch"),
    "owes another partition": _each(r" owes the broker [^\s/]+/\d+(?P<x>)", lambda found: "77"),
    "owes as another member": _somebody_else(r"(?P<x>[\w.-]+#\w{4}) owes the broker"),
    "at another time": _later,
    "first line: another state": _each(r"^\S+: (?P<x>[A-Za-z ]+), gen", lambda found: EMPTY if found["x"] == STABLE else STABLE),
    "first line: not there": _each(r"^\S+: (?P<x>[A-Za-z ]+), generation", lambda found: "not there yet"),
    "first line: another generation": _each(r"^\S+: [A-Za-z ]+, generation (?P<x>\d+)", _more),
    "first line: a member more": _each(r"^\S+: .*, (?P<x>\d+) members?\b", _more),
    "first line: another leader": _somebody_else(r"^\S.* members? \((?P<x>\S+) leads\)"),
    "first line: nothing committed": _each(r"^\S.*(?P<x>, committed \S+/.*)$", lambda found: ", nothing committed"),
    "first line: other offsets": _each(r"^\S.*, committed .* = (?P<x>\d+)", _more),
    "first line: another lag": _each(r"^\S.*, lag (?P<x>\d+)", _more),
    "first line: no state": _each(r"^\S+: (?P<x>[A-Za-z ]+, generation .*)$", lambda found: "its state is not in these rows"),
}
"""Maps a lie's name to the function that alters a line, given the other lines."""
