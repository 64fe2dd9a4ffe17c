"""From texts to rows: what a row is, what goes to the quarantine and why, in built-in functions only; a good line is parsed once."""

from __future__ import annotations

from typing import Any, Final

from pyspark.sql import DataFrame
from pyspark.sql.types import ArrayType, StructField

from groupmock.journal.rows import KINDS, VERSION, Header
from groupmock.journal.rows import ROWS as ROW_CLASSES

from .. import schema
from ..lake.journals import FILES, QUARANTINE, ROWS
from ..lake.sink import BATCH, EDITION, PART
from .files import PACKED
from .jsontext import Grammar, good, literal
from .texts import BLANK, MARK

NO_DAY: Final = "unknown"
"""`day` of what has no header that is understood."""
HEADER: Final = Grammar(schema.HEADER, [Header])
LINE: Final = Grammar(schema.LINE, ROW_CLASSES.values())
NEEDED: Final = ("v", "run", "epoch_ns")
"""What a header must have; a journal of any version that has it is read."""
SHOWN: Final = 1024
"""Bytes of an over-long line that its place in the quarantine shows."""


def headed(files: DataFrame, limit: int) -> DataFrame:
    """Files (`texts.FACTS`) with what follows from their headers: day, run (the key), epoch, newer.

    `head_problem` says why there is no header that is understood; then day is `unknown`."""
    looked = files.selectExpr("*", "json_object_keys(head) as keys", f"{HEADER.parse('head')} as parsed")
    opened = looked.selectExpr("*", "get(parsed.row, 0) as row")
    judged = opened.selectExpr("*", f"{_head_problem(limit)} as head_problem")
    return judged.selectExpr(
        *files.columns,
        "head_problem",
        f"coalesce(head_problem, if(rlike(file, r'{PACKED}') and not whole, '{CUT}', null)) as file_problem",
        f"coalesce(if(head_problem is null, {DAY}, null), '{NO_DAY}') as day",
        f"if(head_problem is null, {KEY}, concat('no-header-', {_short('file')})) as run",
        "if(head_problem is null, row.epoch_ns, null) as epoch",
        f"coalesce(head_problem is null and row.v > {VERSION}, false) as newer",
    )


def _short(*columns: str) -> str:
    joined = ", ".join(columns)
    return f"left(sha2(concat_ws('\\n', {joined}), 256), 12)"


DAY: Final = "date_format(timestamp_seconds(floor(row.epoch_ns / 1000000000)), 'yyyy-MM-dd')"
KEY: Final = f"concat_ws('-', left(regexp_replace(row.run, '[^A-Za-z0-9._]+', '_'), 60), row.epoch_ns, {_short('file', 'head')})"
"""Name and epoch are for people. Virtual runs share both, and even the whole header: file and header tell runs apart."""


def _head_problem(limit: int) -> str:
    lacks = ", ".join(f"if(row.{name} is null, '{name}', null)" for name in NEEDED)
    return f"""case
        when lines = 0 then '{EMPTY}'
        when not is_valid_utf8(head) then concat({NOT_UTF_8}, if(substr(hex(cast(head as binary)), 1, 4) in ('FFFE', 'FEFF'), {WIDE}, ''))
        when octet_length(head) > {limit} then {_over_long("head")}
        when not {good("parsed", "keys")} then concat('the first line is ', {HEADER.refusal("head", "keys")})
        when array_contains(keys, '{schema.KIND}') then 'the first line is a row already'
        when concat_ws('', {lacks}) != '' then concat('the first line has no ', concat_ws(', ', {lacks}))
        when row.v < 1 then concat('unknown format ', row.v)
        when {HEADER.suspect("row.", schema.HEADER.names)} then {HEADER.wrong("head")}
    end"""


NOT_UTF_8: Final = "'not UTF-8'"
WIDE: Final = "'; the file begins as UTF-16 does'"
EMPTY: Final = "the file is empty"
CUT: Final = "cut: the packed data ends within a line"
"""Of a plain file the line alone tells: its writer may have been killed."""


def _over_long(text: str) -> str:
    return f"concat('over-long: ', octet_length({text}), ' bytes in one line')"


def sorted_out(lines: DataFrame, limit: int) -> DataFrame:
    """Lines (`texts.numbered` of `headed`) as lines of the parts of a take: rows, quarantine, and one about each file.

    The reason of a broken line is in the column that rows have of that name; what could be read of it is in the others, for nobody."""
    judged = lines.where(f"not ({_passed_over()})").selectExpr("*", f"{_unread(limit)} as problem", "line > 0 as is_line")
    candidate = "is_line and problem is null"
    keys, parsed = "json_object_keys(text)", LINE.parse("text")
    looked = judged.selectExpr("*", *(f"if({candidate}, {each}, null) as {name}" for name, each in (("keys", keys), ("parsed", parsed))))
    checked = looked.selectExpr("* except (parsed)", f"if({good('parsed', 'keys')}, get(parsed.row, 0), null) as row")
    known = checked.selectExpr("*", "row is not null as good", f"not {_usual('row.kind')} as other")
    told = known.selectExpr("*", f"if(is_line, {_reason()}, null) as why")
    part = f"if(is_line, if(why is null, '{ROWS}', '{QUARANTINE}'), '{FILES}') as {PART}"
    joined = [name for name in (EDITION, BATCH) if name in lines.columns]
    about_file = [f"if(is_line, null, {column}) as {name}" for name, column in ABOUT_FILE.items()]
    return told.selectExpr(*joined, *_row_columns(), *about_file, part)


ABOUT_FILE: Final = {
    "length": "length", "modified": "modified", "head": f"if(head_problem is null, trim(LEADING '{MARK}' FROM text), null)",
    "lines": "lines", "blank": "blank", "problem": "file_problem",
}  # fmt: skip
"""What only a file's own line has."""


def _passed_over() -> str:
    """The header's line, and blank ones."""
    return f"(line = 1 and head_problem is null) or (line > 0 and not (lacks and line = lines) and {BLANK.format('text')})"


def _unread(limit: int) -> str:
    """Why a line is not looked into."""
    return f"""case
        when line = 0 then null
        when lacks and line = lines then '{CUT}'
        when octet_length(text) > {limit} then {_over_long("text")}
        when not valid and not is_valid_utf8(text) then {NOT_UTF_8}
        when head_problem is not null then concat('no journal header: ', head_problem)
    end"""


def _row_columns() -> list[str]:
    unknown = f"other and size(array_except(keys, {COLUMNS})) > 0"
    return [
        "day", "run", "file", "cast(line as bigint) as line", "try_add(epoch, row.t) as at",
        *(f"{_column(field)} as {field.name}" for field in schema.LINE.fields),
        f"if(why is null and (newer or ({unknown})), text, null) as more", f"if(why is null, null, {SEEN}) as text",
        "if(why is null or is_valid_utf8(text), null, base64(cast(text as binary))) as bytes",
    ]  # fmt: skip


SEEN: Final = f"make_valid_utf8(if(startswith(why, 'over-long'), left(text, {SHOWN}), text))"
COLUMNS: Final = f"array({', '.join(map(literal, schema.LINE.names))})"


def _usual(kind: str) -> str:
    """Has a row of that kind no field that the kind has not?"""
    names = {kind: "|".join((schema.KIND, *schema.fields_of(kind))) for kind in KINDS}
    cases = (f"when {literal(name)} then rlike(array_join(keys, ','), '^(?:{each})(?:,(?:{each}))*$')" for name, each in names.items())
    return f"coalesce(case {kind} {' '.join(cases)} end, false)"


def _reason() -> str:
    """Why a line is no row; null: it is one."""
    return f"""case
        when problem is not null then problem
        when not good
            then concat(if(line < lines or whole, '', 'cut: the file ends within this line: '), {LINE.refusal("text", "keys")})
        when row.kind is null then 'no kind'
        when row.kind not in ({", ".join(map(literal, KINDS))}) then concat('unknown kind ', row.kind)
        when not {_by_kind(" and ", "row.{} is not null")}
            then concat(row.kind, ' without ', {_by_kind(", ", "if(row.{0} is null, '{0}', null)", "concat_ws(', ', {})")})
        when try_add(epoch, row.t) is null then 't is out of range'
        when {_suspect()} then {LINE.wrong("text")}
    end"""


def _suspect() -> str:
    """Of a row with fields of other kinds, or fields that nobody knows, all columns are looked at; else those of its kind."""
    cases = (f"when '{kind}' then {LINE.suspect('row.', schema.fields_of(kind))}" for kind in KINDS)
    return f"(if(other, {LINE.suspect('row.', schema.LINE.names)}, case row.kind {' '.join(cases)} end))"


def _by_kind(between: str, each: str, around: str = "({})") -> str:
    """A case per kind: `each` for the fields that it must have."""
    cases = (f"when '{kind}' then {around.format(between.join(each.format(name) for name in schema.required(kind)))}" for kind in KINDS)
    return f"(case row.kind {' '.join(cases)} end)"


def _column(field: StructField) -> str:
    """A field; at its default where its kind has one; the reason of a broken line."""
    ways = [f"row.{field.name}"]
    for value, kinds in schema.defaults().get(field.name, {}).items():
        ways.append(f"if(row.kind in ({', '.join(map(literal, kinds))}), {_value(value, field)}, null)")
    if field.name == "reason":
        ways.insert(0, "why")
    return f"coalesce({', '.join(ways)})"


def _value(value: Any, field: StructField) -> str:
    if isinstance(field.dataType, ArrayType):
        assert not value, f"{field.name}: a default list that is not empty: {value}"
        return f"cast(array() as {field.dataType.simpleString()})"
    return literal(value) if isinstance(value, str) else str(value).lower()
