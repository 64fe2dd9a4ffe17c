"""Expand a file into lines of text: drop comments, join continued lines, split blocks, expand macros and `repeat`."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from .syntax import ExchangeError


@dataclass
class LogicalLine:
    """One logical line and its position (`file:line`)."""

    place: str
    text: str


@dataclass
class Block:
    """An exchange or a macro: its first line and the lines below."""

    place: str
    heading: str
    lines: list[LogicalLine] = field(default_factory=list)


@dataclass
class Macro:
    """Reusable steps, whose `parameters` are member names."""

    parameters: tuple[str, ...]
    lines: list[LogicalLine]


def blocks_of(path: Path) -> list[Block]:
    return blocks_in(path.name, _text(path))


def blocks_in(name: str, text: str) -> list[Block]:
    """Return the exchanges and macros of a text. Errors call it by `name`."""
    blocks: list[Block] = []
    for line in _joined(name, text):
        if line.text.startswith(("exchange ", "macro ")):
            blocks.append(Block(line.place, line.text))
        elif not blocks:
            raise ExchangeError(line.place, f"'exchange' or 'macro' expected, not {line.text!r}")
        else:
            blocks[-1].lines.append(line)
    return blocks


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as problem:
        raise ExchangeError(path.name, f"this is no text in UTF-8: {problem}") from problem


def _joined(name: str, text: str) -> list[LogicalLine]:
    r"""Return the lines of a file without comments and blank lines. A line that ends in `\` continues in the next one."""
    lines: list[LogicalLine] = []
    pending: LogicalLine | None = None
    for number, raw in enumerate(text.splitlines(), 1):
        said = _without_comment(raw).strip()
        line = LogicalLine(f"{name}:{number}", said) if pending is None else LogicalLine(pending.place, f"{pending.text} {said}")
        pending = None
        if line.text.endswith("\\"):
            pending = LogicalLine(line.place, line.text[:-1].rstrip())
        elif line.text:
            lines.append(line)
    if pending is not None:
        raise ExchangeError(pending.place, "the file ends in the middle of a line")
    return lines


def _without_comment(raw: str) -> str:
    return re.match(r'(?:[^#"]|"(?:[^"\\]|\\.)*")*', raw).group()  # type: ignore[union-attr]  # matches "" at least


def macro_of(block: Block) -> tuple[str, Macro]:
    match = re.fullmatch(r"macro (\w+)\(([\w, ]*)\)", block.heading)
    if match is None:
        raise ExchangeError(block.place, f"'macro name(A, B)' expected, not {block.heading!r}")
    return match[1], Macro(_names(match[2]), block.lines)


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def unrolled(lines: list[LogicalLine], macros: dict[str, Macro], depth: int = 0) -> list[LogicalLine]:
    """Return the lines with macros and `repeat` blocks expanded."""
    out: list[LogicalLine] = []
    at = 0
    while at < len(lines):
        line = lines[at]
        at += 1
        if (repeat := re.fullmatch(r"repeat (\d+)", line.text)) is not None:
            end = _end_of(lines, at, line.place)
            out.extend(unrolled(lines[at:end], macros, depth) * int(repeat[1]))
            at = end + 1
        elif (do := re.fullmatch(r"(\[[^\]]*\] *)?do (\w+)\(([\w, ]*)\)", line.text)) is not None:
            body = _filled(macros, do[2], _names(do[3]), line.place)
            out.extend(LogicalLine(each.place, (do[1] or "") + each.text) for each in unrolled(body, macros, _deeper(depth, line.place)))
        else:
            out.append(line)
    return out


def _deeper(depth: int, place: str) -> int:
    if depth > 8:
        raise ExchangeError(place, "macros call each other in a circle")
    return depth + 1


def _end_of(lines: list[LogicalLine], at: int, place: str) -> int:
    depth = 1
    for index in range(at, len(lines)):
        depth += lines[index].text.startswith("repeat ") - (lines[index].text == "end")
        if depth == 0:
            return index
    raise ExchangeError(place, "'repeat' without its 'end'")


def _filled(macros: dict[str, Macro], name: str, arguments: tuple[str, ...], place: str) -> list[LogicalLine]:
    if name not in macros:
        raise ExchangeError(place, f"no macro {name!r}")
    macro = macros[name]
    if len(arguments) != len(macro.parameters):
        raise ExchangeError(place, f"macro {name} takes {len(macro.parameters)} members, not {len(arguments)}")
    given = dict(zip(macro.parameters, arguments, strict=True))
    pattern = re.compile(r"\b(" + "|".join(macro.parameters or ("(?!)",)) + r")\b")
    return [LogicalLine(f"{place} ({line.place})", pattern.sub(lambda match: given[match[0]], line.text)) for line in macro.lines]
