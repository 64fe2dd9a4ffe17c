"""Run one ingest in four steps: finish what a killed ingest left, choose new files, commit their content, and count it in the ledger.

A take is committed before it is counted (`lake.journals` says why that is safe). If an ingest is killed in between, the next ingest counts
its take first.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final, NamedTuple

from pyspark.sql import functions as F

from .. import schema, tables
from ..caching import cached
from ..compiling import compiled
from ..errors import Overtaken
from ..lake import journals, sink
from . import copies, ledger, texts
from .files import Chosen, choose, escaped, listed
from .parsing import headed, sorted_out

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

log = logging.getLogger("groupmock_pipeline")

TASK_BYTES: Final = 1 << 30
"""Bytes of text whose rows one task counts at most."""

TRIES: Final = 9
"""The number of times that an ingest tries to commit. Each concurrent ingest may win with its take, its ledger or both, and may leave an
empty batch as well."""


class Outcome(NamedTuple):
    """The counts that an ingest reports."""

    files: int = 0
    known: int = 0
    writing: int = 0
    rows: int = 0
    quarantined: int = 0
    duplicates: int = 0
    blank: int = 0
    problems: int = 0

    def plus(self, other: Outcome) -> Outcome:
        return Outcome(*(one + two for one, two in zip(self, other, strict=True)))


class Reading(NamedTuple):
    """The options for reading journals: the longest line, and how long an open journal must be silent. `limit` is the longest line in
    bytes. A journal without its end is taken after `silence_s` without new lines."""

    limit: int
    silence_s: float
    cores: int


def ingest(spark: SparkSession, place: str, lake: str, reading: Reading) -> Outcome:
    """Ingest everything new in `place` into the lake. Raises BadInput, Overtaken."""
    path = tables.place(lake, journals.ROWS)
    head = sink.head(spark, path)
    if not head.batches:
        journals.check_age(spark, lake)
    left = _settle_left(spark, path, reading, head)
    head = sink.head(spark, path) if left.files else head
    chosen = choose(listed(spark, place), journals.ledger(spark, path, head) if journals.RUNS in head.batches else None)
    count = len(chosen.small) + len(chosen.large)
    outcome = left._replace(known=chosen.known)
    if count:
        log.info("ingest: %d journals to read, %d known already", count, chosen.known)
        outcome = outcome.plus(_take_all(spark, path, head, chosen, reading))
    return outcome._replace(writing=count - (outcome.files - left.files))


def _take_all(spark: SparkSession, path: str, head: sink.Head, chosen: Chosen, reading: Reading) -> Outcome:
    """Ingest the chosen journals, the short ones first, which are read as whole texts. Then read by lines the long journals and those
    that cannot be read as a whole, being damaged or not UTF-8."""
    rest, left, before = chosen.files, len(chosen.small) + len(chosen.large), time.time_ns() // 1000 - int(reading.silence_s * 1e6)
    takes = []
    # The batch is joined to the ledger first, because with a join on top Spark would materialize everything derived from all columns.
    if chosen.small:
        whole = texts.whole_texts(spark, chosen.small).where(texts.ready(before))
        taken, count = _take(
            spark, path, head, lambda due: sorted_out(texts.numbered(headed(due.joined(whole), reading.limit)), reading.limit),
            len(chosen.small), chosen.size,
        )  # fmt: skip
        takes, left = [taken], left - count
    if left:
        head = sink.head(spark, path)
        rest = _not_in(spark, path, head, takes, rest) if takes else rest
        paths = [escaped(file.path) for file in rest.select("path").collect()]
        lines = _line_by_line(spark, paths, before, reading)
        taken, _ = _take(spark, path, head, lambda due: sorted_out(due.joined(lines), reading.limit), len(paths), chosen.size)
        takes = [*takes, taken]
    return _settle(spark, path, takes, reading, chosen.size, rest.where(F.col("modified") <= before) if left else None)


def _line_by_line(spark: SparkSession, paths: list[str], before: int, reading: Reading) -> DataFrame:
    lines = texts.long_texts(spark, paths, reading.cores)
    about = headed(texts.facts(lines).where(texts.ready(before)), reading.limit).withColumnRenamed("head", "text").drop("last")
    file, lacking = about.withColumn("line", F.lit(0)), about.where("lacks").withColumns({"line": F.col("lines"), "text": F.lit("")})
    each = about.drop("length", "modified", "text").join(lines, "file")
    return file.unionByName(lacking).unionByName(each)


def _take(
    spark: SparkSession, path: str, head: sink.Head, made: Callable[[sink.Due], DataFrame], of: int, size: int
) -> tuple[int, int]:  # fmt: skip
    """Commit the content of `of` journals, together `size` bytes, as one take (a numbered commit of an ingest). Returns the number of the
    take and the count of journals in it.

    Raises Overtaken if another ingest commits something meanwhile. Tries again if the other one committed an empty batch, which a job
    leaves that was overtaken itself.
    """
    begun = time.monotonic()
    for _ in range(TRIES):
        due = sink.due(spark, path, head, head.edition)
        lines = made(due)
        tables.explain(lines, "rows")
        counted = {part: F.col(sink.PART) == part for part in (journals.ROWS, journals.FILES)}
        with suppress(Overtaken), compiled(spark, size):
            counts = sink.commit(due, lines.withColumn(schema.TAKE, F.lit(due.number).cast("bigint")), counted, {})
            seconds = time.monotonic() - begun
            log.info("ingest: %d rows of %d journals (of %d) read in %.1f s", counts[journals.ROWS], counts[journals.FILES], of, seconds)
            return due.number, counts[journals.FILES]
        head = sink.head(spark, path)
        if sink.has_grown(head, due):
            break
    raise Overtaken(path)


def _settle_left(spark: SparkSession, path: str, reading: Reading, head: sink.Head) -> Outcome:
    """Enter into the ledger the takes (commits) that a killed ingest has not counted there."""
    left = journals.uncounted(head)
    if not left:
        return Outcome()
    log.info("ingest: first what an ingest left that was killed: take %s", ", ".join(map(str, left)))
    return _settle(spark, path, left, reading, None, None)


def _settle(spark: SparkSession, path: str, takes: list[int], reading: Reading, size: int | None, silent: DataFrame | None) -> Outcome:
    """Commit the ledger's entries for `takes` (commits of this ingest) and for uncounted takes of others, and return the counts of `takes`.
    The files of `silent` that are in no take are entered as unreadable.

    Another ingest may commit first: its ledger with the same entries, a take, or an empty batch. Then look again at what is left to enter.
    """
    for _ in range(TRIES):
        with suppress(Overtaken):
            return _settle_now(spark, path, takes, reading, size, silent)
    raise Overtaken(path)


def _settle_now(spark: SparkSession, path: str, takes: list[int], reading: Reading, size: int | None, silent: DataFrame | None) -> Outcome:
    """Try once to commit the ledger's entries. Raises Overtaken if another job commits first."""
    head = sink.head(spark, path)
    left = journals.uncounted(head)
    # A batch without files has no entry in the ledger.
    had = [take for take in takes if take not in left] if journals.RUNS in head.batches else []
    known = _outcome(journals.ledger(spark, path, head).where(F.col(schema.TAKE).isin(had))) if had else Outcome()
    if not left and silent is None:
        return known
    files, rows, broken = _to_count(spark, path, head, left)
    new_entries = ledger.entries(files, rows, broken, reading.cores if size is None else max(reading.cores, -(-size // TASK_BYTES)))
    if silent is not None:
        new_entries = new_entries.unionByName(ledger.unreadable(_not_in(spark, path, head, takes, silent), takes[-1]))
    with cached(new_entries) as new, _with_copies(spark, path, head, new) as entries:
        outcome = _outcome(entries.where(F.col(schema.TAKE).isin(takes)))
        if outcome.files:
            due = sink.due(spark, path, head, head.edition)
            sink.commit(due, sink.parts({journals.RUNS: entries.withColumnsRenamed(journals.STORED)}), {}, {})
    return outcome.plus(known)


def _to_count(spark: SparkSession, path: str, head: sink.Head, takes: list[int]) -> list[DataFrame]:
    """Return the files, rows and broken lines of the given takes (commits of an ingest). If two ingests took the same file at once, the
    last take counts."""
    found = [_of_takes(spark, path, head, part, takes) for part in (journals.FILES, journals.ROWS, journals.QUARANTINE)]
    if len(takes) < 2:
        return found
    newest = F.broadcast(found[0].groupBy("file").agg(F.max(schema.TAKE).alias(schema.TAKE)))
    return [each.join(newest, ["file", schema.TAKE], "left_semi") for each in found]


def _not_in(spark: SparkSession, path: str, head: sink.Head, takes: list[int], files: DataFrame) -> DataFrame:
    """Return those of the files (`files.listed`) of which the given takes (commits of an ingest) contain nothing."""
    had = _of_takes(spark, path, head, journals.FILES, takes).select("file")
    return files.join(F.broadcast(had), "file", "left_anti")


def _of_takes(spark: SparkSession, path: str, head: sink.Head, part: str, takes: list[int]) -> DataFrame:
    return journals.part(spark, path, part, head).where(F.col(sink.BATCH).isin(takes))


@contextmanager
def _with_copies(spark: SparkSession, path: str, head: sink.Head, new: DataFrame) -> Iterator[DataFrame]:
    """Yield the entries that an ingest adds to the ledger or changes there: `new`, and those of other runs that turn out to be copies."""
    merged = ledger.merged(journals.ledger(spark, path, head), new) if journals.RUNS in head.batches else new
    with cached(copies.suspects(merged, new)) as suspects:
        if suspects.isEmpty():
            yield new
            return
        # Without a checkpoint the query plan of the possible copies would be part of the following plans eight times, and be analysed each
        # time.
        found = suspects.localCheckpoint()
        mine = F.broadcast(found.select("run", schema.TAKE))
        rows = journals.part(spark, path, journals.ROWS, head).join(mine, ["run", schema.TAKE], "left_semi")
        settled = ledger.settled(merged, copies.copies(copies.contents(rows, found)))
        mine = F.broadcast(new.select("run", F.lit(True).alias("new")))
        with cached(settled.join(mine, "run", "left").where("new or changed").drop("new", "changed")) as changed:
            yield changed


def _outcome(entries: DataFrame) -> Outcome:
    """Return the counts that an ingest reports for these entries of the ledger. Raises AssertionError if the counts do not add up, so
    that the take is not entered."""
    whole = F.expr("lines = header + rows + quarantined + duplicates + blank")
    sums = ("rows", "quarantined", "duplicates", "blank")
    row = entries.agg(F.count("*"), *(F.sum(name) for name in sums), F.count("problem"), F.min_by("file", whole), F.min(whole)).first()
    assert row is not None  # An aggregate without grouping keys always returns one row.
    files, rows, quarantined, duplicates, blank, problems, file, adds_up = row
    assert adds_up is not False, f"{file}: the counts of its lines do not add up; its take does not count"
    return Outcome(files, 0, 0, rows or 0, quarantined or 0, duplicates or 0, blank or 0, problems)
