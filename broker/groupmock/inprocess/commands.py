"""The commands to the cluster are methods of `Broker`, which take times in seconds.

Each method submits one command of the core (`core.steering`), which becomes a row of the journal. A command that is not possible raises
CannotSteer (a ValueError) with the reason and the possible values, and changes nothing.
"""

from __future__ import annotations

from typing import Final

from ..core.groups.view import State
from .calls import Calls
from .lasting import Undo
from .values import ConfigValues, config_texts, given_of, milliseconds

__tracebackhide__: Final = True


class Commands(Calls):
    """Commands about topics, groups, members, transactions, nodes and time."""

    def create_topic(
        self, name: str, partitions: int = 1, replication_factor: int | None = None, configs: ConfigValues | None = None
    ) -> None:
        """Create a topic with `partitions`. Raises CannotSteer if it exists, or if its name or a config is not valid."""
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
        """Release a group from its hold. Its waiting requests and timers continue now."""
        self._command("release_group", group=group)

    def expire(self, group: str, member: str) -> None:
        """Expire a member's session now. `member` is a member id, an instance id, or a client id that only one member has."""
        self._command("expire_member", group=group, member=member)

    def fence(self, group: str, instance: str) -> None:
        """Fence the process of a static member (FENCED_INSTANCE_ID), as if another one with its instance id had joined."""
        self._command("fence_instance", group=group, instance=instance)

    def fence_member(self, group: str, member: str) -> None:
        """Give a member of a consumer or streams group an epoch that its process does not know. Its next heartbeat is answered with
        FENCED_MEMBER_EPOCH, and it joins again. A static member is refused until its session is over (UNRELEASED_INSTANCE_ID), as in
        Kafka. Raises CannotSteer for members of the classic protocol."""
        self._command("fence_member", group=group, member=member)

    def rebalance(self, group: str, reason: str = "a test wants it") -> None:
        """Start a rebalance of a group now."""
        self._command("force_rebalance", group=group, reason=reason)

    def set_generation(self, group: str, generation: int | None = None) -> None:
        """Set a group's generation (None: the next one) without telling its members. Their requests are refused with ILLEGAL_GENERATION,
        and they join again. Raises CannotSteer while the group rebalances."""
        self._command("set_generation", group=group, generation=generation)

    def choose_leader(self, group: str, member: str) -> None:
        """Choose the leader of the next generation. The member need not have joined yet."""
        self._command("choose_leader", group=group, member=member)

    def order_joins(self, group: str, *names: str) -> None:
        """Admit the JoinGroups of these clients in this order, and all others after them."""
        self._command("order_joins", group=group, names=list(names))

    def complete_delay(self, group: str) -> None:
        """End a group's join phase now, as if its delay were over."""
        self._command("complete_delay", group=group)

    def freeze(self, group: str, member: str, seconds: float | None = None) -> Undo:
        """Delay a member's requests for `seconds`, until `thaw`, or the end of a `with` block. Its session timeout runs on."""
        self._command("freeze_member", group=group, member=member, ms=milliseconds(seconds))
        return Undo(lambda: self.thaw(group, member))

    def thaw(self, group: str, member: str) -> None:
        """Handle the delayed requests of a frozen member now."""
        self._command("thaw_member", group=group, member=member)

    def abort_transaction(self, transactional_id: str) -> None:
        """Abort the open transaction of an id now, as at its timeout. Raises CannotSteer if none is open."""
        self._command("abort_transaction", transactional_id=transactional_id)

    def fence_transaction(self, transactional_id: str) -> None:
        """Fence the producer of a transactional id, as a newer producer does. An open transaction is aborted."""
        self._command("fence_transaction", transactional_id=transactional_id)

    def expire_transactional_id(self, transactional_id: str) -> None:
        """Forget a transactional id now, as after transactional.id.expiration.ms. Raises CannotSteer while a transaction is open."""
        self._command("expire_transactional_id", transactional_id=transactional_id)

    def allow(
        self,
        principal: str,
        *operations: str,
        topic: str | None = None,
        group: str | None = None,
        transactional_id: str | None = None,
        cluster: bool = False,
        prefixed: bool = False,
        host: str = "*",
    ) -> None:
        """Allow operations ("READ", "WRITE", "ALL", ...) on one resource to a principal ("alice", or "User:alice", "*" for everybody).
        `prefixed`: on every name that begins like that. Raises CannotSteer if the cluster has no authorizer."""
        more = given_of(topic=topic, group=group, transactional_id=transactional_id, cluster=cluster, prefixed=prefixed)
        self._command("allow", principal=principal, operations=list(operations), host=host, **more)

    def deny(
        self,
        principal: str,
        *operations: str,
        topic: str | None = None,
        group: str | None = None,
        transactional_id: str | None = None,
        cluster: bool = False,
        prefixed: bool = False,
        host: str = "*",
        seconds: float | None = None,
    ) -> None:
        """Deny operations on one resource to a principal, whatever is allowed elsewhere, for `seconds` (None: until `remove_acls`). The
        other arguments are those of `allow`."""
        more = given_of(topic=topic, group=group, transactional_id=transactional_id, cluster=cluster, prefixed=prefixed)
        more |= given_of(ms=milliseconds(seconds))
        self._command("deny", principal=principal, operations=list(operations), host=host, **more)

    def remove_acls(
        self,
        principal: str | None = None,
        *operations: str,
        topic: str | None = None,
        group: str | None = None,
        transactional_id: str | None = None,
        cluster: bool = False,
        permission: str | None = None,
    ) -> None:
        """Remove the rules of `allow` and `deny` that fit all given arguments, of one `permission` ("ALLOW" or "DENY") or both. Without
        arguments these are all rules."""
        more = given_of(topic=topic, group=group, transactional_id=transactional_id, cluster=cluster, permission=permission)
        self._command("remove_acls", **given_of(principal=principal, operations=list(operations)), **more)

    def expire_locks(
        self,
        group: str,
        topic: str | None = None,
        partition: int | None = None,
        *,
        member: str | None = None,
        first: int = 0,
        last: int | None = None,
    ) -> None:
        """End the locks of records that members of a share group have acquired: they are available again, or archived after their last
        delivery. Restrict it to a topic, a partition, a member, or the records from `first` to `last`."""
        where = given_of(topic=topic, partition=partition, member=member, last=last)
        self._command("expire_locks", group=group, first=first, **where)

    def release_records(self, group: str, member: str) -> None:
        """Make all records available again that a member of a share group has acquired."""
        self._command("release_records", group=group, member=member)

    def archive_records(self, group: str, topic: str, partition: int, first: int, last: int | None = None) -> None:
        """Archive records of a share group that were delivered and are not done: the record `first`, or those from `first` to `last`."""
        end = first if last is None else last
        self._command("archive_records", group=group, topic=topic, partition=partition, first=first, last=end)

    def hold_deliveries(self, group: str) -> Undo:
        """Deliver no records to a share group until `resume_deliveries`, or until the end of a `with` block."""
        self._command("hold_deliveries", group=group)
        return Undo(lambda: self.resume_deliveries(group))

    def resume_deliveries(self, group: str) -> None:
        """Deliver records to a share group again."""
        self._command("resume_deliveries", group=group)

    def hold_markers(self, transactional_id: str, seconds: float | None = None) -> Undo:
        """Delay the markers that end an id's transactions for `seconds`, until `release_markers`, or the end of a `with` block.
        Readers with read_committed wait for them."""
        self._command("hold_markers", transactional_id=transactional_id, ms=milliseconds(seconds))
        return Undo(lambda: self.release_markers(transactional_id))

    def release_markers(self, transactional_id: str) -> None:
        """Write the delayed markers of a transactional id now, and delay no others."""
        self._command("release_markers", transactional_id=transactional_id)

    def move_coordinator(self, group: str, node: int | None = None, loading: float = 0) -> None:
        """Move a group's coordinator to a node (None: the next one). There it loads for `loading` seconds."""
        self._command("move_coordinator", group=group, node=node, loading_ms=milliseconds(loading))

    def move_transaction_coordinator(self, transactional_id: str, node: int | None = None, loading: float = 0) -> None:
        """Move the coordinator of a transactional id to a node (None: the next one). There it loads for `loading` seconds."""
        place = {"transactional_id": transactional_id, "node": node}
        self._command("move_transaction_coordinator", **place, loading_ms=milliseconds(loading))

    def unload_coordinator(self, group: str) -> None:
        """Leave a group without a coordinator until its coordinator is moved to a node."""
        self._command("unload_coordinator", group=group)

    def move_leader(self, topic: str, partition: int, node: int) -> None:
        """Make a node the leader of a partition."""
        self._command("move_leader", topic=topic, partition=partition, node=node)

    def move_leaders(self, node: int | None = None, to: int | None = None, topic: str | None = None) -> None:
        """Move all partition leaders of a node, of a topic, or of the whole cluster at once. With `to` None each goes to its next replica.
        """
        self._command("move_leaders", node=node, to=to, topic=topic)

    def move_coordinators(self, node: int | None = None, to: int | None = None, loading: float = 0) -> None:
        """Move the coordinators of all groups, or those of a node, at once. They load for `loading` seconds at their new nodes."""
        self._command("move_coordinators", node=node, to=to, loading_ms=milliseconds(loading))

    def lag_replica(self, topic: str, partition: int, node: int) -> Undo:
        """Keep a replica behind from now on until `catch_up_replica`, or the end of a `with` block."""
        self._command("lag_replica", topic=topic, partition=partition, node=node)
        return Undo(lambda: self.catch_up_replica(topic, partition, node))

    def catch_up_replica(self, topic: str, partition: int, node: int) -> None:
        """Let a replica that was kept behind catch up with the log."""
        self._command("catch_up_replica", topic=topic, partition=partition, node=node)

    def truncate_log(self, topic: str, partition: int, offset: int) -> None:
        """Remove the records of a partition from an offset on; the next record gets that offset. The leader epoch stays."""
        self._command("truncate_log", topic=topic, partition=partition, offset=offset)

    def elect_unclean_leader(self, topic: str, partition: int, node: int | None = None, offset: int | None = None) -> None:
        """Make a replica the leader whose log ends at `offset`, or where `lag_replica` stopped it: later records are lost, and the leader
        epoch grows by one. `node` None is the first replica that lags, or else the next one."""
        self._command("elect_unclean_leader", topic=topic, partition=partition, node=node, offset=offset)

    def compact(self, topic: str, partition: int | None = None, roll: bool = False) -> None:
        """Compact a topic's log now: the newest record of each key stays. `roll` begins a new segment first, because the active one is not
        compacted."""
        self._command("compact_topic", topic=topic, partition=partition, roll=roll)

    def set_next_offset(self, topic: str, partition: int, offset: int, start: int | None = None) -> None:
        """Set the offset of a partition's next record to a higher one. A log without records then begins at `start`, or at `offset` if
        `start` is None."""
        self._command("set_next_offset", topic=topic, partition=partition, offset=offset, start=start)

    def retain(self, topic: str, partition: int | None = None) -> None:
        """Apply retention.ms and retention.bytes to a topic's log now."""
        self._command("retain_topic", topic=topic, partition=partition)

    def add_node(self, rack: str | None = None, port: int | None = None) -> int:
        """Add a node that listens from now on, and return its id. `port` None is the next port, or a free one if all nodes have free ones.
        """
        return self._ask(lambda: self._up().add_node(rack, port))

    def stop_node(self, node: int, clean: bool = True, loading: float = 0) -> None:
        """Stop a node of the cluster. `clean` lets it answer waiting requests first. Its coordinators load for `loading` seconds at their
        new nodes."""
        self._command("stop_node", node=node, clean=clean, loading_ms=milliseconds(loading))

    def start_node(self, node: int, loading: float = 0) -> None:
        """Start a stopped node again, or end a stall."""
        self._command("start_node", node=node, loading_ms=milliseconds(loading))

    def stall_node(self, node: int, seconds: float | None = None) -> Undo:
        """Stop all traffic of a node for `seconds`, until `start_node`, or the end of a `with` block. Connections stay open."""
        self._command("stall_node", node=node, ms=milliseconds(seconds))
        return Undo(lambda: self.start_node(node))

    def set_user(self, name: str, password: str) -> None:
        """Let a user authenticate with this password from now on, by PLAIN and SCRAM. Its connections are not touched."""
        self._command("set_user", name=name, password=password)

    def remove_user(self, name: str) -> None:
        """Remove a user with all credentials. Its connections go on until they have to authenticate again."""
        self._command("remove_user", name=name)

    def step(self, seconds: float) -> None:
        """Advance the server's clock while clients stay connected. Every timer on the way fires at its own time."""
        self._command("step_clock", ms=milliseconds(seconds))

    def jump_timer(self, timer: str, *subject: str) -> None:
        """Fire one timer of the core now: ("join", group), ("sync", group), ("session", group, member id), ..."""
        self._command("jump_timer", timer=timer, subject=list(subject))
