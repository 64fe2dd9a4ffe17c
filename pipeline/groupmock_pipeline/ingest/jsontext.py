"""JSON lines against a row class, by Spark's own functions: the parsed struct, and in words why there is none.

Expressions are SQL text: one call makes them, where a Column per operator would be hundreds of calls into the JVM.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

import msgspec
from pyspark.sql.types import ArrayType, BooleanType, LongType, StringType, StructField, StructType

from .. import schema

OPTIONS: Final = "map('allowSingleQuotes', 'false', 'allowNonNumericNumbers', 'false')"
NO_TEXT: Final = ", ".join(str(ord(each)) for each in "-0123456789{[")
"""How a number, an object and a list begin that were read into a column of text; few texts begin so."""


class Expected(NamedTuple):
    """What a field may be: as `schema_of_variant` prints it (a pattern), and in words."""

    pattern: str
    words: str


WHOLE_NUMBER: Final = Expected("BIGINT", "a whole number of 64 bits")
TRUTH: Final = Expected("BOOLEAN", "true or false")
TEXT: Final = Expected("STRING", "a text")
OBJECT: Final = Expected("OBJECT<.*", "an object")


class Grammar:
    """The fields that some classes have, and what they may be. `text`, `keys` (`json_object_keys` of it), `parsed`, `row`: SQL."""

    def __init__(self, fields: StructType, classes: Iterable[type[msgspec.Struct]]) -> None:
        classes = list(classes)
        self.type = fields.simpleString()
        self.texts = sorted(schema.of_type(str, bytes, classes=classes))
        self.lists = [field.name for field in fields.fields if field.dataType == ArrayType(StringType())]
        self.objects = sorted(schema.of_type(dict, classes=classes))
        anything = schema.of_type(Any, classes=classes)
        self.expected = {
            field.name: OBJECT if field.name in self.objects else _expected(field) for field in fields.fields if field.name not in anything
        }

    def parse(self, text: str) -> str:
        """struct<row: array<fields>, _corrupt_record>, see `good`. In brackets and before a null, as `from_json` ignores what follows the
        first value: a text that closes the brackets itself has no null after it."""
        whole = f"struct<row: array<{self.type}>, _corrupt_record: string>"
        return f"from_json(concat('{{\"row\":[', {text}, ',null]}}'), '{whole}', {OPTIONS})"

    def suspect(self, row: str, names: Iterable[str]) -> str:
        """May one of these columns hold something else than it should? `from_json` takes anything for text. `wrong` knows, at a price.

        `row`: what stands before a column's name."""
        chosen = frozenset(names)
        texts = [f"ascii({row}{name}) in ({NO_TEXT}) or {row}{name} in ('true', 'false')" for name in self.texts if name in chosen]
        objects = [f"ascii({row}{name}) != {ord('{')}" for name in self.objects if name in chosen]
        no_text = f"each -> ascii(each) in ({NO_TEXT}) or each in ('true', 'false')"
        lists = [f"exists({row}{name}, {no_text})" for name in self.lists if name in chosen]
        return f"coalesce({' or '.join([*texts, *objects, *lists])}, false)" if chosen else "false"

    def wrong(self, text: str) -> str:
        """Which fields are not what they should be, in words; null: none. Reads the text again: for the few only."""
        patterns = dictionary({name: f"^(VOID|{each.pattern})$" for name, each in self.expected.items()})
        words = dictionary({name: f"{name} is not {each.words}" for name, each in self.expected.items()})
        entries = f"map_entries(from_json({text}, 'map<string, variant>', {OPTIONS}))"
        broken = f"filter({entries}, each -> not rlike(schema_of_variant(each.value), {patterns}[each.key]))"
        return f"nullif(array_join(transform({broken}, each -> {words}[each.key]), '; '), '')"

    def refusal(self, text: str, keys: str) -> str:
        """Why a text that is not `good` is not, in words."""
        glued = f"size({self.parse(text)}.row) > 2"
        named = f"coalesce({self.wrong(text)}, if({glued}, 'several values', 'not JSON'))"
        return f"if({keys} is null, 'not JSON', {named})"


def good(parsed: str, keys: str) -> str:
    """Is it exactly one object, with types as the schema has them? `keys` alone refuses NaN."""
    fine = f"{parsed}._corrupt_record is null and {keys} is not null and size({parsed}.row) = 2 and get({parsed}.row, 0) is not null"
    return f"coalesce({fine}, false)"


def dictionary(words: dict[str, str]) -> str:
    """A map of texts."""
    return f"map({', '.join(literal(each) for pair in words.items() for each in pair)})"


def literal(text: str) -> str:
    """A text in SQL."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _expected(field: StructField) -> Expected:
    match field.dataType:
        case LongType():
            return WHOLE_NUMBER
        case BooleanType():
            return TRUTH
        case StringType():
            return TEXT
        case ArrayType(elementType=StructType()):
            return Expected("ARRAY<(OBJECT<.*|VOID)>", "a list of objects")
        case ArrayType():
            return Expected("ARRAY<(STRING|VOID)>", "a list of texts")
        case other:
            raise TypeError(f"{field.name}: nothing is known of {other}")
