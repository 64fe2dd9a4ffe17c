"""What a test says to break a cluster, as methods of `Broker` and, as coroutines, of `AsyncBroker` (docs/how-to/faults.md)."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Mapping
from concurrent.futures import Future
from os import PathLike, fspath
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from ..core.events import Command
from ..faults.plan import BadPlan, Plan, make_plan, make_rule, parse_plan, read_plan, rule_as_data
from ..server.fault_wait import reach
from .calls import Calls, Later, Number, R, Text, Texts

if TYPE_CHECKING:
    from ..faults.registry import RuleReport

__tracebackhide__: Final = True
Block = TypeVar("Block")
"""What `fault` gives: `FaultBlock`, `AsyncFaultBlock`."""
Report = TypeVar("Report")
Reports = TypeVar("Reports")
"""`RuleReport` and a list of them, or coroutines of these."""
PlanLike = str | PathLike[str] | Mapping[str, Any] | Plan
"""A file, the name of a ready plan, TOML text (it has line ends), or the same as plain data."""


class FaultNeverFired(AssertionError):
    """A rule did nothing. The text has the call that came nearest and the condition that kept the rule from it."""

    __module__ = "groupmock"  # a report calls it what a test imports


class FaultNotSeen(AssertionError):
    """A rule did not fire as often as was waited for, in time. The text has what came nearest."""

    __module__ = "groupmock"


def as_plan(plan: PlanLike) -> Plan:
    """Whatever names a plan. Raises BadPlan."""
    if isinstance(plan, Plan):
        return plan
    if isinstance(plan, str):
        return parse_plan(plan) if "\n" in plan else read_plan(plan)
    if isinstance(plan, PathLike):
        return read_plan(fspath(plan))
    if not isinstance(plan, Mapping):
        raise BadPlan(f"a plan is a file, the name of a ready plan, TOML text, or the same as data, not {plan!r}")
    return make_plan(dict(plan))


class Faults(Calls[R], Generic[R, Block, Text, Texts, Number, Report, Reports]):
    """Fault rules, plans, and what became of them."""

    @abstractmethod
    def _block(self, rule: dict[str, Any], must_fire: bool) -> Block:
        """A rule that holds while a block lasts; `rule`: the arguments of `add_fault`."""

    def fault(
        self,
        when: Mapping[str, Any],
        do: Mapping[str, Any] | str,
        *,
        stage: str | None = None,
        times: int | None = None,
        name: str = "",
        must_fire: bool = True,
    ) -> Block:
        """A rule for a `with` block. `do`: the kind, or a table with it; see docs/how-to/faults.md. BadPlan when it cannot be.

        A block whose rule never fired raises FaultNeverFired at its end, unless `must_fire` is False.
        """
        return self._block({"when": when, "do": do, "stage": stage, "times": times, "name": name}, must_fire)

    def add_fault(
        self,
        when: Mapping[str, Any],
        do: Mapping[str, Any] | str,
        *,
        stage: str | None = None,
        times: int | None = None,
        name: str = "",
    ) -> Text:
        """Register a rule that stays until it is removed; returns its name."""
        table: dict[str, Any] = {"when": dict(when), "do": {"kind": do} if isinstance(do, str) else dict(do)}
        table |= {key: value for key, value in (("stage", stage), ("times", times), ("name", name or None)) if value is not None}

        def add() -> Future[str]:
            rule = rule_as_data(make_rule(table))
            return self._post(lambda: self._added(rule))

        done: Text = self._do(add)
        return done

    def _added(self, rule: dict[str, Any]) -> str:
        running = self._up()
        running.submit(Command("add_faults", {"rules": [rule]}))
        return running.server.driver.rules.reports()[-1].name

    def load_plan(self, plan: PlanLike) -> Texts:
        """Register every rule of a plan, or none; returns their names. Its seed, if it has one, is the chances' from now on."""

        def load() -> Future[list[str]]:
            read = as_plan(plan)
            return self._post(lambda: self._up().load_plan(read))

        done: Texts = self._do(load)
        return done

    def remove_fault(self, name: str) -> R:
        """Forget a rule; what it held goes on. UnknownRule (a LookupError) when there is none."""
        return self._command("remove_fault", name=name)

    def release_fault(self, name: str) -> R:
        """Let go of what a rule holds; the rule stays."""
        return self._command("release_fault", name=name)

    def clear_faults(self) -> R:
        """Forget every rule."""
        return self._command("clear_faults")

    def wait_for_fault(self, name: str, hits: int = 1, timeout: float = 10.0) -> R:
        """Wait until a rule fired so often. Raises FaultNotSeen; NeverSoOften (a ValueError) where it cannot fire so often."""
        done: R = self._wait(lambda: self._run(self._until_fired(name, hits, timeout)))
        return done

    async def _until_fired(self, name: str, hits: int, timeout: float) -> None:
        found = await reach(self._up(), name, hits, timeout)
        if isinstance(found, str):
            raise FaultNotSeen(found)

    @property
    def faults(self) -> Reports:
        """Every rule as it stands: counts, what it holds, how near it came."""
        done: Reports = self._ask(lambda: self._up().server.driver.rules.reports())
        return done

    def fault_report(self, name: str) -> Report:
        """One rule as it stands. UnknownRule (a LookupError) when there is none."""
        done: Report = self._ask(lambda: self._report(name))
        return done

    def never_fired(self) -> Reports:
        """The rules that did nothing; `.sentence` says why."""
        done: Reports = self._ask(lambda: [report for report in self._up().server.driver.rules.reports() if not report.fired])
        return done

    def _report(self, name: str) -> RuleReport:
        return self._up().server.driver.rules.registry.report(name)


class RuleBlock(Generic[R, Text, Number, Report]):
    """A rule that holds while a block lasts. `name` finds it in the journal and in reports."""

    def __init__(self, broker: Faults[R, Any, Text, Any, Number, Report, Any], rule: dict[str, Any], must_fire: bool) -> None:
        self._broker = broker
        self._rule = rule
        self._must_fire = must_fire
        self._entered = False
        self.name: str = rule["name"]

    def __del__(self) -> None:
        if not self._entered:
            warnings.warn("fault(...) was never entered and broke nothing: use it in a `with` block, or add_fault", RuntimeWarning, 2)

    @property
    def report(self) -> Report:
        """The rule as it stands."""
        return self._broker.fault_report(self.name)

    @property
    def fired(self) -> Number:
        """How often it did something."""
        done: Number = self._broker._ask(lambda: self._broker._report(self.name).fired)
        return done

    def release(self) -> R:
        """Let go of what the rule holds."""
        return self._broker.release_fault(self.name)

    def wait(self, hits: int = 1, timeout: float = 10.0) -> R:
        """Wait until it fired so often. Raises FaultNotSeen."""
        return self._broker.wait_for_fault(self.name, hits, timeout)

    def _judge(self, report: RuleReport, error: BaseException | None) -> None:
        # An error out of the block says more than a rule that did not fire because of it.
        if error is None and self._must_fire and not report.fired:
            raise FaultNeverFired(report.sentence)


class FaultBlock(RuleBlock[None, str, int, "RuleReport"]):
    """A fault rule that holds while a `with` block lasts; `name` finds it in the journal and in reports."""

    def __enter__(self) -> FaultBlock:
        self._entered = True
        self.name = self._broker.add_fault(**self._rule)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        # Before the rule goes: a removed one has no report.
        report = self.report
        self._broker.remove_fault(self.name)
        self._judge(report, error)


class AsyncFaultBlock(RuleBlock[Later[None], Later[str], Later[int], Later["RuleReport"]]):
    """The same while an `async with` block lasts."""

    async def __aenter__(self) -> AsyncFaultBlock:
        self._entered = True
        self.name = await self._broker.add_fault(**self._rule)
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        report = await self.report
        await self._broker.remove_fault(self.name)
        self._judge(report, error)
