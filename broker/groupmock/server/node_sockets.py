"""Open the sockets of a cluster's nodes and give the addresses that clients are told, for nodes of the start and added nodes."""

from __future__ import annotations

import socket

from ..config.resolve import Config
from ..core.identity import Node
from ..net.listen import bracketed, listen


def port_of(config: Config, node: int) -> int:
    """Return the port on which a node has to listen. 0 means any free port."""
    return config.port + node - config.first_node_id if config.port else 0


def listener_of(config: Config, port: int) -> socket.socket:
    """Open a socket that listens on the port. Raises OSError, whose text says where and what to do."""
    try:
        return listen(config.host, port)
    except OSError as failure:
        remedy = "choose another --port, or --port 0 for a free one" if port else "choose another --host"
        raise OSError(f"cannot listen on {bracketed(config.host)}:{port}: {failure.strerror}: {remedy}") from None


def node_at(config: Config, node: int, listener: socket.socket, rack: str | None) -> Node:
    """Return the node with the address that clients are told. Advertised ports count up from the first node's, as node ids do."""
    port: int = listener.getsockname()[1]
    listens = f"{bracketed(config.host)}:{port}" if config.advertise is not None else None
    if config.advertise is not None and config.advertise.port is not None:
        port = config.advertise.port + node - config.first_node_id
    return Node(node, config.advertise.host if config.advertise else config.host, port, rack, listens)
