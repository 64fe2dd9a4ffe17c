"""Identify the client library and version behind a connection.

Clients name themselves in ApiVersions 3 and later (KIP-511). Others are recognized by a client id of the form NAME-VERSION, the default of
aiokafka and kafka-python. Otherwise the client id stands for the library, or `unknown`.
"""

from __future__ import annotations

import re
from typing import Final

UNKNOWN: Final = "unknown"
NAMED: Final = r"^([A-Za-z][A-Za-z0-9_.-]*?)-(\d+(?:\.\d+)+[A-Za-z0-9.+-]*)$"
"""Matches client ids such as aiokafka-0.14.0."""
SOFTWARE: Final = "client_software_name: string, client_software_version: string"
"""The fields of ApiVersions that name the library."""
SOFTWARE_TOLD: Final = "max_by(software, case when software.client_software_name != '' then line end)"
"""SQL aggregate over the rows of a connection, with the columns `line` and `software`: the last {client_software_name,
client_software_version} that the connection sent, or null."""


def identified(client_id: str) -> dict[str, str]:
    """Return SQL for the columns `library` (never null) and `version`, of a frame with `software`. `client_id` is SQL of a client id."""
    name, version = (f"regexp_extract({client_id}, r'{NAMED}', {group})" for group in (1, 2))
    guessed = f"case when {name} != '' then {name} when {client_id} != '' then {client_id} else '{UNKNOWN}' end"
    name_told, version_told = "software.client_software_name", "nullif(software.client_software_version, '')"
    return {
        "library": f"coalesce({name_told}, {guessed})",
        "version": f"case when {name_told} is not null then {version_told} else nullif({version}, '') end",
    }


def library_of(client_id: str | None, software: tuple[str, str] | None) -> tuple[str, str | None]:
    """Return library and version of one connection by the rules of `identified`. `software` is what the connection sent."""
    if software is not None:
        return software[0], software[1] or None
    named = re.match(NAMED, client_id or "", re.ASCII)
    return (named[1], named[2]) if named else (client_id or UNKNOWN, None)
