"""Audit each run whose rows a worker reads in order; only open groups and connections are held in memory.

A group that ends and appears again yields one line per rule for each time; `jobs.audit` adds the lines up.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import msgspec
from pyspark.sql.types import ArrayType, LongType, StringType, StructField, StructType

from groupmock.audit.auditor import Auditor
from groupmock.audit.judgement import Kept, NotJudged
from groupmock.audit.subjects import Link
from groupmock.audit.verdicts import NOT_EXERCISED, SHOWN, Finding, Tally

from ..arrow import Work
from ..clients import UNKNOWN, library_of
from .lake_rows import LakeRow, lake_rows

if TYPE_CHECKING:
    import pyarrow as pa

CLIENTS: Final = 20
"""At most this many client ids are named per rule and client library."""
KNOWN: Final = 256
"""At most this many libraries are distinguished per group and rule. The others count as `unknown`, because a client may give itself any
name."""
TEXT, NUMBER = StringType(), LongType()
FINDING: Final = StructType(
    [
        *(StructField(name, NUMBER) for name in ("t", "at")),
        *(StructField(name, TEXT) for name in ("sentence", "instead", "member", "member_id", "client_id", "library", "version")),
        StructField("rows", ArrayType(NUMBER)),
    ]
)
NOT_JUDGED: Final = StructType([StructField("reason", TEXT), StructField("times", NUMBER)])
PARTS: Final = StructType(
    [
        *(StructField(name, TEXT) for name in ("day", "run", "group", "rule", "severity", "library", "version", "crashed")),
        *(StructField(name, NUMBER) for name in ("kept", "broken")),
        StructField("client_ids", ArrayType(TEXT)),
        StructField("not_judged", ArrayType(NOT_JUDGED)),
        StructField("findings", ArrayType(FINDING)),
    ]
)
"""The columns with the verdicts about one library and one rule for one lifetime of a group. If `rule` is null, `crashed` says what is
missing of the run."""


class Judged(msgspec.Struct):
    """Verdicts about one rule for one version of a library."""

    kept: int = 0
    broken: int = 0
    client_ids: dict[str, None] = {}
    findings: list[dict[str, Any]] = []


Client = tuple[str, str | None]
"""A library and its version, which may be unknown."""
NOTHING: Final[Mapping[str, int]] = MappingProxyType({})
UNKNOWN_CLIENT: Final[Client] = UNKNOWN, None


class RunAudit:
    """The audit of one run, row by row. `lines` collects the results that have not been fetched yet."""

    def __init__(self, day: str, run: str, epoch: int, codes: Sequence[str] | None) -> None:
        self.day, self.run, self.epoch = day, run, epoch
        self.lines: list[dict[str, Any]] = []
        self._auditor = Auditor(codes, over=self._over, judged=self._judged)
        self._last, self._ended = 0, False
        self._groups: dict[str | None, dict[str, dict[Client, Judged]]] = {}

    def feed(self, line: LakeRow) -> None:
        if line.row is not None:
            self._auditor.feed(line.row)
            self._last, self._ended = line.row.seq, line.ends
        elif line.left_out is not None:
            self._auditor.lost(line.left_out)
            self._ended = True  # A note that rows are missing does not end the run.

    def close(self) -> None:
        """End the run and add lines for open groups, for rules that nothing exercised, and for what is missing of the run."""
        audit = self._auditor.close()
        for code, tally in audit.rules.items():
            if tally.verdict == NOT_EXERCISED:
                self._line(None, code, None, Judged())
        ends = [] if self._ended else [f"it has no end after row {self._last}: the run goes on, or was killed"]
        for sentence in [*audit.holes[:CLIENTS], *ends]:
            self._line(None, None, None, Judged(), sentence)

    def _judged(self, code: str, group: str | None, link: Link | None, result: Kept | NotJudged | Finding) -> None:
        if isinstance(result, NotJudged):
            return
        clients = self._groups.setdefault(group, {}).setdefault(code, {})
        client = UNKNOWN_CLIENT if link is None else library_of(link.software)
        if client not in clients and len(clients) >= KNOWN:
            client = UNKNOWN_CLIENT
        judged = clients.setdefault(client, Judged())
        if link is not None and link.client_id is not None and len(judged.client_ids) < CLIENTS:
            judged.client_ids[link.client_id] = None
        if isinstance(result, Kept):
            judged.kept += 1
            return
        judged.broken += 1
        if len(judged.findings) < SHOWN:
            judged.findings.append(self._finding(result, client))

    def _finding(self, finding: Finding, client: Client) -> dict[str, Any]:
        fields = {name: getattr(finding, name) for name in ("t", "sentence", "instead", "member", "member_id", "client_id", "rows")}
        return fields | {"at": self.epoch + finding.t, "library": client[0], "version": client[1]}

    def _over(self, group: str | None, tallies: dict[str, Tally]) -> None:
        judged = self._groups.pop(group, {})
        for code, tally in tallies.items():
            for client, verdict in judged.get(code, {}).items():
                self._line(group, code, client, verdict)
            if tally.crashed is not None or tally.not_judged:
                self._line(group, code, None, Judged(), tally.crashed, tally.not_judged)

    def _line(
        self, group: str | None, rule: str | None, client: Client | None, judged: Judged, crashed: str | None = None,
        not_judged: Mapping[str, int] = NOTHING,
    ) -> None:  # fmt: skip
        library, version = client or (None, None)
        self.lines.append(
            {
                "day": self.day, "run": self.run, "group": group, "rule": rule, "library": library, "version": version, "crashed": crashed,
                "severity": None if rule is None else self._auditor.rules[rule].severity,
                "kept": judged.kept, "broken": judged.broken, "client_ids": list(judged.client_ids), "findings": judged.findings,
                "not_judged": [{"reason": reason, "times": times} for reason, times in not_judged.items()],
            }
        )  # fmt: skip


def audited(codes: Sequence[str] | None = None) -> Work:
    """Return the function that audits lines of `lake_rows.COLUMNS` and yields lines of `PARTS`. `codes` limits the audit to these rules."""

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa
        from pyspark.sql.pandas.types import to_arrow_schema

        schema = to_arrow_schema(PARTS)
        for lines in audit_runs(batches, codes):
            yield pa.RecordBatch.from_pylist(lines, schema=schema)

    return work


def audit_runs(batches: Iterator[pa.RecordBatch], codes: Sequence[str] | None) -> Iterator[list[dict[str, Any]]]:
    """Yield the lines of every run, after each batch and at the end of a run."""
    run: RunAudit | None = None
    for batch in batches:
        for row in lake_rows(batch):
            if run is None or row.run != run.run:
                if run is not None:
                    run.close()
                    yield run.lines
                run = RunAudit(row.day, row.run, row.epoch, codes)
            run.feed(row)
        if run is not None and run.lines:
            yield run.lines
            run.lines = []
    if run is not None:
        run.close()
        yield run.lines
