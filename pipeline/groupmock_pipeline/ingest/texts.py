"""Journals as texts: each file with its header, its lines numbered from 1. Line 0, with the header once more, stands for the file itself.

Most journals are read as one text each, and their lines are numbered where they stand: nothing is shuffled. Others are read line by line,
and numbered in a window by file: long ones, which would not fit beside each other in memory; those whose packed data is damaged, of which
Spark gives all lines before the damage, and often nothing as a whole; and what is no UTF-8, whose bytes a split text would not have.

Spark unpacks by a file's name (.gz, .zst) and, told to ignore corrupt files, stops at a cut or damage without a word. That something is
missing is told by what is there: a last line without its end, rows that do not follow each other, no note of the end.
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
"""What is known of a file: its first and last line, how many there are, how many of them blank; `valid`: all of it is known to be UTF-8;
`whole`: its last line has a line's end; `lacks`: its packed data ends behind a line, before its time. Then one line more, without a text,
stands for what is lacking."""
BLANK: Final = "not startswith({0}, '{{') and {0} rlike r'^\\s*$'"
MARK: Final = "\ufeff"
ENDED: Final = f"coalesce(get_json_object(last, '$.what') = '{END}' and get_json_object(last, '$.kind') = 'note', false)"
LACKS: Final = f"rlike(file, r'{PACKED}') and not whole and json_object_keys(last) is not null"


def whole_texts(spark: SparkSession, paths: Sequence[str]) -> DataFrame:
    """FACTS, and `texts`: the header once more, for the file, then all lines."""
    read = spark.read.format("text").options(**READING, wholetext="true").load(list(paths)).selectExpr(*ABOUT, "value")
    cut = read.where("is_valid_utf8(value)").selectExpr("*", "endswith(value, '\n') as whole")
    # The last line from the end of the text: who asks for it does not split the text for the answer.
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
    """A line per line of `whole_texts` and what was added to it: `line`, `text`. What is long and of the file is not repeated."""
    others = [name for name in files.columns if name not in ("texts", "head", "last")]
    # Not `posexplode`: Spark would first ask whether there is something in `texts`, and split all texts for the answer.
    return files.select(*others, F.posexplode_outer("texts").alias("line", "text"))


def long_texts(spark: SparkSession, paths: Sequence[str], tasks: int) -> DataFrame:
    """file, line, text: of journals that are read line by line."""
    read = spark.read.format("text").options(**READING, lineSep="\n").load(list(paths))
    lines = read.selectExpr(*ABOUT, "_metadata.file_block_start as block", "monotonically_increasing_id() as id", "value as text")
    place = Window.partitionBy("file").orderBy("block", "id")
    found = lines.repartition(tasks, "file").select(*FACTS[:3], F.row_number().over(place).alias("line"), "text")
    return found.localCheckpoint()  # it is read twice, and a stream's plan may not number lines


def facts(lines: DataFrame) -> DataFrame:
    """FACTS of `long_texts`. Whether all is UTF-8 is asked line by line. Whether the last line has an end is not known of packed files: of
    those the note of the end tells."""
    size = F.sum(F.octet_length("text") + 1)
    told = lines.groupBy("file").agg(
        F.first("length").alias("length"), F.first("modified").alias("modified"),
        F.ltrim(F.min_by("text", "line"), F.lit(MARK)).alias("head"), F.max_by("text", "line").alias("last"),
        F.count("*").alias("lines"), F.count_if(F.expr(BLANK.format("text"))).alias("blank"), size.alias("size"),
    )  # fmt: skip
    marked = F.col("length") - len(MARK.encode())  # which this reader passes over
    whole = F.when(F.col("file").rlike(PACKED), F.expr(ENDED)).otherwise(F.col("size").isin(F.col("length"), marked))
    known = told.select("*", F.lit(False).alias("valid"), whole.alias("whole")).selectExpr("*", f"{LACKS} as lacks")
    return known.withColumn("lines", F.col("lines") + F.col("lacks").cast("bigint")).select(*FACTS)


def ready(before: int) -> Column:
    """Has a journal ended, or was nothing written to it since then (us since 1970), so that nothing will come?"""
    return F.expr(ENDED) | (F.col("modified") <= before)
