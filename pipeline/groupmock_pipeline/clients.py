"""Which library, in which version, is behind a connection.

Clients from ApiVersions 3 on (KIP-511) say it themselves. Others are known by a client id of the form NAME-VERSION, which is what
aiokafka and kafka-python call themselves unless told otherwise; else the client id stands for the library, or `unknown`.
"""

from __future__ import annotations

import re
from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F

API_VERSIONS: Final = 18
UNKNOWN: Final = "unknown"
NAMED: Final = r"^([A-Za-z][A-Za-z0-9_.-]*?)-(\d+(?:\.\d+)+[A-Za-z0-9.+-]*)$"
"""aiokafka-0.14.0."""
SOFTWARE: Final = "client_software_name: string, client_software_version: string"
"""What ApiVersions has of it."""


def software() -> Column:
    """{client_software_name, client_software_version} of the last one that a connection told, over its rows, which have `line` and what
    they themselves tell of it in `software`. Null: nothing."""
    return F.max_by("software", F.when(F.col("software.client_software_name") != "", F.col("line")))


def identified(client_id: Column) -> dict[str, Column]:
    """The columns `library` (never null) and `version`, of a frame with `software`."""
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
