"""Which files are journals, and which of them are to be read: Spark lists them, names come to the driver, content does not."""

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
"""How many times longer than its file a packed journal is, about."""
WHOLE: Final = 64 << 20
"""Bytes of a journal that is read as one text; longer ones are read line by line, which takes a shuffle to number them."""
FILE: Final = "regexp_replace(url_decode(replace(_metadata.file_path, '+', '%2B')), '^file:(//)?', '')"
"""A file's name as people write it; Spark tells it as a URI."""
UNREADABLE: Final = "nothing of it can be read"
"""What the ledger says of a file that is not empty and of which Spark's reader gives nothing: it is tried again with every ingest."""
GLOB: Final = re.compile(r"([\\*?\[\]{}])")


class Chosen(NamedTuple):
    """Files that are to be read, as paths for Spark's readers."""

    files: DataFrame
    """The same as `listed` gives them."""
    small: list[str]
    large: list[str]
    known: int
    """How many others are in the lake already."""
    size: int
    """Bytes of the chosen, packed ones counted `PACKED_TIMES`."""


def listed(spark: SparkSession, place: str) -> DataFrame:
    """path, file, length, modified (us) of a file (whatever its name), a folder with all below it, or a glob. Raises BadInput: nothing is
    there."""
    try:
        found = spark.read.format("binaryFile").options(**({} if _names_a_file(spark, place) else BELOW)).load(place)
    except AnalysisException as error:
        if error.getCondition() == "PATH_NOT_FOUND":
            raise BadInput(f"{place}: no such file or folder, and no glob that finds one") from None
        raise
    return found.selectExpr("path", f"{FILE} as file", "length", "unix_micros(modificationTime) as modified")


def _names_a_file(spark: SparkSession, place: str) -> bool:
    """A file that is named is read, whatever its name ends in."""
    found = spark.read.format("binaryFile").options(recursiveFileLookup="true").load(place).inputFiles()
    return len(found) == 1 and found[0].rpartition("/")[2] == place.rstrip("/").rpartition("/")[2]


def choose(files: DataFrame, runs: DataFrame | None) -> Chosen:
    """Of `listed` those that are new, changed, could not be read, or of which one that is read again was thought a copy."""
    marked = _marked(files, runs)
    # To the driver: names and lengths of files, as Spark's own readers have them there.
    size = f"length * if(path rlike r'{PACKED}', {PACKED_TIMES}, 1) as size"
    told = f"case when not had or duplicate_of is not null then struct(path, file, {size}, had, duplicate_of) end"
    row = marked.selectExpr("count(*) as count", f"collect_list({told}) as told").first()
    assert row is not None
    new = {each.file for each in row.told if not each.had}
    fresh = [each for each in row.told if not each.had or each.duplicate_of in new]
    chosen = marked.where(~F.col("had") | F.col("duplicate_of").isin({each.duplicate_of for each in fresh if each.had}))
    small, large = ([escaped(each.path) for each in fresh if (each.size > WHOLE) == is_large] for is_large in (False, True))
    return Chosen(chosen, small, large, row["count"] - len(fresh), sum(each.size for each in fresh))


def escaped(path: str) -> str:
    """A path that Spark's readers take as it is, no glob."""
    return GLOB.sub(r"\\\1", path)


def _marked(files: DataFrame, runs: DataFrame | None) -> DataFrame:
    """With `had` (the lake has that file as it is), and the file that it was thought a copy of, `duplicate_of`."""
    if runs is None:
        return files.selectExpr("*", "false as had", "cast(null as string) as duplicate_of")
    same = ["file", "length", "modified"]
    readable = runs.where(f"problem is null or problem != '{UNREADABLE}'")
    had = readable.groupBy(*same).agg(F.max("duplicate_of").alias("duplicate_of"), F.lit(True).alias("had"))
    return files.join(F.broadcast(had), same, "left").withColumn("had", F.coalesce("had", F.lit(False)))
