"""An audit beside a running cluster is a sink that judges rows as they come, and appends its findings as rows of the kind `finding`.

The sink receives the rows of the wire except for heartbeats that merely repeat (`Sink.pulse`). Those cost nothing: a rule that needs to
know about them asks for them (`subjects.Pulse`). The verdicts still equal those about the journal's file (`known_world`).

Rules may wait for an event that does not come. Each row moves the audit's time on. While no row comes, an appointment does so at the next
moment for which a rule waits (`Alarm`).

The audit cannot harm the cluster. If a rule crashes, its verdict is unknown from then on, and if the audit itself crashes, all verdicts
are. The cluster keeps serving.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Final

from ..journal.journal import NEVER, Alarm, Journal, Repeated, Sink
from ..journal.rows import FindingRow, Row
from .auditor import Auditor
from .subjects import Pulse
from .verdicts import Audit, Finding
from .waivers import Waivers

MOST_ROWS: Final = 1_000
"""At most this many findings of one rule become rows; the others are only counted, because a client that is wrong in each request must
not fill the log."""


class AuditSink(Sink):
    """Judges the clients of one run while it goes on. `pulse` knows of heartbeats without rows, `now` returns the run's time, and
    `waivers` excuse findings."""

    kinds = Auditor.kinds
    routine = True
    pulse = True
    behind = True

    def __init__(self, journal: Journal, pulse: Pulse, alarm: Alarm, now: Callable[[], int], waivers: Waivers | None = None) -> None:
        self.waivers = waivers
        self._journal, self._alarm, self._now = journal, alarm, now
        self._auditor = Auditor(found=self._found, waive=None if waivers is None else waivers.of, pulse=pulse)
        self._fresh: list[Finding] = []
        self._told: Counter[str] = Counter()
        self._failure: str | None = None
        self._done: Audit | None = None
        alarm.ring = self._ring

    def take(self, row: Row) -> None:
        if self._failure is not None or self._done is not None:
            return
        try:
            self._auditor.take(row)
        except Exception as defect:  # A defect of groupmock must not affect the served clients.
            self._fail(defect)
        if self._fresh:
            self._tell(row.t)
        self._look_later()

    def take_repeated(self, repeated: Repeated) -> None:
        """Audit repeated heartbeats that came after a long pause; only the first of them matters."""
        request, reply = repeated.sample()
        request.seq, reply.seq = repeated.first, repeated.first + 1
        self.take(request)
        self.take(reply)

    def silence(self, connection: int) -> int:
        """Return the time (ns) until which heartbeats that equal the previous one of this connection are not needed."""
        return NEVER if self._failure is not None else self._auditor.calm_until(connection)

    def end(self, now: int) -> None:
        """End the run: events that were expected until now did not happen."""
        if self._done is None:
            self._pass(now)
            self._alarm.cancel()
            self._done = self._so_far()

    def audit(self, group: str | None = None) -> Audit:
        """Return the findings so far, or all findings if the run is over. With `group`, only those in this group are returned, as long
        as it exists."""
        if self._done is None:
            self._ring()
        return self._so_far(group) if self._done is None or group is not None else self._done

    def _ring(self) -> None:
        if self._done is None:
            self._pass(self._now())
            self._look_later()

    def _look_later(self) -> None:
        at = self._auditor.next_look
        # The alarm rings 1 ns after the appointment, because more rows of that moment may follow.
        self._alarm.set(None if at is None else at + 1)

    def _pass(self, now: int) -> None:
        """Let time pass without a row."""
        if self._failure is None:
            try:
                self._auditor.passed(now)
            except Exception as defect:  # A defect of groupmock must not affect the served clients, as in `take`.
                self._fail(defect)
            if self._fresh:
                self._tell(now)

    def _so_far(self, group: str | None = None) -> Audit:
        found = self._auditor.so_far(group)
        if self._failure is not None:
            for tally in found.rules.values():
                tally.crashed = tally.crashed or self._failure
        return found

    def _found(self, finding: Finding) -> None:
        self._told[finding.rule] += 1
        if self._told[finding.rule] <= MOST_ROWS:
            self._fresh.append(finding)

    def _tell(self, now: int) -> None:
        fresh, self._fresh = self._fresh, []
        if "finding" not in self._journal.wanted:
            return
        for each in fresh:
            self._journal.append(
                FindingRow(
                    t=now, rule=each.rule, severity=each.severity, group=each.group, member=each.member, member_id=each.member_id,
                    client_id=each.client_id, happened=each.t, sentence=each.sentence, instead=each.instead,
                    rows=each.rows, waived=each.waived,
                )
            )  # fmt: skip

    def _fail(self, defect: Exception) -> None:
        self._failure = f"the audit itself failed: {type(defect).__name__}: {defect}"
