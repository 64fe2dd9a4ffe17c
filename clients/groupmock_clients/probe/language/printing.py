"""Convert an exchange to the text that `parser.py` reads back."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from .exchange import RELEASES, Act, Exchange, Let, Pause, Raw, Send, Step
from .syntax import REFERENCE, Expr, FunctionCall, Literal, Ref, Sequence, Struct, Text

BARE: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
SAID_OTHERWISE: Final = frozenset({"null", "true", "false", "set"})
ESCAPED: Final = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t"}


def quoted(text: str) -> str:
    """Return a text as the language writes it, in quotes if it needs them. Raises ValueError for one that would be read as a reference."""
    if BARE.fullmatch(text) and text not in SAID_OTHERWISE:
        return text
    if REFERENCE.search(text):
        raise ValueError(f"{text!r} cannot be said: a $ in front of a word begins a reference")
    return in_quotes(text)


def in_quotes(text: str) -> str:
    """Return a text in quotes, in which `$name` is a reference."""
    return '"' + "".join(ESCAPED.get(each, each) for each in text) + '"'


def expr_text(expr: Expr) -> str:
    """Return the text of a value in the language of exchanges. Patterns are refused, because programs write none."""
    match expr:
        case Literal(value):
            return literal_text(value)
        case Text(template):
            return in_quotes(template)
        case Ref(name, attribute, offset):
            return f"${name}{f'.{attribute}' if attribute else ''}{f'{offset:+}' if offset else ''}"
        case Sequence(items):
            return f"[{', '.join(map(expr_text, items))}]"
        case Struct(fields):
            return "{" + ", ".join(f"{name}: {expr_text(value)}" for name, value in fields) + "}"
        case FunctionCall(name, arguments):
            return f"{name}({', '.join(map(expr_text, arguments))})"
    raise ValueError(f"{expr!r} is no value")


def literal_text(value: object) -> str:
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, bytes):
        return f'x"{value.hex()}"'
    return {None: "null", True: "true", False: "false"}[value] if value is None or isinstance(value, bool) else str(value)


def step_text(step: Step) -> str:
    """Return the line of one step without its expectations. Raises ValueError for kinds of steps that no program writes."""
    match step:
        case Send(member=member, api=api, version=version, fields=fields, bound=bound):
            words = [f"{member}:", api, *([] if version is None else [f"v{expr_text(version)}"])]
            words += [f"{name}={expr_text(value)}" for name, value in fields]
            return " ".join([*words, *([] if bound is None else ["as", bound])])
        case Raw(member=member, framed=framed, parts=parts, token=False):
            return " ".join([f"{member}:", "frame" if framed else "bytes", *map(expr_text, parts)])
        case Pause(ms=ms, since=None):
            return f"pause {expr_text(ms)}"
        case Act(member=member, verb=verb, other=other):
            return " ".join([member, verb, *([] if other is None else [other])])
        case Let(name=name, value=value):
            return f"let {name} = {expr_text(value)}"
    raise ValueError(f"no program writes steps like {step!r}")


def head_lines(exchange: Exchange) -> Iterator[str]:
    """Yield the lines of an exchange that come before its steps."""
    yield f'exchange {exchange.name} "{exchange.title}"'
    yield f"rows: {' '.join(exchange.rows)}"
    if exchange.releases != RELEASES:
        yield f"releases: {' '.join(exchange.releases)}"
    if exchange.stages != ("core", "tcp"):
        yield f"stages: {' '.join(exchange.stages)}"
    if exchange.settings:
        yield f"settings: {' '.join(f'{key}={value}' for key, value in exchange.settings.items())}"
    if exchange.topics:
        yield f"topics: {' '.join(_topic(exchange, name) for name in exchange.topics)}"
    for member, fields in exchange.members.items():
        yield f"member {member}: {' '.join(f'{name}={expr_text(value)}' for name, value in fields)}"


def _topic(exchange: Exchange, name: str) -> str:
    own = exchange.own.get(name)
    configs = "" if own is None else f"[{';'.join(f'{key}={value}' for key, value in own.items())}]"
    return f"{name}:{exchange.topics[name]}{configs}"
