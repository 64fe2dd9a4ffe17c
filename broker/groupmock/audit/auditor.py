"""The auditor passes journal rows to the rules and counts their judgements.

Every row is handled in the same order, wherever it comes from: first the appointments that were due before it, then the rules, then the
world. So the verdicts about a running cluster and those about its journal are the same.

If a rule crashes, its verdict is unknown and it is not called again. The other rules go on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Final, NamedTuple

import msgspec

from groupmock_codec.api_keys import HEARTBEAT
from groupmock_codec.units import NS_PER_MS

from ..journal.dispatch import RowReader, takes
from ..journal.read import UnknownRow
from ..journal.rows import (
    NODE_RESUMED,
    NODE_STALLED,
    AbandonedRow,
    ClientRow,
    CloseRow,
    CommandRow,
    MemberRow,
    MovedRow,
    NoteRow,
    OpenRow,
    ReplyRow,
    RequestRow,
    Row,
)
from ..text.printable import one_line
from .agenda import Appointment
from .contradictions import contradiction, unasked
from .judgement import CONTRADICTED, Broken, Judgements, Kept, NotJudged
from .known_world import OF_GENERATIONS, World
from .rule import ALWAYS, NOTED, registered
from .subjects import Exchange, Group, Link, Member, Pulse, Subject
from .verdicts import Audit, Finding, Tally

OF_COORDINATOR: Final = (MovedRow, MemberRow)
"""The kinds of rows that no rule sees, because they only tell to which generation requests belong. Heartbeats may be repeated across
such rows."""
RETURNING: Final = 1_000
"""A group whose last member leaves, or whose joins are refused, may come back. It is counted once if no more than this many other groups
have ended in between."""
BoundHook = Callable[[Any], Judgements]
Hooks = tuple[tuple[str, BoundHook], ...]
"""Methods of rules, each with the rule's code."""


class Watching(NamedTuple):
    """The methods that look at one kind of requests or answers. Those in `always` are called for each of them, and all of them (`every`)
    for a refusal, or while one of the rules in `noted` remembers something about the connection or the member."""

    every: Hooks = ()
    always: Hooks = ()
    noted: frozenset[str] = frozenset()

    def more(self, code: str, hook: BoundHook, when: str) -> Watching:
        found = ((code, hook),)
        always, noted = self.always + found if when == ALWAYS else self.always, self.noted | {code} if when == NOTED else self.noted
        return Watching(self.every + found, always, noted)

    def without(self, code: str) -> Watching:
        """Return the methods of other rules than this one, which has crashed."""
        every, always = (tuple(each for each in hooks if each[0] != code) for hooks in (self.every, self.always))
        return Watching(every, always, self.noted - {code})


class Auditor(RowReader):
    """Audits the rows of a journal, which are passed to `feed` in order. `found` is called with each finding as it is made. `over` is
    called with the name of each group that has ended (None: connections without a group) and the tallies of its rules; `totals` adds all
    tallies up. `judged` is called with each judgement: the rule's code, the group, the judged connection (None: unknown), and KEPT, a
    NotJudged or the finding.

    It reads the rows of the wire, the coordinator's rows (for the fold of generations), and notes that a topic was created, grown or
    deleted, that a client was asked to stop (`journal.rows.ASKED_TO_STOP`) or that a node is stalled: a stalled node makes answers but does
    not send them. A command that steps the clock makes no client slow.

    `codes` names the rules to apply (None: all). `waive` returns the reason why a finding does not count, or None. `pulse` is a running
    broker that makes no rows of repeated heartbeats (`known_world`).
    """

    def __init__(
        self,
        codes: Iterable[str] | None = None,
        *,
        found: Callable[[Finding], None] | None = None,
        over: Callable[[str | None, dict[str, Tally]], None] | None = None,
        judged: Callable[[str, str | None, Link | None, Kept | NotJudged | Finding], None] | None = None,
        waive: Callable[[Finding], str | None] | None = None,
        pulse: Pulse | None = None,
    ) -> None:
        known = registered()
        self.rules = {code: known[code] for code in (known if codes is None else codes)}
        self.totals: dict[str, Tally] = {code: Tally() for code in self.rules}
        self.rows = 0
        self.holes: list[str] = []
        self._found, self._over, self._judged, self._waive = found, over, judged, waive
        self._next = 0
        self._beat: RequestRow | None = None  # A heartbeat that seems to repeat the previous one is kept here until its answer arrives.
        self._world = World(pulse)
        self._world.calm = partial(self._judge, "calm")
        self._hooks: dict[tuple[str, int], Watching] = {}
        for code, rule in self.rules.items():
            made = rule(self._world)
            for moment, key, when, name in rule.hooks():
                self._hooks[moment, key] = self._hooks.get((moment, key), Watching()).more(code, getattr(made, name), when)
        self._open: dict[str | None, dict[str, Tally]] = {}
        self._groups = 0
        self._ended: dict[str, None] = {}
        self._crashed: set[str] = set()
        self._held: dict[int | None, list[ReplyRow | AbandonedRow]] = {}

    def feed(self, row: Row | UnknownRow) -> None:
        """Audit the next row of a journal. Rows are numbered without gaps, so a missing number means a missing row (`lost`)."""
        if row.seq != self._next and self._next:
            self.lost(_hole(self._next, row.seq))
        self._next = row.seq + 1
        try:
            self.take(row)
        # A row with missing or wrong fields was written by hand or by another program.
        except (AttributeError, LookupError, TypeError, ValueError) as wrong:
            self.lost(one_line(f"row {row.seq} does not say what its API says: {type(wrong).__name__}: {wrong}"))

    def take(self, row: Row | UnknownRow) -> None:
        """Audit the next row from a caller that leaves out some kinds of rows, but passes all rows of `kinds`."""
        self.rows += 1
        take = self.handlers.get(row.__class__)
        if take is None or row.__class__ in OF_COORDINATOR:
            if take is not None:
                take(self, row)
            self.passed(row.t)
            return
        beat = self._beat
        if beat is not None:
            self._beat = None
            if row.__class__ is ReplyRow and _clean(beat, row):
                self._world.again(beat)
                return
            self._asked(beat)
        if row.t > self._world.now:
            self._passed(row.t)
        if row.__class__ is RequestRow and row.api_key == HEARTBEAT and self._world.repeats(row):
            self._beat = row  # The row is kept, because a heartbeat that changes nothing is answered by the next row.
            return
        take(self, row)

    def passed(self, now: int) -> None:
        """Let time pass to `now` (ns of the journal) without a row, so that rules get the appointments that are due."""
        if now <= self._world.now:
            return
        if self._beat is not None:  # The heartbeat was not answered at once, so it is judged like any other request.
            beat, self._beat = self._beat, None
            self._asked(beat)
        self._passed(now)

    @property
    def next_look(self) -> int | None:
        """Return the time at which a rule wants to look again, not before the present time, or None."""
        at = self._world.agenda.next
        return None if at is None else max(at, self._world.now)

    def calm_until(self, connection: int) -> int:
        """Return the time (ns) until which rows of heartbeats that equal the previous one of this connection are not needed, or -1 if
        all of them are."""
        return self._world.calm_until(connection)

    def lost(self, what: str) -> None:
        """Forget open requests and appointments, because rows are missing in the journal. The sentence `what` says so."""
        self.holes.append(what)
        self._beat = None
        self._world.lost()
        self._held.clear()
        self._settle_groups()

    def so_far(self, group: str | None = None) -> Audit:
        """Return the findings so far, in counts that do not change any more. With `group`, only the findings in this group are returned,
        as long as the group exists."""
        self._world.catch_up_all()
        rules = {code: Tally(findings=[]) for code in self.rules}
        for tallies in (self.totals, *self._open.values()) if group is None else (self._open.get(group, {}),):
            for code, tally in tallies.items():
                rules[code].add(tally)
        groups = int(group in self._open) if group is not None else self._groups + len(self._open.keys() - {None, *self._ended})
        return Audit(rules=rules, groups=groups, rows=self.rows, holes=list(self.holes))

    def close(self) -> Audit:
        """Return the audit, because there are no more rows."""
        if self._beat is not None:
            self._asked(self._beat)
            self._beat = None
        for name in list(self._open):
            self._hand_over(name)
        return Audit(rules=self.totals, groups=self._groups, rows=self.rows, holes=self.holes)

    # -- rows

    @takes
    def _opened(self, row: OpenRow) -> None:
        self._world.opened(row)

    @takes
    def _asked(self, row: RequestRow) -> None:
        if self._held:
            self._goes_on(row.node, row.t)  # A node that handles a request is no longer stalled.
        x = self._world.asked(row)
        self._catch_up(x.speaker, x.member, x.link.last)
        self._judge("asked", x)
        self._world.take(x)
        if x.key in OF_GENERATIONS:
            self._world.fold_in(row, x.asked)

    @takes
    def _answered(self, row: ReplyRow | AbandonedRow) -> None:
        if row.node in self._held:
            self._held[row.node].append(row)
            return
        x = self._world.replied(row)
        if x is None:
            self._unasked(row)
            self._world.fold_in(row)
            return
        if isinstance(row, ReplyRow) and (wrong := contradiction(x, row) or self._world.producers.contradiction(x)) is not None:
            self._doubt(row, wrong, x.link, x.group, x.producer)
        self._catch_up(x.speaker, x.member)
        self._judge("answered", x)
        if x.key in OF_GENERATIONS:
            self._world.fold_in(row, x.answer)
        self._world.settle(x)
        if x.group is not None and x.group.gone:
            self._hand_over(x.group.name)

    def _unasked(self, row: ReplyRow | AbandonedRow) -> None:
        link = self._world.links.get(row.connection)
        if isinstance(row, ReplyRow) and (wrong := unasked(link, row)) is not None:
            self._doubt(row, wrong, link, None if link is None or link.last is None else link.last.group)

    def _doubt(self, row: Row, wrong: str, *about: Subject | None) -> None:
        """Judge nothing more about a connection, a group and a producer, because an answer about them contradicts earlier rows."""
        new = [each for each in about if each is not None and not each.doubted]
        if new:
            self.holes.append(f"row {row.seq} contradicts earlier rows: {wrong}")
        for each in new:
            each.doubted = True

    @takes
    def _closed(self, row: CloseRow) -> None:
        link = self._world.ended(row)
        if link is None:
            return
        self._catch_up(link.last, None if link.beat is None else link.beat.member)
        self._run(self._hooks.get(("closed", 0), Watching()).every, link, link.last, link, row.t)
        self._world.forget(link)
        self._settle_groups()

    @takes
    def _of_coordinator(self, row: MovedRow | MemberRow) -> None:
        if row.group in self._world.groups:
            self._world.fold_in(row)

    @takes
    def _said(self, row: ClientRow) -> None:
        self._world.said(row)

    @takes
    def _steered(self, row: CommandRow) -> None:
        if row.name == "step_clock":
            self._world.stalls.stepped(int(row.arguments["ms"]) * NS_PER_MS)

    @takes
    def _noted(self, row: NoteRow) -> None:
        node = row.fields.get("node")
        self._world.topics.noted(row)
        if row.what == NODE_STALLED:
            self._held.setdefault(node, [])
        elif row.what == NODE_RESUMED:
            self._goes_on(node, row.t)
            self._world.stood_still(row.t)

    def _goes_on(self, node: int | None, now: int) -> None:
        """Note that a stalled node continues, so that its answers of the time before arrive only now."""
        for row in self._held.pop(node, ()):
            written = {"written": now} if isinstance(row, ReplyRow) else {}
            self._answered(msgspec.structs.replace(row, t=now, **written))

    def _passed(self, now: int) -> None:
        """Let time pass up to the time of a row, and let each rule look at the time of its own appointment."""
        for over in self._world.agenda.due(now):
            self._world.now = max(self._world.now, over.at)
            self._look(over)
        self._world.now = now

    def _look(self, over: Appointment) -> None:
        look, about = over.look, over.about
        if look is None or about is None or over.code in self._crashed:
            return
        self._catch_up(about if isinstance(about, Member) else about.last if isinstance(about, Link) else None)
        if over.code:
            self._run(((over.code, lambda _: look()),), about, about, _link_of(about), over.at)
            return
        look()  # The model of the cluster (`world`) has appointments of its own, at which it gives up silent members.
        if isinstance(about, Member) and about.group.gone:
            self._hand_over(about.group.name)

    def _catch_up(self, *members: Member | None) -> None:
        """Ask a running broker for its unreported heartbeats of these members."""
        if self._world.pulse is not None:
            for member in members:
                if member is not None:
                    self._world.catch_up(member)

    # -- rules

    def _judge(self, moment: str, x: Exchange) -> None:
        watching = self._hooks.get((moment, x.key))
        if watching is None:
            return
        noted, member = watching.noted, x.member
        is_quiet = (
            (moment == "asked" or (x.delivered and not x.errors))
            and noted.isdisjoint(x.link.notes)
            and (member is None or noted.isdisjoint(member.notes))
        )
        hooks = watching.always if is_quiet else watching.every
        about, at = member or x.group or x.link, x.at if moment == "asked" else x.answered
        self._run(hooks, x, about, x.link, at, x.producer is not None and x.producer.doubted)

    def _run(
        self, hooks: Hooks, subject: Any, about: Subject | None, link: Link | None, t: int | None, doubted: bool = False
    ) -> None:
        """Let hooks judge the exchange or connection `subject`, and count what they judge in the group of `about`. If an answer about it
        contradicted earlier rows (`doubted`, or the subjects say so), nothing is judged."""
        group, doubted = _group_of(about), doubted or _doubted(about, link)
        tallies = self._open.get(group)
        for code, hook in hooks:
            try:
                for judgement in hook(subject):
                    if tallies is None:
                        tallies = self._open.setdefault(group, {})
                    tally = tallies.get(code) or self._tally(code, group)
                    result: Kept | NotJudged | Finding
                    if doubted:
                        result = CONTRADICTED
                        tally.leave(CONTRADICTED.reason)
                    elif isinstance(judgement, Broken):
                        result = self._broken(tally, code, judgement, about, link, t or 0)
                    else:
                        result = judgement
                        if isinstance(judgement, Kept):
                            tally.kept += 1
                        else:
                            tally.leave(judgement.reason)
                    if self._judged is not None:
                        self._judged(code, group, link, result)
            except Exception as crash:  # A rule that crashes gets the verdict unknown and is not called again; the audit continues.
                self._tally(code, group).crashed = f"the rule crashed: {type(crash).__name__}: {crash}"
                self._crashed.add(code)
                self._hooks = {place: watching.without(code) for place, watching in self._hooks.items()}

    def _broken(self, tally: Tally, code: str, what: Broken, about: Subject | None, link: Link | None, t: int) -> Finding:
        member = about if isinstance(about, Member) else None
        library, version = (link.software if link is not None else None) or (None, None)
        finding = Finding(
            rule=code, severity=self.rules[code].severity, group=_group_of(about),
            member=None if member is None else member.name, member_id=None if member is None else member.id,
            client_id=None if link is None else link.client_id, library=library, version=version, t=t,
            sentence=what.sentence, instead=what.instead, rows=what.rows,
        )  # fmt: skip
        if self._waive is not None:
            finding.waived = self._waive(finding)
        tally.found(finding)
        if self._found is not None:
            self._found(finding)
        return finding

    def _tally(self, code: str, group: str | None) -> Tally:
        tallies = self._open.setdefault(group, {})
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
        if name is not None:
            self._groups += name not in self._ended
            self._ended.pop(name, None)
            self._ended[name] = None
            if len(self._ended) > RETURNING:
                del self._ended[next(iter(self._ended))]
        if self._over is not None:
            self._over(name, tallies)
        for code, tally in tallies.items():
            self.totals[code].add(tally)


def _clean(asked: RequestRow, answer: Any) -> bool:
    """Return whether this answer to a heartbeat was delivered at once and has no error."""
    return bool(
        answer.ticket == asked.ticket
        and answer.api_version == asked.api_version
        and answer.connection == asked.connection
        and answer.t == asked.t
        and answer.error is None
        and answer.delivered
        and answer.message is not None
    )


def _doubted(about: Subject | None, link: Link | None) -> bool:
    group = about.group if isinstance(about, Member) else about
    return (group is not None and group.doubted) or (link is not None and link.doubted)


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


def audit(rows: Iterable[Row | UnknownRow], codes: Iterable[str] | None = None) -> Audit:
    """Audit rows that exist already, for example those of `journal.read`."""
    auditor = Auditor(codes)
    for row in rows:
        auditor.feed(row)
    return auditor.close()
