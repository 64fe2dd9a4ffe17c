"""Which library, in which version, is behind a connection.

Clients from ApiVersions 3 on (KIP-511) say it themselves. Others are known by a client id of the form NAME-VERSION, which is what
aiokafka and kafka-python call themselves unless told otherwise; else the client id stands for the library, or `unknown`.
"""

from __future__ import annotations

import re
from typing import Final

UNKNOWN: Final = "unknown"
NAMED: Final = r"^([A-Za-z][A-Za-z0-9_.-]*?)-(\d+(?:\.\d+)+[A-Za-z0-9.+-]*)$"
"""aiokafka-0.14.0."""
SOFTWARE: Final = "client_software_name: string, client_software_version: string"
"""What ApiVersions has of it."""
SOFTWARE_TOLD: Final = "max_by(software, case when software.client_software_name != '' then line end)"
"""SQL: {client_software_name, client_software_version} of the last one that a connection told, over its rows, which have `line` and what
they themselves tell of it in `software`. Null: nothing."""


def identified(client_id: str) -> dict[str, str]:
    """SQL of the columns `library` (never null) and `version`, of a frame with `software`, by SQL of a client id."""
    name, version = (f"regexp_extract({client_id}, r'{NAMED}', {group})" for group in (1, 2))
    guessed = f"case when {name} != '' then {name} when {client_id} != '' then {client_id} else '{UNKNOWN}' end"
    told, said = "software.client_software_name", "nullif(software.client_software_version, '')"
    return {
        "library": f"coalesce({told}, {guessed})",
        "version": f"case when {told} is not null then {said} else nullif({version}, '') end",
    }


def library_of(client_id: str | None, software: tuple[str, str] | None) -> tuple[str, str | None]:
    """The same of one connection: `software` as it told it."""
    if software is not None:
        return software[0], software[1] or None
    named = re.match(NAMED, client_id or "", re.ASCII)
    return (named[1], named[2]) if named else (client_id or UNKNOWN, None)
