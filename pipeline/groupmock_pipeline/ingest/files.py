"""List journals and choose the files to read. Spark lists them: their names reach the driver, their content does not."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from pyspark.errors import AnalysisException
from pyspark.sql import functions as F

from groupmock.journal.source import ENDINGS

from ..errors import BadInput

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

NAMES: Final = f"{{{','.join(f'*{ending}' for ending in ENDINGS)}}}"
BELOW: Final = {"recursiveFileLookup": "true", "pathGlobFilter": NAMES}
PACKED: Final = r"\.(gz|zst)$"
PACKED_TIMES: Final = 10
"""The assumed ratio of a journal to its compressed file."""
WHOLE: Final = 64 << 20
"""Journals up to this many bytes are read as one text. Longer ones are read by lines, and numbering the lines takes a shuffle."""
FILE: Final = "regexp_replace(url_decode(replace(_metadata.file_path, '+', '%2B')), '^file:(//)?', '')"
"""SQL of a file's plain path, which Spark gives as a URI."""
UNREADABLE: Final = "nothing of it can be read"
"""The ledger's problem of a file that is not empty but of which Spark's reader returns nothing. Every ingest tries such a file again."""
GLOB: Final = re.compile(r"([\\*?\[\]{}])")


class Chosen(NamedTuple):
    """Files to read, as paths for Spark's readers."""

    files: DataFrame
    """The chosen files with the columns of `listed`."""
    small: list[str]
    large: list[str]
    known: int
    """Counts the files that the lake has already."""
    size: int
    """The bytes to read, in which compressed files count `PACKED_TIMES` times."""


def listed(spark: SparkSession, place: str) -> DataFrame:
    """List path, file, length and modified (us) of a file (of any name), of all files below a folder, or of a glob. Raises BadInput if
    nothing matches."""
    try:
        found = spark.read.format("binaryFile").options(**({} if _names_a_file(spark, place) else BELOW)).load(place)
    except AnalysisException as error:
        if error.getCondition() == "PATH_NOT_FOUND":
            raise BadInput(f"{place}: no such file or folder, and no glob that finds one") from None
        raise
    return found.selectExpr("path", f"{FILE} as file", "length", "unix_micros(modificationTime) as modified")


def _names_a_file(spark: SparkSession, place: str) -> bool:
    """Tell whether the path of the input names one file. Such a file is read whatever its ending."""
    found = spark.read.format("binaryFile").options(recursiveFileLookup="true").load(place).inputFiles()
    return len(found) == 1 and found[0].rpartition("/")[2] == place.rstrip("/").rpartition("/")[2]


def choose(files: DataFrame, runs: DataFrame | None) -> Chosen:
    """Choose the files to read: new, changed or unreadable before, and those that count as copies of a file which has changed."""
    marked = _marked(files, runs)
    # Only names and lengths of files are collected to the driver, as by Spark's own readers.
    size = f"length * if(path rlike r'{PACKED}', {PACKED_TIMES}, 1) as size"
    candidates = f"case when not had or duplicate_of is not null then struct(path, file, {size}, had, duplicate_of) end"
    row = marked.selectExpr("count(*) as count", f"collect_list({candidates}) as told").first()
    assert row is not None
    new = {each.file for each in row.told if not each.had}
    fresh = [each for each in row.told if not each.had or each.duplicate_of in new]
    chosen = marked.where(~F.col("had") | F.col("duplicate_of").isin({each.duplicate_of for each in fresh if each.had}))
    small, large = ([escaped(each.path) for each in fresh if (each.size > WHOLE) == is_large] for is_large in (False, True))
    return Chosen(chosen, small, large, row["count"] - len(fresh), sum(each.size for each in fresh))


def escaped(path: str) -> str:
    """Escape a path so that Spark's readers do not expand the path as a glob."""
    return GLOB.sub(r"\\\1", path)


def _marked(files: DataFrame, runs: DataFrame | None) -> DataFrame:
    """Add `had` (the lake has this very file) and `duplicate_of` (the file of which the lake took it for a copy)."""
    if runs is None:
        return files.selectExpr("*", "false as had", "cast(null as string) as duplicate_of")
    same = ["file", "length", "modified"]
    readable = runs.where(f"problem is null or problem != '{UNREADABLE}'")
    had = readable.groupBy(*same).agg(F.max("duplicate_of").alias("duplicate_of"), F.lit(True).alias("had"))
    return files.join(F.broadcast(had), same, "left").withColumn("had", F.coalesce("had", F.lit(False)))
