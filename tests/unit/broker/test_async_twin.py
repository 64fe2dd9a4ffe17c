"""`Broker` and `AsyncBroker` cannot drift: the same names of the same kind, with the same parameters. A dropped coroutine warns."""

from __future__ import annotations

import asyncio
import inspect
import warnings
from collections.abc import Callable
from pkgutil import iter_modules
from typing import Any

import pytest

import groupmock
from groupmock import AsyncBroker, AsyncFaultBlock, AsyncLasting, Broker, FaultBlock, GroupTimeout, Undo, inprocess
from groupmock.faults.registry import RuleReport
from groupmock.inprocess.both import InProcess
from groupmock.inprocess.calls import Later
from groupmock.inprocess.fault_rules import RuleBlock
from groupmock.journal.rows import CommandRow
from tools.pages.python_page import given as result
from tools.pages.python_page import public

KNOWN_WITHOUT_ASKING = {"advertised", "bootstrap", "seed", "audited", "control", "journal", "start_settings"}
"""They are properties of both, and ask the cluster for nothing."""
NAMES = {"RuleReport": RuleReport, "Broker": Broker, "AsyncBroker": AsyncBroker, "Json": object}
BLOCKS = {FaultBlock: AsyncFaultBlock, Undo: AsyncLasting}


def given(kind: type, generic: Any, member: Any) -> Any:
    """What a method or property of `kind` gives; of a function with `async`, a coroutine."""
    hint = result(kind, generic, member, NAMES)
    return Later[hint] if inspect.iscoroutinefunction(member) else hint  # type: ignore[valid-type]  # made while it runs


def drifted(one: type, other: type, generic: Any, plain: set[str]) -> list[str]:
    """Each name whose kind, parameters or result differ."""
    ones, others = public(one), public(other)
    found = sorted(ones.keys() ^ others.keys())
    for name in sorted(ones.keys() & others.keys()):
        mine, its = ones[name], others[name]
        if type(mine) is not type(its):
            found.append(f"{name}: {type(mine).__name__}, {type(its).__name__}")
            continue
        if callable(mine) and inspect.signature(mine).parameters != inspect.signature(its).parameters:
            found.append(f"{name}: parameters")
        here, there = given(one, generic, mine), given(other, generic, its)
        wanted = here if name in plain else BLOCKS[here] if here in BLOCKS else Later[AsyncBroker if here is Broker else here]
        if there != wanted:
            found.append(f"{name}: {there}, not {wanted}")
    return found


def test_both_brokers_have_the_same_names_of_the_same_kind() -> None:
    assert drifted(Broker, AsyncBroker, InProcess, KNOWN_WITHOUT_ASKING) == []


def test_blocks_have_the_same_names_of_the_same_kind() -> None:
    assert drifted(FaultBlock, AsyncFaultBlock, RuleBlock, set()) == []


def test_a_drift_is_found() -> None:
    class Drifting(AsyncBroker):
        @property
        def seed(self) -> Any:
            return "7"

        def journal(self) -> str:  # type: ignore[override]  # that is the drift
            return ""

        def expire(self, group: str) -> None:  # type: ignore[override]  # the same
            """Do it."""

        def more(self) -> None:
            """Have it."""

    Drifting.__orig_bases__ = AsyncBroker.__orig_bases__  # type: ignore[attr-defined]  # of every generic class
    found = [text.partition(":")[0] for text in drifted(Broker, Drifting, InProcess, KNOWN_WITHOUT_ASKING)]
    assert found == ["more", "expire", "expire", "journal", "seed"]


DROPPED: list[tuple[str, Callable[[AsyncBroker], object]]] = [
    ("hold", lambda broker: broker.hold("kitchen", "Stable")),
    ("freeze", lambda broker: broker.freeze("kitchen", "anna")),
    ("stall_node", lambda broker: broker.stall_node(1)),
    ("expire", lambda broker: broker.expire("kitchen", "anna")),
    ("produce", lambda broker: broker.produce("orders", "one coffee")),
    ("wait_for", lambda broker: broker.wait_for("kitchen", state="Stable")),
    ("add_fault", lambda broker: broker.add_fault({"api": "Heartbeat"}, "drop")),
    ("groups", lambda broker: broker.groups),
    ("clear", lambda broker: broker.clear()),
]


@pytest.mark.parametrize(("name", "forgets"), DROPPED, ids=[name for name, _ in DROPPED])
def test_a_forgotten_await_is_a_warning_that_names_it(name: str, forgets: Callable[[AsyncBroker], object]) -> None:
    with pytest.warns(RuntimeWarning, match=f"^coroutine 'AsyncBroker.{name}' was never awaited"):
        forgets(AsyncBroker(Broker()))


def test_a_block_that_nobody_enters_is_a_warning() -> None:
    with Broker() as broker:
        for each in (broker, AsyncBroker(broker)):
            with pytest.warns(RuntimeWarning, match=r"fault\(...\) was never entered and broke nothing"):
                each.fault({"api": "Heartbeat"}, "drop")


def test_what_is_awaited_warns_of_nothing() -> None:
    async def main() -> None:
        async with Broker(topics={"orders": 1}) as broker:
            await broker.hold("kitchen", "Stable")
            async with broker.hold("kitchen", "Empty"), broker.fault({"api": "Heartbeat"}, "drop", must_fire=False) as rule:
                assert (await rule.fired, (await rule.report).name) == (0, rule.name)
            await asyncio.create_task(broker.produce("orders", "one coffee"))
            assert await broker.groups == {}
            assert [report.name for report in await broker.never_fired()] == []
            await broker.clear()
            with pytest.raises(GroupTimeout):
                await asyncio.wait_for(broker.wait_for("kitchen", timeout=0.01), 10)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        asyncio.run(main())


@pytest.mark.parametrize("awaited", [False, True])
def test_every_block_of_the_blocking_broker_is_an_async_block(awaited: bool) -> None:
    async def main() -> None:
        async with AsyncBroker(Broker(topics="orders", nodes=2, default_replication_factor=2)) as broker:
            follower = (await broker.topics)["orders"].partitions[0].replicas[1]
            holding: list[Callable[[], AsyncLasting]] = [
                lambda: broker.hold("kitchen", "Stable"),
                lambda: broker.stall_node(1),
                lambda: broker.lag_replica("orders", 0, follower),
            ]
            for begin in holding:
                async with await begin() if awaited else begin():
                    pass
            ring = broker._up().ring
            assert ring is not None
            assert [row.name for row in ring.rows if isinstance(row, CommandRow)][1:] == [
                "hold_group", "release_group", "stall_node", "start_node", "lag_replica", "catch_up_replica",
            ]  # fmt: skip

    asyncio.run(main())


def test_every_module_of_the_brokers_hides_its_frames() -> None:
    modules = [info.name for info in iter_modules(inprocess.__path__) if info.name != "setting_keywords"]
    for name in modules:
        module = __import__(f"groupmock.inprocess.{name}", fromlist=["x"])
        assert module.__tracebackhide__, name


def test_no_public_signature_takes_anything() -> None:
    """`**more: Any` would swallow a misspelt keyword and tell no editor what there is."""
    for kind in (getattr(groupmock, name) for name in groupmock.__all__):
        if not inspect.isclass(kind):
            continue
        for name, member in [("__init__", kind.__init__), *public(kind).items()]:
            if inspect.isfunction(member) and member.__module__.startswith("groupmock"):
                for parameter in inspect.signature(member).parameters.values():
                    assert (parameter.kind, parameter.annotation) != (parameter.VAR_KEYWORD, "Any"), f"{kind.__name__}.{name}"


def test_what_the_package_names_is_where_it_says() -> None:
    """Imports for type checkers, and the table for when the program runs."""
    listed = {name for names in groupmock.HOMES.values() for name in names}
    assert listed | {"__version__"} == set(groupmock.__all__)
    assert set(dir(groupmock)) >= listed
