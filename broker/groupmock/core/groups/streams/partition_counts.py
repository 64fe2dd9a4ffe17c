"""Decides the number of partitions of the internal topics of a topology (ST-64 to ST-68).

Repartition topics have the count that the application gave, or the count of the sources of the subtopology that writes to them. Topics of a
copartition group have equal counts. Changelog topics have a partition for each task. In Kafka: RepartitionTopics,
CopartitionedTopicsEnforcer and ChangelogTopics, which are equal in 4.3.0 and 4.4.0.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from heapq import heappop, heappush
from itertools import chain
from typing import Final

from groupmock_codec import error_codes
from groupmock_codec.messages.k88_streams_group_heartbeat import Subtopology

from ...java.hash_maps import STRINGS, filled_order, string_rank
from ...java.orders import SMALLEST_TABLE
from ..refused import Refused

INCORRECTLY_PARTITIONED: Final = 2
NEVER_WRITTEN: Final = (
    "Failed to compute number of partitions for all repartition topics, because a repartition source topic is never used as a sink topic."
)
LOOP: Final = (
    "Failed to compute number of partitions for all repartition topics. There may be loops in the topology that cannot be resolved."
)


class NotConfigured(Exception):
    """The topics do not fit the topology: a status code of the heartbeat with its text. In Kafka: TopicConfigurationException."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code
        self.text = text


class PartitionCounts:
    """The partition counts of the topics of a topology: of those that exist, else as decided."""

    def __init__(self, existing: Mapping[str, int]) -> None:
        self._existing = existing
        self.decided: dict[str, int] = {}

    def of(self, topic: str) -> int:
        """Return the partition count of a topic that exists or was decided about."""
        count = self._existing.get(topic)
        return self.decided[topic] if count is None else count

    def tasks(self, subtopology: Subtopology) -> int:
        """Return the number of tasks of a subtopology, which is the largest partition count of its sources, or 0 if it has no source."""
        return max(map(self.of, sources_of(subtopology)), default=0)

    def decide(self, subtopologies: Sequence[Subtopology], copartitioned: Sequence[Collection[str]]) -> None:
        """Decide about all internal topics. Raises Refused for a topology that is invalid whatever topics exist, and NotConfigured if the
        counts of existing topics do not fit.

        `subtopologies` are in the order of a hash map of their ids, which decides about topics to which several subtopologies write.
        `copartitioned` has the topics of all copartition groups, group by group in Kafka's order."""
        self._decide_repartition_topics(subtopologies)
        self._enforce_copartitioning(subtopologies, copartitioned)
        changelogs = {}
        for subtopology in subtopologies:
            count = self.tasks(subtopology)
            if not count:
                text = f"No source topics found for subtopology {subtopology.subtopology_id}"
                raise Refused(error_codes.STREAMS_INVALID_TOPOLOGY, text)
            changelogs.update({topic.name: count for topic in subtopology.state_changelog_topics})
        self.decided.update(changelogs)

    def _decide_repartition_topics(self, subtopologies: Sequence[Subtopology]) -> None:
        """Decide about the repartition topics. Kafka visits all subtopologies again and again until nothing is open, and a sink gets the
        largest count of those sources that are known then. So a subtopology is due in the same round as the subtopology that decided about
        its first source, if it comes later in the order, else in the next round."""
        decided, readers = self.decided, defaultdict(list)
        for at, subtopology in enumerate(subtopologies):
            for topic in subtopology.repartition_source_topics:
                readers[topic.name].append(at)
                if topic.partitions:
                    decided[topic.name] = topic.partitions
        due = [(1, at) for at, each in enumerate(subtopologies) if each.source_topics or self._knows_source(each)]
        visited = [False] * len(subtopologies)
        while due:
            visit_round, at = heappop(due)
            if visited[at]:
                continue
            visited[at] = True
            count = self._largest_known(subtopologies[at])
            for sink in subtopologies[at].repartition_sink_topics:
                if sink not in decided:
                    decided[sink] = count
                    for reader in readers[sink]:
                        heappush(due, (visit_round + (reader < at), reader))
        if any(sink not in decided for each in subtopologies for sink in each.repartition_sink_topics):
            raise Refused(error_codes.STREAMS_INVALID_TOPOLOGY, LOOP)
        if any(topic not in decided for topic in readers):
            raise Refused(error_codes.STREAMS_INVALID_TOPOLOGY, NEVER_WRITTEN)

    def _knows_source(self, subtopology: Subtopology) -> bool:
        return any(topic.name in self.decided for topic in subtopology.repartition_source_topics)

    def _largest_known(self, subtopology: Subtopology) -> int:
        """Return the largest count of the sources about which was decided, of which there is one. Repartition topics count as decided, even
        if they exist with another count."""
        known = [self.decided[topic.name] for topic in subtopology.repartition_source_topics if topic.name in self.decided]
        return max(chain(known, map(self.of, subtopology.source_topics)))

    def _enforce_copartitioning(self, subtopologies: Sequence[Subtopology], copartitioned: Sequence[Collection[str]]) -> None:
        """Give the repartition topics of each copartition group the count of the group's other topics. If a group has repartition topics
        only, Kafka compares the given counts of the whole topology."""
        repartition = [topic for each in subtopologies for topic in each.repartition_source_topics]
        fixed = {topic.name for topic in repartition if topic.partitions}
        flexible = {topic.name for topic in repartition if not topic.partitions}
        fixed_counts = set(map(self.of, fixed))
        for topics in filter(None, copartitioned):
            own = {topic: self.of(topic) for topic in topics if topic in fixed or topic in flexible}
            others = {topic: self.of(topic) for topic in topics if topic not in own}
            if others:
                if len(set(others.values())) > 1:
                    raise _unequal(others)
                count = next(iter(others.values()))
            elif len(fixed_counts) > 1:
                raise _unequal(own)
            else:
                count = max(fixed_counts or own.values())
            wrong = [topic for topic in own if topic in fixed and own[topic] != count]
            if wrong:
                raise _unfit(topics, own, wrong, count)
            self.decided.update(dict.fromkeys(own, count))


def sources_of(subtopology: Subtopology) -> Iterable[str]:
    """Return the external sources and the repartition sources of a subtopology."""
    return chain(subtopology.source_topics, (topic.name for topic in subtopology.repartition_source_topics))


def _unequal(counts: Mapping[str, int]) -> NotConfigured:
    listed = ", ".join(f"{topic}={counts[topic]}" for topic in sorted(counts, key=string_rank))
    return NotConfigured(INCORRECTLY_PARTITIONED, f"Following topics do not have the same number of partitions: [{{{listed}}}]")


def _unfit(topics: Collection[str], own: Mapping[str, int], wrong: Collection[str], count: int) -> NotConfigured:
    """Return the error about the first wrong topic in the order of Kafka's map, which is filled from a set of all topics of the group."""
    ordered = filled_order(STRINGS, topics, SMALLEST_TABLE)
    ordered = filled_order(STRINGS, [topic for topic in ordered if topic in own], SMALLEST_TABLE)
    first = next(topic for topic in ordered if topic in wrong)
    text = f"Number of partitions [{own[first]}] of repartition topic [{first}] doesn't match number of partitions [{count}]"
    return NotConfigured(INCORRECTLY_PARTITIONED, f"{text} of the source topic.")
