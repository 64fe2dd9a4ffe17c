"""Write the characteristics as a small JSON file (`--json`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from .table_row import WHAT

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def to_json(table: DataFrame) -> bytes:
    """Format one line per combination, so that a diff shows a change, with floats to the millisecond. Collects all lines to the driver."""
    rows = [row.asDict() for row in table.orderBy(*WHAT).collect()]
    return b"[\n" + b",\n".join(msgspec.json.encode({name: _short(value) for name, value in row.items()}) for row in rows) + b"\n]\n"


def _short(value: Any) -> Any:
    if isinstance(value, float):
        value = round(value, 3)
        return int(value) if value.is_integer() else value
    return value
