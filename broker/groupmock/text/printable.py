"""Texts of others, shown to people: ids, reasons, names and topics come from peers and must neither steer a terminal nor look like a line
of ours (CWE-117, CWE-150: https://cwe.mitre.org/data/definitions/117.html). The one place that says what is shown as it is.

Everything that a script writes with stays. What nobody sees, or what moves what is seen, is written as Python writes it, `\\x1b`,
`\\u202e`: C0, DEL and C1 controls, line and paragraph separators, lone surrogates, and the invisible format characters, those among them
that turn the direction of text (https://www.unicode.org/reports/tr36/#Bidirectional_Text_Spoofing). The joiners U+200C and U+200D stay:
Persian, Indic scripts and emoji are written with them.
"""

from __future__ import annotations

import codecs
import re
from functools import cache
from json.encoder import encode_basestring_ascii
from typing import Final

UNSEEN: Final = (
    "\\x00-\\x1f\\x7f-\\x9f\\xad"  # C0, DEL, C1; the soft hyphen
    "\\u061c\\u180e\\u200b\\u200e\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ufff9-\\ufffb"  # format, direction, separators
    "\\ud800-\\udfff\\U000e0000-\\U000e007f"  # lone surrogates; tags
)
"""What is never shown as it is, as the inside of a character class."""
JSON: Final = "groupmock.json"
LONGEST_VALUE: Final = 100
SHORT: Final = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\"}


def printable(text: str) -> str:
    """A text of somebody else, for a place inside a line of ours. The backslash is doubled, so that two texts never look the same."""
    if text.isascii() and text.isprintable() and "\\" not in text:
        return text
    return _pattern(f"[{UNSEEN}\\\\]").sub(_escaped, text)


def brief(value: object) -> str:
    """A value that was given, as Python writes it, without its middle where it is long: an error stays one line."""
    shown = repr(value)
    return shown if len(shown) <= LONGEST_VALUE else f"{shown[:40]}...{shown[-10:]} ({len(shown)} characters)"


def quoted(text: str) -> str:
    """`printable` between quotation marks: one of its own does not end it."""
    return '"' + printable(text).replace('"', '\\"') + '"'


def one_line(text: object) -> str:
    """A line that is put together already, values in it quoted: whatever got in that a line must not have is escaped, nothing else."""
    line = str(text)
    return line if line.isascii() and line.isprintable() else _pattern(f"[{UNSEEN}]").sub(_escaped, line)


def lines(text: object) -> str:
    """`one_line` for a text whose line ends are ours: a story, the report of a program."""
    return "\n".join(map(one_line, str(text).split("\n")))


def ascii_json(data: bytes) -> bytes:
    """JSON in UTF-8, any number of lines of it, as the same JSON in printable ASCII."""
    if not data.isascii():
        data = data.decode().encode("ascii", JSON)
    return data.replace(b"\x7f", b"\\u007f")


def _json_escapes(problem: UnicodeError) -> tuple[str, int]:
    assert isinstance(problem, UnicodeEncodeError)
    return encode_basestring_ascii(problem.object[problem.start : problem.end])[1:-1], problem.end


# By the codec, which copies what is ASCII at once: a pattern that looks at each character takes ten times as long.
codecs.register_error(JSON, _json_escapes)


@cache
def _pattern(text: str) -> re.Pattern[str]:
    # Compiled when the first such text comes: a server that meets none starts without.
    return re.compile(text)


def _escaped(found: re.Match[str]) -> str:
    code = ord(found[0])
    return SHORT.get(found[0]) or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}")
