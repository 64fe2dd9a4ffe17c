"""An audit rule that every event breaks, so that its findings contain everything that a rule can see. Its findings show all that a rule
can see: two audits that agree on them agree for every rule."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from groupmock.audit.auditor import Auditor
from groupmock.audit.judgement import Broken, Judgements
from groupmock.audit.reading import OF_GROUPS
from groupmock.audit.repeating import CALM
from groupmock.audit.rule import Rule, answered, asked, closed, registered
from groupmock.audit.sink import AuditSink
from groupmock.audit.subjects import Exchange, Link, Member
from groupmock.audit.verdicts import Audit, Finding
from groupmock.journal.read import read
from groupmock.journal.rows import OpenRow
from groupmock.net.beats import Beats
from groupmock.net.clock import Clock, ClockAlarm
from groupmock.net.driver import Driver
from groupmock.rig.kept_rows import KeptRows

CODE = "TEST-00"


class Witness(Rule):
    """Reports every event that a rule can receive."""

    code = CODE
    title = what = why = fix = kept = broken = "a witness"
    source = ()

    @asked(*OF_GROUPS)
    def asks(self, x: Exchange) -> Judgements:
        yield self._tell(f"{x.name} v{x.version} of {x.client_id}", x.member, x.link, x.rows)

    @answered(*OF_GROUPS)
    def answers(self, x: Exchange) -> Judgements:
        yield self._tell(f"{x.name} answered {sorted(x.errors)} {x.delivered} {x.abandoned}", x.member, x.link, x.rows)
        if x.member is not None and x.member.session_ns and not x.member.gone:
            self._silent_later(x.member)

    @closed
    def ends(self, link: Link) -> Judgements:
        yield self._tell(f"closed {link.closed}", link.last, link, ())

    def _silent_later(self, member: Member) -> None:
        heard = member.seen
        wait = member.session_ns // CALM + 1

        def look() -> Judgements:
            if member.seen == heard:
                yield Broken(f"{member.name} was silent since {heard}", member.beat.rows if member.beat is not None else (), "to speak")

        self.later(heard + wait, member, look)

    def _tell(self, what: str, member: Member | None, link: Link, rows: tuple[int, ...]) -> Broken:
        told = f"{what} on {link.number} at {self.world.now}"
        if member is not None:
            beat = member.beat
            told += f": {member.name} of generation {member.generation}, seen at {member.seen}, {len(member.beating)} open"
            if beat is not None:
                told += f", beat at {beat.at} on {beat.link.number}, {beat.rows}"
        return Broken(told, rows, "nothing")


class Beside:
    """An audit attached to a driver, with its findings."""

    def __init__(self, driver: Driver, clock: Clock) -> None:
        self.findings = KeptRows(kinds=["finding"])
        self.sink = AuditSink(driver.journal, Beats(driver.connections), ClockAlarm(clock), clock.now)
        driver.journal.add(self.findings)
        driver.journal.add(self.sink)
        now = clock.now()
        # The audit was added after these connections opened, so it gets their rows now, as the journal file has them.
        for each in driver.connections.values():
            self.sink.take(OpenRow(t=now, node=each.node, connection=each.number, client_host=each.client_host, client_port=each.port))

    def told(self, rows: bool = True) -> list[tuple[Any, ...]]:
        """Return the findings in sorted order, with `rows` also the rows that they cite."""
        assert not any(tally.crashed for tally in self.sink.audit().rules.values())
        return sorted((each.happened, each.sentence, each.instead, each.rows if rows else ()) for each in self.findings.of("finding"))


def told_of(path: Path) -> tuple[list[tuple[Any, ...]], Audit]:
    """Return the sorted findings of a journal file, and the audit."""
    found: list[Finding] = []
    auditor = Auditor(found=found.append)
    for row in read(path)[1]:
        auditor.feed(row)
    return sorted((each.t, each.sentence, each.instead, each.rows) for each in found), auditor.close()


def figures(audit: Audit) -> dict[str, tuple[object, ...]]:
    """Return the figures in which two audits must agree, which are all except the number of rows."""
    return {code: (tally.verdict, tally.kept, tally.broken, tally.waived, tally.crashed) for code, tally in audit.rules.items()}


@pytest.fixture
def witness(monkeypatch: pytest.MonkeyPatch) -> None:
    """Register the rule Witness for the test."""
    known = {**registered(), CODE: Witness}
    monkeypatch.setattr("groupmock.audit.auditor.registered", lambda: known)
    monkeypatch.setattr("groupmock.audit.sink.MOST_ROWS", 1_000_000)
