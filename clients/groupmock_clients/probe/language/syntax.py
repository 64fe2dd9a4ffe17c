"""Parse the tokens, values and patterns of the exchange language into small trees. This module knows nothing about Kafka.

A value is a number, a bare word, a `"text"` (with `$name` inside), bytes (`b"text"`, `x"00ff"`), a `$reference` (`$A.member_id`, `$v`,
`$A.generation+1`), a `[list]`, a `{struct: of, fields: 1}` or a `call(of, values)`. A pattern may also be `*` (anything), `~"regex"`,
`?name` (remember the value, or compare with the remembered one), `1..5`, `set[in, any, order]`, or one of the calls of `matching.py`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, NamedTuple


class ExchangeError(ValueError):
    """The text of an exchange is wrong. The message starts with `file:line:`."""

    def __init__(self, place: str, what: str) -> None:
        super().__init__(f"{place}: {what}")


@dataclass(frozen=True)
class Literal:
    """A literal value in an exchange: a number, text without references, bytes, True, False or None."""

    value: int | str | bytes | bool | None


@dataclass(frozen=True)
class Text:
    template: str


@dataclass(frozen=True)
class Ref:
    """A reference `$name` or `$Member.attribute`, optionally with an offset."""

    name: str
    attribute: str | None
    offset: int


@dataclass(frozen=True)
class Sequence:
    items: tuple[Expr, ...]


@dataclass(frozen=True)
class Struct:
    fields: tuple[tuple[str, Expr], ...]


@dataclass(frozen=True)
class FunctionCall:
    name: str
    arguments: tuple[Expr, ...]


@dataclass(frozen=True)
class Anything:
    """The pattern `*`, which matches any value."""


@dataclass(frozen=True)
class Regex:
    """The pattern `~"..."`, which must match the whole text and takes `$name` literally."""

    template: str


@dataclass(frozen=True)
class Capture:
    """The pattern `?name`, which remembers the value under that name."""

    name: str


@dataclass(frozen=True)
class Between:
    """The pattern `lowest..highest`, which includes both ends."""

    lowest: int
    highest: int


Expr = Literal | Text | Ref | Sequence | Struct | FunctionCall | Anything | Regex | Capture | Between

REFERENCE: Final = re.compile(r"\$(?:\{(?P<braced>[A-Za-z][\w.]*)\}|(?P<bare>[A-Za-z]\w*(?:\.[a-z]\w*)?))")
_TOKEN: Final = re.compile(
    r"""\s*(?:
      (?P<arrow>->)
    | (?P<between>-?\d+\.\.-?\d+)
    | (?P<number>-?\d+)(?![\w])
    | (?P<regex>~"(?:[^"\\]|\\.)*")
    | (?P<bytes>[bx]"(?:[^"\\]|\\.)*")
    | (?P<text>"(?:[^"\\]|\\.)*")
    | (?P<capture>\?[A-Za-z]\w*)
    | (?P<ref>\$(?:\{[A-Za-z][\w.]*\}|[A-Za-z]\w*(?:\.[a-z]\w*)?)(?:[+-]\d+)?)
    | (?P<word>v\$[A-Za-z]\w*|[A-Za-z][\w-]*(?<!-))
    | (?P<mark>[\[\]{}(),:=*|!])
    | (?P<nothing>.)
    )""",
    re.VERBOSE,
)
_WORDS: Final[dict[str, bool | None]] = {"null": None, "true": True, "false": False}


class Token(NamedTuple):
    kind: str
    text: str


def tokens(line: str, place: str) -> list[Token]:
    """Split a line into tokens. A character that begins no token is an error that shows the rest of the line."""
    found = []
    for match in _TOKEN.finditer(line.rstrip()):
        kind = match.lastgroup
        if kind is None or kind == "nothing":
            raise ExchangeError(place, f"cannot read {line[match.start() :].strip()!r}")
        found.append(Token(kind, match[kind]))
    return found


_END: Final = Token("end", "the end of the line")


class LineReader:
    """Parses values and patterns from the tokens of one line."""

    def __init__(self, words: list[Token], place: str) -> None:
        self._words = [*words, _END, _END]
        self._last = len(words)
        self._at = 0
        self.place = place

    @property
    def done(self) -> bool:
        return self._at >= self._last

    def peek(self, ahead: int = 0) -> Token:
        """Return the next token without consuming it, or a later one. Its kind is `end` at the end of the line."""
        return self._words[self._at + ahead]

    def take(self) -> Token:
        word = self._words[self._at]
        self._at += self._at < self._last
        return word

    def accept(self, text: str) -> bool:
        """Consume the next token if it is `text`."""
        word = self._words[self._at]
        if word.text == text and word.kind not in ("text", "bytes"):
            self._at += 1
            return True
        return False

    def expect(self, text: str) -> None:
        """Consume the token `text`, or raise an error."""
        if not self.accept(text):
            raise self.error(f"{text!r} expected, not {self.peek().text!r}")

    def name(self, what: str) -> str:
        if self.peek().kind != "word":
            raise self.error(f"{what} expected, not {self.peek().text!r}")
        return self.take().text

    def number(self, what: str) -> int:
        if self.peek().kind != "number":
            raise self.error(f"{what} expected (a number), not {self.peek().text!r}")
        return int(self.take().text)

    def error(self, what: str) -> ExchangeError:
        return ExchangeError(self.place, what)

    def fields(self, closing: str | None = None) -> tuple[tuple[str, Expr], ...]:
        """Parse `name=value` pairs up to a token that starts none (or `name: value, ...` up to `closing`)."""
        found: dict[str, Expr] = {}
        while closing is not None or (self.peek().kind == "word" and self.peek(1).text == "="):
            if closing is not None and self.accept(closing):
                break
            name = self.name("a field name")
            self.expect("=" if closing is None else ":")
            if name in found:
                raise self.error(f"field {name!r} is given twice")
            found[name] = self.value()
            if closing is not None and not self.accept(","):
                self.expect(closing)
                break
        return tuple(found.items())

    def value(self) -> Expr:
        word = self.take()
        simple = _SIMPLE.get(word.kind)
        if simple is not None:
            return simple(word.text)
        if word.kind == "word":
            return self._word(word.text)
        if word.text == "[":
            return Sequence(self._items("]"))
        if word.text == "{":
            return Struct(self.fields("}"))
        if word.text == "*":
            return Anything()
        raise self.error(f"a value expected, not {word.text!r}")

    def _word(self, text: str) -> Expr:
        if self.accept("("):
            return FunctionCall(text, self._items(")"))
        if text == "set" and self.accept("["):
            return FunctionCall(text, self._items("]"))
        return Literal(_WORDS[text]) if text in _WORDS else Literal(text)

    def _items(self, closing: str) -> tuple[Expr, ...]:
        found: list[Expr] = []
        while not self.accept(closing):
            found.append(self.value())
            if not self.accept(","):
                self.expect(closing)
                break
        return tuple(found)


def _unquote(text: str) -> str:
    return re.sub(r"\\(.)", lambda match: {"n": "\n", "t": "\t"}.get(match.group(1), match.group(1)), text[1:-1])


def _text(text: str) -> Expr:
    plain = _unquote(text)
    return Text(plain) if REFERENCE.search(plain) else Literal(plain)


def _bytes(text: str) -> Expr:
    inner = _unquote(text[1:])
    return Literal(inner.encode()) if text[0] == "b" else Literal(bytes.fromhex(inner))


def _reference(text: str) -> Expr:
    match = REFERENCE.match(text)
    assert match is not None  # This match cannot fail, because the tokeniser uses the same pattern.
    name, _, attribute = (match["braced"] or match["bare"]).partition(".")
    return Ref(name, attribute or None, int(text[match.end() :] or 0))


def _between(text: str) -> Expr:
    lowest, highest = text.split("..")
    return Between(int(lowest), int(highest))


_SIMPLE: Final = {
    "number": lambda text: Literal(int(text)),
    "text": _text,
    "bytes": _bytes,
    "regex": lambda text: Regex(text[2:-1]),
    "capture": lambda text: Capture(text[1:]),
    "ref": _reference,
    "between": _between,
}
