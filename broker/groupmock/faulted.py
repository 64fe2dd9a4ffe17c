"""What a test says to break a cluster, as methods of `Broker` and, as coroutines, of its asyncio twin (docs/how-to/faults.md)."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Mapping
from concurrent.futures import Future
from types import TracebackType
from typing import TYPE_CHECKING, Any

from .calls import Calls
from .core.events import Command
from .faults.plan import Plan, make_plan, make_rule, parse_plan, plain, read_plan

if TYPE_CHECKING:
    from .faults.registry import RuleReport

PlanLike = str | Mapping[str, Any] | Plan
"""A file, the name of a ready plan, TOML text (it has line ends), or the same as plain data."""


class FaultNeverFired(AssertionError):
    """A rule did nothing. The text has the call that came nearest and the condition that kept the rule from it."""


class FaultNotSeen(AssertionError):
    """A rule did not fire as often as was waited for, in time. The text has what came nearest."""


def as_plan(plan: PlanLike) -> Plan:
    """Whatever names a plan. Raises BadPlan."""
    if isinstance(plan, Plan):
        return plan
    if isinstance(plan, str):
        return parse_plan(plan) if "\n" in plan else read_plan(plan)
    return make_plan(dict(plan))


class FaultBlock:
    """A rule that holds while a `with` block lasts. `name` finds it in the journal and in reports."""

    def __init__(self, broker: Faulted, rule: dict[str, Any], must_fire: bool) -> None:
        self._broker = broker
        self._rule = rule
        self._must_fire = must_fire
        self.name: str = rule.get("name", "")

    def __enter__(self) -> FaultBlock:
        self.name = self._broker.add_fault(**self._rule)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        report = self.report
        self._broker.remove_fault(self.name)
        if error is None and self._must_fire and not report.fired:
            raise FaultNeverFired(report.sentence)

    @property
    def report(self) -> RuleReport:
        """The rule as it stands."""
        return self._broker.fault_report(self.name)

    @property
    def fired(self) -> int:
        """How often it did something."""
        return self.report.fired

    def release(self) -> None:
        """Let go of what the rule holds."""
        self._broker.release_fault(self.name)

    def wait(self, fired: int = 1, timeout: float = 10.0) -> None:
        """Block until it fired so often. Raises FaultNotSeen."""
        self._broker.wait_for_fault(self.name, fired, timeout)


class Faulted(Calls):
    """The blocking calls."""

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
        """A rule for a `with` block. `do`: the kind, or a table with it; see docs/how-to/faults.md. BadPlan when it cannot be.

        A block whose rule never fired raises FaultNeverFired at its end, unless `must_fire` is False.
        """
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
        """Register a rule that stays until it is removed; returns its name."""
        table: dict[str, Any] = {"when": dict(when), "do": {"kind": do} if isinstance(do, str) else dict(do)}
        table |= {key: value for key, value in (("stage", stage), ("times", times), ("name", name or None)) if value is not None}
        rule = plain(make_rule(table))

        def add() -> str:
            running = self._up()
            running.submit(Command("add_faults", {"rules": [rule]}))
            return running.server.driver.rules.reports()[-1].name

        return self._call(add)

    def load_plan(self, plan: PlanLike) -> list[str]:
        """Register every rule of a plan, or none; returns their names. Its seed, if it has one, is the chances' from now on."""
        read = as_plan(plan)
        return self._call(lambda: self._up().load_plan(read))

    def remove_fault(self, name: str) -> None:
        """Forget a rule; what it held goes on. UnknownRule (a LookupError) when there is none."""
        self._command("remove_fault", name=name)

    def release_fault(self, name: str) -> None:
        """Let go of what a rule holds; the rule stays."""
        self._command("release_fault", name=name)

    def clear_faults(self) -> None:
        """Forget every rule."""
        self._command("clear_faults")

    @property
    def faults(self) -> list[RuleReport]:
        """Every rule as it stands: counts, what it holds, how near it came."""
        return self._call(lambda: self._up().server.driver.rules.reports())

    def fault_report(self, name: str) -> RuleReport:
        """One rule as it stands."""
        return self._call(lambda: self._up().server.driver.rules.registry.report(name))

    def never_fired(self) -> list[RuleReport]:
        """The rules that did nothing; `.sentence` says why."""
        return [report for report in self.faults if not report.fired]

    def wait_for_fault(self, name: str, fired: int = 1, timeout: float = 10.0) -> None:
        """Block until a rule fired so often. Raises FaultNotSeen."""
        self._fault_seen(name, fired, timeout).result()

    def _fault_seen(self, name: str, fired: int, timeout: float) -> Future[None]:
        return asyncio.run_coroutine_threadsafe(self._until_fired(name, fired, timeout), self._on())

    async def _until_fired(self, name: str, fired: int, timeout: float) -> None:
        running = self._up()
        registry = running.server.driver.rules.registry
        struck = asyncio.Event()
        end = asyncio.get_running_loop().time() + timeout
        with running.watching(struck.set, frozenset(("fault",))):
            while registry.report(name).fired < fired:
                struck.clear()
                try:
                    async with asyncio.timeout_at(end):
                        await struck.wait()
                except TimeoutError:
                    report = registry.report(name)
                    raise FaultNotSeen(f"{report.sentence}; {fired} times were waited for, {timeout:g} s (seed {running.seed})") from None


class AsyncFaultBlock:
    """A rule that holds while an `async with` block lasts."""

    def __init__(self, block: FaultBlock) -> None:
        self._block = block

    async def __aenter__(self) -> AsyncFaultBlock:
        await asyncio.to_thread(self._block.__enter__)
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await asyncio.to_thread(self._block.__exit__, kind, error, trace)

    @property
    def name(self) -> str:
        """The rule's name."""
        return self._block.name

    @property
    def fired(self) -> int:
        """How often it did something (blocks for a turn of the server's loop)."""
        return self._block.fired

    @property
    def report(self) -> RuleReport:
        """The rule as it stands (blocks for a turn of the server's loop)."""
        return self._block.report

    async def release(self) -> None:
        """Let go of what the rule holds."""
        await asyncio.to_thread(self._block.release)

    async def wait(self, fired: int = 1, timeout: float = 10.0) -> None:
        """Until it fired so often. Raises FaultNotSeen."""
        await asyncio.to_thread(self._block.wait, fired, timeout)


class AsyncFaulted(ABC):
    """The same names as `Faulted`, as coroutines where those block."""

    @abstractmethod
    def _blocking(self) -> Faulted:
        """The broker whose twin this is."""

    def fault(self, when: Mapping[str, Any], do: Mapping[str, Any] | str, **more: Any) -> AsyncFaultBlock:
        """See Broker.fault."""
        return AsyncFaultBlock(self._blocking().fault(when, do, **more))

    async def add_fault(self, when: Mapping[str, Any], do: Mapping[str, Any] | str, **more: Any) -> str:
        """See Broker.add_fault."""
        return await asyncio.to_thread(self._blocking().add_fault, when, do, **more)

    async def load_plan(self, plan: PlanLike) -> list[str]:
        """See Broker.load_plan."""
        return await asyncio.to_thread(self._blocking().load_plan, plan)

    async def remove_fault(self, name: str) -> None:
        """See Broker.remove_fault."""
        await asyncio.to_thread(self._blocking().remove_fault, name)

    async def release_fault(self, name: str) -> None:
        """See Broker.release_fault."""
        await asyncio.to_thread(self._blocking().release_fault, name)

    async def clear_faults(self) -> None:
        """See Broker.clear_faults."""
        await asyncio.to_thread(self._blocking().clear_faults)

    @property
    def faults(self) -> list[RuleReport]:
        """See Broker.faults (blocks for a turn of the server's loop)."""
        return self._blocking().faults

    async def wait_for_fault(self, name: str, fired: int = 1, timeout: float = 10.0) -> None:
        """See Broker.wait_for_fault."""
        await asyncio.to_thread(self._blocking().wait_for_fault, name, fired, timeout)


__all__ = ["AsyncFaultBlock", "AsyncFaulted", "FaultBlock", "FaultNeverFired", "FaultNotSeen", "Faulted", "PlanLike", "as_plan"]
