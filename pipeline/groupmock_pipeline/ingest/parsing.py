"""Turn the lines of journals into rows, and say why a line goes to the quarantine instead. Uses built-in functions only, and parses a
good line once."""

from __future__ import annotations

from typing import Any, Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, StructField

from groupmock.journal.rows import KINDS, VERSION, Header
from groupmock.journal.rows import ROWS as ROW_CLASSES

from .. import schema
from ..lake.journals import FILES, QUARANTINE, ROWS
from ..lake.sink import BATCH, EDITION, PART
from .files import PACKED
from .jsontext import ONE, OPENED, Grammar, literal
from .texts import BLANK, MARK

NO_DAY: Final = "unknown"
"""The `day` of a journal whose header is not understood."""
HEADER: Final = Grammar(schema.HEADER, [Header])
LINE: Final = Grammar(schema.LINE, ROW_CLASSES.values())
NEEDED: Final = ("v", "run", "epoch_ns")
"""The fields that the header of a journal must have. A journal of any version with these fields is read."""
SHOWN: Final = 1024
"""Bytes of an over-long line that the quarantine keeps."""


def headed(files: DataFrame, limit: int) -> DataFrame:
    """Add the columns that follow from the headers of files (`texts.FACTS`): day, run (the key), epoch, newer.

    `head_problem` says why the header is not understood; `day` is then `unknown`.
    """
    looked = files.withColumn("parsed", HEADER.parse("head"))
    read = looked.selectExpr(*OPENED, "json_object_keys(head) as keys")
    judged = read.selectExpr("*", f"{_head_problem(limit)} as head_problem")
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
"""The SQL of a run's key, which is unique in the lake. Name and epoch are for readers. File and header make the key unique, because
virtual runs share name, epoch and even the whole header."""


def _head_problem(limit: int) -> str:
    lacks = ", ".join(f"if(row.{name} is null, '{name}', null)" for name in NEEDED)
    return f"""case
        when lines = 0 then '{EMPTY}'
        when not is_valid_utf8(head) then concat({NOT_UTF_8}, if(substr(hex(cast(head as binary)), 1, 4) in ('FFFE', 'FEFF'), {WIDE}, ''))
        when octet_length(head) > {limit} then {_over_long("head")}
        when {ONE} and array_contains(keys, '{schema.KIND}') then 'the first line is a row already'
        when {ONE} and concat_ws('', {lacks}) != '' then concat('the first line has no ', concat_ws(', ', {lacks}))
        when {ONE} and row.v < 1 then concat('unknown format ', row.v)
        else concat(if({ONE}, '', 'the first line is '), {HEADER.misfit("head")})
    end"""


NOT_UTF_8: Final = "'not UTF-8'"
WIDE: Final = "'; the file begins as UTF-16 does'"
EMPTY: Final = "the file is empty"
CUT: Final = "cut: the packed data ends within a line"
"""The problem of a compressed file whose data ends within a line. A plain file may lack its end because its writer was killed."""


def _over_long(text: str) -> str:
    return f"concat('over-long: ', octet_length({text}), ' bytes in one line')"


def sorted_out(lines: DataFrame, limit: int) -> DataFrame:
    """Sort the lines of journals (`texts.numbered` of `headed`) into what an ingest commits: rows, quarantine, and one line about each
    file.

    The reason of a broken line is in column `reason`. Its other columns are whatever could be parsed, and nobody reads them.
    """
    judged = lines.where(f"not ({_passed_over()})").selectExpr("*", f"{_unread(limit)} as problem", "line > 0 as is_line")
    looked = judged.withColumn("parsed", F.when(F.expr("is_line and problem is null"), LINE.parse("text")))
    # One comparison recognizes the lines that groupmock wrote. Only the keys of other lines are looked up, because that parses the line
    # again.
    compared = looked.selectExpr(*OPENED).selectExpr("*", f"coalesce(text = {written()}, false) as usual")
    asked = compared.selectExpr("*", "if(is_line and problem is null and not usual, json_object_keys(text), null) as keys")
    told = asked.selectExpr("*", f"if(is_line, {_reason()}, null) as why")
    part = f"if(is_line, if(why is null, '{ROWS}', '{QUARANTINE}'), '{FILES}') as {PART}"
    joined = [name for name in (EDITION, BATCH) if name in lines.columns]
    about_file = [f"if(is_line, null, {column}) as {name}" for name, column in ABOUT_FILE.items()]
    return told.selectExpr(*joined, *_row_columns(), *about_file, part)


ABOUT_FILE: Final = {
    "length": "length", "modified": "modified", "head": f"if(head_problem is null, trim(LEADING '{MARK}' FROM text), null)",
    "lines": "lines", "blank": "blank", "problem": "file_problem",
}  # fmt: skip
"""Maps the columns of the line about a file to SQL."""


def _passed_over() -> str:
    """Return SQL that matches the lines to be skipped: the header's line and blank lines."""
    return f"(line = 1 and head_problem is null) or (line > 0 and not (lacks and line = lines) and {BLANK.format('text')})"


def _unread(limit: int) -> str:
    """Return SQL that says why a line is not parsed, or null."""
    return f"""case
        when line = 0 then null
        when lacks and line = lines then '{CUT}'
        when octet_length(text) > {limit} then {_over_long("text")}
        when not valid and not is_valid_utf8(text) then {NOT_UTF_8}
        when head_problem is not null then concat('no journal header: ', head_problem)
    end"""


def _row_columns() -> list[str]:
    unknown = f"not usual and size(array_except(keys, {COLUMNS})) > 0"
    return [
        "day", "run", "file", "cast(line as bigint) as line", "try_add(epoch, row.t) as at",
        *(f"{_column(field)} as {field.name}" for field in schema.LINE.fields),
        f"if(why is null and (newer or ({unknown})), text, null) as more", f"if(why is null, null, {SEEN}) as text",
        "if(why is null or is_valid_utf8(text), null, base64(cast(text as binary))) as bytes",
    ]  # fmt: skip


SEEN: Final = f"make_valid_utf8(if(startswith(why, 'over-long'), left(text, {SHOWN}), text))"
COLUMNS: Final = f"array({', '.join(map(literal, schema.LINE.names))})"


def written() -> str:
    """Return SQL of the line that groupmock itself writes for `row`. A journal's line that differs was written by another program."""
    cases = []
    for kind in KINDS:
        opening = f'"{schema.KIND}":"{kind}"'
        cases.append(f"when '{kind}' then {LINE.written(opening, schema.fields_of(kind), schema.required(kind))}")
    return f"case row.kind {' '.join(cases)} end"


def _reason() -> str:
    """Return SQL that says why a line is no row, or null if it is one."""
    return f"""case
        when problem is not null then problem
        when usual then if(try_add(epoch, row.t) is null, '{OUT_OF_RANGE}', null)
        else coalesce(if({ONE}, {_unfit()}, null), concat(if({ONE}, '', {CUT_LINE}), {LINE.misfit("text")}))
    end"""


OUT_OF_RANGE: Final = "t is out of range"
CUT_LINE: Final = "if(line < lines or whole, '', 'cut: the file ends within this line: ')"


def _unfit() -> str:
    """Return SQL that says which required fields an object lacks, or null if none."""
    cases = []
    for kind in KINDS:
        lacks = ", ".join(f"if(row.{name} is null, '{name}', null)" for name in schema.required(kind))
        cases.append(f"when '{kind}' then concat('{kind} without ', nullif(concat_ws(', ', {lacks}), ''))")
    known = f"case row.kind {' '.join(cases)} else coalesce(concat('unknown kind ', row.kind), 'no kind') end"
    return f"coalesce({known}, if(try_add(epoch, row.t) is null, '{OUT_OF_RANGE}', null))"


def _column(field: StructField) -> str:
    """Return SQL of a field, or of the default that its kind has. Column `reason` holds the reason of a broken line."""
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
