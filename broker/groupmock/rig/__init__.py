"""The test rig is a cluster without sockets, event loop or real time, for unit tests of code that speaks Kafka's group protocol.

    CoreRig   the pure core on a virtual clock: messages in, messages out; scripted members
    WireRig   the whole driver on a virtual clock: a client's bytes in, the server's bytes out
    KeptRows  the rows of its journal
    ClassicMember, ConsumerMember, StreamsMember  the state and requests of a group member, without IO
    wire      the client's side of a connection without IO, and clients for real connections, blocking or asyncio

docs/how-to/rig.md has a runnable example of each. A server never loads this package.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .ask import Ask
    from .classic_member import ClassicMember
    from .consumer_member import ConsumerMember
    from .core_rig import CoreRig
    from .dice import FedDice
    from .kept_rows import KeptRows
    from .making import make_core
    from .member import Member
    from .streams_member import StreamsMember
    from .watch import Watch
    from .wire_rig import Wire, WireRig

HOMES = {
    "Ask": "ask",
    "ClassicMember": "classic_member",
    "ConsumerMember": "consumer_member",
    "CoreRig": "core_rig",
    "FedDice": "dice",
    "KeptRows": "kept_rows",
    "Member": "member",
    "StreamsMember": "streams_member",
    "Watch": "watch",
    "Wire": "wire_rig",
    "WireRig": "wire_rig",
    "make_core": "making",
}
__all__ = [
    "Ask", "ClassicMember", "ConsumerMember", "CoreRig", "FedDice", "KeptRows", "Member", "StreamsMember", "Watch", "Wire", "WireRig",
    "make_core",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import a name of this package on first use, so that a program that only frames requests does not import the core."""
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{HOMES[name]}", __name__), name)
