r"""Parses the language of RE2/J 1.8 in one pass, left to right, into postfix notation: `a(b|c)*` becomes a b c OR STAR JOIN.

The language has only what can be matched in linear time: no look-around, no back references. RE2/J has oddities of its own in Perl's
syntax, which clients can see and which are kept: a `{` that opens no repetition counts as one for what follows (`a{*` is a "nested
repetition"), `\Q` needs no end, and `(?)` is accepted but `(?-)` is not.

Groups only group, because matching a whole name needs neither captures nor an order of alternatives. So a parenthesis leaves no trace, and
greedy and lazy repetitions are the same. A counted repetition is expanded as in RE2/J, to xx(x(x)?)? for x{2,4}. A thousand within a
thousand is a million: RE2/J goes on until its heap is full. Here the nodes of an expression are counted, and too many are refused
(docs/kafka/differences.md).

Sources: RE2/J's syntax (https://github.com/google/re2/wiki/Syntax), the class com.google.re2j.Parser, and what Kafka 4.3.0 answered (CG-18,
CG-118; tests/live/judge/test_judge_regexes.py compares generated expressions with RE2/J).
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum, IntFlag
from typing import Final, NamedTuple

from .classes import ANY, ANY_BUT_NEWLINE, PERL, POSIX, Ranges, complement, folded, of_property, united

MOST_NODES: Final = 4_000
"""The largest number of nodes of one expression with repetitions written out: `[a-z]{1,1000}` has 3000. One character of a name may cost
a look at each."""
MOST_WORK: Final = 50_000
"""The largest number of nodes and ranges that parsing may create, including those that are dropped again, as in `(a{1000}){0}`."""
MOST_REPETITIONS: Final = 1000
_DIGITS_OF_A_COUNT: Final = 8  # A repetition count with more digits than this is too large in any case.
_ESCAPED: Final = {"a": 7, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11}


class RegexRefused(ValueError):
    """The expression is not accepted. `detail` says why, in RE2/J's words if RE2/J refuses it too."""

    def __init__(self, detail: str) -> None:
        super().__init__(detail)
        self.detail = detail


TOO_LARGE: Final = "expression too large"
"""This text is that of Go's regexp/syntax, because RE2/J has no such limit."""
BAD_RANGE: Final = "invalid character class range"
BAD_ESCAPE: Final = "invalid escape sequence"
BAD_NAME: Final = "invalid named capture"
DUPLICATE_NAME: Final = "duplicate capture group name"
BAD_FLAGS: Final = "invalid or unsupported Perl syntax"
NESTED: Final = "invalid nested repetition operator"
BAD_COUNT: Final = "invalid repeat count"
NO_BRACKET: Final = "missing closing ]"
NO_PARENTHESIS: Final = "missing closing )"
NO_ARGUMENT: Final = "missing argument to repetition operator"
BARE_BACKSLASH: Final = "trailing backslash at end of expression"
UNOPENED: Final = "regexp/syntax: internal error"
"""This is RE2/J's message for a `)` without `(`."""


class Joint(Enum):
    """The operators of an expression in postfix notation. JOIN and OR take two operands before them, the others one."""

    JOIN = 1
    OR = 2
    STAR = 3
    PLUS = 4
    QUEST = 5


class Look(IntFlag):
    """Conditions on the position between two characters; ALWAYS is true everywhere."""

    ALWAYS = 0
    BEGIN_LINE = 1
    END_LINE = 2
    BEGIN_TEXT = 4
    END_TEXT = 8
    BOUNDARY = 16
    NO_BOUNDARY = 32


Node = Ranges | Look | Joint
Postfix = list[Node]
_REPEATED: Final = {"*": Joint.STAR, "+": Joint.PLUS, "?": Joint.QUEST}
_PLACES: Final = {"A": Look.BEGIN_TEXT, "z": Look.END_TEXT, "b": Look.BOUNDARY, "B": Look.NO_BOUNDARY}


class Flags(NamedTuple):
    """The flags that apply to the following part of an expression: (?i), not (?m), (?s)."""

    fold: bool = False
    one_line: bool = True
    dot_newline: bool = False


class _Group:
    """An open parenthesis: its complete alternatives, and the parts of the alternative that is being parsed. `outside` holds the flags
    before it."""

    __slots__ = ("alternatives", "outside", "parts")

    def __init__(self, outside: Flags) -> None:
        self.outside = outside
        self.alternatives: list[Postfix] = []
        self.parts: list[Postfix] = []

    def end_alternative(self) -> None:
        self.alternatives.append(_chained(self.parts, Joint.JOIN) if self.parts else [Look.ALWAYS])
        self.parts = []

    def whole(self) -> Postfix:
        self.end_alternative()
        return _chained(self.alternatives, Joint.OR)


def parsed(pattern: str) -> Postfix:
    """Parse an expression into postfix notation. Raises RegexRefused."""
    return _Parser(pattern).parsed()


def _chained(parts: list[Postfix], joint: Joint) -> Postfix:
    """Join all parts into one postfix expression. The first, which is as long as what was read before, is not copied."""
    whole = parts[0]
    for part in parts[1:]:
        whole += part
        whole.append(joint)
    if len(whole) > MOST_NODES:
        raise RegexRefused(TOO_LARGE)
    return whole


class _Parser:
    def __init__(self, pattern: str) -> None:
        self._text, self._at = pattern, 0
        self._flags = Flags()
        self._groups = [_Group(self._flags)]
        self._names: set[str] = set()
        self._work = 0

    def parsed(self) -> Postfix:
        repeated = False  # True if the last part was a repetition, which no other repetition may follow.
        while self._at < len(self._text):
            repeated = self._read_one(repeated)
        if len(self._groups) > 1:
            raise RegexRefused(NO_PARENTHESIS)
        return self._groups[0].whole()

    def _spend(self, work: int) -> None:
        self._work += work
        if self._work > MOST_WORK:
            raise RegexRefused(TOO_LARGE)

    def _add(self, node: Ranges | Look) -> None:
        self._spend(1 if isinstance(node, Look) else 1 + len(node))
        self._groups[-1].parts.append([node])

    def _literal(self, code: int) -> None:
        one = ((code, code),)
        self._add(folded(one) if self._flags.fold else one)

    def _take(self) -> str:
        taken = self._text[self._at]
        self._at += 1
        return taken

    def _sees(self, text: str) -> bool:
        return self._text.startswith(text, self._at)

    def _read_one(self, repeated: bool) -> bool:
        char = self._take()
        self._spend(1)
        if char in _REPEATED:
            self._repeat(repeated, _REPEATED[char])
            return True
        if char == "{":
            self._read_count(repeated)
            return True
        if char == "\\":
            self._read_escaped()
        elif char == "(":
            self._open()
        elif char == ")":
            self._close()
        elif char == "|":
            self._groups[-1].end_alternative()
        elif char == "[":
            self._add(self._class())
        elif char == ".":
            self._add(ANY if self._flags.dot_newline else ANY_BUT_NEWLINE)
        elif char == "^":
            self._add(Look.BEGIN_TEXT if self._flags.one_line else Look.BEGIN_LINE)
        elif char == "$":
            self._add(Look.END_TEXT if self._flags.one_line else Look.END_LINE)
        else:
            self._literal(ord(char))
        return False


    def _repeat(self, repeated: bool, joint: Joint) -> None:
        self._operand(repeated).append(joint)

    def _operand(self, repeated: bool) -> Postfix:
        if self._sees("?"):  # A question mark makes the repetition non-greedy, which does not matter for matching a whole text.
            self._at += 1
        if repeated:
            raise RegexRefused(NESTED)
        if not self._groups[-1].parts:
            raise RegexRefused(NO_ARGUMENT)
        return self._groups[-1].parts[-1]

    def _read_count(self, repeated: bool) -> None:
        start = self._at
        counts = self._counts()
        if counts is None:
            self._at = start
            self._literal(ord("{"))
            return
        lowest, highest = counts
        operand = self._operand(repeated)
        self._spend((len(operand) + 2) * max(lowest, highest, 1))
        self._groups[-1].parts[-1] = _written_out(operand, lowest, highest)

    def _counts(self) -> tuple[int, int] | None:
        """Return the bounds of a repetition (-1 for no upper bound), or None if the `{` is an ordinary character."""
        lowest = self._number()
        if lowest is None:
            return None
        highest: int | None = lowest
        if self._sees(","):
            self._at += 1
            highest = -1 if self._sees("}") else self._number()
        if highest is None or not self._sees("}"):
            return None
        self._at += 1
        if max(lowest, highest) > MOST_REPETITIONS or 0 <= highest < lowest:
            raise RegexRefused(BAD_COUNT)
        return lowest, highest

    def _number(self) -> int | None:
        start = self._at
        while self._at < len(self._text) and "0" <= self._text[self._at] <= "9":
            self._at += 1
        digits = self._text[start : self._at]
        if not digits or (len(digits) > 1 and digits[0] == "0"):
            return None
        return int(digits) if len(digits) <= _DIGITS_OF_A_COUNT else MOST_REPETITIONS + 1


    def _open(self) -> None:
        if self._sees("?"):
            self._at += 1
            if self._sees("P<") or self._sees("<"):
                self._name_group()
            else:
                self._read_flags()
        else:
            self._groups.append(_Group(self._flags))

    def _close(self) -> None:
        group = self._groups.pop()
        if not self._groups:
            raise RegexRefused(UNOPENED)
        self._flags = group.outside
        whole = group.whole()
        self._spend(1 + len(whole) // 100)
        self._groups[-1].parts.append(whole)

    def _name_group(self) -> None:
        start = self._text.index("<", self._at) + 1
        end = self._text.find(">", start)
        name = self._text[start:end]
        if end < 0 or not name or not (name.isascii() and name.replace("_", "a").isalnum()):
            raise RegexRefused(BAD_NAME)
        if name in self._names:
            raise RegexRefused(DUPLICATE_NAME)
        self._names.add(name)
        self._at = end + 1
        self._groups.append(_Group(self._flags))

    def _read_flags(self) -> None:
        flags, value, named = self._flags, True, False
        while self._at < len(self._text):
            char = self._take()
            if char in ":)":
                if not value and not named:
                    break
                if char == ":":
                    self._groups.append(_Group(self._flags))
                self._flags = flags
                return
            if char == "-":
                if not value:
                    break
                value = named = False
            elif char in "imsU":
                flags, named = _with_flag(flags, char, value), True
            else:
                break
        raise RegexRefused(BAD_FLAGS)


    def _read_escaped(self) -> None:
        char = self._text[self._at : self._at + 1]
        if char in _PLACES:
            self._at += 1
            self._add(_PLACES[char])
        elif char == "Q":
            end = self._text.find("\\E", self._at)
            quoted = self._text[self._at + 1 : None if end < 0 else end]
            self._at = len(self._text) if end < 0 else end + 2
            for each in quoted:
                self._literal(ord(each))
        else:
            found = self._class_behind_backslash()
            if found is None:
                self._literal(self._escape())
            else:
                self._add(found)

    def _class_behind_backslash(self) -> Ranges | None:
        r"""Return the class of \d and similar, or of \p{..}, or None if another character follows the backslash."""
        char = self._text[self._at : self._at + 1]
        if char in ("p", "P"):
            self._at += 1
            return self._property(negated=char == "P")
        known = PERL.get(char.lower()) if char.isascii() else None
        if known is None:
            return None
        self._at += 1
        found = folded(known) if self._flags.fold else known
        return found if char.islower() else complement(found)

    def _property(self, negated: bool) -> Ranges:
        name = self._text[self._at : self._at + 1]
        self._at += 1
        if name == "{":
            end = self._text.find("}", self._at)
            name = "" if end < 0 else self._text[self._at : end]
            self._at = end + 1
        if name.startswith("^"):
            name, negated = name[1:], not negated
        found = of_property(name, self._flags.fold)
        if found is None:
            raise RegexRefused(BAD_RANGE)
        return complement(found) if negated else found

    def _escape(self) -> int:
        """Return the single character that an escape after a backslash stands for."""
        if self._at == len(self._text):
            raise RegexRefused(BARE_BACKSLASH)
        char = self._take()
        if not (char.isascii() and char.isalnum()):
            return ord(char)
        if char in _ESCAPED:
            return _ESCAPED[char]
        code = self._hexadecimal() if char == "x" else self._octal(char)
        if code is None:
            raise RegexRefused(BAD_ESCAPE)
        return code

    def _octal(self, first: str) -> int | None:
        r"""Return the code of an octal escape such as \0, \07 or \141, or None for \1, which would be a back reference."""
        digits = first
        while len(digits) < len("377") and self._at < len(self._text) and self._text[self._at] in "01234567":
            digits += self._take()
        return int(digits, 8) if first == "0" or (first in "1234567" and len(digits) > 1) else None

    def _hexadecimal(self) -> int | None:
        digits = self._text[self._at : self._at + 2]
        self._at += 2
        if digits[:1] == "{":
            end = self._text.find("}", self._at - 1)
            digits = "" if end < 0 else self._text[self._at - 1 : end].lstrip("0") or self._text[self._at - 1 : end][:1]
            self._at = end + 1
            if len(digits) > len("10ffff"):
                return None
        elif len(digits) < len("ff"):
            return None
        hexadecimal = digits != "" and all(each in "0123456789abcdefABCDEF" for each in digits)
        code = int(digits, 16) if hexadecimal else -1
        return code if 0 <= code <= ANY[0][1] else None


    def _class(self) -> Ranges:
        negated = self._sees("^")
        self._at += negated
        found: list[tuple[int, int]] = []
        first = True  # A `]` at the beginning of a class is a member of the class.
        while first or not self._sees("]"):
            first = False
            part = self._class_part()
            self._spend(1 + len(part))
            found += part
        self._at += 1
        ranges = united(found)
        return complement(ranges) if negated else ranges

    def _class_part(self) -> Ranges:
        if self._sees("[:"):
            end = self._text.find(":]", self._at)
            if end >= 0:
                return self._posix(self._text[self._at + 2 : end], end + 2)
        if self._sees("\\"):
            self._at += 1
            found = self._class_behind_backslash()
            if found is not None:
                return found
            self._at -= 1
        first = last = self._class_char()
        if self._sees("-") and not self._sees("-]"):
            self._at += 1
            last = self._class_char()
            if last < first:
                raise RegexRefused(BAD_RANGE)
        return folded(((first, last),)) if self._flags.fold else ((first, last),)

    def _posix(self, name: str, end: int) -> Ranges:
        known = POSIX.get(name.removeprefix("^"))
        if known is None:
            raise RegexRefused(BAD_RANGE)
        self._at = end
        found = folded(known) if self._flags.fold else known
        return complement(found) if name.startswith("^") else found

    def _class_char(self) -> int:
        if self._at == len(self._text):
            raise RegexRefused(NO_BRACKET)
        char = self._take()
        return self._escape() if char == "\\" else ord(char)


def _with_flag(flags: Flags, char: str, value: bool) -> Flags:
    if char == "i":
        return flags._replace(fold=value)
    if char == "m":
        return flags._replace(one_line=not value)
    # The flag U swaps greedy and non-greedy repetitions, which does not matter for matching a whole text.
    return flags._replace(dot_newline=value) if char == "s" else flags


def _written_out(operand: Sequence[Node], lowest: int, highest: int) -> Postfix:
    """Return x{n}, x{n,} or x{n,m} written out without braces."""
    if highest == 0:
        return [Look.ALWAYS]
    if highest < 0:
        if lowest == 0:
            return [*operand, Joint.STAR]
        last: Postfix = [*operand, Joint.PLUS]
        return [*_times(operand, lowest - 1), *last, Joint.JOIN] if lowest > 1 else last
    more = highest - lowest
    if not more:
        return _times(operand, lowest)
    rest: Postfix = [*[*operand] * more, Joint.QUEST, *[Joint.JOIN, Joint.QUEST] * (more - 1)]
    return [*_times(operand, lowest), *rest, Joint.JOIN] if lowest else rest


def _times(operand: Sequence[Node], count: int) -> Postfix:
    return [*operand, *[*operand, Joint.JOIN] * (count - 1)]
