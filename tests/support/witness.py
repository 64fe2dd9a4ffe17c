"""A rule that is broken by everything: its findings say all that a rule can see. So two audits that agree in them agree for every rule."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from groupmock.audit.auditor import Auditor
from groupmock.audit.judgement import Broken, Judgements
from groupmock.audit.known_world import OF_GROUPS
from groupmock.audit.repeating import CALM
from groupmock.audit.rule import Rule, answered, asked, closed, registered
from groupmock.audit.sink import AuditSink
from groupmock.audit.subjects import Exchange, Link, Member
from groupmock.audit.verdicts import Audit, Finding
from groupmock.journal.read import read
from groupmock.journal.rows import OpenRow
from groupmock.net.alarm import ClockAlarm
from groupmock.net.beats import Beats
from groupmock.net.clock import Clock
from groupmock.net.driver import Driver
from groupmock.rig.kept_rows import KeptRows

CODE = "TEST-00"


class Witness(Rule):
    """Tells what it sees at every moment that a rule can have."""

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
    """An audit beside a driver, and what it tells."""

    def __init__(self, driver: Driver, clock: Clock) -> None:
        self.findings = KeptRows(kinds=["finding"])
        self.sink = AuditSink(driver.journal, Beats(driver.connections), ClockAlarm(clock), clock.now)
        driver.journal.add(self.findings)
        driver.journal.add(self.sink)
        now = clock.now()
        for each in driver.connections.values():  # the file has their rows
            self.sink.take(OpenRow(t=now, node=each.node, connection=each.number, client_host=each.client_host, client_port=each.port))

    def told(self, rows: bool = True) -> list[tuple[Any, ...]]:
        """Its findings, sorted; `rows`: with the rows that they cite."""
        assert not any(tally.crashed for tally in self.sink.audit().rules.values())
        return sorted((each.happened, each.sentence, each.instead, each.rows if rows else ()) for each in self.findings.of("finding"))


def told_of(path: Path) -> tuple[list[tuple[Any, ...]], Audit]:
    """Findings of a journal's file, sorted, and the audit."""
    found: list[Finding] = []
    auditor = Auditor(found=found.append)
    for row in read(path)[1]:
        auditor.feed(row)
    return sorted((each.t, each.sentence, each.instead, each.rows) for each in found), auditor.close()


def figures(audit: Audit) -> dict[str, tuple[object, ...]]:
    """What two audits are to agree in: all but how many rows were read."""
    return {code: (tally.verdict, tally.kept, tally.broken, tally.waived, tally.crashed) for code, tally in audit.rules.items()}


@pytest.fixture
def witness(monkeypatch: pytest.MonkeyPatch) -> None:
    """The witness is among the rules."""
    known = {**registered(), CODE: Witness}
    monkeypatch.setattr("groupmock.audit.auditor.registered", lambda: known)
    monkeypatch.setattr("groupmock.audit.sink.MOST_ROWS", 1_000_000)
