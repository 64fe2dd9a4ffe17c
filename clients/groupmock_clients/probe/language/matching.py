"""Match the patterns of an exchange against plain values of an answer. A mismatch is a sentence that names the field."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .scope import Scope, Value
from .syntax import Anything, Between, Capture, ExchangeError, Expr, FunctionCall, Literal, Regex, Sequence, Struct

PATTERN_CALLS = ("len", "set", "any", "not", "has", "lacks", "first", "holds")
"""The functions that are patterns: length, any order, one of, other than, a list with or without an element, a list with a given
beginning, bytes that contain texts."""


class Matcher:
    """Compares the patterns of an exchange with plain values of an answer. Captures go to the scope."""

    def __init__(self, scope: Scope, place: str) -> None:
        self.scope = scope
        self.place = place

    def mismatches(self, pattern: Expr, seen: Value, path: str) -> Iterator[str]:
        """Yield a sentence for every way in which `seen` differs from `pattern`."""
        if isinstance(pattern, Anything):
            return
        if isinstance(pattern, Regex):
            if not isinstance(seen, str) or not re.fullmatch(self.scope.pattern(pattern, self.place), seen):
                yield f"{path}: {pattern.template!r} expected, {show(seen)} seen"
        elif isinstance(pattern, Between):
            if not isinstance(seen, int) or not pattern.lowest <= seen <= pattern.highest:
                yield f"{path}: {pattern.lowest}..{pattern.highest} expected, {show(seen)} seen"
        elif isinstance(pattern, Capture):
            yield from self._capture(pattern, seen, path)
        elif isinstance(pattern, Struct):
            yield from self._struct(pattern, seen, path)
        elif isinstance(pattern, Sequence):
            yield from self._sequence(pattern.items, seen, path, exact=True)
        elif isinstance(pattern, FunctionCall) and pattern.name in PATTERN_CALLS:
            yield from self._call(pattern, seen, path)
        else:
            yield from self._equal(pattern, seen, path)

    def _equal(self, pattern: Expr, seen: Value, path: str) -> Iterator[str]:
        expected = self.scope.evaluate(pattern, self.place)
        # A function in the expectation may result in a list or dict, of which only the fields that are present count.
        if isinstance(expected, dict | list):
            yield from self.mismatches(lifted(expected), seen, path)
        # An exchange writes a float such as 5.0 without a point, so the types may differ.
        elif expected != seen or (type(expected) is not type(seen) and not isinstance(seen, float)):
            yield f"{path}: {show(expected)} expected, {show(seen)} seen"

    def _capture(self, pattern: Capture, seen: Value, path: str) -> Iterator[str]:
        known = self.scope.values.setdefault(pattern.name, seen)
        if known != seen:
            yield f"{path}: the same as ?{pattern.name} ({show(known)}) expected, {show(seen)} seen"

    def _struct(self, pattern: Struct, seen: Value, path: str) -> Iterator[str]:
        if not isinstance(seen, dict):
            yield f"{path}: a structure expected, {show(seen)} seen"
            return
        for name, inner in pattern.fields:
            if name in seen:
                yield from self.mismatches(inner, seen[name], f"{path}.{name}")
            elif name == "name" and "topic_id" in seen:  # Some versions of a message identify a topic by its id and not by its name.
                yield from self._topic_id(inner, seen["topic_id"], f"{path}.topic_id")
            elif name not in _absent(seen):
                yield f"{path}: has no field {name}"

    def _topic_id(self, pattern: Expr, seen: Value, path: str) -> Iterator[str]:
        name = str(self.scope.evaluate(pattern, self.place))
        expected = self.scope.values.get(f"id of {name}")
        if expected != seen:
            yield f"{path}: the id of {name} ({show(expected)}) expected, {show(seen)} seen"

    def _sequence(self, items: tuple[Expr, ...], seen: Value, path: str, *, exact: bool) -> Iterator[str]:
        if not isinstance(seen, list) or len(seen) < len(items) or (exact and len(seen) != len(items)):
            yield f"{path}: {len(items)} elements expected, {show(seen)} seen"
            return
        for index, item in enumerate(items):
            yield from self.mismatches(item, seen[index], f"{path}[{index}]")

    def _call(self, pattern: FunctionCall, seen: Value, path: str) -> Iterator[str]:
        arguments = pattern.arguments
        if pattern.name == "any":
            if all(list(self.mismatches(argument, seen, path)) for argument in arguments):
                yield f"{path}: none of the {len(arguments)} allowed values; {show(seen)} seen"
        elif pattern.name == "not":
            if not all(list(self.mismatches(argument, seen, path)) for argument in arguments):
                yield f"{path}: another value than {show(seen)} expected"
        elif pattern.name == "holds":
            yield from self._holds(arguments, seen, path)
        elif not isinstance(seen, list):
            yield f"{path}: a list expected, {show(seen)} seen"
        else:
            yield from self._list_call(pattern, seen, path)

    def _holds(self, texts: tuple[Expr, ...], seen: Value, path: str) -> Iterator[str]:
        for text in texts:
            expected = str(self.scope.evaluate(text, self.place))
            if not isinstance(seen, bytes) or expected.encode() not in seen:
                yield f"{path}: bytes with {expected!r} expected, {show(seen)} seen"

    def _list_call(self, pattern: FunctionCall, seen: list[Value], path: str) -> Iterator[str]:
        arguments = pattern.arguments
        if pattern.name == "len":
            wanted = self.scope.evaluate(arguments[0], self.place)
            if len(seen) != wanted:
                yield f"{path}: {show(wanted)} elements expected, {len(seen)} seen: {show(seen)}"
        elif pattern.name == "first":
            yield from self._sequence(arguments, seen, path, exact=False)
        elif pattern.name == "set":
            yield from self._unordered(arguments, seen, path)
        else:
            for argument in arguments:
                fitting = [each for each in seen if self._would_fit(argument, each, path)]
                found = len(fitting)
                # The element is matched a second time, because only this match keeps the values that it captures.
                list(self.mismatches(argument, fitting[0], path) if found == 1 else ())
                if pattern.name == "has" and found != 1:
                    yield f"{path}: one such element expected, {found} seen{'' if found else ': ' + show(seen)}"
                if pattern.name == "lacks" and found:
                    yield f"{path}: no such element expected, {found} seen"

    def _unordered(self, items: tuple[Expr, ...], seen: list[Value], path: str) -> Iterator[str]:
        if len(seen) != len(items):
            yield f"{path}: {len(items)} elements expected, {len(seen)} seen: {show(seen)}"
            return
        rest = list(seen)
        if not self._placed(items, rest, path):
            item = next((item for item in items if not any(self._would_fit(item, each, path) for each in rest)), items[0])
            yield f"{path}: no element matches {item}; seen: {show(rest)}"

    def _placed(self, items: tuple[Expr, ...], rest: list[Value], path: str) -> bool:
        """Match each pattern with a different element of the list. If a capture fits several elements, backtrack until the other items
        fit too."""
        if not items:
            return True
        for at, each in enumerate(rest):
            before = dict(self.scope.values)
            if not list(self.mismatches(items[0], each, path)) and self._placed(items[1:], rest[:at] + rest[at + 1 :], path):
                return True
            self.scope.values = before
        return False

    def _would_fit(self, pattern: Expr, seen: Value, path: str) -> bool:
        """Tell whether an element matches a pattern, without keeping captures."""
        before = dict(self.scope.values)
        found = not list(self.mismatches(pattern, seen, path))
        self.scope.values = before
        return found


ABSENT = "\0partial"
"""Key under which a struct names the fields that its version lacks. They are not compared."""


def _absent(seen: dict[str, Value]) -> list[Value]:
    absent = seen.get(ABSENT)
    return absent if isinstance(absent, list) else []


def lifted(value: Value) -> Expr:
    """Convert a plain value into a pattern tree."""
    if isinstance(value, dict):
        return Struct(tuple((name, lifted(inner)) for name, inner in value.items()))
    if isinstance(value, list):
        return Sequence(tuple(lifted(inner) for inner in value))
    return Literal(value)


def show(value: Value) -> str:
    """Format a value for a report, cut if it is long."""
    if isinstance(value, dict):
        text = "{" + ", ".join(f"{name}: {show(inner)}" for name, inner in value.items() if name != ABSENT) + "}"
    elif isinstance(value, list):
        text = "[" + ", ".join(map(show, value)) + "]"
    else:
        text = repr(value)
    return text if len(text) <= 400 else text[:400] + "..."


__all__ = ["ABSENT", "ExchangeError", "Matcher", "lifted", "show"]
