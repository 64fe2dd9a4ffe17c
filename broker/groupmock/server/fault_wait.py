"""Wait until a fault rule has fired a number of times. The in-process API, HTTP and the command line share it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..faults.registry import RuleReport, UnknownRule
from ..text.printable import quoted

if TYPE_CHECKING:
    from .running import Running

FAULT: Final = frozenset(("fault", "command"))
"""The kinds of rows that are written when a fault rule fires or is removed."""


class NeverSoOften(ValueError):
    """Raised if a fault rule cannot fire so many times. The message says how many times it can."""


async def reach(running: Running, name: str, hits: int, timeout: float) -> RuleReport | str:
    """Wait until the rule has fired `hits` times and return its report. Returns a sentence if that did not happen within `timeout`
    seconds. Raises UnknownRule and NeverSoOften."""
    registry = running.server.driver.rules.registry
    _check(registry.report(name), hits)

    def outcome() -> RuleReport | str | None:
        if running.closed:
            return f"the cluster was reset or stopped while rule {quoted(name)} was waited for"
        try:
            report = registry.report(name)
        except UnknownRule:
            return f"rule {quoted(name)} was removed while it was waited for"
        return report if report.fired >= hits else None

    result: RuleReport | str | None = await running.until(FAULT, outcome, timeout)
    if result is not None:
        return result
    return f"{registry.report(name).sentence}; {hits} times were waited for, {timeout:g} s (seed {running.seed})"


def _check(report: RuleReport, hits: int) -> None:
    when, times = report.rule.get("when", {}), report.rule.get("times")
    most = 1 if when.get("nth") is not None else times
    if most is not None and hits > most:
        raise NeverSoOften(f"rule {quoted(report.name)} fires {most} times at most: {hits} times never comes")
