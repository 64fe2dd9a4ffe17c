"""Add a hint to the error about a field that msgspec refuses: the field's description, or the fields that the struct has."""

from __future__ import annotations

import re

import msgspec

from .suggest import did_you_mean


def remedy(wrong: str, into: type[msgspec.Struct]) -> str:
    """Return a hint for the message of msgspec's ValidationError about a struct."""
    path = re.search(r"`\$\.(\w+)`$", wrong)
    properties = msgspec.json.schema(into)["$defs"][into.__name__]["properties"]
    if path and (about := properties.get(path[1], {}).get("description")):
        return f"{path[1]}: {about}"
    unknown = re.search(r"unknown field `(.+?)`", wrong)
    meant = did_you_mean(unknown[1], properties) if unknown else ""
    fields = [field.name if field.required else f"[{field.name}]" for field in msgspec.structs.fields(into)]
    return f"{meant + ' ' if meant else ''}it takes: {', '.join(fields) or 'nothing'}"
