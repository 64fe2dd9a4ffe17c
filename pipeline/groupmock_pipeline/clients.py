"""Identify the client library and version behind a connection.

Clients name themselves in ApiVersions 3 and later (KIP-511). The library of others is unknown, because a client id is chosen by the
application.
"""

from __future__ import annotations

from typing import Final

UNKNOWN: Final = "unknown"
SOFTWARE: Final = "client_software_name: string, client_software_version: string"
"""The fields of ApiVersions that name the library."""
SOFTWARE_TOLD: Final = "max_by(software, case when software.client_software_name != '' then line end)"
"""SQL aggregate over the rows of a connection, with the columns `line` and `software`: the last {client_software_name,
client_software_version} that the connection sent, or null."""


IDENTIFIED: Final = {
    "library": f"coalesce(software.client_software_name, '{UNKNOWN}')",
    "version": "nullif(software.client_software_version, '')",
}
"""SQL for the columns `library` (never null) and `version`, of a frame with `software`."""


def library_of(software: tuple[str, str] | None) -> tuple[str, str | None]:
    """Return library and version of one connection by the rules of `IDENTIFIED`. `software` is what the connection sent."""
    return (UNKNOWN, None) if software is None else (software[0], software[1] or None)
