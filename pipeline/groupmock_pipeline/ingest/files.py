"""Which files are journals, as DataFrames: Spark lists them, as a batch and as a stream alike, and never reads their content itself."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from groupmock.journal.source import ENDINGS

from ..errors import BadInput
from ..storage import Storage

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

NAMES: Final = f"{{{','.join(f'*{ending}' for ending in ENDINGS)}}}"
REMOTE: Final = re.compile(r"^(?!file:)[a-z][a-z0-9+.-]*://", re.IGNORECASE)
OPTIONS: Final = {"recursiveFileLookup": "true", "pathGlobFilter": NAMES}


def check(spark: SparkSession, place: str) -> Storage:
    """Raises BadInput for what can never be read."""
    if REMOTE.match(place):
        raise BadInput(f"{place}: journals are read from folders that every worker sees, as a path: copy or mount them")
    return Storage(spark, place)


def listed(spark: SparkSession, place: str) -> DataFrame:
    """Columns of `workers.FILES`: a file (whatever its name), a folder with all below it, or a glob. Raises BadInput: nothing is there."""
    from pyspark.errors import AnalysisException

    there = check(spark, place)
    a_file = there.exists("") and not there.is_folder("")
    reader = spark.read.format("binaryFile")
    try:
        found = (reader if a_file else reader.options(**OPTIONS)).load(place)
    except AnalysisException as error:
        if error.getCondition() == "PATH_NOT_FOUND":
            raise BadInput(f"{place}: no such file or folder, and no glob that finds one") from None
        raise
    return described(found)


def described(found: DataFrame) -> DataFrame:
    """From Spark's columns to ours."""
    return found.selectExpr("regexp_replace(path, '^file:(//)?', '') as file", "length", "unix_micros(modificationTime) as modified")
