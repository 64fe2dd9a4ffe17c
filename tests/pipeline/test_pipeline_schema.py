"""Spark's schema of the rows equals the journal's row types."""

from __future__ import annotations

from typing import get_type_hints

import msgspec
import pytest
from pyspark.sql.types import ArrayType, BooleanType, LongType, StringType, StructType

from groupmock.journal.rows import KINDS, ROWS, OpenRow, ReplyRow
from groupmock_pipeline import schema


def test_every_field_of_every_kind_is_a_column() -> None:
    for kind in KINDS:
        assert set(schema.fields_of(kind)) <= set(schema.LINE.names), kind
    assert set(schema.LINE.names) == {"kind"}.union(*(schema.fields_of(kind) for kind in KINDS))


def test_types() -> None:
    types = {field.name: field.dataType for field in schema.LINE.fields}
    assert types["seq"] == types["t"] == LongType()
    assert types["delivered"] == BooleanType()
    assert types["subject"] == ArrayType(StringType())
    assert types["message"] == types["raw"] == StringType()
    payload = types["payloads"]
    assert isinstance(payload, ArrayType) and isinstance(payload.elementType, StructType)
    assert payload.elementType.names == ["path", "length", "digest"]


def test_what_a_row_must_have() -> None:
    assert schema.required("open") == ("seq", "t", "connection", "client_host", "client_port")
    assert "message" not in schema.required("reply")


def test_defaults_are_those_that_the_journal_leaves_out() -> None:
    defaults = schema.defaults()
    row = ReplyRow(seq=1, t=2, connection=3, ticket=4, correlation_id=5, api_key=6, api_name="a", api_version=7, size=8)
    written = msgspec.json.decode(msgspec.json.encode(row))
    for name in schema.fields_of("reply"):
        left_out = name not in written
        value = getattr(row, name)
        assert left_out == (value is None or any("reply" in kinds for kinds in defaults.get(name, {}).values())), name
        if left_out and value is not None:
            assert "reply" in defaults[name][value]
    assert defaults["fields"] == {"{}": ("fault", "client", "note")}


def test_one_name_with_two_types_is_refused() -> None:
    class Other(OpenRow, tag="other", kw_only=True):
        connection: str = ""  # type: ignore[assignment]

    assert get_type_hints(Other)
    with pytest.raises(TypeError, match=r"Other\.connection is StringType\(\), in another kind LongType\(\)"):
        schema.union_of([*ROWS.values(), Other])
