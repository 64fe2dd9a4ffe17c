"""Slow a dialogue down: multiply every pause, silence, timeout and expected time by a factor.

A broker whose initial delay is 3 s instead of 400 ms behaves the same 7.5 times as slowly, if all else is slowed down as much.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from .exchange import Await, Exchange, Expectation, Expectations, Pause, Raw, Send, Step, Timing
from .messages import DEFAULTS
from .syntax import Expr, Literal

TIMEOUTS: Final = ("session_timeout_ms", "rebalance_timeout_ms")
"""Maps an API to the fields of its requests that contain times."""


def stretched(exchange: Exchange, factor: float) -> Exchange:
    """Return a copy of an exchange that is `factor` times as slow. A value given by a reference (`$min_session`) stays as it is."""
    if factor == 1:
        return exchange
    defaults = tuple((name, Literal(int(str(DEFAULTS[name])))) for name in TIMEOUTS)
    everybody = dict(defaults) | dict(exchange.members.get("*", ()))
    members = {**exchange.members, "*": tuple(everybody.items())}
    return replace(
        exchange,
        members={name: _fields(fields, factor) for name, fields in members.items()},
        steps=tuple(_step(step, factor) for step in exchange.steps),
    )


def sessions(exchange: Exchange) -> set[int]:
    """Return the session timeouts that an exchange spells out, in ms."""
    fields = [*(pair for fields in exchange.members.values() for pair in fields)]
    fields += [pair for step in exchange.steps if isinstance(step, Send) for pair in step.fields]
    return {value.value for name, value in fields if name == TIMEOUTS[0] and isinstance(value, Literal) and isinstance(value.value, int)}


def _fields(fields: tuple[tuple[str, Expr], ...], factor: float) -> tuple[tuple[str, Expr], ...]:
    return tuple((name, _time(value, factor) if name in TIMEOUTS else value) for name, value in fields)


def _time(value: Expr, factor: float) -> Expr:
    if isinstance(value, Literal) and isinstance(value.value, int) and value.value > 0:
        return Literal(round(value.value * factor))
    return value


def _step(step: Step, factor: float) -> Step:
    if isinstance(step, Send):
        step = replace(step, fields=_fields(step.fields, factor))
    if isinstance(step, Pause):
        return replace(step, ms=_time(step.ms, factor))
    if isinstance(step, Send | Raw | Await) and step.expects is not None:
        return replace(step, expects=_expectations(step.expects, factor))
    return step


def _expectations(expects: Expectations, factor: float) -> Expectations:
    return replace(expects, by_release={release: _expectation(each, factor) for release, each in expects.by_release.items()})


def _expectation(expected: Expectation, factor: float) -> Expectation:
    timing = expected.timing
    if timing.kind != "after":
        return expected
    slower = Timing("after", round(timing.lowest * factor), round(timing.highest * factor), timing.since)
    return replace(expected, timing=slower)
