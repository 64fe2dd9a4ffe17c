"""The table of all commands maps a name to the command's arguments and function. Errors are sentences that say what exists instead.

Commands of the core are in the files of this folder. Those for fault rules are in `net.fault_commands`, because the driver has the rules;
they are in the same table, so that routes, checks and tests find every command in one place.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeVar

import msgspec
from msgspec import Meta

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..events import Command
    from ..turn import Turn

Group = Annotated[str, Meta(description="group id", min_length=1)]
MemberName = Annotated[str, Meta(description="member id, instance id, or a client id that one member alone has", min_length=1)]
TransactionalIdName = Annotated[str, Meta(description="transactional id", min_length=1)]
NodeId = Annotated[int, Meta(description="node id; the first is 1, or what --first-node-id says", ge=0)]
NodeOrAllId = Annotated[int, Meta(description="node id; -1, or 0 where no node has that id: the default of all nodes", ge=-1)]
TopicName = Annotated[str, Meta(description="topic name", min_length=1)]
Milliseconds = Annotated[int, Meta(ge=0, le=10**12)]


class UnknownCommand(ValueError):
    """No command has this name; the text lists the existing ones."""


class CannotSteer(ValueError):
    """A command cannot be done, and has changed nothing. The text gives the reason and what can be done."""


class BadArguments(CannotSteer):
    """An argument is missing, unknown or of the wrong type."""


class NoSuch(CannotSteer):
    ...


class NotNow(CannotSteer):
    """The object that the command names exists, but its state does not allow the command."""


class Arguments(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The base class of the arguments of a command. A subclass's docstring is the description of the command."""


Run = TypeVar("Run", bound=Callable[..., Any])


class SteeringCommand(NamedTuple):
    """A command with the type of its arguments and its function. With `on_rules` it changes fault rules, and `run` takes (registry,
    arguments); otherwise it changes the cluster, and `run` takes (cluster, arguments, turn)."""

    arguments: type[Arguments]
    run: Callable[..., Any]
    on_rules: bool = False


COMMANDS: dict[str, SteeringCommand] = {}
"""The commands that were imported so far; `find` and `load` import the others."""


def steers(name: str, arguments: type[Arguments], on_rules: bool = False) -> Callable[[Run], Run]:
    def register(run: Run) -> Run:
        COMMANDS[name] = SteeringCommand(arguments, run, on_rules)
        return run

    return register


def load() -> dict[str, SteeringCommand]:
    """Import every file of this folder, which registers its commands, and return the whole table."""
    from . import __path__ as folder

    for module in iter_modules(folder):
        import_module(f".{module.name}", __package__)
    return COMMANDS


def find(name: str) -> SteeringCommand:
    """Return the command with this name. If no loaded file has it, all others are loaded. Raises UnknownCommand."""
    if name not in COMMANDS and name not in load():
        raise UnknownCommand(f"no command {name!r}: there are {', '.join(sorted(COMMANDS))}")
    return COMMANDS[name]


def checked(name: str, arguments: dict[str, Any]) -> Arguments:
    """Return the arguments converted to the command's struct. Raises UnknownCommand, BadArguments."""
    try:
        return msgspec.convert(arguments, find(name).arguments)
    except msgspec.ValidationError as wrong:
        raise BadArguments(f"{name}: {wrong}") from None


def steer(cluster: Cluster, event: Command, turn: Turn) -> None:
    """Check the arguments and run the command on the cluster. Raises UnknownCommand, CannotSteer, with nothing changed."""
    arguments, command = checked(event.name, event.arguments), COMMANDS[event.name]
    if command.on_rules:
        raise UnknownCommand(f"{event.name} changes fault rules, which a driver has and a core has not: submit it to the driver")
    command.run(cluster, arguments, turn)
