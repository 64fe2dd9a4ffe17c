"""Read the state of a real cluster as lines of seed data: topics with ids, configs and offsets, and groups with committed offsets.

Metadata and DescribeConfigs go to the named node, ListOffsets and Fetch to each partition's leader, ListGroups and OffsetFetch to every
node, because each lists the groups that it coordinates. Nothing is written there, and no record is copied by default. A partition begins
and ends at the real offsets, and what was not copied is a hole: a consumer passes it without a record, and a committed offset and its lag
keep their meaning. Kafka's internal topics are left out, because every cluster makes its own.

Whatever is left out is reported, one sentence for each reason.
"""

from __future__ import annotations

import asyncio
from base64 import urlsafe_b64encode
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from groupmock_codec.api_keys import DESCRIBE_CONFIGS, LIST_GROUPS, LIST_OFFSETS, METADATA, OFFSET_FETCH
from groupmock_codec.declare import Message
from groupmock_codec.error_codes import error_name
from groupmock_codec.messages.k02_list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from groupmock_codec.messages.k03_metadata import MetadataRequest
from groupmock_codec.messages.k09_offset_fetch import OffsetFetchRequest
from groupmock_codec.messages.k16_list_groups import ListGroupsRequest
from groupmock_codec.messages.k32_describe_configs import DescribeConfigsRequest, DescribeConfigsResource

from ..core.log.configs import BadConfig, check
from ..record.reaching import Where
from .source import LATER, PAUSE_S, TRIES

if TYPE_CHECKING:
    from ..core.log.config_keys import ConfigKey
    from .source import Source

TOPIC: Final = 2
CONSUMER: Final = -1
SET_ON_TOPIC: Final = 1
EARLIEST: Final = -2
LATEST: Final = -1
AT_ONCE: Final = 200
"""The number of topics in one DescribeConfigs request, or of partitions in one ListOffsets request."""
NAMED: Final = 5
Line = dict[str, Any]
Place = tuple[str, int]


class Bounds(NamedTuple):
    """The first and last offset of a partition's log, and its leader."""

    start: int
    end: int
    leader: Where


class Copy:
    """The copy of one cluster while it is made. `keys` are the topic configs that the mock knows; `nodes` is its number of nodes; `left`
    says what was left out, and why."""

    def __init__(self, source: Source, keys: Mapping[str, ConfigKey], nodes: int) -> None:
        self._source, self._keys, self._nodes = source, keys, nodes
        self.nodes: dict[int, Where] = {}
        self.topics: dict[str, Any] = {}
        """The Metadata row of each topic, by the topic's name."""
        self.bounds: dict[Place, Bounds] = {}
        self._left: dict[str, list[str]] = defaultdict(list)

    def leave(self, why: str, what: str) -> None:
        """Note that `what` was left out of the copy, for the reason `why`."""
        self._left[why].append(what)

    def left(self) -> list[str]:
        """Return one sentence for each reason why something was left out."""
        return [f"{why}: {_listed(what)}" for why, what in self._left.items()]

    async def learn(self) -> None:
        """Ask for the nodes, topics and partitions, and for the first and last offsets of their logs."""
        answer = await self._source.ask(METADATA, MetadataRequest(topics=None), 12)
        self.nodes = {broker.node_id: Where(broker.host, broker.port) for broker in answer.brokers}
        for topic in answer.topics:
            if topic.error_code:
                self.leave(f"topics left out, {error_name(topic.error_code)}", topic.name)
            elif not topic.is_internal:
                self.topics[topic.name] = topic
        await self._learn_bounds()

    def places(self) -> Iterator[Place]:
        """Yield each partition with its topic, topic by topic."""
        return ((name, index) for name, topic in self.topics.items() for index in range(len(topic.partitions)))

    async def topic_lines(self) -> list[Line]:
        """Return a line for each topic: its id, partitions, replicas, and the configs that were set on it."""
        configs = await self._configs()
        lines = []
        for name, topic in self.topics.items():
            line: Line = {"topic": name, "partitions": len(topic.partitions), "replication_factor": self._factor(topic)}
            if any(topic.topic_id):
                line["topic_id"] = urlsafe_b64encode(topic.topic_id).decode().rstrip("=")
            if configs.get(name):
                line["configs"] = configs[name]
            lines.append(line)
        return lines

    async def commit_lines(self) -> list[Line]:
        """Return a line of seed data for each committed offset."""
        lines: list[Line] = []
        for where in self.nodes.values():
            listed = await self._until_loaded(LIST_GROUPS, ListGroupsRequest(), 5, where)
            if listed.error_code:
                self.leave(f"groups of a node left out, {error_name(listed.error_code)}", str(where))
            for group in listed.groups:
                if getattr(group, "group_type", "") in ("share", "streams"):
                    self.leave(f"groups left out, of a type that commits no offsets here ({group.group_type})", group.group_id)
                else:
                    lines += await self._commits(group.group_id, where)
        return lines

    async def _learn_bounds(self) -> None:
        for leader, places in self._by_leader().items():
            for some in _portions(places):
                ends = await self._offsets(leader, some, LATEST)
                starts = await self._offsets(leader, some, EARLIEST)
                self.bounds |= {place: Bounds(starts[place], ends[place], leader) for place in some if place in starts and place in ends}

    def _by_leader(self) -> dict[Where, list[Place]]:
        by_leader: dict[Where, list[Place]] = defaultdict(list)
        for name, topic in self.topics.items():
            for partition in topic.partitions:
                if partition.leader_id in self.nodes:
                    by_leader[self.nodes[partition.leader_id]].append((name, partition.partition_index))
                else:
                    self.leave("partitions that begin at 0, as nobody leads them there", f"{name}/{partition.partition_index}")
        return by_leader

    async def _offsets(self, leader: Where, places: list[Place], timestamp: int) -> dict[Place, int]:
        by_topic: dict[str, list[ListOffsetsPartition]] = defaultdict(list)
        for name, index in places:
            by_topic[name].append(ListOffsetsPartition(partition_index=index, timestamp=timestamp))
        topics = [ListOffsetsTopic(name=name, partitions=partitions) for name, partitions in by_topic.items()]
        answer = await self._source.ask(LIST_OFFSETS, ListOffsetsRequest(replica_id=CONSUMER, topics=topics), 6, leader)
        found = {}
        for topic in answer.topics:
            for row in topic.partitions:
                if row.error_code:
                    self.leave(f"partitions that begin at 0, {error_name(row.error_code)}", f"{topic.name}/{row.partition_index}")
                else:
                    found[topic.name, row.partition_index] = row.offset
        return found

    async def _configs(self) -> dict[str, dict[str, str]]:
        found: dict[str, dict[str, str]] = {}
        for some in _portions(list(self.topics)):
            resources = [DescribeConfigsResource(resource_type=TOPIC, resource_name=name, configuration_keys=None) for name in some]
            answer = await self._source.ask(DESCRIBE_CONFIGS, DescribeConfigsRequest(resources=resources), 4)
            for result in answer.results:
                if result.error_code:
                    self.leave(f"topics without their configs, {error_name(result.error_code)}", result.resource_name)
                else:
                    found[result.resource_name] = dict(self._known(result.resource_name, result.configs))
        return found

    def _known(self, topic: str, rows: Iterable[Any]) -> Iterator[tuple[str, str]]:
        for row in rows:
            if row.config_source != SET_ON_TOPIC or row.value is None:
                continue
            key = self._keys.get(row.name)
            if key is None:
                self.leave(f"configs left out, {row.name} is not known to this profile", topic)
                continue
            try:
                check(key, row.value)
            except BadConfig as bad:
                self.leave(f"configs left out, {bad}", topic)
            else:
                yield row.name, row.value

    def _factor(self, topic: Any) -> int:
        wanted = max((len(partition.replica_nodes) for partition in topic.partitions), default=1)
        if wanted > self._nodes:
            self.leave(f"topics with {self._nodes} replica(s) instead of {wanted} (--nodes {wanted} keeps them)", topic.name)
        return max(1, min(wanted, self._nodes))

    async def _commits(self, group: str, where: Where) -> list[Line]:
        answer = await self._until_loaded(OFFSET_FETCH, OffsetFetchRequest(group_id=group, topics=None), 7, where)
        if answer.error_code:
            self.leave(f"groups left out, {error_name(answer.error_code)}", group)
            return []
        return [line for topic in answer.topics for row in topic.partitions if (line := self._commit(group, topic.name, row)) is not None]

    async def _until_loaded(self, key: int, message: Message, highest: int, where: Where) -> Any:
        """Repeat a request while a coordinator loads or is about to move."""
        answer = await self._source.ask(key, message, highest, where)
        for _ in range(TRIES):
            if answer.error_code not in LATER:
                break
            await asyncio.sleep(PAUSE_S)
            answer = await self._source.ask(key, message, highest, where)
        return answer

    def _commit(self, group: str, topic: str, row: Any) -> Line | None:
        if row.error_code or row.committed_offset < 0:
            return None
        partitions = len(self.topics[topic].partitions) if topic in self.topics else 0
        if row.partition_index >= partitions:
            self.leave("committed offsets left out, of topics that are not copied", f"{group} {topic}/{row.partition_index}")
            return None
        line: Line = {"group": group, "topic": topic, "partition": row.partition_index, "offset": row.committed_offset}
        return line | ({"metadata": row.metadata} if row.metadata else {})


def _portions(names: list[Any]) -> Iterator[list[Any]]:
    return (names[start : start + AT_ONCE] for start in range(0, len(names), AT_ONCE))


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more
