"""Read journals as texts, each file with its header and its lines numbered from 1. Line 0, with the header once more, stands for the file.

Most journals are read as one text each, and their lines are numbered in place without a shuffle. Other journals are read by lines and
numbered in a window by file. These are long journals, because several would not fit into memory together; journals whose packed data is
damaged, because Spark returns all lines before the damage but often nothing as a whole; and journals that are not UTF-8, because splitting
a text would lose their bytes.

Spark unpacks by a file's name (.gz, .zst). Told to ignore corrupt files, it stops silently at a cut or at damage. What is missing shows in
the rest: a last line without its end, gaps between rows, no note of the end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F
from pyspark.sql.window import Window

from groupmock.journal.rows import END

from .files import FILE, PACKED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame, SparkSession

READING: Final = {"ignoreCorruptFiles": "true", "ignoreMissingFiles": "true"}
ABOUT: Final = (f"{FILE} as file", "_metadata.file_size as length", "unix_micros(_metadata.file_modification_time) as modified")
FACTS: Final = ("file", "length", "modified", "head", "last", "lines", "blank", "valid", "whole", "lacks")
"""The properties of a file: its first and last line, the number of lines and of blank ones. `valid`: the whole file is known to be
UTF-8. `whole`: its last line is terminated. `lacks`: its packed data ends early, but behind a line. Then one more line without a text
stands for what is missing."""
BLANK: Final = "not startswith({0}, '{{') and {0} rlike r'^\\s*$'"
MARK: Final = "\ufeff"
ENDED: Final = f"coalesce(get_json_object(last, '$.what') = '{END}' and get_json_object(last, '$.kind') = 'note', false)"
LACKS: Final = f"rlike(file, r'{PACKED}') and not whole and json_object_keys(last) is not null"


def whole_texts(spark: SparkSession, paths: Sequence[str]) -> DataFrame:
    """Return the columns FACTS and `texts`: the header, which stands for the file, then all lines."""
    read = spark.read.format("text").options(**READING, wholetext="true").load(list(paths)).selectExpr(*ABOUT, "value")
    cut = read.where("is_valid_utf8(value)").selectExpr("*", "endswith(value, '\n') as whole")
    # The last line is searched from the end of the text, so that the text need not be split.
    ended = cut.selectExpr("*", "substring_index(substring_index(value, '\n', if(whole, -2, -1)), '\n', 1) as last")
    split = ended.selectExpr("* except (value)", "value = '' as empty", "split(value, '\n') as found", f"{LACKS} as lacks")
    told = split.selectExpr("* except (found)", "if(whole, slice(found, 1, size(found) - 1), found) as found")
    return told.selectExpr(
        *FACTS[:3], f"trim(LEADING '{MARK}' FROM found[0]) as head", "last",
        "if(empty, 0L, cast(size(found) + int(lacks) as bigint)) as lines",
        f"if(empty, 0L, cast(size(filter(found, each -> {BLANK.format('each')})) as bigint)) as blank", "true as valid", "whole", "lacks",
        "concat(array(found[0]), found, if(lacks, array(''), array())) as texts",
    )  # fmt: skip


def numbered(files: DataFrame) -> DataFrame:
    """Return one line per entry of `texts`, with `line` and `text`. Long columns about the file are not repeated."""
    others = [name for name in files.columns if name not in ("texts", "head", "last")]
    # `posexplode_outer` is used, because for `posexplode` Spark would first ask whether `texts` is empty, and split all texts for the
    # answer.
    return files.select(*others, F.posexplode_outer("texts").alias("line", "text"))


def long_texts(spark: SparkSession, paths: Sequence[str], tasks: int) -> DataFrame:
    """Return file, line and text of journals that are read by lines."""
    read = spark.read.format("text").options(**READING, lineSep="\n").load(list(paths))
    lines = read.selectExpr(*ABOUT, "_metadata.file_block_start as block", "monotonically_increasing_id() as id", "value as text")
    place = Window.partitionBy("file").orderBy("block", "id")
    found = lines.repartition(tasks, "file").select(*FACTS[:3], F.row_number().over(place).alias("line"), "text")
    # The lines are checkpointed, because they are read twice, and the query plan of a stream may not number lines.
    return found.localCheckpoint()


def facts(lines: DataFrame) -> DataFrame:
    """Compute the columns FACTS of journals that `long_texts` has read by lines. UTF-8 is checked line by line. Whether the last line of
    a packed file is terminated is unknown, so the note of the journal's end decides."""
    size = F.sum(F.octet_length("text") + 1)
    grouped = lines.groupBy("file").agg(
        F.first("length").alias("length"), F.first("modified").alias("modified"),
        F.ltrim(F.min_by("text", "line"), F.lit(MARK)).alias("head"), F.max_by("text", "line").alias("last"),
        F.count("*").alias("lines"), F.count_if(F.expr(BLANK.format("text"))).alias("blank"), size.alias("size"),
    )  # fmt: skip
    marked = F.col("length") - len(MARK.encode())  # The length is compared without the byte order mark, because this reader skips the mark.
    whole = F.when(F.col("file").rlike(PACKED), F.expr(ENDED)).otherwise(F.col("size").isin(F.col("length"), marked))
    known = grouped.select("*", F.lit(False).alias("valid"), whole.alias("whole")).selectExpr("*", f"{LACKS} as lacks")
    return known.withColumn("lines", F.col("lines") + F.col("lacks").cast("bigint")).select(*FACTS)


def ready(before: int) -> Column:
    """Match journals that have ended, or have not been written to since `before` (us since 1970)."""
    return F.expr(ENDED) | (F.col("modified") <= before)
