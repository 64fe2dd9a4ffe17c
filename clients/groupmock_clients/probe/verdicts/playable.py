"""Decide whether an exchange can be played under a broker's settings, and how slowly, by playing it on the pure core first.

Exchanges are written for an initial delay of 400 ms and sessions of 100 ms, while brokers have 3 s and 6 s by default. An exchange that the
core keeps under the broker's settings at some slowness can be judged on the broker. The core decides nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Final

from groupmock.config.declared import all_settings
from groupmock.config.option_values import ConfigError

from ..language.duration import least_ms
from ..language.exchange import BASE_SETTINGS, Variant
from ..language.scope import DELAY, MIN_SESSION
from ..language.slow_motion import sessions, stretched
from ..stages.contract import Tolerance
from ..stages.core_stage import CoreStage, core_config
from ..stages.tcp_stage import QUIET_MS
from .outcome import KEPT, NOT_APPLICABLE, UNKNOWN
from .runner import play

ABOUT_GROUPS: Final = ("group.", "offset")
SLOWEST: Final = 64
SHORTEST_DELAY_MS: Final = 200
"""The shortest initial rebalance delay for which exchanges are sped up, because a shorter one cannot be distinguished from a broker's
slowness over TCP."""


class _AsOverTcp(CoreStage):
    """The core stage, listening as long for answers as the TCP stage, because with a short initial delay the listening alone uses up the
    delay."""

    tolerance = Tolerance(quiet=QUIET_MS)


class Unplayable(Exception):
    """The exchange cannot be played on this broker. The text names the setting that it needs."""


def known_settings(release: str, told: Mapping[str, str]) -> dict[str, str]:
    """Select the settings about groups whose names and values the core accepts."""
    names = all_settings()
    found = {name: value for name, value in told.items() if name in names and name.startswith(ABOUT_GROUPS)}
    return {name: value for name, value in found.items() if _taken(release, name, value)}


@cache
def _taken(release: str, name: str, value: str) -> bool:
    try:
        core_config(release, {name: value})
    except ConfigError:
        return False
    return True


def fit(variant: Variant, release: str, settings: Mapping[str, str], longest_ms: float) -> tuple[Variant, float]:
    """Return the dialogue at a speed that suits the broker's settings, and its slowness. `settings` are those of `known_settings`.
    Raises Unplayable."""
    exchange = variant.exchange
    if exchange.listeners and "core" not in exchange.stages:
        return _bounded(variant, 1, longest_ms)  # An authentication has no times that depend on settings of groups.
    settings = {**settings, **exchange.of_authorizer}  # The planner has made sure that the broker has one.
    wanted = exchange.wanted_settings
    differing = {name: value for name, value in wanted.items() if settings.get(name) != value}
    if not differing:
        return _bounded(variant, 1, longest_ms)
    longest: Unplayable | None = None
    for factor in _factors(variant, settings):
        slower = Variant(stretched(exchange, factor), variant.parameters)
        if _core_keeps(slower, release, settings, factor):
            try:
                return _bounded(slower, factor, longest_ms)
            except Unplayable as too_long:
                longest = longest or too_long
    if longest is not None:
        raise longest
    lacking = {name: value for name, value in differing.items() if name in exchange.settings} or differing
    raise Unplayable("; ".join(_lack(name, value, settings.get(name)) for name, value in lacking.items()))


def _lack(name: str, wanted: str, told: str | None) -> str:
    return f"needs {name}={wanted}, " + (f"the broker has {told}" if told is not None else "which the broker does not tell")


def _bounded(variant: Variant, factor: float, longest_ms: float) -> tuple[Variant, float]:
    needs = least_ms(variant.exchange)
    if needs > longest_ms:
        raise Unplayable(f"takes at least {needs / 1000:.0f} s (see --longest)")
    return variant, factor


def _factors(variant: Variant, settings: Mapping[str, str]) -> Iterator[float]:
    """Yield the factors by which an exchange may be slowed down or sped up, the fastest first: as written, by the initial delay, by each
    session timeout."""
    delay = int(settings.get(DELAY, BASE_SETTINGS[DELAY])) / int(BASE_SETTINGS[DELAY])
    shortest = int(settings.get(MIN_SESSION, BASE_SETTINGS[MIN_SESSION]))
    found = {1.0} | ({delay} if delay >= SHORTEST_DELAY_MS / int(BASE_SETTINGS[DELAY]) else set())
    found |= {shortest / session for session in sessions(variant.exchange) if 0 < session < shortest}
    yield from sorted(factor for factor in found if factor <= SLOWEST)


def _core_keeps(variant: Variant, release: str, settings: Mapping[str, str], factor: float) -> bool:
    """Tell whether the core plays the dialogue as the exchange expects. If it cannot play the exchange (raw bytes, transactions), the
    ratio of the initial delays decides."""
    exchange = variant.exchange
    outcome = None if exchange.lacking or "core" not in exchange.stages else play(variant, _AsOverTcp(release, settings))
    if outcome is None or outcome.verdict in (UNKNOWN, NOT_APPLICABLE):
        delay = int(settings.get(DELAY, BASE_SETTINGS[DELAY])) / int(BASE_SETTINGS[DELAY])
        return factor == max(delay, 1) and all(settings.get(name) == value for name, value in exchange.settings.items())
    return outcome.verdict == KEPT
