"""Fault rules and plans are managed by methods of `Broker` (docs/how-to/faults.md)."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final

from ..core.events import Command
from ..faults.plan import make_rule, rule_as_data
from ..server import fault_wait
from .calls import Calls
from .errors import FaultNeverFired, FaultNotSeen
from .values import PlanLike, as_plan

if TYPE_CHECKING:
    from ..faults.registry import RuleReport
    from ..server.running import Running

__tracebackhide__: Final = True
NEVER_ENTERED: Final = "fault(...) was never entered and broke nothing: use it in a `with` block, or add_fault"


class Faults(Calls):
    """Methods that add, remove and report fault rules."""

    def fault(
        self,
        when: Mapping[str, Any],
        do: Mapping[str, Any] | str,
        *,
        stage: str | None = None,
        times: int | None = None,
        name: str = "",
        must_fire: bool = True,
    ) -> FaultBlock:
        """Return a block for `with`, during which the rule holds. `do` is the kind, or a table with it; see docs/how-to/faults.md.

        At the end of the block FaultNeverFired is raised if the rule never fired, unless `must_fire` is False. Raises BadPlan for a wrong
        rule."""
        return FaultBlock(self, {"when": when, "do": do, "stage": stage, "times": times, "name": name}, must_fire)

    def add_fault(
        self,
        when: Mapping[str, Any],
        do: Mapping[str, Any] | str,
        *,
        stage: str | None = None,
        times: int | None = None,
        name: str = "",
    ) -> str:
        """Register a rule that stays until it is removed, and return its name."""
        rule = rule_from(when, do, stage, times, name)
        return self._ask(lambda: add_rule(self._up(), rule))

    def load_plan(self, plan: PlanLike) -> list[str]:
        """Register all rules of a plan, or none, and return their names. The plan's seed, if it has one, decides chances from now on."""
        read = as_plan(plan)
        return self._ask(lambda: self._up().load_plan(read))

    def remove_fault(self, name: str) -> None:
        """Remove a rule and let the requests that it holds continue. Raises UnknownRule (a LookupError) if there is none."""
        self._command("remove_fault", name=name)

    def release_fault(self, name: str) -> None:
        """Let the requests that a rule holds continue. The rule stays."""
        self._command("release_fault", name=name)

    def clear_faults(self) -> None:
        """Remove all fault rules and let the requests that they hold continue."""
        self._command("clear_faults")

    def wait_for_fault(self, name: str, hits: int = 1, timeout: float = 10.0) -> None:
        """Wait until a rule has fired `hits` times. Raises FaultNotSeen, or NeverSoOften (a ValueError) if the rule cannot fire so many
        times."""
        self._wait("wait_for_fault", lambda: until_fired(self._up(), name, hits, timeout))

    @property
    def faults(self) -> list[RuleReport]:
        """The reports of all rules: counts, what each holds, and which call came nearest."""
        return self._ask(lambda: self._up().server.driver.rules.reports())

    def fault_report(self, name: str) -> RuleReport:
        """Return the report of one rule. Raises UnknownRule (a LookupError) if there is none."""
        return self._ask(lambda: self._up().server.driver.rules.registry.report(name))

    def never_fired(self) -> list[RuleReport]:
        """Return the reports of rules that never fired; `.sentence` says why."""
        return self._ask(lambda: [report for report in self._up().server.driver.rules.reports() if not report.fired])


class FaultBlock:
    """A fault rule that holds while a `with` block lasts. The journal and reports show it by `name`."""

    def __init__(self, broker: Faults, rule: dict[str, Any], must_fire: bool) -> None:
        self._broker = broker
        self._rule = rule
        self._must_fire = must_fire
        self._entered = False
        self.name: str = rule["name"]

    def __enter__(self) -> FaultBlock:
        self._entered = True
        self.name = self._broker.add_fault(**self._rule)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        # The fault report is read before the rule is removed, because a removed rule has no report.
        report = self._broker.fault_report(self.name)
        self._broker.remove_fault(self.name)
        # The exception of the `with` block is more useful than a report that the fault rule did not fire because of that exception.
        if error is None and self._must_fire and not report.fired:
            raise FaultNeverFired(report.sentence)

    def __del__(self) -> None:
        if not self._entered:
            warnings.warn(NEVER_ENTERED, RuntimeWarning, 2)

    @property
    def report(self) -> RuleReport:
        """The report of this rule, as it is now."""
        return self._broker.fault_report(self.name)

    @property
    def fired(self) -> int:
        """The number of times that the rule fired."""
        report = self._broker.fault_report(self.name)
        return report.fired

    def release(self) -> None:
        """Let the requests that the rule holds continue."""
        self._broker.release_fault(self.name)

    def wait(self, hits: int = 1, timeout: float = 10.0) -> None:
        """Wait until the rule has fired `hits` times. Raises FaultNotSeen."""
        self._broker._wait("wait", lambda: until_fired(self._broker._up(), self.name, hits, timeout))


def rule_from(when: Mapping[str, Any], do: Mapping[str, Any] | str, stage: str | None, times: int | None, name: str) -> dict[str, Any]:
    """Return a rule in the form that the command `add_faults` takes. Raises BadPlan for a wrong rule."""
    table: dict[str, Any] = {"when": dict(when), "do": {"kind": do} if isinstance(do, str) else dict(do)}
    table |= {key: value for key, value in (("stage", stage), ("times", times), ("name", name or None)) if value is not None}
    return rule_as_data(make_rule(table))


def add_rule(running: Running, rule: dict[str, Any]) -> str:
    """Register a rule and return its name."""
    running.submit(Command("add_faults", {"rules": [rule]}))
    return running.server.driver.rules.reports()[-1].name


async def until_fired(running: Running, name: str, hits: int, timeout: float) -> None:
    """Wait until a fault rule has fired `hits` times. Raises FaultNotSeen."""
    missed = await fault_wait.reach(running, name, hits, timeout)
    if isinstance(missed, str):
        raise FaultNotSeen(missed)
