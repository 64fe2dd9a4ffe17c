"""What a test says to steer a cluster, as methods of `Broker` and, as coroutines, of `AsyncBroker`. Times are seconds.

Each is one command of the core (`core.steering`), hence a row of the journal. What cannot be done raises CannotSteer (a ValueError)
that says why and what there is; nothing is changed then.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Coroutine, Generator
from types import TracebackType
from typing import Any, Final, Generic, TypeVar

from groupmock_codec.units import MS_PER_S

from ..core.groups.view import State
from .calls import Calls, ConfigValues, R, config_texts

__tracebackhide__: Final = True
Lasting = TypeVar("Lasting")
"""What a method gives whose effect may end with a block: `Undo`, or `AsyncLasting`."""


def _ms(seconds: float | None) -> int | None:
    return None if seconds is None else round(seconds * MS_PER_S)


class Undo:
    """Something that lasts until the end of a `with` block, or until it is undone by its counterpart."""

    def __init__(self, undo: Callable[[], None]) -> None:
        self._undo = undo

    def __enter__(self) -> None:
        """It lasts already."""

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._undo()


class AsyncUndo:
    """The same for an `async with` block, of something that was awaited before it."""

    def __init__(self, undo: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._undo = undo

    async def __aenter__(self) -> None:
        """It lasts already."""

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._undo()


class AsyncLasting(Coroutine[Any, Any, AsyncUndo]):
    """Something that begins with an `async with` block and lasts until its end: `async with broker.hold("kitchen", "Stable"): ...`. Awaited
    instead, it lasts until it is undone by its counterpart."""

    def __init__(self, begin: Coroutine[Any, Any, AsyncUndo]) -> None:
        self._begin = begin
        self._undo: AsyncUndo | None = None

    async def __aenter__(self) -> None:
        self._undo = await self._begin

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        assert self._undo is not None
        await self._undo.__aexit__(kind, error, trace)

    def __await__(self) -> Generator[Any, Any, AsyncUndo]:
        return self._begin.__await__()

    def send(self, value: Any, /) -> Any:
        """As a coroutine's."""
        return self._begin.send(value)

    def throw(self, *what: Any) -> Any:
        """As a coroutine's."""
        return self._begin.throw(*what)

    def close(self) -> None:
        """As a coroutine's."""
        self._begin.close()


class Commands(Calls[R], Generic[R, Lasting]):
    """Topics, groups, members, nodes, time."""

    @abstractmethod
    def _lasting(self, do: Callable[[], R], undo: Callable[[], R]) -> Lasting:
        """Something done, and how it is undone."""

    def create_topic(
        self, name: str, partitions: int = 1, replication_factor: int | None = None, configs: ConfigValues | None = None
    ) -> R:
        """Create a topic. CannotSteer when it exists, the name is none, or a config is not what it can be."""
        more = {"replication_factor": replication_factor, "configs": config_texts(configs) or None}
        return self._command(
            "create_topic", name=name, partitions=partitions, **{name: each for name, each in more.items() if each is not None}
        )

    def grow_topic(self, name: str, partitions: int) -> R:
        """Raise a topic's number of partitions to `partitions`."""
        return self._command("grow_topic", name=name, partitions=partitions)

    def delete_topic(self, name: str) -> R:
        """Delete a topic and the offsets committed for it."""
        return self._command("delete_topic", name=name)

    def hold(self, group: str, state: State) -> Lasting:
        """Keep a group in a state from now on (or from when it gets there) until `release`, or the end of a `with` block."""
        return self._lasting(lambda: self._command("hold_group", group=group, state=state), lambda: self.release(group))

    def release(self, group: str) -> R:
        """Let a held group go on: what waited happens now."""
        return self._command("release_group", group=group)

    def expire(self, group: str, member: str) -> R:
        """Let a member's session expire now. `member`: member id, instance id, or a client id that one member alone has."""
        return self._command("expire_member", group=group, member=member)

    def fence(self, group: str, instance: str) -> R:
        """Take a static member's place: its present process is fenced (FENCED_INSTANCE_ID)."""
        return self._command("fence_instance", group=group, instance=instance)

    def fence_member(self, group: str, member: str) -> R:
        """Put a member of a consumer group at an epoch that its process does not know: its next heartbeat is FENCED_MEMBER_EPOCH, and it
        joins again; a static member is refused until its session is over (UNRELEASED_INSTANCE_ID), as by Kafka. CannotSteer for members
        of the classic protocol."""
        return self._command("fence_member", group=group, member=member)

    def rebalance(self, group: str, reason: str = "a test wants it") -> R:
        """Let a group rebalance now."""
        return self._command("force_rebalance", group=group, reason=reason)

    def set_generation(self, group: str, generation: int | None = None) -> R:
        """Give a group another generation (None: the next one) behind its members' backs: what they send with theirs is refused with
        ILLEGAL_GENERATION, and they join again. CannotSteer while it rebalances."""
        return self._command("set_generation", group=group, generation=generation)

    def choose_leader(self, group: str, member: str) -> R:
        """Choose who leads the next generation; the member need not be there yet."""
        return self._command("choose_leader", group=group, member=member)

    def order_joins(self, group: str, *names: str) -> R:
        """Let the JoinGroups of these clients in in this order, all others after them."""
        return self._command("order_joins", group=group, names=list(names))

    def complete_delay(self, group: str) -> R:
        """End a group's join phase now, as if its delay were over."""
        return self._command("complete_delay", group=group)

    def freeze(self, group: str, member: str, seconds: float | None = None) -> Lasting:
        """Let a member's requests wait, unseen, for so long, until `thaw`, or until the end of a `with` block. Its session runs on."""
        ms = _ms(seconds)
        return self._lasting(lambda: self._command("freeze_member", group=group, member=member, ms=ms), lambda: self.thaw(group, member))

    def thaw(self, group: str, member: str) -> R:
        """Let a frozen member go on."""
        return self._command("thaw_member", group=group, member=member)

    def abort_transaction(self, transactional_id: str) -> R:
        """Abort the open transaction of an id now, as at its timeout. CannotSteer where none is open."""
        return self._command("abort_transaction", transactional_id=transactional_id)

    def fence_transaction(self, transactional_id: str) -> R:
        """Take a transactional id from its producer, as a newer one does; an open transaction is aborted."""
        return self._command("fence_transaction", transactional_id=transactional_id)

    def expire_transactional_id(self, transactional_id: str) -> R:
        """Forget a transactional id now. CannotSteer while a transaction is open."""
        return self._command("expire_transactional_id", transactional_id=transactional_id)

    def hold_markers(self, transactional_id: str, seconds: float | None = None) -> Lasting:
        """Keep the ends of an id's transactions from their readers for so long, until `release_markers`, or the end of a `with` block."""
        held: dict[str, Any] = {"transactional_id": transactional_id, "ms": _ms(seconds)}
        return self._lasting(lambda: self._command("hold_markers", **held), lambda: self.release_markers(transactional_id))

    def release_markers(self, transactional_id: str) -> R:
        """Let the markers of a transactional id go: those that waited are written now."""
        return self._command("release_markers", transactional_id=transactional_id)

    def move_coordinator(self, group: str, node: int | None = None, loading: float = 0) -> R:
        """Move a group's coordinator to a node (None: the next one), which loads for so many seconds."""
        return self._command("move_coordinator", group=group, node=node, loading_ms=_ms(loading))

    def move_transaction_coordinator(self, transactional_id: str, node: int | None = None, loading: float = 0) -> R:
        """Move the coordinator of a transactional id to a node (None: the next one), which loads for so many seconds."""
        wanted = {"transactional_id": transactional_id, "node": node, "loading_ms": _ms(loading)}
        return self._command("move_transaction_coordinator", **wanted)

    def unload_coordinator(self, group: str) -> R:
        """Let nobody coordinate a group until its coordinator is moved somewhere."""
        return self._command("unload_coordinator", group=group)

    def move_leader(self, topic: str, partition: int, node: int) -> R:
        """Let a node lead a partition."""
        return self._command("move_leader", topic=topic, partition=partition, node=node)

    def move_leaders(self, node: int | None = None, to: int | None = None, topic: str | None = None) -> R:
        """Move all partition leaders at once: those of a node, of a topic, or of the whole cluster; `to` None: each to its next replica."""
        return self._command("move_leaders", node=node, to=to, topic=topic)

    def move_coordinators(self, node: int | None = None, to: int | None = None, loading: float = 0) -> R:
        """Move the coordinators of all groups at once, or those of a node; they load for so many seconds where they go."""
        return self._command("move_coordinators", node=node, to=to, loading_ms=_ms(loading))

    def lag_replica(self, topic: str, partition: int, node: int) -> Lasting:
        """Keep a replica behind from now on until `catch_up_replica`, or the end of a `with` block."""
        place = {"topic": topic, "partition": partition, "node": node}
        return self._lasting(lambda: self._command("lag_replica", **place), lambda: self._command("catch_up_replica", **place))

    def catch_up_replica(self, topic: str, partition: int, node: int) -> R:
        """Let a replica that was kept behind have all of the log again."""
        return self._command("catch_up_replica", topic=topic, partition=partition, node=node)

    def compact(self, topic: str, partition: int | None = None, roll: bool = False) -> R:
        """Compact a topic's log now: of each key the newest record stays. `roll`: begin a new segment first, as the active one stays."""
        return self._command("compact_topic", topic=topic, partition=partition, roll=roll)

    def set_next_offset(self, topic: str, partition: int, offset: int, start: int | None = None) -> R:
        """Let a partition's next record get a higher offset; a log without records begins at `start`, None: there too."""
        return self._command("set_next_offset", topic=topic, partition=partition, offset=offset, start=start)

    def retain(self, topic: str, partition: int | None = None) -> R:
        """Apply retention.ms and retention.bytes to a topic's log now."""
        return self._command("retain_topic", topic=topic, partition=partition)

    def stop_node(self, node: int, clean: bool = True, loading: float = 0) -> R:
        """Stop a node. `clean`: who waits is answered first; `loading`: how long its coordinators load where they go."""
        return self._command("stop_node", node=node, clean=clean, loading_ms=_ms(loading))

    def start_node(self, node: int, loading: float = 0) -> R:
        """Start a stopped node again, or end a stall."""
        return self._command("start_node", node=node, loading_ms=_ms(loading))

    def stall_node(self, node: int, seconds: float | None = None) -> Lasting:
        """Let nothing in or out of a node for so long, until `start_node`, or until the end of a `with` block."""
        ms = _ms(seconds)
        return self._lasting(lambda: self._command("stall_node", node=node, ms=ms), lambda: self._command("start_node", node=node))

    def step(self, seconds: float) -> R:
        """Move the server's clock on while clients stay connected: every timer on the way fires at its own time."""
        return self._command("step_clock", ms=_ms(seconds))

    def jump_timer(self, timer: str, *subject: str) -> R:
        """Let one timer fire now: ("join", group), ("sync", group), ("session", group, member id), ..."""
        return self._command("jump_timer", timer=timer, subject=list(subject))
