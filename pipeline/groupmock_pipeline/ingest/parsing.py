"""From lines to rows: what a row is, what goes to the quarantine and why, in built-in functions only."""

from __future__ import annotations

from typing import Any, Final

from pyspark.sql import DataFrame
from pyspark.sql.types import ArrayType, StructField

from groupmock.journal.rows import KINDS, VERSION, Header
from groupmock.journal.rows import ROWS as ROW_CLASSES

from .. import schema
from .jsontext import Grammar, good, literal

PART: Final = "part"
ROW, BROKEN, FILE = "rows", "quarantine", "files"
"""Values of `part`."""
NO_DAY: Final = "unknown"
"""`day` of what has no header that is understood."""
NONE: Final = "-"
HEADER: Final = Grammar(schema.HEADER, [Header])
LINE: Final = Grammar(schema.LINE, ROW_CLASSES.values())
NEEDED: Final = ("v", "run", "epoch_ns")
"""What a header must have; a journal of any version that has it is read."""


def headed(first: DataFrame) -> DataFrame:
    """Files with their first line (`workers.FIRST`), and what follows from it: day, run (the key), epoch, newer.

    `head_problem` says why there is no header that is understood; then day is `unknown`."""
    looked = first.selectExpr("*", "json_object_keys(head) as keys", f"{HEADER.parse('head')} as parsed")
    opened = looked.selectExpr("*", "get(parsed.row, 0) as row")
    judged = opened.selectExpr("*", f"coalesce(head_problem, {_head_problem()}) as problem")
    return judged.selectExpr(
        *(name for name in first.columns if name != "head_problem"),
        "problem as head_problem",
        f"if(problem is null, {DAY}, '{NO_DAY}') as day",
        f"if(problem is null, {KEY}, concat('no-header-', {_short('file')})) as run",
        "if(problem is null, row.epoch_ns, null) as epoch",
        f"coalesce(problem is null and row.v > {VERSION}, false) as newer",
    )


def _short(*columns: str) -> str:
    joined = ", ".join(columns)
    return f"left(sha2(concat_ws('\\n', {joined}), 256), 12)"


DAY: Final = "date_format(timestamp_seconds(floor(row.epoch_ns / 1000000000)), 'yyyy-MM-dd')"
KEY: Final = f"concat_ws('-', left(regexp_replace(row.run, '[^A-Za-z0-9._]+', '_'), 60), row.epoch_ns, {_short('file', 'head')})"
"""Name and epoch are for people. Virtual runs share both, and even the whole header: file and header tell runs apart."""


def _head_problem() -> str:
    lacks = ", ".join(f"if(row.{name} is null, '{name}', null)" for name in NEEDED)
    return f"""case
        when not {good("parsed", "keys")} then concat('the first line is ', {HEADER.refusal("head", "keys")})
        when array_contains(keys, '{schema.KIND}') then 'the first line is a row already'
        when concat_ws('', {lacks}) != '' then concat('the first line has no ', concat_ws(', ', {lacks}))
        when row.v < 1 then concat('unknown format ', row.v)
        when {HEADER.suspect("row")} then {HEADER.wrong("head")}
    end"""


def sorted_out(lines: DataFrame) -> DataFrame:
    """Lines (`workers.LINES`) to the columns of `rows`, and `part`: row, broken line or what there is to say of a file.

    A broken line rides in columns of a row: its reason in `reason`, text in `more`, bytes in `raw`; of a file `more` has the JSON."""
    candidate = "not summary and problem is null"
    looked = lines.selectExpr(
        "*",
        f"if({candidate}, json_object_keys(text), null) as keys",
        f"if({candidate}, {LINE.parse('text')}, null) as parsed",
    )
    opened = looked.selectExpr("*", "get(parsed.row, 0) as row", "try_add(epoch, get(parsed.row, 0).t) as at")
    judged = opened.selectExpr("*", f"if(summary, null, coalesce(problem, {_line_problem()})) as why")
    marked = judged.selectExpr("* except (row)", "if(why is null, row, null) as row", "not summary and why is null as fine")
    return marked.selectExpr(
        f"case when fine then '{ROW}' when summary then '{FILE}' else '{BROKEN}' end as {PART}",
        f"if(fine, day, '{NONE}') as day",  # broken lines and files are few: they share one folder
        f"if(fine, run, '{NONE}') as run",
        "file",
        "line",
        "if(fine, at, null) as at",
        *(f"{_column(field)} as {field.name}" for field in schema.LINE.fields),
        f"if(not fine or newer or size(array_except(keys, {COLUMNS})) > 0, text, null) as more",
    )


COLUMNS: Final = f"array({', '.join(map(literal, schema.LINE.names))})"


def _line_problem() -> str:
    return f"""case
        when not {good("parsed", "keys")}
            then concat(if(whole, '', 'cut: the file ends within this line: '), {LINE.refusal("text", "keys")})
        when row.kind is null then 'no kind'
        when row.kind not in ({", ".join(map(literal, KINDS))}) then concat('unknown kind ', row.kind)
        when not {_by_kind(" and ", "row.{} is not null")}
            then concat(row.kind, ' without ', {_by_kind(", ", "if(row.{0} is null, '{0}', null)", "concat_ws(', ', {})")})
        when at is null then 't is out of range'
        when {LINE.suspect("row")} then {LINE.wrong("text")}
    end"""


def _by_kind(between: str, each: str, around: str = "({})") -> str:
    """A case per kind: `each` for the fields that it must have."""
    cases = (f"when '{kind}' then {around.format(between.join(each.format(name) for name in schema.required(kind)))}" for kind in KINDS)
    return f"(case row.kind {' '.join(cases)} end)"


RIDING: Final = {"reason": "why", "raw": "if(why is null, null, bytes)"}


def _column(field: StructField) -> str:
    """A field; at its default where its kind has one; of a broken line what rides in it."""
    ways = [f"row.{field.name}"]
    for value, kinds in schema.defaults().get(field.name, {}).items():
        ways.append(f"if(row.kind in ({', '.join(map(literal, kinds))}), {_value(value, field)}, null)")
    if field.name in RIDING:
        ways.append(RIDING[field.name])
    return f"coalesce({', '.join(ways)})"


def _value(value: Any, field: StructField) -> str:
    if isinstance(field.dataType, ArrayType):
        assert not value, f"{field.name}: a default list that is not empty: {value}"
        return f"cast(array() as {field.dataType.simpleString()})"
    return literal(value) if isinstance(value, str) else str(value).lower()
