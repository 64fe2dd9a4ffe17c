"""A simulated consumer of a classic group, which joins, fetches, delivers and commits, and recovers from errors.

What it does when it is refused is what docs/kafka/clients.md says a stock client does, simplified: a connection to the coordinator, one to
each node it fetches from, no metadata of its own (who leads a partition is looked up in the cluster).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING, Any, Final

from groupmock.rig.classic_member import ClassicMember, Partition
from groupmock_codec.api_keys import HEARTBEAT, JOIN_GROUP, LEAVE_GROUP, OFFSET_FETCH, SYNC_GROUP
from groupmock_codec.error_codes import (
    FENCED_INSTANCE_ID,
    GROUP_MAX_SIZE_REACHED,
    ILLEGAL_GENERATION,
    INCONSISTENT_GROUP_PROTOCOL,
    MEMBER_ID_REQUIRED,
    REBALANCE_IN_PROGRESS,
    UNKNOWN_MEMBER_ID,
)
from groupmock_codec.messages.k09_offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopics
from groupmock_codec.messages.k13_leave_group import LeaveGroupRequest

from ..scenarios.virtual.assignors import Assignor, CooperativeSticky, Range
from .link import patience
from .process import BACKOFF_MS, GIVEN_UP_MS, ignored
from .reader import LOADING, Reader

if TYPE_CHECKING:
    from .plan import SimulatedClient
    from .world import World

ASSIGNORS: Final[dict[str, Callable[[], Assignor]]] = {"range": Range, "cooperative-sticky": CooperativeSticky}
MEMBERS_SINCE, GROUPS_SINCE = 3, 8
"""The first version of LeaveGroup whose request has a list of members (KIP-345), and that of OffsetFetch with a list of groups
(KIP-709)."""


class Consumer(ClassicMember, Reader):
    """A simulated consumer process whose member speaks the classic protocol."""

    def __init__(self, world: World, about: SimulatedClient) -> None:
        Reader.__init__(self, world, about)
        ClassicMember.__init__(
            self, about.group, topics=about.topics, instance_id=about.instance, protocols=about.protocols,
            session_ms=about.session_ms, rebalance_ms=about.rebalance_ms,
        )  # fmt: skip
        self.wanted = self.topics
        self.assignor: Assignor = ASSIGNORS[about.protocols[0]]()
        self.counts: dict[str, int] = {}
        self._heard = -1  # The last generation in which the member got an assignment.
        self._again = False

    # -- a process

    def _born(self) -> None:
        self.forget()
        self._lose()

    def leave(self) -> None:
        if self.alive and self.stable and self.coordinator is not None and self.world.up(self.coordinator):
            self.commit()
            alone = LeaveGroupRequest(group_id=self.group, member_id=self.member_id)
            self._ask(LEAVE_GROUP, self.leave_request() if self._version(LEAVE_GROUP) >= MEMBERS_SINCE else alone, ignored)
        self.kill(half_open=False)

    def subscribe(self, topics: list[str]) -> None:
        """Change the subscription, and rejoin with it once the member is in the group. A static member that comes back with another
        subscription gets its old assignment without a rebalance (docs/kafka/group-protocol.md#static-membership)."""
        self.wanted = topics
        if topics != self.topics:
            self.rejoin()

    def rejoin(self) -> None:
        """Rejoin now, or at the end of the current rebalance."""
        if self.alive and self.stable:
            self.topics = self.wanted
            self._join()
        else:
            self._again = True

    @property
    def member(self) -> tuple[str, int, str | None] | None:
        return (self.member_id, self.generation, self.instance_id) if self.alive and self.stable else None

    @property
    def settled(self) -> bool:
        """Tell whether the member is in the group and is not about to rejoin."""
        return self.alive and self.stable and not self._again

    # -- a round

    def _join(self) -> None:
        if self.stable and self.positions:
            self.commit()
        self.stable = self._again = False
        self._place += 1
        if any(ASSIGNORS[name]().eager for name in self.about.protocols):
            self.owned = frozenset()
        self._ask(JOIN_GROUP, self.join_request(), self._here(self._welcome), patience(self.rebalance_ms))

    def offers(self) -> Iterable[tuple[str, bytes]]:
        """Return the Subscription of each of the member's assignors."""
        return [(name, ASSIGNORS[name]().metadata(self.topics, self.owned)) for name in self.protocols]

    def _welcome(self, answer: Any) -> None:
        if answer is None:
            self._find()
        elif (error := self.joined(answer)) == MEMBER_ID_REQUIRED:
            self._join()
        elif error:
            self._refused(JOIN_GROUP, error)
        else:
            self._sync(answer)

    def _sync(self, joined: Any) -> None:
        self.assignor = ASSIGNORS[joined.protocol_name]()
        self.counts = self.world.counts()
        given = self.assignor.assign(self.counts, self.members, self.member_id) if self.assigns else {}
        self._ask(SYNC_GROUP, self.sync_request(given), self._here(self._synced), patience(self.rebalance_ms))

    def _synced(self, answer: Any) -> None:
        if answer is None:
            self._find()
            return
        if answer.error_code:
            self._refused(SYNC_GROUP, answer.error_code)
            return
        # Other members may have owned, read and committed the claimed partitions in a generation that this member missed (KIP-792).
        if self.generation != self._heard + 1:
            self.positions = {}
        self._heard = self.generation
        told = self.assignor.received(self.owned, answer.assignment, self.member_id, self.topics, self.counts)
        self.owned = told.held
        self.positions = {place: offset for place, offset in self.positions.items() if place in told.held and place not in told.added}
        self._again = self._again or told.rejoin
        missing = told.held - self.positions.keys()
        if missing:
            self._fetch_offsets(missing)
        else:
            self._read_from()

    def _offsets_request(self, partitions: Collection[Partition]) -> OffsetFetchRequest:
        message = self.offsets_request(partitions)
        if self._version(OFFSET_FETCH) >= GROUPS_SINCE:
            rows = [OffsetFetchRequestTopics(name=each.name, partition_indexes=each.partition_indexes) for each in message.topics or ()]
            message = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=self.group, topics=rows)])
        return message

    def _owners(self, place: Partition) -> set[str]:
        return self.world.bench.groups.owner(self.group, self.generation, *place)

    def _begin(self) -> None:
        self._join()

    def _read_from(self) -> None:
        self.stable = True
        if self._again or self.topics != self.wanted:
            self.rejoin()

    # -- in between

    def _poll(self) -> None:
        if not self.stable or self.coordinator is None:
            return
        link = self.links.get(self.coordinator)
        if link is None or not link.waiting:
            self._beat()
        self._polls += 1
        self._work()

    def _work(self) -> None:
        """Fetch and sometimes commit, and rejoin if this leader sees that topics have more partitions."""
        if not self.stable:
            return
        super()._work()
        if self.leads and self.counts != self.world.counts():
            self.rejoin()

    def _beat(self) -> None:
        self._ask(HEARTBEAT, self.heartbeat_request(), self._here(self._beaten), self.session_ms)

    def _beaten(self, answer: Any) -> None:
        if answer is None:
            self._find()
        elif answer.error_code and self.stable:
            self._refused(HEARTBEAT, answer.error_code)

    # -- what it makes of errors

    def _refused(self, key: int, code: int) -> None:
        if code in LOADING:
            self._lost_coordinator()
        elif code == REBALANCE_IN_PROGRESS:
            self._join()
        elif code in (UNKNOWN_MEMBER_ID, ILLEGAL_GENERATION):
            if code == UNKNOWN_MEMBER_ID:
                self.member_id = ""
            self._lose()
            self._join()
        elif code in (FENCED_INSTANCE_ID, GROUP_MAX_SIZE_REACHED, INCONSISTENT_GROUP_PROTOCOL):
            self.at_odds = code == INCONSISTENT_GROUP_PROTOCOL
            self.member_id = ""
            self._lose()
            self._place += 1
            self._later(GIVEN_UP_MS, self._find)
        else:
            self._unexpected(key, code)
            self._later(BACKOFF_MS, self._find)

    def _lose(self) -> None:
        self.owned, self.positions, self.generation, self.stable = frozenset(), {}, -1, False
