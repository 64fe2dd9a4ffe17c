"""Orders to the cluster, as methods of `Broker`. Times are seconds.

Each is one command of the core (`core.steering`), hence a row of the journal. What cannot be done raises CannotSteer (a ValueError)
that says why and what there is; nothing is changed then.
"""

from __future__ import annotations

from typing import Final

from ..core.groups.view import State
from .calls import Calls
from .lasting import Undo
from .values import ConfigValues, config_texts, milliseconds

__tracebackhide__: Final = True


class Commands(Calls):
    """Topics, groups, members, nodes, time."""

    def create_topic(
        self, name: str, partitions: int = 1, replication_factor: int | None = None, configs: ConfigValues | None = None
    ) -> None:
        """Create a topic. CannotSteer when it exists, the name is none, or a config is not what it can be."""
        more = {"replication_factor": replication_factor, "configs": config_texts(configs) or None}
        given = {option: value for option, value in more.items() if value is not None}
        self._command("create_topic", name=name, partitions=partitions, **given)

    def grow_topic(self, name: str, partitions: int) -> None:
        """Raise a topic's number of partitions to `partitions`."""
        self._command("grow_topic", name=name, partitions=partitions)

    def delete_topic(self, name: str) -> None:
        """Delete a topic and the offsets committed for it."""
        self._command("delete_topic", name=name)

    def hold(self, group: str, state: State) -> Undo:
        """Keep a group in a state from now on (or from when it gets there) until `release`, or the end of a `with` block."""
        self._command("hold_group", group=group, state=state)
        return Undo(lambda: self.release(group))

    def release(self, group: str) -> None:
        """Let a held group go on: what waited happens now."""
        self._command("release_group", group=group)

    def expire(self, group: str, member: str) -> None:
        """Let a member's session expire now. `member`: member id, instance id, or a client id that one member alone has."""
        self._command("expire_member", group=group, member=member)

    def fence(self, group: str, instance: str) -> None:
        """Take a static member's place: its present process is fenced (FENCED_INSTANCE_ID)."""
        self._command("fence_instance", group=group, instance=instance)

    def fence_member(self, group: str, member: str) -> None:
        """Put a member of a consumer group at an epoch that its process does not know: its next heartbeat is FENCED_MEMBER_EPOCH, and it
        joins again; a static member is refused until its session is over (UNRELEASED_INSTANCE_ID), as by Kafka. CannotSteer for members
        of the classic protocol."""
        self._command("fence_member", group=group, member=member)

    def rebalance(self, group: str, reason: str = "a test wants it") -> None:
        """Let a group rebalance now."""
        self._command("force_rebalance", group=group, reason=reason)

    def set_generation(self, group: str, generation: int | None = None) -> None:
        """Give a group another generation (None: the next one) behind its members' backs: what they send with theirs is refused with
        ILLEGAL_GENERATION, and they join again. CannotSteer while it rebalances."""
        self._command("set_generation", group=group, generation=generation)

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
        """Let a member's requests wait, unseen, for so long, until `thaw`, or the end of a `with` block. Its session runs on."""
        self._command("freeze_member", group=group, member=member, ms=milliseconds(seconds))
        return Undo(lambda: self.thaw(group, member))

    def thaw(self, group: str, member: str) -> None:
        """Let a frozen member go on."""
        self._command("thaw_member", group=group, member=member)

    def abort_transaction(self, transactional_id: str) -> None:
        """Abort the open transaction of an id now, as at its timeout. CannotSteer where none is open."""
        self._command("abort_transaction", transactional_id=transactional_id)

    def fence_transaction(self, transactional_id: str) -> None:
        """Take a transactional id from its producer, as a newer one does; an open transaction is aborted."""
        self._command("fence_transaction", transactional_id=transactional_id)

    def expire_transactional_id(self, transactional_id: str) -> None:
        """Forget a transactional id now. CannotSteer while a transaction is open."""
        self._command("expire_transactional_id", transactional_id=transactional_id)

    def hold_markers(self, transactional_id: str, seconds: float | None = None) -> Undo:
        """Keep the ends of an id's transactions from their readers for so long, until `release_markers`, or the end
        of a `with` block."""
        self._command("hold_markers", transactional_id=transactional_id, ms=milliseconds(seconds))
        return Undo(lambda: self.release_markers(transactional_id))

    def release_markers(self, transactional_id: str) -> None:
        """Let the markers of a transactional id go: those that waited are written now."""
        self._command("release_markers", transactional_id=transactional_id)

    def move_coordinator(self, group: str, node: int | None = None, loading: float = 0) -> None:
        """Move a group's coordinator to a node (None: the next one), which loads for so many seconds."""
        self._command("move_coordinator", group=group, node=node, loading_ms=milliseconds(loading))

    def move_transaction_coordinator(self, transactional_id: str, node: int | None = None, loading: float = 0) -> None:
        """Move the coordinator of a transactional id to a node (None: the next one), which loads for so many seconds."""
        place = {"transactional_id": transactional_id, "node": node}
        self._command("move_transaction_coordinator", **place, loading_ms=milliseconds(loading))

    def unload_coordinator(self, group: str) -> None:
        """Let nobody coordinate a group until its coordinator is moved somewhere."""
        self._command("unload_coordinator", group=group)

    def move_leader(self, topic: str, partition: int, node: int) -> None:
        """Let a node lead a partition."""
        self._command("move_leader", topic=topic, partition=partition, node=node)

    def move_leaders(self, node: int | None = None, to: int | None = None, topic: str | None = None) -> None:
        """Move all partition leaders at once: those of a node, of a topic, or of the whole cluster; `to` None: each to its next replica."""
        self._command("move_leaders", node=node, to=to, topic=topic)

    def move_coordinators(self, node: int | None = None, to: int | None = None, loading: float = 0) -> None:
        """Move the coordinators of all groups at once, or those of a node; they load for so many seconds where they go."""
        self._command("move_coordinators", node=node, to=to, loading_ms=milliseconds(loading))

    def lag_replica(self, topic: str, partition: int, node: int) -> Undo:
        """Keep a replica behind from now on until `catch_up_replica`, or the end of a `with` block."""
        self._command("lag_replica", topic=topic, partition=partition, node=node)
        return Undo(lambda: self.catch_up_replica(topic, partition, node))

    def catch_up_replica(self, topic: str, partition: int, node: int) -> None:
        """Let a replica that was kept behind have all of the log again."""
        self._command("catch_up_replica", topic=topic, partition=partition, node=node)

    def compact(self, topic: str, partition: int | None = None, roll: bool = False) -> None:
        """Compact a topic's log now: of each key the newest record stays. `roll`: begin a new segment first, as the active one stays."""
        self._command("compact_topic", topic=topic, partition=partition, roll=roll)

    def set_next_offset(self, topic: str, partition: int, offset: int, start: int | None = None) -> None:
        """Let a partition's next record get a higher offset; a log without records begins at `start`, None: there too."""
        self._command("set_next_offset", topic=topic, partition=partition, offset=offset, start=start)

    def retain(self, topic: str, partition: int | None = None) -> None:
        """Apply retention.ms and retention.bytes to a topic's log now."""
        self._command("retain_topic", topic=topic, partition=partition)

    def add_node(self, rack: str | None = None, port: int | None = None) -> int:
        """Add a node, which listens from now on; its id. `port` None: the next one, or a free one where all nodes have free ones."""
        return self._ask(lambda: self._up().add_node(rack, port))

    def stop_node(self, node: int, clean: bool = True, loading: float = 0) -> None:
        """Stop a node. `clean`: who waits is answered first; `loading`: how long its coordinators load where they go."""
        self._command("stop_node", node=node, clean=clean, loading_ms=milliseconds(loading))

    def start_node(self, node: int, loading: float = 0) -> None:
        """Start a stopped node again, or end a stall."""
        self._command("start_node", node=node, loading_ms=milliseconds(loading))

    def stall_node(self, node: int, seconds: float | None = None) -> Undo:
        """Let nothing in or out of a node for so long, until `start_node`, or until the end of a `with` block."""
        self._command("stall_node", node=node, ms=milliseconds(seconds))
        return Undo(lambda: self.start_node(node))

    def step(self, seconds: float) -> None:
        """Move the server's clock on while clients stay connected: every timer on the way fires at its own time."""
        self._command("step_clock", ms=milliseconds(seconds))

    def jump_timer(self, timer: str, *subject: str) -> None:
        """Let one timer fire now: ("join", group), ("sync", group), ("session", group, member id), ..."""
        self._command("jump_timer", timer=timer, subject=list(subject))
