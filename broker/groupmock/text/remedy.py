"""What to do about a field that msgspec refuses: what it means, or which fields there are."""

from __future__ import annotations

import re

import msgspec

from .suggest import did_you_mean


def remedy(wrong: str, into: type[msgspec.Struct]) -> str:
    """For the text of a ValidationError of that struct."""
    place = re.search(r"`\$\.(\w+)`$", wrong)
    properties = msgspec.json.schema(into)["$defs"][into.__name__]["properties"]
    if place and (about := properties.get(place[1], {}).get("description")):
        return f"{place[1]}: {about}"
    unknown = re.search(r"unknown field `(.+?)`", wrong)
    meant = did_you_mean(unknown[1], properties) if unknown else ""
    fields = [field.name if field.required else f"[{field.name}]" for field in msgspec.structs.fields(into)]
    return f"{meant + ' ' if meant else ''}it takes: {', '.join(fields) or 'nothing'}"
