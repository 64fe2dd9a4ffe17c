"""Parses and prints numbers as Java does: `String.trim`, `Integer.parseInt`, `Double.parseDouble`, `Double.toString`.

Python's `int` and `float` accept other texts ("1_0", "nan", "inf"), do not accept all of Java's ("1d", "0x1p10", "NaN"), and refuse a
number of thousands of digits. The behaviour was checked on Kafka 4.3.0.
"""

from __future__ import annotations

import math
import re
from decimal import Decimal
from typing import Final

CONTROLS_AND_BLANK: Final = "".join(map(chr, range(0x21)))
MOST_DIGITS: Final = 19
"""The largest `long` of Java has this number of digits."""
LAST_OF_PLANE_0: Final = "\uffff"
"""The largest character that `Integer.parseInt` can recognize as a digit, because it looks at single UTF-16 units."""
# `re` compiles these at their first use and keeps them, because a server that starts needs none of them.
_DECIMAL: Final = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?"
_HEXADECIMAL: Final = r"[+-]?0[xX]([0-9a-fA-F]+\.?|[0-9a-fA-F]*\.[0-9a-fA-F]+)[pP][+-]?[0-9]+"
_NAMED: Final = {"NaN": math.nan, "Infinity": math.inf}


def trimmed(text: str) -> str:
    """Remove blanks and ASCII control characters at both ends of the text, as `String.trim` does; other white space stays."""
    return text.strip(CONTROLS_AND_BLANK)


def whole_number(text: str, bits: int) -> int | None:
    """Parse a number with `bits` bits besides its sign, as `Integer.parseInt` does. None if it is no such number. Digits of any script
    count."""
    digits = text[1:] if text[:1] in ("-", "+") else text
    if not digits.isdecimal():
        return None
    if not digits.isascii():
        if max(digits) > LAST_OF_PLANE_0:
            return None
        digits = "".join(str(int(digit)) for digit in digits)
    significant = digits.lstrip("0")
    if len(significant) > MOST_DIGITS:
        return None
    number = int(significant or "0") * (-1 if text[0] == "-" else 1)
    return number if -(2**bits) <= number < 2**bits else None


def double(text: str) -> float | None:
    """Parse a trimmed text as `Double.parseDouble` does, or return None if it is no number. A number that is too large is
    infinite, as in Java."""
    unsigned = text[1:] if text[:1] in ("-", "+") else text
    if unsigned in _NAMED:
        return -_NAMED[unsigned] if text[0] == "-" else _NAMED[unsigned]
    number = text[:-1] if text[-1:] in ("d", "D", "f", "F") else text
    if re.fullmatch(_DECIMAL, number):
        return float(number)
    if not re.fullmatch(_HEXADECIMAL, number):
        return None
    try:
        return float.fromhex(number)
    except OverflowError:
        return -math.inf if number[0] == "-" else math.inf


def double_text(value: float) -> str:
    """Print a number as `Double.toString` does: plain from a thousandth up to ten millions, otherwise like 1.5E10."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return str(value)
    digits, _, exponent = f"{Decimal(str(value)).normalize():E}".partition("E")
    return f"{digits if '.' in digits else f'{digits}.0'}E{int(exponent)}"
