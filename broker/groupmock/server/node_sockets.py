"""Open the sockets of a cluster's nodes and give the addresses that clients are told, for nodes of the start and added nodes."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..config.option_values import ListenerSpec
from ..config.resolve import Config
from ..core.events import PLAINTEXT
from ..core.identity import Listener, Node
from ..net.listen import bracketed, listen

if TYPE_CHECKING:
    from collections.abc import Sequence


def doors_of(config: Config) -> tuple[ListenerSpec, ...]:
    """Return the listeners of each node, of which the first one is the node's own address."""
    return config.listeners or (ListenerSpec(PLAINTEXT, PLAINTEXT, config.host, config.port),)


def port_of(config: Config, door: ListenerSpec, node: int) -> int:
    """Return the port on which a listener of a node has to listen. 0 means any free port."""
    return door.port + node - config.first_node_id if door.port else 0


def open_doors(config: Config, node: int, ports: Sequence[int] = ()) -> dict[str, socket.socket]:
    """Open the sockets of a node's listeners, by name. `ports` replace those of the configuration. Raises OSError, whose text says where
    and what to do; then nothing is left open."""
    opened: dict[str, socket.socket] = {}
    try:
        for place, door in enumerate(doors_of(config)):
            opened[door.name] = _listening(door, ports[place] if ports else port_of(config, door, node), bool(config.listeners))
    except OSError:
        close(opened)
        raise
    return opened


def close(sockets: Mapping[str, socket.socket]) -> None:
    for each in sockets.values():
        each.close()


def node_at(config: Config, node: int, sockets: Mapping[str, socket.socket], rack: str | None) -> Node:
    """Return the node with the address of its first listener, which clients are told."""
    first = listeners_at(config, node, sockets)[0]
    return Node(node, first.host, first.port, rack, first.listens)


def listeners_at(config: Config, node: int, sockets: Mapping[str, socket.socket]) -> list[Listener]:
    """Return the node's listeners with the addresses that clients are told. Advertised ports count up from the first node's, as node ids
    do."""
    found = []
    for door in doors_of(config):
        port: int = sockets[door.name].getsockname()[1]
        listens = f"{bracketed(door.host)}:{port}" if config.advertise is not None else None
        if config.advertise is not None and config.advertise.port is not None:
            port = config.advertise.port + node - config.first_node_id
        found.append(Listener(door.name, door.protocol, node, config.advertise.host if config.advertise else door.host, port, listens))
    return found


def _listening(door: ListenerSpec, port: int, named: bool) -> socket.socket:
    try:
        return listen(door.host, port)
    except OSError as failure:
        remedy = "choose another --port, or --port 0 for a free one" if port else "choose another --host"
        if named:
            remedy = f"choose another {'port, or 0 for a free one,' if port else 'host'} for --listener {door.name}"
        raise OSError(f"cannot listen on {bracketed(door.host)}:{port}: {failure.strerror}: {remedy}") from None
