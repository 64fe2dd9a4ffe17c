"""Parse one line of an exchange into one step."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from .exchange import (
    RELEASES,
    Act,
    Await,
    Command,
    Connect,
    Exchange,
    Expectation,
    Expectations,
    Guard,
    Let,
    Mark,
    Pause,
    Raw,
    Send,
    Step,
    Timing,
)
from .macros import LogicalLine
from .syntax import ExchangeError, Expr, FunctionCall, LineReader, Literal, Ref, tokens

_MEMBER: Final = r"[A-Z]\w*(?:/\d+)?"
_VERBS: Final = ("drops", "resets", "finishes", "reconnects", "forgets", "is")
_KINDS: Final = ("parked", "sent", "closed", "any", "open")
CERTIFICATES: Final = ("client", "foreign")


def known(words: list[str], allowed: tuple[str, ...], place: str) -> tuple[str, ...]:
    """Return the words of a line after checking that each is one of `allowed`."""
    for word in words:
        if word not in allowed:
            raise ExchangeError(place, f"one of {', '.join(allowed)} expected, not {word!r}")
    return tuple(words)


def step_of(line: LogicalLine, exchange: Exchange) -> Step:
    """Parse one line into a step. Its guard may refer to the exchange's parameters."""
    guards: list[str] = []
    text = line.text
    while (match := re.match(r"\[([^\]]*)\]\s*", text)) is not None:
        guards.append(match[1])
        text = text[match.end() :]
    guard = _guard(" ".join(guards), line.place, exchange)
    for pattern, make in _STEPS:
        if (match := re.match(pattern, text)) is not None:
            return make(match, text, line.place, guard)
    raise ExchangeError(line.place, f"no step looks like {text!r}")


def _guard(text: str, place: str, exchange: Exchange) -> Guard:
    releases: list[str] = []
    comparisons: list[tuple[str, str, int]] = []
    stage: str | None = None
    for word in text.split():
        match = re.fullmatch(r"(\w+)(<=|>=|<|>|=)(-?\d+)", word)
        if match is not None and match[1] in exchange.parameters:
            comparisons.append((match[1], match[2], int(match[3])))
        elif word in RELEASES:
            releases.append(word)
        elif word in ("core", "tcp"):
            stage = word
        else:
            raise ExchangeError(place, f"a release, 'core', 'tcp' or a comparison of a parameter expected in [ ], not {word!r}")
    return Guard(tuple(releases), stage, tuple(comparisons))


def _send(match: re.Match[str], text: str, place: str, guard: Guard) -> Step:
    request, expects = _halves(match[2], place)
    reader = LineReader(tokens(request, place), place)
    api = reader.name("an API's name")
    version = _version(reader)
    fields = reader.fields()
    bound = reader.name("a name for its answer") if reader.accept("as") else None
    if not reader.done:
        raise reader.error(f"field=value or '->' expected, not {reader.peek().text!r}")
    return Send(place=place, text=text, guard=guard, member=match[1], api=api, version=version, fields=fields, expects=expects, bound=bound)


def _version(reader: LineReader) -> Expr | None:
    word = reader.peek()
    match = re.fullmatch(r"v(\d+|\$[A-Za-z]\w*)", word.text) if word.kind == "word" else None
    if match is None:
        return None
    reader.take()
    return Ref(match[1][1:], None, 0) if match[1].startswith("$") else Literal(int(match[1]))


def _raw(match: re.Match[str], text: str, place: str, guard: Guard) -> Step:
    request, expects = _halves(match[3], place)
    reader = LineReader(tokens(request, place), place)
    parts: list[Expr] = []
    bound: str | None = None
    while not reader.done:
        if parts and reader.accept("as"):
            bound = reader.name("a name for its answer")
            break
        parts.append(reader.value())
    if not all(isinstance(part, Literal | FunctionCall) for part in parts) or not parts or not reader.done:
        raise reader.error("bytes and calls that make bytes expected")
    token = match[2] == "token"
    if bound is not None and not token:
        raise reader.error("only the answer to a token can have a name, because it alone is known to come")
    return Raw(
        place=place, text=text, guard=guard, member=match[1], framed=match[2] != "bytes", parts=tuple(parts), expects=expects,
        token=token, bound=bound,
    )  # fmt: skip


def _connect(match: re.Match[str], text: str, place: str, guard: Guard) -> Step:
    reader = LineReader(tokens(match[2], place), place)
    listener = reader.name("a listener's name")
    user = reader.value() if reader.accept("as") else None
    mechanism = reader.name("a SASL mechanism") if user is not None and reader.accept("by") else None
    certificate = known([reader.name("a certificate")], CERTIFICATES, place)[0] if reader.accept("with") else None
    bare = reader.accept("bare")
    if not reader.done:
        raise reader.error(f"'as USER', 'by MECHANISM', 'with CERTIFICATE' or 'bare' expected, not {reader.peek().text!r}")
    return Connect(
        place=place, text=text, guard=guard, member=match[1], listener=listener, user=user, mechanism=mechanism, certificate=certificate,
        bare=bare,
    )  # fmt: skip


def _await(match: re.Match[str], text: str, place: str, guard: Guard) -> Step:
    return Await(place=place, text=text, guard=guard, member=match[1], expects=_expectations(match[2], place))


def _pause(match: re.Match[str], text: str, place: str, guard: Guard) -> Step:
    return Pause(place=place, text=text, guard=guard, ms=_whole(match["until"] or match["ms"], place), since=match["since"])


def _act(match: re.Match[str], text: str, place: str, guard: Guard) -> Step:
    if (match[2] == "is") != (match[3] is not None):
        raise ExchangeError(place, f"'{match[2]}' {'needs' if match[3] is None else 'takes no'} other member")
    return Act(place=place, text=text, guard=guard, member=match[1], verb=match[2], other=match[3])


def _command(match: re.Match[str], text: str, place: str, guard: Guard) -> Step:
    reader = LineReader(tokens(match[2], place), place)
    return Command(place=place, text=text, guard=guard, name=match[1], fields=reader.fields())


def _mark(match: re.Match[str], text: str, place: str, guard: Guard) -> Step:
    return Mark(place=place, text=text, guard=guard, name=match[1])


def _let(match: re.Match[str], text: str, place: str, guard: Guard) -> Step:
    return Let(place=place, text=text, guard=guard, name=match[1], value=_whole(match[2], place))


_STEPS: Final[list[tuple[str, Callable[[re.Match[str], str, str, Guard], Step]]]] = [
    (rf"({_MEMBER}): (frame|bytes|token) (.+)$", _raw),
    (rf"({_MEMBER}): (.+)$", _send),
    (rf"({_MEMBER}) -> (.+)$", _await),
    (r"pause (?:until (?P<until>\d+) since (?P<since>\w+)|(?P<ms>.+))$", _pause),
    (rf"({_MEMBER}) ({'|'.join(_VERBS)})(?: ([A-Z]\w*))?$", _act),
    (rf"({_MEMBER}) connects (.+)$", _connect),
    (r"!(\w+)(.*)$", _command),
    (r"mark (\w+)$", _mark),
    (r"let (\w+) = (.+)$", _let),
]


def _whole(text: str, place: str) -> Expr:
    reader = LineReader(tokens(text, place), place)
    value = reader.value()
    if not reader.done:
        raise reader.error(f"one value expected, but {reader.peek().text!r} follows")
    return value


def _halves(text: str, place: str) -> tuple[str, Expectations | None]:
    """Split request and expectations at the first `->` outside quotes."""
    match = re.match(r'((?:[^"]|"(?:[^"\\]|\\.)*")*?)->(.*)$', text)
    return (text, None) if match is None else (match[1], _expectations(match[2], place))


def _expectations(text: str, place: str) -> Expectations:
    by_release: dict[str, Expectation] = {}
    for index, part in enumerate(re.split(r'\|(?=(?:[^"]|"(?:[^"\\]|\\.)*")*$)', text)):
        named = re.match(r"\s*((?:\d\.\d\s+)*\d\.\d):(.*)$", part)
        if (named is None) != (index == 0):
            raise ExchangeError(place, "write 'expectation | RELEASE ...: expectation'")
        for release in known(named[1].split(), RELEASES, place) if named else ("",):
            by_release[release] = _expectation(named[2] if named else part, place)
    return Expectations(by_release, text.strip())


def _expectation(text: str, place: str) -> Expectation:
    reader = LineReader(tokens(text, place), place)
    kind = reader.peek().text if reader.peek().kind == "word" else ""
    if kind == "silence":
        reader.take()
        found = Expectation("silence", timing=Timing("after", reader.number("milliseconds")))
    elif kind == "bytes" and reader.peek(1).text != "=":
        reader.take()
        found = Expectation(kind, fields=((kind, reader.value()),), timing=_timing(reader))
    elif kind in _KINDS and reader.peek(1).text != "=":
        reader.take()
        found = Expectation(kind, timing=_timing(reader))
    else:
        error = reader.number("an error code") if reader.peek().kind == "number" else None
        found = Expectation("answer", error, reader.fields(), _timing(reader))
        if error is None and not found.fields:
            raise reader.error("an error code, fields, 'parked', 'sent', 'silence MS', 'closed', 'open', 'any' or 'bytes' expected")
    if not reader.done:
        raise reader.error(f"cannot read the expectation from {reader.peek().text!r} on")
    return found


def _timing(reader: LineReader) -> Timing:
    if reader.accept("eventually"):
        return Timing("eventually")
    if reader.accept("before"):
        return Timing("before", 0, reader.number("milliseconds"))
    if not reader.accept("after"):
        return Timing()
    if reader.peek().kind == "between":
        lowest, highest = (int(part) for part in reader.take().text.split(".."))
    else:
        lowest = highest = reader.number("milliseconds")
    return Timing("after", lowest, highest, reader.name("a mark") if reader.accept("since") else None)
