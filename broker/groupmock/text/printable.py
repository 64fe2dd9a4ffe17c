r"""Escape texts that peers chose, such as ids, reasons and topics. Shown to people, they must neither steer a terminal nor look like a line
of ours (CWE-117, CWE-150: https://cwe.mitre.org/data/definitions/117.html).

Characters that scripts are written with stay. Invisible characters, and those that move what is seen, are written as Python writes them,
`\\x1b`, `\\u202e`: C0, DEL and C1 controls, line and paragraph separators, lone surrogates and format characters, those that turn the
direction of text included (https://www.unicode.org/reports/tr36/#Bidirectional_Text_Spoofing). The joiners U+200C and U+200D stay, because
Persian, Indic scripts and emoji need them.
"""

from __future__ import annotations

import codecs
import re
from functools import cache
from typing import Final

UNSEEN: Final = (
    "\\x00-\\x1f\\x7f-\\x9f\\xad"  # Control characters (C0, DEL, C1) and the soft hyphen.
    # Characters that format, change direction or separate.
    "\\u061c\\u180e\\u200b\\u200e\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ufff9-\\ufffb"
    "\\ud800-\\udfff\\U000e0000-\\U000e007f"  # Lone surrogates and tag characters.
)
"""The characters that are always escaped, as the inside of a character class of a regular expression."""
JSON: Final = "groupmock.json"
LONGEST_VALUE: Final = 100
SHORT: Final = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\"}


def printable(text: str) -> str:
    """Escape a peer's text for use inside a line of groupmock. The backslash is doubled, so that two texts never look the same."""
    if text.isascii() and text.isprintable() and "\\" not in text:
        return text
    return _pattern(f"[{UNSEEN}\\\\]").sub(_escaped, text)


def brief(value: object) -> str:
    """Return the repr of a value, without its middle if it is long, so that an error stays one line."""
    shown = repr(value)
    return shown if len(shown) <= LONGEST_VALUE else f"{shown[:40]}...{shown[-10:]} ({len(shown)} characters)"


def quoted(text: str) -> str:
    """Return `printable` text between quotation marks, with its own quotation marks escaped."""
    return '"' + printable(text).replace('"', '\\"') + '"'


def one_line(text: object) -> str:
    """Escape the characters that a complete line must not contain. Values in the line are quoted already, so nothing else changes."""
    line = str(text)
    return line if line.isascii() and line.isprintable() else _pattern(f"[{UNSEEN}]").sub(_escaped, line)


def lines(text: object) -> str:
    """Apply `one_line` to each line of a text whose line ends are groupmock's own, such as a story or a report."""
    return "\n".join(map(one_line, str(text).split("\n")))


def ascii_json(data: bytes) -> bytes:
    """Convert JSON in UTF-8, of any number of lines, to the same JSON in printable ASCII."""
    if not data.isascii():
        data = data.decode().encode("ascii", JSON)
    return data.replace(b"\x7f", b"\\u007f")


def _json_escapes(problem: UnicodeError) -> tuple[str, int]:
    from json.encoder import encode_basestring_ascii  # Most servers meet no such text.

    assert isinstance(problem, UnicodeEncodeError)
    return encode_basestring_ascii(problem.object[problem.start : problem.end])[1:-1], problem.end


# A codec is used because it copies ASCII text at once; a pattern that checks each character takes ten times as long.
codecs.register_error(JSON, _json_escapes)


@cache
def _pattern(text: str) -> re.Pattern[str]:
    # The pattern is compiled on first use, because most servers meet no such text.
    return re.compile(text)


def _escaped(match: re.Match[str]) -> str:
    code = ord(match[0])
    return SHORT.get(match[0]) or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}")
