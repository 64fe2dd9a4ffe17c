"""Texts from outside are parsed in linear time within the size limits, and a text over a limit is refused with one sentence."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest
from cases import for_each

from groupmock.text.bounded import MAX_BYTES, MAX_DEPTH, MAX_PARTS, BadText, json, toml

KEY = ".".join("a" * MAX_PARTS)
DEEP = "[" * (MAX_DEPTH - 1) + "]" * (MAX_DEPTH - 1)
TABLES = "{a=" * (MAX_DEPTH - 2) + "1" + "}" * (MAX_DEPTH - 2)


def full(unit: str, size: int) -> str:
    return unit * (size // len(unit))


def lines(line: str, size: int) -> str:
    """Return text of the given size, in which `line` is repeated with increasing numbers."""
    return "\n".join(line.format(number) for number in range(10_000, 10_000 + size // (len(line) + 4)))


SHAPES: dict[str, Callable[[int], str]] = {
    "dots in a table's name": lambda size: f"[{full('a.', size)}a]",
    "dots in a list's name": lambda size: f"[[{full('a.', size)}a]]",
    "dots in a key": lambda size: f"{full('a.', size)}a = 1",
    "dots with blanks": lambda size: f"{full('a . ', size)}a = 1",
    "dots between quoted parts": lambda size: f"{full(chr(34) + 'a.b' + chr(34) + '.', size)}a = 1",
    "dots in a key of an inline table": lambda size: f"a = {{ {full('a.', size)}a = 1 }}",
    "lines below a long name": lambda size: f"[{full('a.', size // 2)}a]\n{lines('k{} = 1', size // 2)}",
    "lines below the longest name": lambda size: f"[{KEY}]\n{lines('k{} = 1', size)}",
    "longest names": lambda size: lines(f"[{KEY[2:]}.k{{}}]", size),
    "lists of the longest name": lambda size: full(f"[[{KEY}]]\n", size),
    "longest keys below the longest name": lambda size: f"[{KEY}]\n{lines(KEY[2:] + '.k{} = 1', size)}",
    "lists in lists": lambda size: f"a = {full('[', size)}",
    "tables in tables": lambda size: f"a = {full('{a=', size)}",
    "lists and tables in turn": lambda size: f"a = {full('[{a=', size)}",
    "deepest lists": lambda size: f"a = [{full(DEEP + ',', size)}]",
    "deepest tables": lambda size: f"a = [{full(TABLES + ',', size)}]",
    "many small tables": lambda size: f"a = [{full('{a=1},', size)}]",
    "many small lists": lambda size: f"a = [{full('[],', size)}]",
    "rules": lambda size: full("[[rule]]\n", size),
    "keys": lambda size: lines("k{} = 1", size),
    "digits": lambda size: f"a = {full('1', size)}",
    "hexadecimal digits": lambda size: f"a = 0x{full('f', size)}",
    "a fraction": lambda size: f"a = 1.{full('1', size)}",
    "numbers": lambda size: f"a = [{full('1_1.5e1,', size)}]",
    "dates": lambda size: f"a = [{full('1979-05-27T07:32:00Z,', size)}]",
    "half a date": lambda size: f"a = {full('1979-05-27 ', size)}",
    "strings never closed": lambda size: full('"""\n', size),
    "a string never closed": lambda size: f'a = """{full("x", size)}',
    "quotes": lambda size: full('"\n', size),
    "a backslash at the end": lambda size: full('"""\n', size) + "\\",
    "escapes": lambda size: f'a = "{full(chr(92) + "n", size)}"',
    "folded lines": lambda size: f'a = """{full(chr(92) + chr(10), size)}"""',
    "quotes in a string": lambda size: f'a = """{full("x" + chr(34) * 2, size)}"""',
    "comments": lambda size: full("# [[[\n", size),
    "ends of lines": lambda size: full("\r\n", size),
    "equals signs": lambda size: full("=", size),
}


def work(read: Callable[[str], Any], text: str) -> int:
    """Return the number of Python lines that reading the text executes, which is the same on every machine."""
    count = 0

    def each(frame: Any, event: str, argument: Any) -> Any:
        nonlocal count
        count += event == "line"
        return each

    before = sys.gettrace()
    sys.settrace(each)
    try:
        read(text)
    except BadText as bad:
        assert "\n" not in str(bad)
    finally:
        sys.settrace(before)
    return count


@for_each("name", SHAPES)
def test_twice_the_text_is_twice_the_work(name: str) -> None:
    shape = SHAPES[name]
    work(toml, shape(100))  # The first reading of the text creates objects that later ones reuse, so it does not count.
    small, large = work(toml, shape(1500)), work(toml, shape(3000))
    assert large <= 2.2 * small + 100, (small, large)


@for_each("unit", ["[", '{"a":', '[{"a":', "[[],", '"",', "1,", "1", '"\\n', "'", "#"])
def test_json_is_read_or_refused(unit: str) -> None:
    with pytest.raises(BadText, match=r"nested more than 16 deep|not JSON|not to be read"):
        json(full(unit, MAX_BYTES))


@for_each(
    ("text", "words"),
    [
        ("a" * (MAX_BYTES + 1), "more than 65536 bytes"),
        (b"\xff", "not UTF-8: invalid start byte at byte 0"),
        (f"x = 1\n[{KEY}.a]", "nested more than 10 deep by one key (line 2)"),
        ("a = " + "[" * (MAX_DEPTH + 1), "nested more than 16 deep (line 1)"),
        ("\n\na = 0x" + "f" * 201, "not to be read: a word of more than 200 characters (line 3)"),
        ("what", "not TOML: Expected '=' after a key in a key/value pair (at end of document)"),
    ],
)
def test_what_is_not_read(text: str | bytes, words: str) -> None:
    with pytest.raises(BadText) as refused:
        toml(text)
    assert str(refused.value) == words


def test_what_is_within_the_bounds_is_read() -> None:
    """Prose may contain dots and brackets, and handwritten fault plans may be deep and long."""
    prose = "..." * 50 + "[" * 50 + "{" * 50 + "x" * 500
    text = f'about = """{prose}\n{prose}"""\nquoted = \'{prose}\' # {prose}\n{KEY} = [{DEEP[1:-1]}, "{prose}"]\n'
    read = toml(text)
    assert (read["about"], read["quoted"]) == (f"{prose}\n{prose}", prose)
    assert json('{"about": "' + prose + '", "a": ' + DEEP + "}")["about"] == prose
