"""Feeds rows to the rules and counts what they say.

Every row goes the same way, whoever brings it: time first (what was due before it is looked at), then the rules, then the world. So the
verdicts of a run that is watched and those of its journal are the same.

A rule that crashes is unknown from then on and is asked no more; the others go on.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any, Final

from ..journal.read import UnknownRow
from ..journal.rows import AbandonedRow, ClientRow, CloseRow, OpenRow, ReplyRow, RequestRow, Row
from .agenda import Appointment
from .judgement import Broken, Judgements
from .rule import registered
from .subjects import Exchange, Group, Link, Member, Subject
from .verdicts import SHOWN, Audit, Finding, Tally
from .world import SLACK_NS, World

KINDS: Final = frozenset(("open", "close", "request", "reply", "abandoned", "client"))
"""Kinds of rows that are looked at: those of the wire, and what somebody outside says of a client (`journal.rows.ASKED_TO_STOP`)."""
BoundHook = Callable[[Any], Judgements]
Hooks = list[tuple[str, BoundHook]]


class Auditor:
    """`feed` it rows in the journal's order, then `close`. `found`: called with each finding as it is made; `over`: with every group that
    is over, its name (None: connections without one) and the tallies of its rules; all are added up in `totals`. `judged`: called with
    every judgement: code, group, the connection of whom it is about (None: not known) and the finding (None: kept).

    `codes`: the rules to look at; all of them unless said. `waive`: the reason why a finding does not count, or None. `slack`: see
    `world.SLACK_NS`.
    """

    def __init__(
        self,
        codes: Iterable[str] | None = None,
        *,
        slack: int = SLACK_NS,
        found: Callable[[Finding], None] | None = None,
        over: Callable[[str | None, dict[str, Tally]], None] | None = None,
        judged: Callable[[str, str | None, Link | None, Finding | None], None] | None = None,
        waive: Callable[[Finding], str | None] | None = None,
    ) -> None:
        known = registered()
        self.rules = {code: known[code] for code in (known if codes is None else codes)}
        self.totals: dict[str, Tally] = {code: Tally() for code in self.rules}
        self.rows = 0
        self.holes: list[str] = []
        self._found, self._over, self._judged, self._waive = found, over, judged, waive
        self._next = 0
        self._world = World(slack)
        self._hooks: dict[str, dict[int, Hooks]] = {"asked": defaultdict(list), "answered": defaultdict(list), "closed": defaultdict(list)}
        self._crashed: set[str] = set()
        for rule in self.rules.values():
            made = rule(self._world)
            for moment, key, name in rule.hooks():
                self._hooks[moment][key].append((rule.code, getattr(made, name)))
        self._open: dict[str | None, dict[str, Tally]] = {}
        self._groups = 0

    def feed(self, row: Row | UnknownRow) -> None:
        """One more row of a journal, which numbers them without gaps: where a number is missing, rows are (`lost`)."""
        if row.seq != self._next and self._next:
            self.lost(_hole(self._next, row.seq))
        self._next = row.seq + 1
        self.take(row)

    def take(self, row: Row | UnknownRow) -> None:
        """One more row, from somebody who passes only some kinds on: KINDS at least, and all of those."""
        self.rows += 1
        take = _TAKE.get(row.__class__)
        if take is None:
            return
        if row.t > self._world.now:
            self._passed(row.t)
        take(self, row)

    def lost(self, what: str) -> None:
        """Rows are missing here, says the sentence: what was open is forgotten."""
        self.holes.append(what)
        self._world.lost()
        self._settle_groups()

    def close(self) -> Audit:
        """There are no more rows."""
        for name in list(self._open):
            self._hand_over(name)
        return Audit(rules=self.totals, groups=self._groups, rows=self.rows, holes=self.holes)

    # -- rows

    def _opened(self, row: OpenRow) -> None:
        self._world.opened(row)

    def _asked(self, row: RequestRow) -> None:
        x = self._world.asked(row)
        hooks = self._hooks["asked"].get(x.key)
        if hooks:
            self._judge(hooks, x, x.at)
        self._world.take(x)

    def _answered(self, row: ReplyRow | AbandonedRow) -> None:
        x = self._world.replied(row)
        if x is None:
            return
        hooks = self._hooks["answered"].get(x.key)
        if hooks:
            self._judge(hooks, x, x.answered)
        self._world.settle(x)
        if x.group is not None and x.group.gone:
            self._hand_over(x.group.name)

    def _closed(self, row: CloseRow) -> None:
        link = self._world.ended(row)
        if link is None:
            return
        for code, hook in self._hooks["closed"][0]:
            self._run(code, hook, link, link.last, link, row.t)
        touched = {x.group for x in link.open.values() if x.group is not None}
        if link.last is not None:
            touched.add(link.last.group)
        self._world.forget(link)
        for group in touched:
            if group.gone:
                self._hand_over(group.name)

    def _said(self, row: ClientRow) -> None:
        self._world.said(row)

    def _passed(self, now: int) -> None:
        """Time passes up to a row: what was due is looked at, each at its own time."""
        for over in self._world.agenda.due(now):
            self._world.now = max(self._world.now, over.at)
            self._look(over)
        self._world.now = now

    def _look(self, over: Appointment) -> None:
        look, about = over.look, over.about
        if look is None or about is None or over.code in self._crashed:
            return
        if over.code:
            self._run(over.code, lambda _: look(), about, about, _link_of(about), over.at)
            return
        look()  # the world's own: it gives up members
        if isinstance(about, Member) and about.group.gone:
            self._hand_over(about.group.name)

    # -- rules

    def _judge(self, hooks: Hooks, x: Exchange, t: int | None) -> None:
        about = x.member or x.group or x.link
        for code, hook in hooks:
            self._run(code, hook, x, about, x.link, t)

    def _run(self, code: str, hook: BoundHook, subject: Any, about: Subject | None, link: Link | None, t: int | None) -> None:
        try:
            for judgement in hook(subject):
                tally = self._tally(code, about)
                if isinstance(judgement, Broken):
                    self._broken(tally, code, judgement, about, link, t or 0)
                    continue
                tally.kept += 1
                if self._judged is not None:
                    self._judged(code, _group_of(about), link, None)
        except Exception as crash:
            self._crash(code, about, crash)

    def _crash(self, code: str, about: Subject | None, crash: Exception) -> None:
        """The rule is unknown from now on and asked no more; the audit goes on without it."""
        self._tally(code, about).crashed = f"the rule crashed: {type(crash).__name__}: {crash}"
        self._crashed.add(code)
        for moment in self._hooks.values():
            for key, hooks in moment.items():
                moment[key] = [each for each in hooks if each[0] != code]

    def _broken(self, tally: Tally, code: str, what: Broken, about: Subject | None, link: Link | None, t: int) -> None:
        tally.broken += 1
        member = about if isinstance(about, Member) else None
        finding = Finding(
            rule=code, severity=self.rules[code].severity, group=_group_of(about),
            member=None if member is None else member.name, member_id=None if member is None else member.id,
            client_id=None if link is None else link.client_id, t=t, sentence=what.sentence, instead=what.instead, rows=what.rows,
        )  # fmt: skip
        if self._waive is not None:
            finding.waived = self._waive(finding)
            tally.waived += finding.waived is not None
        if len(tally.findings) < SHOWN:
            tally.findings.append(finding)
        if self._found is not None:
            self._found(finding)
        if self._judged is not None:
            self._judged(code, finding.group, link, finding)

    def _tally(self, code: str, about: Subject | None) -> Tally:
        tallies = self._open.setdefault(_group_of(about), {})
        found = tallies.get(code)
        if found is None:
            found = tallies[code] = Tally(findings=[])
        return found

    # -- groups that are over

    def _settle_groups(self) -> None:
        for name in [name for name in self._open if name is not None and name not in self._world.groups]:
            self._hand_over(name)

    def _hand_over(self, name: str | None) -> None:
        tallies = self._open.pop(name, None)
        if tallies is None:
            return
        self._groups += name is not None
        if self._over is not None:
            self._over(name, tallies)
        for code, tally in tallies.items():
            self.totals[code].add(tally)


def _group_of(about: Subject | None) -> str | None:
    if isinstance(about, Member):
        return about.group.name
    return about.name if isinstance(about, Group) else None


def _link_of(about: Subject) -> Link | None:
    if isinstance(about, Member):
        return about.link
    return about if isinstance(about, Link) else None


def _hole(wanted: int, found: int) -> str:
    if found < wanted:
        return f"row {found} comes after row {wanted - 1}: rows are not in order"
    return f"row {wanted} is missing" if found == wanted + 1 else f"rows {wanted} to {found - 1} are missing"


_TAKE: Final[dict[type, Callable[[Auditor, Any], None]]] = {
    OpenRow: Auditor._opened,
    RequestRow: Auditor._asked,
    ReplyRow: Auditor._answered,
    AbandonedRow: Auditor._answered,
    CloseRow: Auditor._closed,
    ClientRow: Auditor._said,
}


def audit(rows: Iterable[Row | UnknownRow], codes: Iterable[str] | None = None) -> Audit:
    """Audit rows that are there already, as `journal.read` gives them."""
    auditor = Auditor(codes)
    for row in rows:
        auditor.feed(row)
    return auditor.close()
