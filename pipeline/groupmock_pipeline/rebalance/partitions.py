"""Follow every partition through a run: who was assigned it, who owned it, and for how long it had no owner, counted per rebalance.

A partition is without an owner from the loss by its last owner until a SyncGroup reply assigns it. That time counts for the rebalance in
which it was lost.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ..windows import BEFORE, OF_GROUP
from .events import GROUP
from .ownership import FOR_EVER, owned

OWNED: Final = ("unowned", "unowned_ns", "abandoned", "abandoned_ns")
MOVED: Final = ("partitions", "moved", "moved_processes")


def counted(lines: DataFrame) -> DataFrame:
    """Add to each rebalance how many partitions it assigned, moved, left without an owner or abandoned, and for how long. The columns are
    partitions (assigned), moved (to another member id), moved_processes (to another process), unowned (lost and owned again), unowned_ns
    (partition-ns in between), abandoned (lost and not owned again in this journal) and abandoned_ns (until its end).

    A line travels with its parts in the column `summary`, so that nothing is read twice and nothing is joined.
    """
    found = _figures(_one_by_one(owned(lines))).groupBy(*GROUP, "rebalance").agg(
        F.expr("first(summary, true) as summary"),
        F.expr("max(last_at) as last_at"),
        F.expr("count_if(told) as partitions"),
        F.expr("count_if(told and moves) as moved"),
        F.expr("count_if(told and moves and elsewhere) as moved_processes"),
        F.expr("count(gap_ns) as unowned"),
        F.expr("coalesce(sum(gap_ns), 0L) as unowned_ns"),
        F.expr("count(since) as abandoned"),
        F.expr("coalesce(sum(greatest(last_at - since, 0L)), 0L) as abandoned_ns"),
    )  # fmt: skip
    return found.select(*GROUP, "rebalance", "last_at", "summary.*", *MOVED, *OWNED)


def _one_by_one(lines: DataFrame) -> DataFrame:
    """Put each rebalance, and each of its `parts` (which member got which partition), into a line of its own."""
    parts = "if(summary is null, parts, array_prepend(parts, null))"
    each = f"inline(transform({parts}, part -> struct(case when part is null then summary end as summary, part)))"
    return lines.selectExpr("run", "`group`", "rebalance", "last_at", each).selectExpr(
        "run", "`group`", "rebalance", "last_at", "summary", "part.*"
    )


def _figures(parts: DataFrame) -> DataFrame:
    """Compute from the parts whether a partition was assigned or moved, how long it had no owner, and since when it is lost for good:
    GROUP, rebalance, last_at and one of summary; told, with moves and elsewhere (another process); gap_ns; since."""
    past = f"over ({OF_GROUP}, partition order by line, member_id {BEFORE})"
    seen = parts.selectExpr(
        "*",
        f"last(case when process is not null then struct(member_id, process) end, true) {past} as had",
        f"max(until) {past} as reach",
        f"max(case when until is not null then line end) over ({OF_GROUP}, partition) as last_line",
    )
    gap, reaches = "case when reach.line < line then greatest(at - reach.at, 0L) end", "greatest(reach, until)"
    lost = f"line = last_line and {reaches}.line < {FOR_EVER}L"
    found = f"""array_compact(array(
        case when until is null then {_figure("rebalance")} end,
        case when until is not null and {gap} is not null then {_figure("reach.rebalance", gap_ns=gap)} end,
        case when until is not null and {lost} then {_figure(f"{reaches}.rebalance", since=f"{reaches}.at")} end))"""
    return seen.selectExpr(
        "run", "`group`", "last_at", "summary", "process is not null as told", "had.member_id != member_id as moves",
        "had.process != process as elsewhere", f"inline({found})",
    )  # fmt: skip


def _figure(rebalance: str, gap_ns: str = "null", since: str = "null") -> str:
    return f"struct({rebalance} as rebalance, cast({gap_ns} as bigint) as gap_ns, cast({since} as bigint) as since)"
