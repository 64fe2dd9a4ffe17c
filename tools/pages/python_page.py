"""Write the page of the Python interface: fixtures, marker, options, every method and property of `Broker`, their results and
exceptions."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from typing import Annotated, Any, get_args, get_origin

import msgspec

import groupmock
from groupmock import AsyncBroker, AsyncFaultBlock, AsyncLasting, Broker, FaultBlock, State, Undo
from groupmock.data.lines import Form
from groupmock.data.seed import Source
from groupmock.inprocess.broker import Topics
from groupmock.inprocess.commands import Commands
from groupmock.inprocess.data import Data
from groupmock.inprocess.fault_rules import Faults
from groupmock.inprocess.groups import Groups
from groupmock.inprocess.setting_keywords import SettingKeywords
from groupmock.inprocess.values import ConfigValues, Json, PlanLike
from groupmock.server.group_wait import Assignment
from groupmock.server.streams_wait import TaskAssignment
from groupmock_clients import pytest_plugin

from .markdown import cell, notice, table

HEAD = """Everything on this page is `from groupmock import ...`; pytest finds the fixtures by itself. `Broker` blocks, `AsyncBroker` has
the same names as coroutines. Both are typed (`py.typed`): a suite that uses them passes `mypy --strict`. Times are seconds."""
ENVIRONMENT = """The fixtures obey the environment as `groupmock serve` does ([settings](settings.md)), where neither `groupmock_config`
nor the marker nor an option says something else: `GROUPMOCK_SEED=7`, `GROUPMOCK_PROFILE=kafka-3.9`, `GROUPMOCK_LOG=text`,
`GROUPMOCK_SET_GROUP_MAX_SIZE=3`. `GROUPMOCK_JOURNAL=DIR/` keeps the journal of every cluster that a fixture starts; of
`GROUPMOCK_JOURNAL=FILE` the last has that name, and earlier ones are FILE.1, FILE.2, ... (with xdist, each worker's name stands before the
suffix)."""
TWIN = """`async with Broker(...) as broker`, fixtures `groupmock_async` and `groupmock_server_async`, or `AsyncBroker(broker)`. A name is
a property in both or a method in both, with the same parameters. What is known without asking the cluster is plain in both: {plain}. All
the rest is a coroutine: `await broker.produce(...)`, `(await broker.groups)["kitchen"]`. What is a `with` block of `Broker` is an `async
with` block here: `async with broker.hold(...)`, `async with broker.fault(...)`. Awaited instead, a hold lasts until its `release`.

Nothing happens before a coroutine is awaited. One that is dropped is a RuntimeWarning ("coroutine 'AsyncBroker.hold' was never awaited"),
and an error for mypy (`unused-coroutine`; of what may be a block: `unused-awaitable`) and pyright (`reportUnusedCoroutine`)."""
PARTS = {
    Groups: "Groups, stories, waits",
    Data: "What stands in the cluster",
    Commands: "Steering",
    Faults: "Fault rules",
    Broker: "Starting and stopping",
}
ALIASES: dict[str, object] = {
    "Topics": Topics, "PlanLike": PlanLike, "SeedSource": Source, "ConfigValues": ConfigValues, "Form": Form, "Assignment": Assignment,
    "TaskAssignment": TaskAssignment,
    "Json": Json,
}  # fmt: skip
"""The type aliases that the page's signatures use."""
STATES = ", ".join(f"`{state}`" for state in get_args(State))


def text() -> str:
    lines = [notice("python"), "# Python: fixtures and Broker", "", HEAD, "", "## Fixtures", "", *_fixtures()]
    lines += ["", "## `Broker`", "", inspect.cleandoc(Broker.__doc__ or ""), "", "```python", _call("Broker", Broker.__init__), "```"]
    known = len(SettingKeywords.__annotations__)
    lines += ["", f"`by_keyword` are Kafka's settings with underscores, {known} of them: [settings](settings.md).", ""]
    lines += [*table(["type", "is"], ([f"`{name}`", cell(f"`{_shown(alias)}`")] for name, alias in ALIASES.items()))]
    for home, title in PARTS.items():
        lines += ["", f"### {title}", "", *_members(home)]
    lines += ["", "## `AsyncBroker`", "", TWIN.format(plain=", ".join(f"`{name}`" for name in plain_names()))]
    lines += ["", "## Blocks", "", *_blocks()]
    lines += ["", "## What they give", "", f"`State` is one of {STATES}.", "", *_values()]
    lines += ["", "## Errors", "", *table(["error", "is a", "when"], _errors())]
    return "\n".join(lines) + "\n"


def public(kind: type) -> dict[str, Any]:
    """Return the public methods and properties of a class by name, without evaluating properties."""
    return {name: inspect.getattr_static(kind, name) for name in dir(kind) if not name.startswith("_")}


def plain_names() -> list[str]:
    """Return the properties that both brokers (`Broker` and `AsyncBroker`) have and that do not ask the cluster."""
    members = public(AsyncBroker).items()
    return [name for name, member in members if isinstance(member, property) and not inspect.iscoroutinefunction(member.fget)]


def _fixtures() -> Iterator[str]:
    tree = ast.parse(inspect.getsource(pytest_plugin))
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and any("fixture" in ast.unparse(each) for each in node.decorator_list):
            scope = "session" if "session" in ast.unparse(node.decorator_list[0]) else "test"
            result = re.sub(r"^Iterator\[(.*)\]$", r"\1", ast.unparse(node.returns or ast.Constant(None)))
            yield f"`{node.name}`: `{result}`, one for each {scope}"
            yield f":   {_flat(ast.get_docstring(node))}"
            yield ""
    yield "`@pytest.mark.groupmock(...)` above a test:"
    yield ""
    yield from table(["argument", "meaning"], ([f"`{name}`", cell(about)] for name, about in pytest_plugin.MARKS.items()))
    yield ""
    yield from table(["option", "meaning"], _options())
    yield ""
    yield ENVIRONMENT


def _options() -> Iterator[list[str]]:
    class Listing:
        """Records the options that a plug-in declares."""

        def __init__(self) -> None:
            self.said: list[list[str]] = []

        def getgroup(self, name: str) -> Listing:
            return self

        def addoption(self, name: str, *, metavar: str, help: str) -> None:
            self.said.append([f"`{name} {metavar}`", help])

        def addini(self, name: str, help: str, type: str, default: Any = False) -> None:
            self.said.append([f"`{name}` in pytest's configuration", help + (" (default true)" if default is True else "")])

    listing: Any = Listing()
    pytest_plugin.pytest_addoption(listing)
    yield from listing.said


def _members(home: type) -> Iterator[str]:
    for name, member in vars(home).items():
        if name.startswith("_") or not (inspect.isfunction(member) or isinstance(member, property)):
            continue
        yield f"#### {name}"
        yield ""
        gives = (member.fget if isinstance(member, property) else member).__annotations__["return"]
        yield "```python"
        yield f"{name}: {gives}" if isinstance(member, property) else f"{_call(name, member)} -> {gives}"
        yield "```"
        yield ""
        yield _doc(member)
        yield ""


def _call(name: str, function: Any) -> str:
    """Format the signature of a method in lines that fit the page's width."""
    parts: list[str] = []
    star = False
    for parameter in list(inspect.signature(function).parameters.values())[1:]:
        if parameter.kind is parameter.KEYWORD_ONLY and not star:
            parts.append("*")
            star = True
        default = "" if parameter.default is parameter.empty else f" = {parameter.default!r}"
        stars = "**" if parameter.kind is parameter.VAR_KEYWORD else "*" if parameter.kind is parameter.VAR_POSITIONAL else ""
        star = star or stars == "*"
        parts.append(f"{stars}{parameter.name}: {parameter.annotation}{default}")
    whole = f"{name}({', '.join(parts)})"
    return whole if len(whole) < 100 else "\n".join([f"{name}(", *(f"    {part}," for part in parts), ")"])


def _blocks() -> Iterator[str]:
    for kind, twin in ((Undo, AsyncLasting), (FaultBlock, AsyncFaultBlock)):
        yield f"### `{kind.__name__}`, `{twin.__name__}`"
        yield ""
        yield _flat(kind.__doc__) + " " + _flat(twin.__doc__)
        yield ""
        for name, member in public(kind).items():
            call = f"`{name}`" if isinstance(member, property) else f"`{_call(name, member)}`"
            yield f"- {call}: {_flat(_doc(member))}"
        yield ""


def _values() -> Iterator[str]:
    for name in groupmock.__all__:
        kind = getattr(groupmock, name)
        if not (inspect.isclass(kind) and issubclass(kind, msgspec.Struct)) or name == "Plan":
            continue
        yield f"### `{name}`"
        yield ""
        yield _flat(kind.__doc__)
        yield ""
        yield from (_field(field.name, field.type) for field in msgspec.structs.fields(kind))
        yield ""


def _field(name: str, hint: Any) -> str:
    """Format a field with its type, and with the description in its annotation, if any."""
    if get_origin(hint) is not Annotated:
        return f"- `{name}`: `{_shown(hint)}`"
    kind, about = get_args(hint)
    return f"- `{name}`: `{_shown(kind)}`, {about.description}"


def _errors() -> Iterator[list[str]]:
    for name in groupmock.__all__:
        kind = getattr(groupmock, name)
        if inspect.isclass(kind) and issubclass(kind, Exception):
            yield [f"`{name}`", f"`{kind.__bases__[0].__name__}`", cell(kind.__doc__ or "")]


def _doc(member: Any) -> str:
    return inspect.cleandoc(member.__doc__ or "")


def _flat(docstring: str | None) -> str:
    return " ".join((docstring or "").split())


def _shown(hint: Any) -> str:
    told = getattr(hint, "__forward_arg__", None) or (hint.__name__ if isinstance(hint, type) and not get_args(hint) else str(hint))
    return "None" if hint is type(None) else re.sub(r"ForwardRef\('([^']*)'\)", r"\1", re.sub(r"\b(?:\w+\.)+(\w+)", r"\1", told))
