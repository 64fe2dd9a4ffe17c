"""Parse the printed lines of a story into claims: members, partitions, offsets, times."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

Partition = tuple[str, int]
Partitions = frozenset[Partition]

_SPAN: Final = r"[^\s/]+/\d+(?:-\d+)?(?:,\d+(?:-\d+)?)*(?:,\.\.\. \(\d+ more spans\))?"
_PARTS: Final = rf"{_SPAN}(?: {_SPAN})*(?: and \d+ more topics)?"
_PAIR: Final = rf"{_PARTS} (?:=|up to) -?\d+"
_OFFSETS: Final = rf"{_PAIR}(?:, {_PAIR})*"
_NUMBERS: Final = re.compile(r"(\d+)(?:-(\d+))?")
_TIME: Final = re.compile(r" *(\d+\.\d{3})  (.*)")
_LAST: Final = re.compile(r"seed \d+(?: · |$)|journal: ")

BEGINS: Final = re.compile(rf"(?P<who>.+?) begins to read at (?P<offsets>{_OFFSETS})(?: \(until \d+\.\d+\))?")
COMMITS: Final = re.compile(rf"(?P<who>.+?) commits (?P<offsets>{_OFFSETS})(?P<rest>.*)")
COMMITS_OFTEN: Final = re.compile(rf"(?P<who>.+?): (?P<times>\d+) commits until (?P<until>\d+\.\d+), the last (?P<offsets>{_OFFSETS})")
BACK: Final = re.compile(r": BACK from (-?\d+)")
NOT_ITS_OWN: Final = re.compile(r", NOT ITS OWN: generation (\d+) gave it to (.+?)( \(\d+ times, until \d+\.\d+\))?")
PUTS: Final = re.compile(rf"(?P<who>.+?) puts (?P<offsets>{_OFFSETS}) into its transaction")
WON: Final = re.compile(rf".*: (?P<offsets>{_OFFSETS}) (?:is|are) the group's now")
NOT_IN_THESE: Final = "its state is not in these rows"
DROPPED: Final = re.compile(r"\((\d+) older rows are no longer kept\)")
GENERATION: Final = re.compile(
    r"generation (?P<number>\d+) after \d+ ms(?P<how>.*): (?:(?P<leader>.+?) leads|nobody leads)(?P<rest>[;,] .*)?"
)
SHARE: Final = re.compile(rf"(?P<who>.+?) (?P<first>keeps|gets|loses|has) (?P<what>(?:{_PARTS}|nothing).*)")
_PART_OF_SHARE: Final = re.compile(rf"(?P<verb>keeps|gets|loses|has) (?P<partitions>{_PARTS}|nothing)(?P<new> \(new\))?(?:, |$|(?= \(\d))")
AT_EPOCH: Final = re.compile(r"(?P<who>.+?) is at epoch (?P<number>\d+) with (?P<has>.+?)(?: and waits for (?P<awaited>.+))?")
AWAITED: Final = re.compile(r"its rebalance is under way for .*; awaited: SyncGroup of the leader (?P<who>.+?), with the assignments\b.*")
OWES: Final = re.compile(r"(?P<who>.+?) owes the broker (?P<owed>.+)")
HEAD: Final = re.compile(
    r"(?P<state>[A-Za-z ]+), generation (?P<generation>\d+)(?:, (?P<protocol>.+?))?, (?P<members>\d+) members?"
    r"(?: \((?P<leader>.+) leads\))?(?:, (?:lag (?P<lag>\d+)|(?P<nothing>nothing committed)"
    r"|committed offsets unknown|committed (?P<committed>.+)))?(?: \(only transaction markers\))?"
)
LIKE_A_CLAIM: Final = re.compile(
    r"begins to read at|(?<!last )\bcommits \S|\d commits until|\b(?:leads|the leader)\b|(?:keeps|gets|loses) \S+/\d"
)
"""Matches words that a line of a story has if it makes a claim. A line with such words that no other pattern matches is reported, so
that a changed sentence is not overlooked."""
NO_CLAIM: Final = re.compile(r"audit: |ordered by the test: |fault rule |.* REFUSED: |.* says: |rebalance: |the group is (?:empty|gone)")


@dataclass(frozen=True, slots=True)
class Claim:
    """The content of a line of a story, or of a part of a line. `number` is the line's index in its story, `at` and `until` are times as
    printed.

    `partitions` maps to offsets, -1 without one. `whole` says that all partitions are listed. `rest` is the text after the partitions.
    """

    kind: str
    number: int
    line: str
    at: str = ""
    who: str = ""
    generation: int | None = None
    partitions: Mapping[Partition, int] = field(default_factory=dict)
    whole: bool = True
    keeps: Partitions = frozenset()
    gets: Partitions = frozenset()
    loses: Partitions = frozenset()
    times: int = 1
    until: str = ""
    rest: str = ""
    head: Mapping[str, str | None] = field(default_factory=dict)


def sections_of(lines: Sequence[str]) -> list[list[str]]:
    """Split a story into the lines of each group, which blank lines separate. A sentence in brackets about the whole is a section of its
    own. The last line, with seed and journal, is dropped."""
    sections: list[list[str]] = [[]]
    for line in lines:
        if not line:
            sections.append([])
        elif line.startswith("("):
            sections = [[line], *sections]
        elif not _LAST.match(line):
            sections[-1].append(line)
    return [section for section in sections if section]


def read_section(lines: Sequence[str]) -> list[Claim]:
    """Return the claims of one group's story in the order of its lines."""
    claims = [Claim("order", 0, line="\n".join(lines))]
    generation: tuple[str, int] | None = None
    for number, line in enumerate(lines[1:], 1):
        timed = _TIME.fullmatch(line)
        if timed is None:  # A line without a time is the summary of the story, or its last line with seed and journal.
            continue
        at, said = timed.groups()
        found = list(_claims(number, line, at, said, generation))
        if said.startswith("generation ") and found:
            generation = (at, found[0].generation or 0)
        if not found and LIKE_A_CLAIM.search(said) and not NO_CLAIM.match(said):
            found = [Claim("unread", number, line, at)]
        claims += found
    return claims


def read_head(line: str, group: str) -> Claim:
    """Parse the first line of a story. `group` is the group's name as printed."""
    said = line.removeprefix(f"{group}: ")
    if said == NOT_IN_THESE:
        return Claim("stateless", 0, line)
    found = HEAD.fullmatch(said)
    return Claim("unread", 0, line) if found is None else Claim("head", 0, line, head=found.groupdict())


def times_of(lines: Sequence[str]) -> list[tuple[int, float]]:
    found = [(number, _TIME.fullmatch(line)) for number, line in enumerate(lines)]
    return [(number, float(match[1])) for number, match in found if match is not None]


def _claims(number: int, line: str, at: str, said: str, generation: tuple[str, int] | None) -> Iterator[Claim]:
    if (found := GENERATION.fullmatch(said)) is not None:
        made = int(found["number"])
        yield Claim("leads", number, line, at, found["leader"] or "", made)
        for part in (found["rest"] or "").removeprefix("; ").split("; "):
            yield from _share(number, line, at, part, made)
    elif said.startswith("  ") and generation is not None and generation[0] == at:
        yield from _share(number, line, at, said.strip(), generation[1])
    elif NO_CLAIM.match(said):
        return
    elif (found := BEGINS.fullmatch(said)) is not None:
        offsets, whole = offsets_of(found["offsets"])
        yield Claim("begins", number, line, at, found["who"], partitions=offsets, whole=whole)
    elif (found := PUTS.fullmatch(said) or WON.fullmatch(said)) is not None:
        offsets, whole = offsets_of(found["offsets"])
        who = found.groupdict().get("who") or ""
        yield Claim("pending" if who else "won", number, line, at, who, partitions=offsets, whole=whole)
    elif (found := COMMITS_OFTEN.fullmatch(said)) is not None:
        offsets, whole = offsets_of(found["offsets"])
        who, times, until = found["who"], int(found["times"]), found["until"]
        yield Claim("commits", number, line, at, who, partitions=offsets, whole=whole, times=times, until=until)
    elif (found := COMMITS.fullmatch(said)) is not None:
        offsets, whole = offsets_of(found["offsets"])
        yield Claim(_kind_of_commit(found["rest"]), number, line, at, found["who"], partitions=offsets, whole=whole, rest=found["rest"])
    elif (found := AT_EPOCH.fullmatch(said)) is not None:
        has, whole = _listed(found["has"])
        yield Claim("epoch", number, line, at, found["who"], int(found["number"]), dict.fromkeys(has, -1), whole)
    elif (found := AWAITED.fullmatch(said)) is not None:
        yield Claim("leads now", number, line, at, found["who"])
    elif (found := OWES.fullmatch(said)) is not None:
        owed, whole = _listed(found["owed"])
        yield Claim("owes", number, line, at, found["who"], partitions=dict.fromkeys(owed, -1), whole=whole)


def _kind_of_commit(rest: str) -> str:
    for kind, pattern in (("back", BACK), ("not its own", NOT_ITS_OWN)):
        if pattern.fullmatch(rest):
            return kind
    return "unread" if rest else "commits"


def _share(number: int, line: str, at: str, said: str, generation: int) -> Iterator[Claim]:
    found = SHARE.fullmatch(said)
    if found is None:
        return
    shares: dict[str, Partitions] = {}
    whole, read = True, 0
    text = said[found.start("first") :]
    for part in _PART_OF_SHARE.finditer(text):
        if part.start() != read:
            break
        read = part.end()
        partitions, all_of = (frozenset[Partition](), True) if part["partitions"] == "nothing" else partitions_of(part["partitions"])
        shares[part["verb"]] = partitions
        whole = whole and all_of
    rest = text[read:]
    if "has" in shares:
        yield Claim("has", number, line, at, found["who"], generation, dict.fromkeys(shares["has"], -1), whole, rest=rest)
        return
    keeps, gets, loses = (shares.get(verb, frozenset()) for verb in ("keeps", "gets", "loses"))
    yield Claim("share", number, line, at, found["who"], generation, {}, whole, keeps, gets, loses, rest=rest)


def partitions_of(text: str) -> tuple[Partitions, bool]:
    """Parse `orders/0-3,7 bills/0` to partitions, and tell whether all of them are listed."""
    found = {
        (span.rpartition("/")[0], number)
        for span in re.findall(_SPAN, text)
        for first, last in _NUMBERS.findall(span.rpartition("/")[2].partition(",...")[0])
        for number in range(int(first), int(last or first) + 1)
    }
    return frozenset(found), "..." not in text and " more topics" not in text


def offsets_of(text: str) -> tuple[dict[Partition, int], bool]:
    """Parse offsets such as `orders/2 = 17, orders/0-1 = 5` to a map of partitions. The list is not whole if it has `orders/0-11 up to
    1200`, which leaves each offset open."""
    found: dict[Partition, int] = {}
    whole = " up to " not in text
    for parts, _, offset in re.findall(rf"({_PARTS}) (=|up to) (-?\d+)", text):
        partitions, all_of = partitions_of(parts)
        whole = whole and all_of
        found.update(dict.fromkeys(partitions, int(offset)))
    return found, whole


def _listed(text: str) -> tuple[Partitions, bool]:
    """Parse a list of partitions such as `orders/0, orders/1 and 3 more`. `nothing` is an empty list. Older journals have `orders-0`."""
    shown, more, _ = text.partition(" and ")
    pairs = [re.fullmatch(r"(.+)[/-](\d+)", each) for each in shown.split(", ")]
    return frozenset((each[1], int(each[2])) for each in pairs if each is not None), not more
