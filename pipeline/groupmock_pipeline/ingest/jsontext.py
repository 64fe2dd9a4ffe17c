"""Parse JSON lines against a row class by Spark's own functions, and say in words why a line does not fit.

Expressions are SQL text, because one call makes them, where a Column per operator would take hundreds of calls into the JVM.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, BooleanType, LongType, StringType, StructField, StructType

from .. import schema

if TYPE_CHECKING:
    from pyspark.sql import Column

OPTIONS: Final = {"allowSingleQuotes": "false", "allowNonNumericNumbers": "false"}
NO_TEXT: Final = ", ".join(str(ord(each)) for each in "-0123456789{[")
"""First characters of a number, object or list that was read into a text column. Few texts begin with them."""
NEW_LINE: Final = "\n"
OPENED: Final = (
    "* except (parsed)",
    "if(parsed._corrupt_record is null and size(parsed.row) = 2, get(parsed.row, 0), null) as row",
    "size(parsed.row) > 2 as several",
)
"""Replaces the `parsed` of `Grammar.parse` by the one object that was read (null if there is none or several) and by whether there are
several."""
ONE: Final = "(row is not null and keys is not null)"
"""The condition, as SQL, that the text is one object."""


class Expected(NamedTuple):
    """The types that a field may have, as a pattern for the output of `schema_of_variant`, and in words."""

    pattern: str
    words: str


WHOLE_NUMBER: Final = Expected("BIGINT", "a whole number of 64 bits")
TRUTH: Final = Expected("BOOLEAN", "true or false")
TEXT: Final = Expected("STRING", "a text")
OBJECT: Final = Expected("OBJECT<.*", "an object")


class Grammar:
    """The fields of some classes of journal rows, with their types.

    Its SQL refers to the columns `row` and `several` (`OPENED` of the output of `parse`) and `keys` (`json_object_keys` of the text).
    """

    def __init__(self, fields: StructType, classes: Iterable[type[msgspec.Struct]]) -> None:
        classes = list(classes)
        self.type = fields
        self.texts = sorted(schema.of_type(str, bytes, classes=classes))
        self.lists = [field.name for field in fields.fields if field.dataType == ArrayType(StringType())]
        self.objects = sorted(schema.of_type(dict, classes=classes))
        self.plain = {field.name for field in fields.fields if not isinstance(field.dataType, ArrayType)}
        anything = schema.of_type(Any, classes=classes)
        self.expected = {
            field.name: OBJECT if field.name in self.objects else _expected(field) for field in fields.fields if field.name not in anything
        }

    def parse(self, text: str) -> Column:
        """Parse a text as struct<row: array<fields>, _corrupt_record>, which `OPENED` reduces to one object.

        The text is put into brackets before a null, because `from_json` ignores what follows the first value: if the text closes the
        brackets itself, the null is missing.
        """
        whole = StructType([StructField("row", ArrayType(self.type)), StructField("_corrupt_record", StringType())])
        # The schema is passed as an object, because Spark parses DDL slowly.
        return F.from_json(F.expr(f"concat('{{\"row\":[', {text}, ',null]}}')"), whole, OPTIONS)

    def written(self, opening: str, names: Iterable[str], required: Collection[str]) -> str:
        """Return SQL that writes an object the way groupmock does: `opening`, then these fields in order, nothing escaped, without nulls
        and lists. The SQL is null if a field that should be an object is none.

        A text that equals the result has no other field and no list, and each of its fields has the right type.
        """
        pieces = [self._piece(name, name in required) for name in names if name in self.plain]
        return f"concat({', '.join([literal('{' + opening), *pieces, literal('}')])})"

    def _piece(self, name: str, required: bool) -> str:
        column = f"row.{name}"
        if name in self.texts:
            piece = f"""',"{name}":"', {column}, '"'"""
        elif name in self.objects:
            piece = f"""',"{name}":', if(startswith({column}, '{{'), {column}, null)"""
        else:
            piece = f"""',"{name}":', {column}"""
        return piece if required else f"if({column} is null, '', concat({piece}))"

    def misfit(self, text: str) -> str:
        """Return SQL that says why a text is not one object of these fields, or null if it is one. Only `keys` detects NaN.

        `_wrong` appears once, because Spark parses and plans every part of an expression, whether it is evaluated or not.
        """
        wrong = f"if(row is null or {self._suspect()}, {self._wrong(text)}, null)"
        return f"if(keys is null, 'not JSON', coalesce({wrong}, if(row is null, if(several, 'several values', 'not JSON'), null)))"

    def _suspect(self) -> str:
        """Return a cheap condition that a text column may hold another type, because `from_json` converts anything to text. The
        expensive `_wrong` decides."""
        texts = [f"ascii(row.{name}) in ({NO_TEXT}) or row.{name} in ('true', 'false')" for name in self.texts]
        objects = [f"ascii(row.{name}) != {ord('{')}" for name in self.objects]
        no_text = f"each -> ascii(each) in ({NO_TEXT}) or each in ('true', 'false')"
        lists = [f"exists(row.{name}, {no_text})" for name in self.lists]
        return f"coalesce({' or '.join([*texts, *objects, *lists])}, false)"

    def _wrong(self, text: str) -> str:
        """Return SQL that names the fields with wrong types, or null if there are none. Parses the text again, so it is for suspects
        only."""
        patterns = _dictionary({name: f"^(VOID|{each.pattern})$" for name, each in self.expected.items()})
        words = _dictionary({name: f"{name} is not {each.words}" for name, each in self.expected.items()})
        options = f"map({', '.join(literal(each) for option in OPTIONS.items() for each in option)})"
        entries = f"map_entries(from_json({text}, 'map<string, variant>', {options}))"
        broken = f"filter({entries}, each -> not rlike(schema_of_variant(each.value), {patterns}[each.key]))"
        return f"nullif(array_join(transform({broken}, each -> {words}[each.key]), '; '), '')"


def _dictionary(words: dict[str, str]) -> str:
    """Return SQL of a map of one-line texts, made of two literals because each literal is parsed. (`str_to_map` would load tables of all
    scripts.)"""
    keys, values = (f"split({literal(NEW_LINE.join(each))}, '{NEW_LINE}')" for each in (words, words.values()))
    return f"map_from_arrays({keys}, {values})"


def literal(text: str) -> str:
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
