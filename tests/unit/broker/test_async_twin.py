"""`AsyncBroker` has the same names and parameters as `Broker`, with coroutines in place of functions. A dropped coroutine warns."""

from __future__ import annotations

import asyncio
import inspect
import subprocess
import sys
import warnings
from collections.abc import Callable
from pkgutil import iter_modules

import pytest

import groupmock
from groupmock import AsyncBroker, AsyncFaultBlock, AsyncLasting, Broker, FaultBlock, GroupTimeout, inprocess
from groupmock.journal.rows import CommandRow
from tools.pages.python_page import public

KNOWN_WITHOUT_ASKING = {"advertised", "bootstrap", "seed", "audited", "control", "journal", "start_settings"}
"""Properties of both classes that do not ask the cluster for anything."""
BLOCKS = {"fault", "hold", "freeze", "hold_deliveries", "hold_markers", "lag_replica", "stall_node"}
"""Methods that return a context manager; all other methods of `AsyncBroker` are coroutine functions."""


@pytest.mark.parametrize(("kind", "twin"), [(Broker, AsyncBroker), (FaultBlock, AsyncFaultBlock)])
def test_the_twin_has_the_same_names_and_parameters_as_coroutines(kind: type, twin: type) -> None:
    ones, twins = public(kind), public(twin)
    assert ones.keys() == twins.keys()
    for name, one in ones.items():
        assert type(one) is type(twins[name]), name
        mine, its = (getattr(each, "fget", each) for each in (one, twins[name]))
        assert inspect.signature(mine).parameters == inspect.signature(its).parameters, name
        assert inspect.iscoroutinefunction(its) is (name not in KNOWN_WITHOUT_ASKING | BLOCKS), name
        assert its.__qualname__ == f"{twin.__name__}.{name}"


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
    """`**more: Any` would accept a misspelt keyword and show no parameters in an editor."""
    for kind in (getattr(groupmock, name) for name in groupmock.__all__):
        if not inspect.isclass(kind):
            continue
        for name, member in [("__init__", kind.__init__), *public(kind).items()]:
            if inspect.isfunction(member) and member.__module__.startswith("groupmock"):
                for parameter in inspect.signature(member).parameters.values():
                    assert (parameter.kind, parameter.annotation) != (parameter.VAR_KEYWORD, "Any"), f"{kind.__name__}.{name}"


def test_the_package_gives_every_name_that_it_lists() -> None:
    for name in groupmock.__all__:
        assert getattr(groupmock, name) is not None
    misspelt = "Brocker"
    with pytest.raises(AttributeError, match="has no attribute 'Brocker'"):
        getattr(groupmock, misspelt)


def test_a_blocking_call_loads_no_coroutines() -> None:
    code = "import sys, groupmock; groupmock.Broker(); print('groupmock.inprocess.async_broker' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
