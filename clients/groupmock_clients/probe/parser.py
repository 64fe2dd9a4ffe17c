"""Reads `.exchange` files.

::

    macro stable(A)                      # steps to reuse; members are parameters; `do stable(X)` plays them
    A: JoinGroup -> 79
    ...

    exchange SERVER-17 "A Stable follower that rejoins unchanged is answered at once"
    rows: SERVER-17 2.4-same-Stable      # what it proves (ids of rows.toml)
    for v: 0 4..6 9                      # played once per value; $v is the value, a step may be guarded by [v>=5]
    settings: group.max.size=2           # what the broker must have
    topics: t1:4                         # topics and their partitions; $t1 is the name
    member *: rebalance_timeout_ms=5000  # defaults of request fields; `member A:` for one member
    releases: 4.3 3.9                    # where it holds (all, when left out);  stages: core | tcp;  needs: transactions

    do stable(A)
    A: JoinGroup v$v -> 0 generation_id=1 | 2.8: 25     # send, await; another expectation for a release
    B: SyncGroup -> parked               # sent, and no answer yet
    B -> 0 after 400                     # the answer came 400 ms after the request (`since T`: after `mark T`)
    [2.8] pause 300                      # time passes (`pause until 900 since T`); a guard in front of any step
    repeat 3 ... end; mark T; let x = $A.generation; A drops | resets | finishes | reconnects | forgets; B is A; !command field=1

Without `v9` a request goes out in the highest version (see defaults.py). An answer is expected at once unless `after` or
`eventually` says otherwise. A leading number is the error code: the answer's own, or that of every partition or group in it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from .exchange import (
    NEEDS,
    RELEASES,
    Act,
    Await,
    Command,
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
from .syntax import Call, ExchangeError, Expr, Literal, Reader, Ref, tokens

_VERBS: Final = ("drops", "resets", "finishes", "reconnects", "forgets", "is")
_KINDS: Final = ("parked", "closed", "any", "open")


@dataclass
class _Line:
    place: str
    text: str


@dataclass
class _Block:
    place: str
    heading: str
    lines: list[_Line] = field(default_factory=list)


@dataclass
class _Macro:
    parameters: tuple[str, ...]
    lines: list[_Line]


def load(paths: Iterable[Path]) -> list[Exchange]:
    """Read files; macros of all of them are shared. Names must be unique; errors name file and line."""
    blocks = [block for path in paths for block in _blocks(path)]
    macros = dict(_macro(block) for block in blocks if block.heading.startswith("macro "))
    exchanges = [_exchange(block, macros) for block in blocks if not block.heading.startswith("macro ")]
    seen: dict[str, Exchange] = {}
    for exchange in exchanges:
        if exchange.name in seen:
            raise ExchangeError(exchange.place, f"there is an exchange {exchange.name!r} already: {seen[exchange.name].place}")
        seen[exchange.name] = exchange
    return exchanges


def load_folder(folder: Path) -> list[Exchange]:
    """Every `.exchange` file of a folder, in the order of their names."""
    return load(sorted(folder.glob("*.exchange")))


def _blocks(path: Path) -> list[_Block]:
    blocks: list[_Block] = []
    for line in _joined(path):
        if line.text.startswith(("exchange ", "macro ")):
            blocks.append(_Block(line.place, line.text))
        elif not blocks:
            raise ExchangeError(line.place, f"'exchange' or 'macro' expected, not {line.text!r}")
        else:
            blocks[-1].lines.append(line)
    return blocks


def _joined(path: Path) -> list[_Line]:
    """Lines without comments and blank ones; a line that ends in `\\` goes on in the next one."""
    lines: list[_Line] = []
    pending: _Line | None = None
    for number, raw in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        text = _without_comment(raw).strip()
        line = _Line(f"{path.name}:{number}", text) if pending is None else _Line(pending.place, f"{pending.text} {text}")
        pending = None
        if line.text.endswith("\\"):
            pending = _Line(line.place, line.text[:-1].rstrip())
        elif line.text:
            lines.append(line)
    if pending is not None:
        raise ExchangeError(pending.place, "the file ends in the middle of a line")
    return lines


def _without_comment(raw: str) -> str:
    return re.match(r'(?:[^#"]|"(?:[^"\\]|\\.)*")*', raw).group()  # type: ignore[union-attr]  # matches "" at least


def _macro(block: _Block) -> tuple[str, _Macro]:
    match = re.fullmatch(r"macro (\w+)\(([\w, ]*)\)", block.heading)
    if match is None:
        raise ExchangeError(block.place, f"'macro name(A, B)' expected, not {block.heading!r}")
    return match[1], _Macro(_names(match[2]), block.lines)


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _exchange(block: _Block, macros: dict[str, _Macro]) -> Exchange:
    match = re.fullmatch(r'exchange ([\w./-]+)\s+"([^"]+)"', block.heading)
    if match is None:
        raise ExchangeError(block.place, f"'exchange NAME \"title\"' expected, not {block.heading!r}")
    exchange = Exchange(match[1], match[2], block.place)
    steps: list[_Line] = []
    for line in block.lines:
        header = re.match(r"(rows|for \w+|settings|topics|member [\w*]+|releases|stages|needs):\s*(.*)", line.text)
        if header is None:
            steps.append(line)
        elif steps:
            raise ExchangeError(line.place, f"'{header[1]}:' belongs in front of the steps")
        else:
            _header(exchange, header[1], header[2], line.place)
    exchange.steps = tuple(_step(line, exchange) for line in _unrolled(steps, macros))
    _check(exchange)
    return exchange


def _check(exchange: Exchange) -> None:
    if not exchange.rows:
        raise ExchangeError(exchange.place, f"exchange {exchange.name} proves no row ('rows:' is missing)")
    if not exchange.steps:
        raise ExchangeError(exchange.place, f"exchange {exchange.name} has no steps")
    if not any(getattr(step, "expects", None) for step in exchange.steps):
        raise ExchangeError(exchange.place, f"exchange {exchange.name} expects nothing: it cannot fail")


def _header(exchange: Exchange, key: str, text: str, place: str) -> None:
    what, _, name = key.partition(" ")
    if what == "for":
        exchange.parameters[name] = _numbers(text, place)
    elif what == "member":
        reader = Reader(tokens(text, place), place)
        exchange.members[name] = reader.fields()
        if not reader.done:
            raise reader.error(f"field=value expected, not {reader.peek().text!r}")
    else:
        _HEADERS[what](exchange, text.split(), place)


def _numbers(text: str, place: str) -> tuple[int, ...]:
    found: list[int] = []
    for part in text.replace(",", " ").split():
        match = re.fullmatch(r"(-?\d+)(?:\.\.(-?\d+))?", part)
        if match is None:
            raise ExchangeError(place, f"a number or a range expected, not {part!r}")
        found.extend(range(int(match[1]), int(match[2] or match[1]) + 1))
    return tuple(found)


def _rows(exchange: Exchange, words: list[str], place: str) -> None:
    exchange.rows = tuple(words)


def _settings(exchange: Exchange, words: list[str], place: str) -> None:
    for word in words:
        name, equals, value = word.partition("=")
        if not equals:
            raise ExchangeError(place, f"KEY=VALUE expected, not {word!r}")
        exchange.settings[name] = value


def _topics(exchange: Exchange, words: list[str], place: str) -> None:
    for word in words:
        name, _, partitions = word.partition(":")
        if not partitions.isdigit():
            raise ExchangeError(place, f"NAME:PARTITIONS expected, not {word!r}")
        exchange.topics[name] = int(partitions)


def _releases(exchange: Exchange, words: list[str], place: str) -> None:
    exchange.releases = _known(words, RELEASES, place)


def _stages(exchange: Exchange, words: list[str], place: str) -> None:
    exchange.stages = _known(words, ("core", "tcp"), place)


def _needs(exchange: Exchange, words: list[str], place: str) -> None:
    exchange.needs = _known(words, tuple(NEEDS), place)


def _known(words: list[str], allowed: tuple[str, ...], place: str) -> tuple[str, ...]:
    for word in words:
        if word not in allowed:
            raise ExchangeError(place, f"one of {', '.join(allowed)} expected, not {word!r}")
    return tuple(words)


_HEADERS: Final[dict[str, Callable[[Exchange, list[str], str], None]]] = {
    "rows": _rows, "settings": _settings, "topics": _topics, "releases": _releases, "stages": _stages, "needs": _needs,
}  # fmt: skip


def _unrolled(lines: list[_Line], macros: dict[str, _Macro], depth: int = 0) -> list[_Line]:
    """Macros and `repeat` blocks written out."""
    out: list[_Line] = []
    at = 0
    while at < len(lines):
        line = lines[at]
        at += 1
        if (repeat := re.fullmatch(r"repeat (\d+)", line.text)) is not None:
            end = _end_of(lines, at, line.place)
            out.extend(_unrolled(lines[at:end], macros, depth) * int(repeat[1]))
            at = end + 1
        elif (do := re.fullmatch(r"(\[[^\]]*\] *)?do (\w+)\(([\w, ]*)\)", line.text)) is not None:
            body = _filled(macros, do[2], _names(do[3]), line.place)
            out.extend(_Line(each.place, (do[1] or "") + each.text) for each in _unrolled(body, macros, _deeper(depth, line.place)))
        else:
            out.append(line)
    return out


def _deeper(depth: int, place: str) -> int:
    if depth > 8:
        raise ExchangeError(place, "macros call each other in a circle")
    return depth + 1


def _end_of(lines: list[_Line], at: int, place: str) -> int:
    depth = 1
    for index in range(at, len(lines)):
        depth += lines[index].text.startswith("repeat ") - (lines[index].text == "end")
        if depth == 0:
            return index
    raise ExchangeError(place, "'repeat' without its 'end'")


def _filled(macros: dict[str, _Macro], name: str, arguments: tuple[str, ...], place: str) -> list[_Line]:
    if name not in macros:
        raise ExchangeError(place, f"no macro {name!r}")
    macro = macros[name]
    if len(arguments) != len(macro.parameters):
        raise ExchangeError(place, f"macro {name} takes {len(macro.parameters)} members, not {len(arguments)}")
    given = dict(zip(macro.parameters, arguments, strict=True))
    pattern = re.compile(r"\b(" + "|".join(macro.parameters or ("(?!)",)) + r")\b")
    return [_Line(f"{place} ({line.place})", pattern.sub(lambda match: given[match[0]], line.text)) for line in macro.lines]


def _step(line: _Line, exchange: Exchange) -> Step:
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
    reader = Reader(tokens(request, place), place)
    api = reader.name("an API's name")
    version = _version(reader)
    fields = reader.fields()
    if not reader.done:
        raise reader.error(f"field=value or '->' expected, not {reader.peek().text!r}")
    return Send(place=place, text=text, guard=guard, member=match[1], api=api, version=version, fields=fields, expects=expects)


def _version(reader: Reader) -> Expr | None:
    word = reader.peek()
    match = re.fullmatch(r"v(\d+|\$[A-Za-z]\w*)", word.text) if word.kind == "word" else None
    if match is None:
        return None
    reader.take()
    return Ref(match[1][1:], None, 0) if match[1].startswith("$") else Literal(int(match[1]))


def _raw(match: re.Match[str], text: str, place: str, guard: Guard) -> Step:
    request, expects = _halves(match[3], place)
    reader = Reader(tokens(request, place), place)
    parts: list[Expr] = []
    while not reader.done:
        parts.append(reader.value())
    if not all(isinstance(part, Literal | Call) for part in parts) or not parts:
        raise reader.error("bytes and calls that make bytes expected")
    return Raw(place=place, text=text, guard=guard, member=match[1], framed=match[2] == "frame", parts=tuple(parts), expects=expects)


def _await(match: re.Match[str], text: str, place: str, guard: Guard) -> Step:
    return Await(place=place, text=text, guard=guard, member=match[1], expects=_expectations(match[2], place))


def _pause(match: re.Match[str], text: str, place: str, guard: Guard) -> Step:
    return Pause(place=place, text=text, guard=guard, ms=_whole(match["until"] or match["ms"], place), since=match["since"])


def _act(match: re.Match[str], text: str, place: str, guard: Guard) -> Step:
    if (match[2] == "is") != (match[3] is not None):
        raise ExchangeError(place, f"'{match[2]}' {'needs' if match[3] is None else 'takes no'} other member")
    return Act(place=place, text=text, guard=guard, member=match[1], verb=match[2], other=match[3])


def _command(match: re.Match[str], text: str, place: str, guard: Guard) -> Step:
    reader = Reader(tokens(match[2], place), place)
    return Command(place=place, text=text, guard=guard, name=match[1], fields=reader.fields())


def _mark(match: re.Match[str], text: str, place: str, guard: Guard) -> Step:
    return Mark(place=place, text=text, guard=guard, name=match[1])


def _let(match: re.Match[str], text: str, place: str, guard: Guard) -> Step:
    return Let(place=place, text=text, guard=guard, name=match[1], value=_whole(match[2], place))


_STEPS: Final[list[tuple[str, Callable[[re.Match[str], str, str, Guard], Step]]]] = [
    (r"([A-Z]\w*): (frame|bytes) (.+)$", _raw),
    (r"([A-Z]\w*): (.+)$", _send),
    (r"([A-Z]\w*) -> (.+)$", _await),
    (r"pause (?:until (?P<until>\d+) since (?P<since>\w+)|(?P<ms>.+))$", _pause),
    (rf"([A-Z]\w*) ({'|'.join(_VERBS)})(?: ([A-Z]\w*))?$", _act),
    (r"!(\w+)(.*)$", _command),
    (r"mark (\w+)$", _mark),
    (r"let (\w+) = (.+)$", _let),
]


def _whole(text: str, place: str) -> Expr:
    reader = Reader(tokens(text, place), place)
    value = reader.value()
    if not reader.done:
        raise reader.error(f"one value expected, but {reader.peek().text!r} follows")
    return value


def _halves(text: str, place: str) -> tuple[str, Expectations | None]:
    """Request and expectations, cut at the first `->` outside quotes."""
    match = re.match(r'((?:[^"]|"(?:[^"\\]|\\.)*")*?)->(.*)$', text)
    return (text, None) if match is None else (match[1], _expectations(match[2], place))


def _expectations(text: str, place: str) -> Expectations:
    by_release: dict[str, Expectation] = {}
    for index, part in enumerate(re.split(r'\|(?=(?:[^"]|"[^"]*")*$)', text)):
        named = re.match(r"\s*((?:\d\.\d\s+)*\d\.\d):(.*)$", part)
        if (named is None) != (index == 0):
            raise ExchangeError(place, "write 'expectation | RELEASE ...: expectation'")
        for release in _known(named[1].split(), RELEASES, place) if named else ("",):
            by_release[release] = _expectation(named[2] if named else part, place)
    return Expectations(by_release, text.strip())


def _expectation(text: str, place: str) -> Expectation:
    reader = Reader(tokens(text, place), place)
    kind = reader.peek().text if reader.peek().kind == "word" else ""
    if kind == "silence":
        reader.take()
        found = Expectation("silence", timing=Timing("after", reader.number("milliseconds")))
    elif kind in _KINDS and reader.peek(1).text != "=":
        reader.take()
        found = Expectation(kind, timing=_timing(reader))
    else:
        error = reader.number("an error code") if reader.peek().kind == "number" else None
        found = Expectation("answer", error, reader.fields(), _timing(reader))
        if error is None and not found.fields:
            raise reader.error("an error code, fields, 'parked', 'silence MS', 'closed', 'open' or 'any' expected")
    if not reader.done:
        raise reader.error(f"cannot read the expectation from {reader.peek().text!r} on")
    return found


def _timing(reader: Reader) -> Timing:
    if reader.accept("eventually"):
        return Timing("eventually")
    if not reader.accept("after"):
        return Timing()
    if reader.peek().kind == "between":
        lowest, highest = (int(part) for part in reader.take().text.split(".."))
    else:
        lowest = highest = reader.number("milliseconds")
    return Timing("after", lowest, highest, reader.name("a mark") if reader.accept("since") else None)
