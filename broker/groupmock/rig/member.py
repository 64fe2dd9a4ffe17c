"""A scripted member of a classic group sends one request for each method call, at the moment of the call.

It never acts by itself: no heartbeat and no second JoinGroup, unless the script sends it. docs/kafka/group-protocol.md says what a real
client does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from groupmock_codec import APIS
from groupmock_codec.api_keys import FIND_COORDINATOR, HEARTBEAT, JOIN_GROUP, LEAVE_GROUP, OFFSET_COMMIT, SYNC_GROUP
from groupmock_codec.embedded.consumer import decode_assignment
from groupmock_codec.error_codes import MEMBER_ID_REQUIRED
from groupmock_codec.messages.k10_find_coordinator import FindCoordinatorRequest

from .classic_member import ClassicMember, Partition, dealt_in_turn

if TYPE_CHECKING:
    from groupmock_codec.declare import Message

    from .ask import Ask
    from .core_rig import CoreRig


class Member(ClassicMember):
    """A scripted member of a classic group with its own connection to a rig. `assignment` is that of its last SyncGroup response."""

    def __init__(self, rig: CoreRig, client_id: str, *, group: str = "g", **how: Any) -> None:
        """Pass `how` to `ClassicMember`, and look for the group's coordinator if there are several nodes."""
        super().__init__(group, **how)
        self.rig, self.client_id = rig, client_id
        self._join: Ask | None = None
        self._sync: Ask | None = None
        self.node = 1
        if len(rig.core.environment.identity.nodes) > 1:
            find = FindCoordinatorRequest(key=group)
            self.node = rig.ask(FIND_COORDINATOR, self._newest(FIND_COORDINATOR, find), find).node_id

    def join(self) -> Ask:
        """Send a JoinGroup, and after MEMBER_ID_REQUIRED a second one with the member id. The request is parked until the join phase
        ends."""
        self.generation = -1  # A test script that continues while the member rejoins is in no generation.
        ask = self._send(JOIN_GROUP, self.join_request())
        if ask.answer is not None and self.joined(ask.answer) == MEMBER_ID_REQUIRED:
            ask = self._send(JOIN_GROUP, self.join_request())
        self._join = ask
        ask.then(self.joined)
        return ask

    def sync(self, assignments: Mapping[str, bytes] | None = None) -> Ask:
        """Send a SyncGroup, which is parked until the leader's SyncGroup has come. A leader without `assignments` assigns the subscribed
        partitions in turn, unless it was told to skip the assignment."""
        assert self._join is not None and self._join.answer is not None, f"{self.client_id} has not joined: {self._join!r}"
        if assignments is None and self.assigns:
            assignments = dealt_in_turn(self.members, self.rig.core.cluster.topics.partitions)
        self._sync = self._send(SYNC_GROUP, self.sync_request(assignments))
        return self._sync

    def beat(self) -> int:
        """Send a Heartbeat and return the error code of its answer."""
        return self._send(HEARTBEAT, self.heartbeat_request()).error

    def commit(self, offsets: Mapping[Partition, int], generation: int | None = None) -> Ask:
        """Send an OffsetCommit that maps (topic, partition) to an offset. It is answered when the clock moves, with `rig.sleep(0)` at
        the earliest. `generation` replaces the current one, as in a thread that has not noticed a rebalance."""
        return self._send(OFFSET_COMMIT, self.commit_request(offsets, generation))

    def leave(self, reason: str | None = None) -> Ask:
        return self._send(LEAVE_GROUP, self.leave_request(reason))

    def hang_up(self) -> None:
        """Close the member's connection without LeaveGroup. The group notices when the session expires. The next request uses a new
        connection."""
        self.rig.hang_up(self.client_id)

    @property
    def assignment(self) -> list[Partition]:
        """The partitions of the member's last SyncGroup response. Raises AssertionError while that is not answered."""
        assert self._sync is not None and self._sync.answer is not None, f"{self.client_id} has no assignment: {self._sync!r}"
        decoded = decode_assignment(self._sync.answer.assignment)
        return [(each.topic, index) for each in decoded.assigned_partitions for index in each.partitions]

    def _send(self, key: int, message: Any) -> Ask:
        version = self._newest(key, message)
        return self.rig.send(key, version, message, connection=self.client_id, client_id=self.client_id, node=self.node)

    def _newest(self, key: int, message: Message) -> int:
        """Return the newest version that the cluster serves and that has every field of the message."""
        (served,) = (row.highest for row in self.rig.core.environment.identity.advertised if row.key == key)
        return APIS[key].request.newest(message, served)
