"""Write the JSON Schema of one line of seed data."""

from __future__ import annotations

import json

import msgspec

from groupmock.data.seed import KINDS

ABOUT = "One line of seed data (docs/how-to/seed-and-read.md): a record, a committed offset, configs of a node, or a topic"


def text() -> str:
    shapes, components = msgspec.json.schema_components(KINDS, ref_template="#/$defs/{name}")
    for each in components.values():  # A docstring's lines are joined; msgspec's releases indent them differently.
        each["description"] = " ".join(each["description"].split())
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$comment": "written by tools/pages/seed_data_schema_page.py (`make docs`): do not edit",
        "title": "groupmock seed data",
        "description": ABOUT,
        "anyOf": list(shapes),
        "$defs": components,
    }
    return json.dumps(schema, indent=2) + "\n"
