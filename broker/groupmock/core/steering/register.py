"""The table of all commands: name -> arguments and function. Errors are sentences that say what exists instead.

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
    """There is no such command; the text names the existing ones."""


class CannotSteer(ValueError):
    """A command cannot be done, and nothing was changed. The text gives the reason and what can be done."""


class BadArguments(CannotSteer):
    """An argument is missing, unknown or of the wrong type."""


class NoSuch(CannotSteer):
    """The command names something that does not exist."""


class NotNow(CannotSteer):
    """The named thing exists, but its state does not allow the command."""


class Arguments(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The arguments of a command. A subclass's docstring is the description of the command."""


Run = TypeVar("Run", bound=Callable[..., Any])


class SteeringCommand(NamedTuple):
    """A command: its arguments and its function. With `on_rules` it changes fault rules, and `run` takes (registry, arguments); otherwise
    it changes the cluster, and `run` takes (cluster, arguments, turn)."""

    arguments: type[Arguments]
    run: Callable[..., Any]
    on_rules: bool = False


COMMANDS: dict[str, SteeringCommand] = {}
"""The commands that are loaded so far; `find` and `load` load the others."""


def steers(name: str, arguments: type[Arguments], on_rules: bool = False) -> Callable[[Run], Run]:
    def register(run: Run) -> Run:
        COMMANDS[name] = SteeringCommand(arguments, run, on_rules)
        return run

    return register


def load() -> dict[str, SteeringCommand]:
    """Import every file of this folder, each of which registers its commands, and return the whole table."""
    from . import __path__ as folder

    for module in iter_modules(folder):
        import_module(f".{module.name}", __package__)
    return COMMANDS


def find(name: str) -> SteeringCommand:
    """Return the command with that name. If no loaded file has it, all others are loaded. Raises UnknownCommand."""
    if name not in COMMANDS and name not in load():
        raise UnknownCommand(f"no command {name!r}: there are {', '.join(sorted(COMMANDS))}")
    return COMMANDS[name]


def checked(name: str, arguments: dict[str, Any]) -> Arguments:
    """Return the arguments as the command's struct. Raises UnknownCommand, BadArguments."""
    try:
        return msgspec.convert(arguments, find(name).arguments)
    except msgspec.ValidationError as wrong:
        raise BadArguments(f"{name}: {wrong}") from None


def steer(cluster: Cluster, event: Command, turn: Turn) -> None:
    """Check the arguments and run the command. Raises UnknownCommand, CannotSteer, with nothing changed."""
    arguments, command = checked(event.name, event.arguments), COMMANDS[event.name]
    if command.on_rules:
        raise UnknownCommand(f"{event.name} changes fault rules, which a driver has and a core has not: submit it to the driver")
    command.run(cluster, arguments, turn)
