"""A reader of committed records and offsets (isolation level 1). When a run has calmed down, it also asks which transactions are still
open."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from groupmock.rig.classic_member import ClassicMember, Partition, by_topic
from groupmock.rig.read_committed import committed_batches
from groupmock_codec.api_keys import FETCH, LIST_TRANSACTIONS, OFFSET_FETCH
from groupmock_codec.messages.k01_fetch import FetchPartition, FetchRequest, FetchTopic
from groupmock_codec.messages.k66_list_transactions import ListTransactionsRequest
from groupmock_codec.records import decode_records, read_batches

from .judges.transactions import IDLE, Register
from .link import Link

if TYPE_CHECKING:
    from .world import World

VERSIONS: Final = {FETCH: 11, OFFSET_FETCH: 7, LIST_TRANSACTIONS: 0}
"""The newest versions that every profile has, whose requests name topics instead of topic ids and ask about one group only."""
LOOK_MS: Final = 1_500
PATIENCE_MS: Final = 5_000
READ_COMMITTED: Final = 1


class CommittedReader:
    """Reads all committed records and offsets every LOOK_MS once it was started. `positions`: what it reads next; `ends`: last stable
    offset and end, as it was told last."""

    def __init__(self, world: World, registers: Iterable[Register]) -> None:
        self.world = world
        self.registers = sorted(set(registers))
        self.positions: dict[Partition, int] = {}
        self.ends: dict[Partition, tuple[int, int]] = {}
        self.open: dict[int, list[str]] = {}
        self.links: dict[int, Link] = {}
        self.looks = True
        self._stable = False

    def start(self) -> None:
        """Read every LOOK_MS until `looks` is False."""
        if self.looks:
            self.look()
            self.world.later(LOOK_MS, self.start)

    def look(self) -> None:
        """Fetch the records and offsets committed since the last call."""
        everything = [(topic, index) for topic, count in self.world.counts().items() for index in range(count)]
        for node, places in self.world.led(everything).items():
            link = self._link(node)
            if link.waiting:
                continue
            topics = [
                FetchTopic(topic=topic, partitions=[self._wanted((topic, each)) for each in found])
                for topic, found in by_topic(places).items()
            ]
            message = FetchRequest(max_wait_ms=0, min_bytes=0, isolation_level=READ_COMMITTED, topics=topics)
            link.ask(FETCH, VERSIONS[FETCH], message, self._fetched, PATIENCE_MS)
        self._stable = not self._stable
        for register in self.registers:
            self._ask_offset(register)

    def missing(self) -> str | None:
        """Say which transaction is still open or which records were not read, or return None if nothing is missing."""
        still = sorted(name for names in self.open.values() for name in names)
        for node in filter(self.world.up, self.world.nodes):
            told = partial(self._listed, node)
            self._link(node).ask(LIST_TRANSACTIONS, VERSIONS[LIST_TRANSACTIONS], ListTransactionsRequest(), told, PATIENCE_MS)
        if len(self.open) < len(self.world.nodes):
            return "not every node has told of its transactions"
        if still:
            return f"transactions of {', '.join(still)} are open"
        for place, (stable, end) in self.ends.items():
            if not stable == end == self.positions.get(place, 0):
                return f"{place[0]}-{place[1]} is read up to {self.positions.get(place, 0)}, stable up to {stable}, and ends at {end}"
        return None

    # -- inside

    def _link(self, node: int) -> Link:
        link = self.links.get(node)
        if link is None or not link.open:
            link = self.links[node] = Link(self.world, "committed-reader", node)
        return link

    def _wanted(self, place: Partition) -> FetchPartition:
        return FetchPartition(partition=place[1], fetch_offset=self.positions.get(place, 0), partition_max_bytes=1 << 20)

    def _fetched(self, answer: Any) -> None:
        for topic in answer.responses if answer is not None else ():
            for each in topic.partitions:
                if not each.error_code:
                    self._took((topic.topic, each.partition_index), each)

    def _took(self, place: Partition, told: Any) -> None:
        data, position = told.records or b"", self.positions.get(place, 0)
        batches = committed_batches(data, told.aborted_transactions or ())
        values = [record.value or b"" for batch in batches for record in decode_records(batch) if record.offset >= position]
        self.world.bench.transactions.reads(place, values, told.last_stable_offset, told.high_watermark)
        self.positions[place] = max([position, *(batch.next_offset for batch in read_batches(data))])
        self.ends[place] = told.last_stable_offset, told.high_watermark

    def _listed(self, node: int, answer: Any) -> None:
        if answer is not None and not answer.error_code:
            self.open[node] = [each.transactional_id for each in answer.transaction_states if each.transaction_state not in IDLE]

    def _ask_offset(self, register: Register) -> None:
        group, topic, partition = register
        node = self.world.core.cluster.groups.hosting.node_of(group)
        if node is None or not self.world.up(node):
            return
        message = ClassicMember(group).offsets_request([(topic, partition)], stable=self._stable)
        self._link(node).ask(OFFSET_FETCH, VERSIONS[OFFSET_FETCH], message, partial(self._told_offset, register), PATIENCE_MS)

    def _told_offset(self, register: Register, answer: Any) -> None:
        if answer is None or answer.error_code:
            return
        told = answer.topics[0].partitions[0]
        if not told.error_code:
            self.world.bench.transactions.reads_offset(register, told.committed_offset)
