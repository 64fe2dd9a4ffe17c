"""Which library, in which version, is behind a connection.

Clients from ApiVersions 3 on (KIP-511) say it themselves. Others are known by a client id of the form NAME-VERSION, which is what
aiokafka and kafka-python call themselves unless told otherwise; else the client id stands for the library, or `unknown`.
"""

from __future__ import annotations

import re
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

API_VERSIONS: Final = 18
UNKNOWN: Final = "unknown"
NAMED: Final = r"^([A-Za-z][A-Za-z0-9_.-]*?)-(\d+(?:\.\d+)+[A-Za-z0-9.+-]*)$"
"""aiokafka-0.14.0."""
SOFTWARE: Final = "client_software_name: string, client_software_version: string"
"""What ApiVersions has of it."""


def connections(rows: DataFrame) -> DataFrame:
    """run, connection, software {client_software_name, client_software_version}, closed {line, at}: one line per connection that told its
    software or ended. The last that it told counts."""
    asks = (F.col("kind") == "request") & (F.col("api_key") == API_VERSIONS)
    kept = rows.where(asks | (F.col("kind") == "close"))
    told = F.when(F.col("kind") == "request", F.from_json("message", f"struct<{SOFTWARE}>", {"mode": "PERMISSIVE"}))
    seen = kept.select("run", "connection", "line", "at", told.alias("told"))
    return seen.groupBy("run", "connection").agg(
        F.max_by("told", F.when(F.col("told.client_software_name") != "", F.col("line"))).alias("software"),
        F.max(F.when(F.col("told").isNull(), F.struct("line", "at"))).alias("closed"),
    )


def identified(client_id: Column) -> dict[str, Column]:
    """The columns `library` (never null) and `version`, of a frame joined with `connections`."""
    name, version = F.regexp_extract(client_id, NAMED, 1), F.regexp_extract(client_id, NAMED, 2)
    guessed = F.when(name != "", name).when(client_id != "", client_id).otherwise(UNKNOWN)
    told = F.col("software.client_software_name")
    said = F.nullif(F.col("software.client_software_version"), F.lit(""))
    return {
        "library": F.coalesce(told, guessed),
        "version": F.when(told.isNotNull(), said).otherwise(F.nullif(version, F.lit(""))),
    }


def library_of(client_id: str | None, software: tuple[str, str] | None) -> tuple[str, str | None]:
    """The same of one connection: `software` as it told it."""
    if software is not None:
        return software[0], software[1] or None
    named = re.match(NAMED, client_id or "", re.ASCII)
    return (named[1], named[2]) if named else (client_id or UNKNOWN, None)


def label(library: str = "library", version: str = "version") -> Column:
    """`kafka-python 3.0.12`, or the name alone."""
    return F.concat_ws(" ", library, version)
