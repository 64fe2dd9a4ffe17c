"""What a test says to steer a cluster, as methods of `Broker` and, as coroutines, of its asyncio twin. Times are seconds.

Each is one command of the core (`core.steering`), hence a row of the journal. What cannot be done raises CannotSteer (a ValueError)
that says why and what there is; nothing is changed then.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator
from concurrent.futures import Future
from types import TracebackType
from typing import Any

from .calls import Calls

State = str
"""Kafka's name of a group's state: Empty, PreparingRebalance, CompletingRebalance, Stable."""


def _ms(seconds: float | None) -> int | None:
    return None if seconds is None else round(seconds * 1000)


class Undo:
    """Something that lasts until the end of a `with` block, or until it is undone by its counterpart."""

    def __init__(self, broker: Steered, command: str, arguments: dict[str, Any]) -> None:
        self._broker = broker
        self._command = command
        self._arguments = arguments

    def __enter__(self) -> None:
        """It lasts already."""

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._broker._command(self._command, **self._arguments)


class Steered(Calls):
    """The blocking calls."""

    def hold(self, group: str, state: State) -> Undo:
        """Keep a group in a state from now on (or from when it gets there) until `release`, or the end of a `with` block."""
        self._command("hold_group", group=group, state=state)
        return Undo(self, "release_group", {"group": group})

    def release(self, group: str) -> None:
        """Let a held group go on: what waited happens now."""
        self._command("release_group", group=group)

    def expire(self, group: str, member: str) -> None:
        """Let a member's session expire now. `member`: member id, instance id, or a client id that one member alone has."""
        self._command("expire_member", group=group, member=member)

    def fence(self, group: str, instance: str) -> None:
        """Take a static member's place: its present process is fenced (FENCED_INSTANCE_ID)."""
        self._command("fence_instance", group=group, instance=instance)

    def rebalance(self, group: str, reason: str = "a test wants it") -> None:
        """Let a group rebalance now."""
        self._command("force_rebalance", group=group, reason=reason)

    def choose_leader(self, group: str, member: str) -> None:
        """Choose who leads the next generation; the member need not be there yet."""
        self._command("choose_leader", group=group, member=member)

    def order_joins(self, group: str, *names: str) -> None:
        """Let the JoinGroups of these clients in in this order, all others after them."""
        self._command("order_joins", group=group, names=list(names))

    def complete_delay(self, group: str) -> None:
        """End a group's join phase now, as if its delay were over."""
        self._command("complete_delay", group=group)

    def freeze(self, group: str, member: str, seconds: float | None = None) -> Undo:
        """Let a member's requests wait, unseen, for so long, until `thaw`, or until the end of a `with` block. Its session runs on."""
        self._command("freeze_member", group=group, member=member, ms=_ms(seconds))
        return Undo(self, "thaw_member", {"group": group, "member": member})

    def thaw(self, group: str, member: str) -> None:
        """Let a frozen member go on."""
        self._command("thaw_member", group=group, member=member)

    def move_coordinator(self, group: str, node: int | None = None, loading: float = 0) -> None:
        """Move a group's coordinator to a node (None: the next one), which loads for so many seconds."""
        self._command("move_coordinator", group=group, node=node, loading_ms=_ms(loading))

    def unload_coordinator(self, group: str) -> None:
        """Let nobody coordinate a group until its coordinator is moved somewhere."""
        self._command("unload_coordinator", group=group)

    def move_leader(self, topic: str, partition: int, node: int) -> None:
        """Let a node lead a partition."""
        self._command("move_leader", topic=topic, partition=partition, node=node)

    def stop_node(self, node: int, clean: bool = True, loading: float = 0) -> None:
        """Stop a node. `clean`: who waits is answered first; `loading`: how long its coordinators load where they go."""
        self._command("stop_node", node=node, clean=clean, loading_ms=_ms(loading))

    def start_node(self, node: int, loading: float = 0) -> None:
        """Start a stopped node again, or end a stall."""
        self._command("start_node", node=node, loading_ms=_ms(loading))

    def stall_node(self, node: int, seconds: float | None = None) -> Undo:
        """Let nothing in or out of a node for so long, until `start_node`, or until the end of a `with` block."""
        self._command("stall_node", node=node, ms=_ms(seconds))
        return Undo(self, "start_node", {"node": node})

    def step(self, seconds: float) -> None:
        """Move the server's clock on while clients stay connected: every timer on the way fires at its own time."""
        self._command("step_clock", ms=_ms(seconds))

    def jump_timer(self, timer: str, *subject: str) -> None:
        """Let one timer fire now: ("join", group), ("sync", group), ("session", group, member id), ..."""
        self._command("jump_timer", timer=timer, subject=list(subject))


Send = Callable[..., Future[None]]
"""(command, **arguments): run a command on the server's thread."""


class AsyncUndo:
    """`await` it, or `async with` it: then it is undone at the end of the block."""

    def __init__(self, send: Send, do: tuple[str, dict[str, Any]], undo: tuple[str, dict[str, Any]]) -> None:
        self._send = send
        self._do = do
        self._undo = undo

    def __await__(self) -> Generator[Any, None, None]:
        return asyncio.wrap_future(self._send(self._do[0], **self._do[1])).__await__()

    async def __aenter__(self) -> None:
        await self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await asyncio.wrap_future(self._send(self._undo[0], **self._undo[1]))


class AsyncSteered(ABC):
    """The same names as coroutines; `hold`, `freeze` and `stall_node` are awaited or used with `async with`."""

    @abstractmethod
    def _send(self, command: str, **arguments: Any) -> Future[None]:
        """See Calls."""

    async def _command(self, command: str, **arguments: Any) -> None:
        await asyncio.wrap_future(self._send(command, **arguments))

    def hold(self, group: str, state: State) -> AsyncUndo:
        """See Broker.hold."""
        return AsyncUndo(self._send, ("hold_group", {"group": group, "state": state}), ("release_group", {"group": group}))

    async def release(self, group: str) -> None:
        """See Broker.release."""
        await self._command("release_group", group=group)

    async def expire(self, group: str, member: str) -> None:
        """See Broker.expire."""
        await self._command("expire_member", group=group, member=member)

    async def fence(self, group: str, instance: str) -> None:
        """See Broker.fence."""
        await self._command("fence_instance", group=group, instance=instance)

    async def rebalance(self, group: str, reason: str = "a test wants it") -> None:
        """See Broker.rebalance."""
        await self._command("force_rebalance", group=group, reason=reason)

    async def choose_leader(self, group: str, member: str) -> None:
        """See Broker.choose_leader."""
        await self._command("choose_leader", group=group, member=member)

    async def order_joins(self, group: str, *names: str) -> None:
        """See Broker.order_joins."""
        await self._command("order_joins", group=group, names=list(names))

    async def complete_delay(self, group: str) -> None:
        """See Broker.complete_delay."""
        await self._command("complete_delay", group=group)

    def freeze(self, group: str, member: str, seconds: float | None = None) -> AsyncUndo:
        """See Broker.freeze."""
        named = {"group": group, "member": member}
        return AsyncUndo(self._send, ("freeze_member", {**named, "ms": _ms(seconds)}), ("thaw_member", named))

    async def thaw(self, group: str, member: str) -> None:
        """See Broker.thaw."""
        await self._command("thaw_member", group=group, member=member)

    async def move_coordinator(self, group: str, node: int | None = None, loading: float = 0) -> None:
        """See Broker.move_coordinator."""
        await self._command("move_coordinator", group=group, node=node, loading_ms=_ms(loading))

    async def unload_coordinator(self, group: str) -> None:
        """See Broker.unload_coordinator."""
        await self._command("unload_coordinator", group=group)

    async def move_leader(self, topic: str, partition: int, node: int) -> None:
        """See Broker.move_leader."""
        await self._command("move_leader", topic=topic, partition=partition, node=node)

    async def stop_node(self, node: int, clean: bool = True, loading: float = 0) -> None:
        """See Broker.stop_node."""
        await self._command("stop_node", node=node, clean=clean, loading_ms=_ms(loading))

    async def start_node(self, node: int, loading: float = 0) -> None:
        """See Broker.start_node."""
        await self._command("start_node", node=node, loading_ms=_ms(loading))

    def stall_node(self, node: int, seconds: float | None = None) -> AsyncUndo:
        """See Broker.stall_node."""
        return AsyncUndo(self._send, ("stall_node", {"node": node, "ms": _ms(seconds)}), ("start_node", {"node": node}))

    async def step(self, seconds: float) -> None:
        """See Broker.step."""
        await self._command("step_clock", ms=_ms(seconds))

    async def jump_timer(self, timer: str, *subject: str) -> None:
        """See Broker.jump_timer."""
        await self._command("jump_timer", timer=timer, subject=list(subject))
