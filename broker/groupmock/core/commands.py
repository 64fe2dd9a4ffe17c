"""Commands: what an operator, a test or the CLI does to the cluster, as events (rule 2: a human's click is a row too)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .cluster import Cluster
    from .events import Command
    from .turn import Turn

Run = Callable[["Cluster", dict[str, Any], "Turn"], None]
COMMANDS: dict[str, Run] = {}


class UnknownCommand(ValueError):
    """No such command; the text names those there are."""


def command(name: str) -> Callable[[Run], Run]:
    """Register a command under its name."""

    def register(run: Run) -> Run:
        COMMANDS[name] = run
        return run

    return register


def run(cluster: Cluster, event: Command, turn: Turn) -> None:
    """Perform one command: those of this file, and those of `steering`, which is loaded when the first of them comes."""
    if event.name in COMMANDS:
        COMMANDS[event.name](cluster, event.arguments, turn)
        return
    from . import steering

    if event.name not in steering.STEERS:
        raise UnknownCommand(f"no command {event.name!r}: there are {', '.join(sorted({*COMMANDS, *steering.STEERS}))}")
    steering.steer(cluster, event.name, event.arguments, turn)


@command("create_topic")
def create_topic(cluster: Cluster, arguments: dict[str, Any], turn: Turn) -> None:
    """{name, partitions}: create a topic."""
    cluster.topics.create(turn, arguments["name"], arguments["partitions"])


@command("grow_topic")
def grow_topic(cluster: Cluster, arguments: dict[str, Any], turn: Turn) -> None:
    """{name, partitions}: raise the number of partitions."""
    cluster.topics.grow(turn, arguments["name"], arguments["partitions"])


@command("delete_topic")
def delete_topic(cluster: Cluster, arguments: dict[str, Any], turn: Turn) -> None:
    """{name}: delete a topic and its offsets in every group."""
    cluster.topics.delete(turn, arguments["name"])


@command("append")
def append(cluster: Cluster, arguments: dict[str, Any], turn: Turn) -> None:
    """{topic, partition, batch}: append one record batch (bytes, magic 2), as a producer on the server's side would."""
    cluster.topics.append(turn, arguments["topic"], arguments["partition"], arguments["batch"])
