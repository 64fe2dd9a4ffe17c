"""The first screen of the report: five sentences that say what rebalances cost and what to change, made of the tables below them.

A sentence names no figure that its table does not have. Where the table is missing or has no such line, the sentence says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from groupmock.audit.report import number
from groupmock.audit.rule import registered

from ..tables import job_of
from .ask import shown
from .sections import ALL, BROKEN_RULES, BY_CLIENT, BY_PROTOCOL, RULES, UNKNOWN_RULES, UNOWNED_BY_TRIGGER, WORST_RUNS
from .shapes import Cell, Excerpt, Shown

DESIGNS: Final = {"design-1": "Design I", "design-2": "Design II", "design-3": "Design III", "kip-848": "KIP-848", "kip-1071": "KIP-1071"}
"""Designs that are named by their own name in a sentence. Other protocols are named by their assignor."""
WORTH_IT: Final = 2
"""Protocols are told to differ if one moves this many times as many partitions per rebalance as another."""
LATE_PERCENT: Final = 200 / 3
"""The share of a session timeout, in percent, above which a gap between heartbeats is called long: one more lost heartbeat of the usual
interval, a third of the timeout, ends the session."""
NAMED: Final = 3
NOTHING_TO_DO: Final = "Nothing to do."
TO_DO: Final = "To do: "
WITHOUT: Final = " without an owner"
SECONDS: Final = f"partition-seconds{WITHOUT}"
KEY_END: Final = re.compile(r"-\d+-[0-9a-f]+$")
"""Matches what follows the name in the key of a run: the time of its begin, and a digest."""


@dataclass(frozen=True, slots=True)
class Link:
    """A part of a sentence that leads to `target`, an address relative to the page."""

    text: str
    target: str


Part = str | Link


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of the first screen, the advice that follows from it, and the lines below it."""

    parts: tuple[Part, ...]
    advice: str
    lines: tuple[tuple[Part, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Facts:
    """The answers about one table of the lake, or (`answers` is None) the reason why there are none."""

    table: str
    answers: Mapping[str, tuple[str, Excerpt]] | None
    lacks: str = ""

    def lines(self, title: str) -> list[dict[str, Cell]]:
        """Return the lines of the table with this title on the page, each as {head: value}."""
        if self.answers is None or title not in self.answers:
            return []
        _, found = self.answers[title]
        return [dict(zip([head.text for head in found.heads], row, strict=True)) for row in found.rows]

    def link(self, text: str, title: str) -> Part:
        """Return a link to the table with this title, or the bare text if the page lacks the table."""
        return Link(text, f"#{self.answers[title][0]}") if self.answers is not None and title in self.answers else text


def sentences(sections: Sequence[Shown], timelines: Mapping[str, str]) -> list[Sentence]:
    """Return the five sentences of the first screen. `timelines` maps runs to the files of their timelines."""
    facts = {each.section.table: _facts(each) for each in sections}
    rebalances = facts["rebalances"]
    return [
        _moves(rebalances),
        _expiries(rebalances),
        _gaps(facts["heartbeats"]),
        _rules(facts["audit"]),
        _worst(rebalances, timelines),
    ]


def first_step(found: Sequence[Sentence]) -> tuple[Part, ...]:
    """Return what to do first: to look at the worst run, or else what the first advice of the sentences says."""
    worst = next((each.lines[0] for each in found if each.lines), None)
    if worst is not None:
        return ("First step: see what happened in the worst run, ", *worst, ".")
    advice = next((each.advice.removeprefix(TO_DO) for each in found if each.advice.startswith(TO_DO)), "")
    return (f"First step: {advice}",) if advice else (NOTHING_TO_DO,)


def worst_runs(rebalances: Shown) -> list[str]:
    """Return the runs that the last sentence names, the worst first."""
    return [str(line["run"]) for line in _costly(_facts(rebalances))]


def _facts(section: Shown) -> Facts:
    table = section.section.table
    if section.missing:
        return Facts(table, None, f"this lake has no table {table} (`groupmock pipeline {job_of(table)} LAKE LAKE` makes it)")
    if section.trouble is not None:
        return Facts(table, None, f"table {table} cannot be read: {section.trouble}")
    return Facts(table, {answer.title: (section.anchor(place), answer) for place, answer in enumerate(section.answers)})


def _unknown(what: str, why: str, advice: str = "") -> Sentence:
    return Sentence((f"{what} is unknown: {why}.",), advice)


# -- moves -------------------------------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Protocol:
    """The figures of one protocol. `unowned` is in partition-seconds."""

    moved: int = 0
    rebalances: int = 0
    groups: int = 0
    unowned: float = 0.0

    @property
    def each(self) -> float:
        return self.moved / self.rebalances


def _moves(facts: Facts) -> Sentence:
    what = "How many partitions moved"
    if facts.answers is None:
        return _unknown(what, facts.lacks)
    lines = [line for line in facts.lines(BY_PROTOCOL) if line.get("rebalances")]
    if not lines:
        return Sentence(("No group of this corpus rebalanced after its first join, so no partition moved.",), NOTHING_TO_DO)
    protocols = _protocols(lines)
    if not protocols:
        return _unknown(what, "these journals do not have the assignments", "To do: write journals to files, which have them.")
    worst, *others = sorted(protocols, key=lambda name: -protocols[name].each)
    if not protocols[worst].moved:
        total = sum(each.rebalances for each in protocols.values())
        return Sentence((facts.link("No partition moved", BY_PROTOCOL), f" in {number(total, 'rebalance')}."), NOTHING_TO_DO)
    one = protocols[worst]
    moved = facts.link(f"{worst} moved {number(one.moved, 'partition')}", BY_PROTOCOL)
    begin = f" in {number(one.rebalances, 'rebalance')}"
    if not others:
        return Sentence((moved, f"{begin}; no other protocol is in this corpus."), "To do: try a second protocol to compare.")
    best = others[-1]
    other = protocols[best]
    between = f" ({number(len(others) - 1, 'other protocol')} between)" if len(others) > 1 else ""
    parts = (moved, f"{begin}, {best} {other.moved} in {other.rebalances}{between}.")
    if one.each < WORTH_IT * other.each:
        return Sentence(parts, "Nothing to do: the protocols differ by less than a factor of two.")
    # Fewer moves may be bought with partitions that wait for a lost member, as in Design II. The last sentence ranks runs by that price,
    # so no advice recommends it.
    dearer, now = other.unowned / other.rebalances, one.unowned / one.rebalances
    if dearer > now:
        price = f"a rebalance leaves {_amount(dearer)} partition-seconds without an owner instead of {_amount(now)}"
        return Sentence(parts, f"Nothing to do: {best} moves less, but {price}.")
    return Sentence(parts, f"To do: try {best} in {_groups(one.groups)} of {worst}.")


def _groups(many: int) -> str:
    return "the only group" if many == 1 else f"the {many} groups"


def _protocols(lines: Sequence[Mapping[str, Cell]]) -> dict[str, _Protocol]:
    """Add up the lines of one protocol, without those whose moves are not known."""
    found: dict[str, _Protocol] = {}
    for line in lines:
        moved, name = line.get("partitions moved"), line.get("protocol")
        if not isinstance(moved, int | float) or name is None:
            continue
        each = found.setdefault(DESIGNS.get(str(line.get("design")), shown(name)), _Protocol())
        each.moved += int(moved)
        each.rebalances += _int(line, "rebalances")
        each.groups += _int(line, "groups")
        each.unowned += _number(line, "unowned")
    return found


# -- session expiries --------------------------------------------------------------------------------------------------------------------


def _expiries(facts: Facts) -> Sentence:
    if facts.answers is None:
        return _unknown("What a session expiry costs", facts.lacks)
    medians = {str(line["trigger"]): line for line in facts.lines(UNOWNED_BY_TRIGGER)}
    expiry, leave = medians.get("session expiry"), medians.get("leave")
    if expiry is None:
        return Sentence(("No rebalance of this corpus began with a session expiry.",), NOTHING_TO_DO)
    many, median = _int(expiry, "rebalances"), _number(expiry, "median")
    cost = facts.link(_amount(median), UNOWNED_BY_TRIGGER)
    parts = (
        ("The only session expiry cost ", cost, f"{_noun(median)}.")
        if many == 1
        else ("A session expiry costs ", cost, f"{_noun(median)} in the median of {many}.")
    )
    if leave is not None and _number(leave, "median") < median:
        return Sentence(parts, f"To do: close consumers on SIGTERM. A LeaveGroup costs {_amount(_number(leave, 'median'))}.")
    return Sentence(parts, "To do: lower session.timeout.ms, or the time for which a protocol waits for a lost member.")


def _amount(seconds: float) -> str:
    # With a digit after the point the amounts of the worst runs add up to their sum.
    return shown(round(seconds, 1) if seconds < 100 else round(seconds))


def _noun(seconds: float) -> str:
    return f" {SECONDS if _amount(seconds) != '1' else SECONDS.replace('seconds', 'second')}"


# -- heartbeats --------------------------------------------------------------------------------------------------------------------------


def _gaps(facts: Facts) -> Sentence:
    what = "How close clients came to their session timeout"
    if facts.answers is None:
        return _unknown(what, facts.lacks)
    share, expired = "longest gap, of the session", "sessions expired"
    lines = [line for line in facts.lines(BY_CLIENT) if isinstance(line.get(share), int | float)]
    if not lines:
        return _unknown(what, "no heartbeat of a classic member is in this corpus")
    worst = max(lines, key=lambda line: _number(line, share))
    percent, sessions = _number(worst, share), sum(_int(line, expired) for line in facts.lines(BY_CLIENT))
    library = " ".join(shown(worst[name]) for name in ("library", "version") if worst.get(name) is not None)
    client = "a client of unknown library" if library == "unknown" else library
    ended = f"{number(sessions, 'session')} expired" if sessions else "no session expired"
    gap = facts.link(f"{percent:.0f} % of the session timeout", BY_CLIENT)
    parts = ("The longest gap between heartbeats was ", gap, f", by {client}; {ended}.")
    if percent > 100:
        return Sentence(parts, "To do: find what stopped these processes, or raise session.timeout.ms.")
    if percent > LATE_PERCENT:
        return Sentence(parts, "To do: raise session.timeout.ms, or lower heartbeat.interval.ms.")
    return Sentence(parts, "Nothing to do: what expired had stopped, and was not slow." if sessions else NOTHING_TO_DO)


# -- rules -------------------------------------------------------------------------------------------------------------------------------


def _rules(facts: Facts) -> Sentence:
    if facts.answers is None:
        return _unknown("Whether clients kept the rules of the protocol", facts.lacks)
    judged = [line for line in facts.lines(RULES) if line.get("broken") or line.get("kept")]
    unknown = {str(line["rule"]) for line in facts.lines(UNKNOWN_RULES) if line.get("rule") is not None}
    doubt = f" The verdict about {number(len(unknown), 'rule')} is unknown." if unknown else ""
    if not judged:
        return Sentence((f"No rule of the audit was exercised in this corpus.{doubt}",), NOTHING_TO_DO)
    broken = [line for line in judged if line.get("broken")]
    if not broken:
        all_of_them = f"all {len(judged)} rules" if len(judged) > 1 else "the only rule"
        return Sentence((facts.link(f"Clients kept {all_of_them}", RULES), f" that they met.{doubt}"), NOTHING_TO_DO)
    # The rule that most runs broke comes first, because a rule is broken again and again by one bad run.
    broken.sort(key=lambda line: (line.get("severity") != "error", -_int(line, "runs that broke it"), str(line["rule"])))
    named = [f"{line['rule']} in {number(_int(line, 'runs that broke it'), 'run')}" for line in broken[:NAMED]]
    first = registered().get(str(broken[0]["rule"]))
    named[0] += f" ({first.title})" if first is not None else ""
    more = f" and {len(broken) - NAMED} more" if len(broken) > NAMED else ""
    broke = facts.link(f"Clients broke {len(broken)} of {number(len(judged), 'rule')}", BROKEN_RULES)
    return Sentence((broke, f": {', '.join(named)}{more}.{doubt}"), f"To do: `groupmock explain {broken[0]['rule']}` says how to mend it.")


# -- the worst runs ----------------------------------------------------------------------------------------------------------------------


def _costly(facts: Facts) -> list[dict[str, Cell]]:
    return [line for line in facts.lines(WORST_RUNS) if _number(line, "unowned") > 0]


def _worst(facts: Facts, timelines: Mapping[str, str]) -> Sentence:
    if facts.answers is None:
        return _unknown("Which runs are the worst", facts.lacks)
    (whole,) = facts.lines(ALL) or [{}]
    runs, costly = _int(whole, "runs"), _costly(facts)
    if not isinstance(whole.get("unowned"), int | float):
        why = "these journals do not have the assignments" if runs else "no group of this corpus rebalanced"
        return _unknown("Which runs are the worst", why)
    if not costly:
        return Sentence((f"No partition lost its owner in {number(runs, 'run')}.",), NOTHING_TO_DO)
    cost, total = sum(_number(line, "unowned") for line in costly), _number(whole, "unowned")
    many = len(costly)
    if many == runs:
        subject = "The only run has" if many == 1 else f"The {many} runs have"
    else:
        subject = f"The worst of {runs} runs has" if many == 1 else f"The worst {many} of {runs} runs have"
    parts = (facts.link(subject, WORST_RUNS), f" {_amount(cost)} of {_amount(total)} {SECONDS}.")
    advice = "To do: open the first timeline." if timelines else "To do: draw the first one with `groupmock timeline JOURNAL`."
    keys = [str(line["run"]) for line in costly]
    lines = [tuple(_run(line, name, timelines.get(run))) for line, run, name in zip(costly, keys, _names(keys), strict=True)]
    return Sentence(parts, advice, tuple(lines))


def _run(line: Mapping[str, Cell], name: str, timeline: str | None) -> Iterator[Part]:
    seconds, moved = _number(line, "unowned"), line.get("partitions moved")
    yield shown(name) if timeline is None else Link(shown(name), timeline)
    moves = f"{int(moved)} moved" if isinstance(moved, int | float) else "moves unknown"
    rebalances = number(_int(line, "rebalances"), "rebalance")
    yield f": {_amount(seconds)}{_noun(seconds).removesuffix(WITHOUT)}, {moves} in {rebalances}"


def _names(runs: Sequence[str]) -> list[str]:
    """Return the names in the keys of runs (`ingest.parsing.KEY`), or the keys if two runs have the same name."""
    names = [KEY_END.sub("", run) for run in runs]
    return names if len(set(names)) == len(names) else list(runs)


def _number(line: Mapping[str, Cell], head: str) -> float:
    value = line.get(head)
    return float(value) if isinstance(value, int | float) else 0.0


def _int(line: Mapping[str, Cell], head: str) -> int:
    return int(_number(line, head))
