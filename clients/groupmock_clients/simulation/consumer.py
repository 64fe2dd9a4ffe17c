"""A simulated consumer of a classic group: it finds its coordinator, joins, syncs, fetches, delivers, commits, finds its way back.

What it does when it is refused is what docs/kafka/clients.md says a stock client does, simplified: a connection to the coordinator, one to
each node it fetches from, no metadata of its own (who leads a partition is looked up in the cluster).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final

from groupmock.rig.classic_member import ClassicMember, Partition, by_topic
from groupmock_codec.api_keys import FETCH, FIND_COORDINATOR, HEARTBEAT, JOIN_GROUP, LEAVE_GROUP, OFFSET_COMMIT, OFFSET_FETCH, SYNC_GROUP
from groupmock_codec.error_codes import (
    COORDINATOR_LOAD_IN_PROGRESS,
    COORDINATOR_NOT_AVAILABLE,
    FENCED_INSTANCE_ID,
    GROUP_MAX_SIZE_REACHED,
    ILLEGAL_GENERATION,
    INCONSISTENT_GROUP_PROTOCOL,
    MEMBER_ID_REQUIRED,
    NOT_COORDINATOR,
    REBALANCE_IN_PROGRESS,
    UNKNOWN_MEMBER_ID,
)
from groupmock_codec.messages.k01_fetch import FetchPartition, FetchRequest, FetchTopic
from groupmock_codec.messages.k09_offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopics
from groupmock_codec.messages.k10_find_coordinator import FindCoordinatorRequest
from groupmock_codec.messages.k13_leave_group import LeaveGroupRequest
from groupmock_codec.records import decode_records, read_batches

from ..scenarios.virtual.assignors import Assignor, CooperativeSticky, Range
from .link import Answered, Link, patience

if TYPE_CHECKING:
    from .plan import SimulatedClient
    from .world import World

ASSIGNORS: Final[dict[str, Callable[[], Assignor]]] = {"range": Range, "cooperative-sticky": CooperativeSticky}
LOADING: Final = frozenset((COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR))
NOT_THERE: Final = frozenset((3, 5, 6, 9, 74, 75, 76))
"""What a Fetch may be told of a partition whose leader moves."""
KEYS_SINCE, MEMBERS_SINCE, GROUPS_SINCE = 4, 3, 8
"""Versions of FindCoordinator, LeaveGroup and OffsetFetch that have a list in the place of a name (KIP-699, KIP-345, KIP-709)."""
REQUEST_MS: Final = 5_000
BACKOFF_MS: Final = 300
GIVEN_UP_MS: Final = 1_000
COMMIT_EVERY: Final = 3
"""Rounds of the poll loop."""


class Consumer(ClassicMember):
    """One process, again and again. `place`: of what runs; every callback of an earlier one is void."""

    def __init__(self, world: World, about: SimulatedClient) -> None:
        super().__init__(
            about.group, topics=about.topics, instance_id=about.instance, protocols=about.protocols,
            session_ms=about.session_ms, rebalance_ms=about.rebalance_ms,
        )  # fmt: skip
        self.world, self.about = world, about
        self.wanted = self.topics
        self.alive = self.stable = False
        self.owned: frozenset[Partition] = frozenset()
        self.positions: dict[Partition, int] = {}
        self.assignor: Assignor = ASSIGNORS[about.protocols[0]]()
        self.counts: dict[str, int] = {}
        self.links: dict[int, Link] = {}
        self.coordinator: int | None = None
        self._place = 0
        self._polls = 0
        self.at_odds = False
        """Was it refused for its protocols? A group that was loaded knows the chosen one alone, until it rebalances."""
        self._heard = -1  # the last generation whose assignment it got
        self._asked_of = 0
        self._again = False
        self._lives = 0

    # -- a process

    def start(self) -> None:
        """It begins, without a memory."""
        if self.alive:
            return
        self.alive = True
        self.forget()
        self.coordinator = None
        self._lose()
        self._find()
        self._poll_later(self._life())

    def kill(self, half_open: bool) -> None:
        """It is gone; `half_open`: and its connections do not say so."""
        self.alive = False
        self._lose()
        self._place += 1
        for link in self.links.values():
            link.open = False
            if half_open:
                link.wire.gone = True
            else:
                link.wire.hang_up()
        self.links.clear()

    def leave(self) -> None:
        """It commits, leaves, ends."""
        if self.alive and self.stable and self.coordinator is not None and self.world.up(self.coordinator):
            self.commit()
            alone = LeaveGroupRequest(group_id=self.group, member_id=self.member_id)
            self._ask(LEAVE_GROUP, self.leave_request() if self._version(LEAVE_GROUP) >= MEMBERS_SINCE else alone, _ignored)
        self.kill(half_open=False)

    def subscribe(self, topics: list[str]) -> None:
        """Another subscription, and a JoinGroup for it, once it is in the group: a static member that comes back with another one than it
        had gets its old assignment, and its group does not rebalance (docs/kafka/group-protocol.md#static-membership)."""
        self.wanted = topics
        if topics != self.topics:
            self.rejoin()

    def rejoin(self) -> None:
        """Join again, now or when the round that is under way is over."""
        if self.alive and self.stable:
            self.topics = self.wanted
            self._join()
        else:
            self._again = True

    @property
    def settled(self) -> bool:
        """In the group, and nothing of its own is going to change that."""
        return self.alive and self.stable and not self._again

    # -- finding a coordinator

    def _find(self) -> None:
        """Ask whoever runs, the next one each time."""
        self._place += 1
        self.stable = False
        nodes = [node for node in self.world.nodes if self.world.up(node)]
        if not nodes:
            self._later(BACKOFF_MS, self._find)
            return
        self._asked_of += 1
        group, version = self.group, self._version(FIND_COORDINATOR)
        message = FindCoordinatorRequest(coordinator_keys=[group]) if version >= KEYS_SINCE else FindCoordinatorRequest(key=group)
        link = self._link(nodes[self._asked_of % len(nodes)])
        link.ask(FIND_COORDINATOR, version, message, self._here(self._found), REQUEST_MS)

    def _found(self, answer: Any) -> None:
        told = None if answer is None else answer.coordinators[0] if answer.coordinators else answer
        if told is None or told.error_code or not self.world.up(told.node_id):
            self._later(BACKOFF_MS, self._find)
            return
        self.coordinator = told.node_id
        self._join()

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
        """What each of its assignors says."""
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
        given = self.assignor.assign(self.counts, self.members, self.member_id) if self.members and not joined.skip_assignment else {}
        self._ask(SYNC_GROUP, self.sync_request(given), self._here(self._synced), patience(self.rebalance_ms))

    def _synced(self, answer: Any) -> None:
        if answer is None:
            self._find()
            return
        if answer.error_code:
            self._refused(SYNC_GROUP, answer.error_code)
            return
        if self.generation != self._heard + 1:  # others may have owned, delivered and committed what it claimed to own (KIP-792)
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
            self._serve()

    def _fetch_offsets(self, missing: frozenset[Partition]) -> None:
        message = self.offsets_request(sorted(missing))
        if self._version(OFFSET_FETCH) >= GROUPS_SINCE:
            rows = [OffsetFetchRequestTopics(name=each.name, partition_indexes=each.partition_indexes) for each in message.topics or ()]
            message = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=self.group, topics=rows)])
        self._ask(OFFSET_FETCH, message, self._here(lambda answer: self._offsets(answer, missing)))

    def _offsets(self, answer: Any, missing: frozenset[Partition]) -> None:
        if answer is None:
            self._find()
            return
        told = answer.groups[0] if answer.groups else answer
        errors = {told.error_code, *(each.error_code for topic in told.topics for each in topic.partitions)} - {0}
        of = {(topic.name, each.partition_index) for topic in told.topics for each in topic.partitions}
        if errors == {COORDINATOR_LOAD_IN_PROGRESS}:
            self._later(BACKOFF_MS, lambda: self._fetch_offsets(missing))
        # 3.9 has no place for an error of the whole in versions 0 and 1, and then answers no topics at all
        elif not errors and missing - of:
            self._refused(OFFSET_FETCH, NOT_COORDINATOR)
        elif errors:
            self._refused(OFFSET_FETCH, min(errors))
        else:
            for topic in told.topics:
                for each in topic.partitions:
                    self.positions[topic.name, each.partition_index] = max(each.committed_offset, 0)
            self._serve()

    def _serve(self) -> None:
        self.stable = True
        if self._again or self.topics != self.wanted:
            self.rejoin()

    # -- in between

    def _poll_later(self, life: int) -> None:
        def poll() -> None:
            if self.alive and self._lives == life:
                self._poll()
                self._poll_later(life)

        self.world.later(self.about.heartbeat_ms, poll)

    def _life(self) -> int:
        self._lives += 1
        return self._lives

    def _poll(self) -> None:
        if not self.stable or self.coordinator is None:
            return
        link = self.links.get(self.coordinator)
        if link is None or not link.waiting:
            self._beat()
        self._polls += 1
        self._work()

    def _work(self) -> None:
        """Fetch, commit now and then; a leader looks whether topics have grown."""
        if not self.stable:  # a node that is stopped ends that at once
            return
        self._fetch()
        if self._polls % COMMIT_EVERY == 0:
            self.commit()
        if self.leads and self.counts != self.world.counts():
            self.rejoin()

    def _beat(self) -> None:
        self._ask(HEARTBEAT, self.heartbeat_request(), self._here(self._beaten), self.session_ms)

    def _beaten(self, answer: Any) -> None:
        if answer is None:
            self._find()
        elif answer.error_code and self.stable:
            self._refused(HEARTBEAT, answer.error_code)

    def commit(self) -> None:
        """What it has delivered of what it owns. A commit that fails is no loss: it begins from the last one that did not."""
        offsets = {place: offset for place, offset in sorted(self.positions.items()) if place in self.owned}
        if not offsets or not self.stable:
            return
        history = self.world.bench.history
        floor = history.floor(self.group, offsets)

        def committed(answer: Any) -> None:
            if answer is not None and not any(each.error_code for topic in answer.topics for each in topic.partitions):
                history.went_back(self.group, offsets, floor)

        self._ask(OFFSET_COMMIT, self.commit_request(offsets), committed)

    def _fetch(self) -> None:
        for node, places in self.world.led(self.owned & self.positions.keys()).items():
            link = self._link(node)
            if link.waiting and node != self.coordinator:
                continue
            wanted = {
                place: FetchPartition(partition=place[1], fetch_offset=self.positions[place], partition_max_bytes=1 << 16)
                for place in places
            }
            topics = [FetchTopic(topic=name, partitions=[wanted[name, each] for each in found]) for name, found in by_topic(places).items()]
            message = FetchRequest(max_wait_ms=50, min_bytes=1, topics=topics)
            link.ask(FETCH, self._version(FETCH), message, self._here(self._fetched), REQUEST_MS)

    def _fetched(self, answer: Any) -> None:
        if answer is None or not self.stable:
            return
        for topic in answer.responses:
            for each in topic.partitions:
                if each.error_code and each.error_code not in NOT_THERE:
                    self._unexpected(FETCH, each.error_code)
                elif each.records and (topic.topic, each.partition_index) in self.owned:
                    self._deliver((topic.topic, each.partition_index), each.records)

    def _deliver(self, place: Partition, data: bytes) -> None:
        position = self.positions[place]
        history = self.world.bench.history
        for record in (record for batch in read_batches(data) for record in decode_records(batch)):
            if record.offset < position:
                continue
            if record.offset > position:
                history.bench.found("history", f"{place[0]}-{place[1]} is delivered from {record.offset} on, {position} was next")
            history.delivers(self.group, self.member_id, self.generation, place, record.offset, record.value or b"")
            position = record.offset + 1
        self.positions[place] = position

    # -- what it makes of errors

    def _refused(self, key: int, code: int) -> None:
        if code in LOADING:
            self.coordinator = None
            self.stable = False
            self._place += 1
            self._later(BACKOFF_MS, self._find)
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

    def _unexpected(self, key: int, code: int) -> None:
        if self.group in self.world.bench.groups.spoilt:
            return  # -1 to a JoinGroup: a stranger's subscription cannot be read, and the join phase failed over it (P1-b5)
        self.world.bench.found("answers", f"{self.about.name} is answered {code} to API {key}, which it has done nothing to deserve")

    def _lose(self) -> None:
        self.owned, self.positions, self.generation, self.stable = frozenset(), {}, -1, False

    # -- inside

    def _ask(self, key: int, message: Any, then: Answered, patience_ms: int = REQUEST_MS) -> None:
        if self.coordinator is None or not self.world.up(self.coordinator):
            self.coordinator = None
            self.stable = False
            self._place += 1
            self._later(BACKOFF_MS, self._find)
            return
        self._link(self.coordinator).ask(key, self._version(key), message, then, patience_ms)

    def _version(self, key: int) -> int:
        return self.about.versions[key]

    def _link(self, node: int) -> Link:
        link = self.links.get(node)
        if link is None or not link.open:
            link = self.links[node] = Link(self.world, self.about.name, node)
        return link

    def _here(self, then: Answered) -> Answered:
        """Only while this process is at the place where it asked."""
        place = self._place

        def came(answer: Any) -> None:
            if self.alive and self._place == place:
                then(answer)

        return came

    def _later(self, ms: int, callback: Callable[[], None]) -> None:
        place = self._place

        def come() -> None:
            if self.alive and self._place == place:
                callback()

        self.world.later(ms, come)


def _ignored(answer: Any) -> None:
    """The process has ended."""
