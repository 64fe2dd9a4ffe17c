"""TOML and JSON from outside are checked against bounds before a parser runs. `tomllib` and msgspec recurse as deep as the text nests and
then raise RecursionError; `tomllib` walks a dotted key once per part, and the key of a table once per line below it (64 kB take 13 s).

One scan serves both formats: it skips strings, and a JSON parser refuses what only TOML has (comments, other quotes).
"""

from __future__ import annotations

import re
from typing import Any, Final

MAX_BYTES: Final = 64 * 1024
MAX_DEPTH: Final = 16
MAX_PARTS: Final = 10
MAX_WORD: Final = 200
_TOKEN: Final = re.compile(
    r'"""(?:\\.|[^\\])*?(?:"""|\Z)' + r"|'''.*?(?:'''|\Z)" + r'|"(?:\\.|[^"\\\n])*"?' + r"|'[^'\n]*'?" + r"|\#[^\n]*"
    rf"|(?P<mark>[\[\]{{}}.=,\n])|(?P<word>[\w+-]{{{MAX_WORD + 1},}})",
    re.DOTALL,
)  # fmt: skip


class BadText(ValueError):
    """Raised if a text exceeds a bound or does not parse. The message is written to follow `FILE is` or `body:`."""


def bounded(data: str | bytes, most: int = MAX_BYTES) -> str:
    """Return the text if it is UTF-8 and within the bounds, or raise BadText."""
    if len(data) > most:
        raise BadText(f"more than {most} bytes")
    try:
        text = data if isinstance(data, str) else data.decode()
    except UnicodeDecodeError as broken:
        raise BadText(f"not UTF-8: {broken.reason} at byte {broken.start}") from None
    _check_shape(text)
    return text


def toml(data: str | bytes, most: int = MAX_BYTES) -> dict[str, Any]:
    """Parse a TOML document within the bounds. Raises BadText."""
    import tomllib

    try:
        return tomllib.loads(bounded(data, most))
    except BadText:
        raise
    except ValueError as broken:  # tomllib raises TOMLDecodeError, which is a ValueError, and int() a ValueError for thousands of digits.
        raise BadText(f"not TOML: {broken}") from None


def json(data: str | bytes, most: int = MAX_BYTES) -> Any:
    """Parse a JSON document into plain data. Raises BadText."""
    import msgspec

    try:
        return msgspec.json.decode(bounded(data, most))
    except msgspec.DecodeError as broken:
        raise BadText(f"not JSON: {broken}") from None


def _check_shape(text: str) -> None:
    depth = parts = 0
    for token in _TOKEN.finditer(text):
        mark = token["mark"]
        if mark == ".":
            parts += 1
            if parts >= MAX_PARTS:
                raise BadText(f"nested more than {MAX_PARTS} deep by one key{_line(text, token.start())}")
        elif mark is not None:
            parts = 0
            depth += (mark in "[{") - (mark in "]}")
            if depth > MAX_DEPTH:
                raise BadText(f"nested more than {MAX_DEPTH} deep{_line(text, token.start())}")
        elif token["word"] is not None:
            raise BadText(f"not to be read: a word of more than {MAX_WORD} characters{_line(text, token.start())}")


def _line(text: str, at: int) -> str:
    return f" (line {text.count(chr(10), 0, at) + 1})"
