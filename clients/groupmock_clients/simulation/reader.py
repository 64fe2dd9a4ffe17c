"""A simulated process that reads for a group: it fetches its partitions, delivers their records, and commits.

Its member, of whichever protocol, says which partitions it owns and makes the requests that name it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, Final

from groupmock.rig.classic_member import Partition, by_topic
from groupmock_codec.api_keys import FETCH, OFFSET_COMMIT, OFFSET_FETCH
from groupmock_codec.error_codes import COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR
from groupmock_codec.messages.k01_fetch import FetchPartition, FetchRequest, FetchTopic
from groupmock_codec.records import decode_records, read_batches

from .client import Client
from .process import BACKOFF_MS, REQUEST_MS

if TYPE_CHECKING:
    from groupmock_codec.messages.k08_offset_commit import OffsetCommitRequest
    from groupmock_codec.messages.k09_offset_fetch import OffsetFetchRequest

    from .plan import SimulatedClient
    from .world import World

LOADING: Final = frozenset((COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR))
NOT_THERE: Final = frozenset((3, 5, 6, 9, 74, 75, 76))
"""The errors that Fetch may return for a partition whose leader moves."""
COMMIT_EVERY: Final = 3
"""The number of poll rounds between two commits."""


class Reader(Client):
    """A simulated consumer process of either group protocol. `owned`: what it was given; `positions`: what it delivers next."""

    def __init__(self, world: World, about: SimulatedClient) -> None:
        super().__init__(world, about)
        self.owned: frozenset[Partition] = frozenset()
        self.positions: dict[Partition, int] = {}
        self._polls = 0

    # -- what a kind of member adds

    @abstractmethod
    def commit_request(self, offsets: Mapping[Partition, int]) -> OffsetCommitRequest: ...

    @abstractmethod
    def _offsets_request(self, partitions: Collection[Partition]) -> OffsetFetchRequest: ...

    @abstractmethod
    def _refused(self, key: int, code: int) -> None:
        """React to an error in the answer to this request as a member does."""

    @abstractmethod
    def _read_from(self) -> None:
        """Continue reading, now that the position in every partition is known."""

    @abstractmethod
    def _owners(self, place: Partition) -> set[str]:
        """Return the members to which records of this partition may be delivered now."""

    # -- offsets

    def _fetch_offsets(self, missing: frozenset[Partition]) -> None:
        self._ask(OFFSET_FETCH, self._offsets_request(sorted(missing)), self._here(lambda answer: self._offsets(answer, missing)))

    def _offsets(self, answer: Any, missing: frozenset[Partition]) -> None:
        if answer is None:
            self._find()
            return
        told = answer.groups[0] if answer.groups else answer
        errors = {told.error_code, *(each.error_code for topic in told.topics for each in topic.partitions)} - {0}
        of = {(topic.name, each.partition_index) for topic in told.topics for each in topic.partitions}
        if errors == {COORDINATOR_LOAD_IN_PROGRESS}:
            self._later(BACKOFF_MS, lambda: self._fetch_offsets(missing))
        # OffsetFetch v0 and v1 have no field for a group's error, so 3.9 answers without topics.
        elif not errors and missing - of:
            self._refused(OFFSET_FETCH, NOT_COORDINATOR)
        elif errors:
            self._refused(OFFSET_FETCH, min(errors))
        else:
            for topic in told.topics:
                for each in topic.partitions:
                    self.positions[topic.name, each.partition_index] = max(each.committed_offset, 0)
            self._read_from()

    def commit(self) -> None:
        """Commit the delivered positions of the owned partitions. A commit that fails is no loss: reading begins from the last one that
        did not."""
        offsets = {place: offset for place, offset in sorted(self.positions.items()) if place in self.owned}
        if not offsets or not self.stable:
            return
        history = self.world.bench.history
        floor = history.floor(self.group, offsets)

        def committed(answer: Any) -> None:
            if answer is not None and not any(each.error_code for topic in answer.topics for each in topic.partitions):
                history.went_back(self.group, offsets, floor)

        self._ask(OFFSET_COMMIT, self.commit_request(offsets), committed)

    # -- records

    def _work(self) -> None:
        """Fetch, and commit in every COMMIT_EVERY-th round."""
        # The member may have lost its generation during the last call, because a request to a stopped node fails at once.
        if not self.stable:
            return
        self._fetch()
        if self._polls % COMMIT_EVERY == 0:
            self.commit()

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
            owners = self._owners(place)
            history.delivers(self.group, self.member_id, owners, place, record.offset, record.value or b"")
            position = record.offset + 1
        self.positions[place] = position

    def _unexpected(self, key: int, code: int) -> None:
        if self.group in self.world.bench.groups.spoilt:
            # JoinGroup fails with UNKNOWN_SERVER_ERROR (-1) if the Subscription of a deliberately hostile client cannot be read (P1-b5).
            return
        self.world.bench.found("answers", f"{self.name} is answered {code} to API {key}, which it has done nothing to deserve")
