"""Parse `.exchange` files into exchanges.

::

    macro stable(A)                      # steps to reuse; members are parameters; `do stable(X)` plays them
    A: JoinGroup -> 79
    ...

    exchange SERVER-17 "A Stable follower that rejoins unchanged is answered at once"
    rows: SERVER-17 JG-same-Stable-follower      # what it proves (ids of rows.toml)
    for v: 0 4..6 9                      # played once per value; $v is the value, a step may be guarded by [v>=5]
    settings: group.max.size=2           # what the broker must have
    topics: t1:4 t2:1[retention.ms=-1]   # topics and their partitions; $t1 is the name, $t1.id the id; t2 is this dialogue's own
    member *: rebalance_timeout_ms=5000  # defaults of request fields; `member A:` for one member
    releases: 4.3 3.9                    # where it holds (all, when left out);  stages: core | tcp;  needs: transactions

    do stable(A)
    A: JoinGroup v$v -> 0 generation_id=1 | 3.9: 25     # send, await; another expectation for a release
    B: SyncGroup -> parked               # sent, and no answer yet
    A/2: Heartbeat as beat               # on A's second connection; later steps may speak of $beat.error_code, a field of the answer
    B -> 0 after 400                     # the answer came 400 ms after the request (`since T`: after `mark T`)
    C connects SASL as alice by PLAIN    # C's connection is one to that listener, as an authenticated user
    [3.9] pause 300                      # time passes (`pause until 900 since T`); a guard in front of any step
    repeat 3 ... end; mark T; let x = $A.generation; A drops | resets | finishes | reconnects | forgets; B is A; !command field=1

Without `v9` a request goes out in the highest version both sides have, of some APIs in a lower one (`messages.CAPS`). An answer is
expected at once unless `after` or `eventually` says otherwise. A leading number is the error code: the answer's own, or that of
every partition or group in it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from .exchange import NEEDS, RELEASES, Exchange
from .macros import Block, LogicalLine, Macro, blocks_in, blocks_of, macro_of, unrolled
from .steps import known, step_of
from .syntax import ExchangeError, LineReader, tokens


def load(paths: Iterable[Path]) -> list[Exchange]:
    """Read exchange files, which share their macros. Names must be unique, and errors name file and line."""
    blocks = [block for path in paths for block in blocks_of(path)]
    macros = dict(macro_of(block) for block in blocks if block.heading.startswith("macro "))
    exchanges = [_exchange(block, macros) for block in blocks if not block.heading.startswith("macro ")]
    seen: dict[str, Exchange] = {}
    for exchange in exchanges:
        if not exchange.steps:
            raise ExchangeError(exchange.place, f"exchange {exchange.name} has no steps")
        if not any(getattr(step, "expects", None) for step in exchange.steps):
            raise ExchangeError(exchange.place, f"exchange {exchange.name} expects nothing: it cannot fail")
        if exchange.name in seen:
            raise ExchangeError(exchange.place, f"there is an exchange {exchange.name!r} already: {seen[exchange.name].place}")
        seen[exchange.name] = exchange
    return exchanges


def read_one(name: str, text: str) -> Exchange:
    """Return the only exchange of a text, which may have no steps. Errors call the text `name`. Raises ExchangeError."""
    (block,) = blocks_in(name, text)
    return _exchange(block, {})


def load_folder(folder: Path) -> list[Exchange]:
    """Read every `.exchange` file of a folder, sorted by name."""
    return load(sorted(folder.glob("*.exchange")))


def _exchange(block: Block, macros: dict[str, Macro]) -> Exchange:
    match = re.fullmatch(r'exchange ([\w./-]+)\s+"([^"]+)"', block.heading)
    if match is None:
        raise ExchangeError(block.place, f"'exchange NAME \"title\"' expected, not {block.heading!r}")
    exchange = Exchange(match[1], match[2], block.place)
    steps: list[LogicalLine] = []
    for line in block.lines:
        header = re.match(r"(rows|for \w+|settings|topics|member [\w*]+|releases|stages|needs):\s*(.*)", line.text)
        if header is None:
            steps.append(line)
        elif steps:
            raise ExchangeError(line.place, f"'{header[1]}:' belongs in front of the steps")
        else:
            _header(exchange, header[1], header[2], line.place)
    exchange.steps = tuple(step_of(line, exchange) for line in unrolled(steps, macros))
    _check(exchange)
    return exchange


def _check(exchange: Exchange) -> None:
    if not exchange.rows:
        raise ExchangeError(exchange.place, f"exchange {exchange.name} proves no row ('rows:' is missing)")


def _header(exchange: Exchange, key: str, text: str, place: str) -> None:
    what, _, name = key.partition(" ")
    if what == "for":
        exchange.parameters[name] = _numbers(text, place)
    elif what == "member":
        reader = LineReader(tokens(text, place), place)
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
        match = re.fullmatch(r"(\w+):(\d+)(?:\[(.*)\])?", word)
        if match is None:
            raise ExchangeError(place, f"NAME:PARTITIONS or NAME:PARTITIONS[KEY=VALUE;...] expected, not {word!r}")
        exchange.topics[match[1]] = int(match[2])
        if match[3] is not None:
            exchange.own[match[1]] = {key: value for key, _, value in (each.partition("=") for each in match[3].split(";") if each)}


def _releases(exchange: Exchange, words: list[str], place: str) -> None:
    exchange.releases = known(words, RELEASES, place)


def _stages(exchange: Exchange, words: list[str], place: str) -> None:
    exchange.stages = known(words, ("core", "tcp"), place)


def _needs(exchange: Exchange, words: list[str], place: str) -> None:
    exchange.needs = known(words, tuple(NEEDS), place)


_HEADERS: Final[dict[str, Callable[[Exchange, list[str], str], None]]] = {
    "rows": _rows, "settings": _settings, "topics": _topics, "releases": _releases, "stages": _stages, "needs": _needs,
}  # fmt: skip
