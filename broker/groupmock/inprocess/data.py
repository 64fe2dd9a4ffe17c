"""Topics, records, configs, committed offsets, lag and seed data are read and written by methods of `Broker`.

The names are those of the routes and of the verbs (docs/how-to/seed-and-read.md). The functions run on the cluster's thread and import what
they need on first use.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, Literal

from ..core.events import Command
from ..data.log_record import Isolation, Record
from .calls import Calls
from .values import ConfigValues, config_changes, content_bytes, offset_rows

if TYPE_CHECKING:
    from ..core.steering.offsets import Reset
    from ..data.facts import ConfigRow, TopicFacts
    from ..data.lag import GroupLag
    from ..data.lines import Form
    from ..data.seed import Seeded
    from ..data.seed import Source as SeedSource
    from ..data.writing import Written
    from ..server.running import Running

__tracebackhide__: Final = True


class Data(Calls):
    """Methods about topics, records, configs and committed offsets."""

    @property
    def topics(self) -> dict[str, TopicFacts]:
        """Every topic by name, with its id, configs, and each partition's leader, epochs, replicas, offsets and segments."""
        return self._ask(lambda: facts_of_topics(self._up()))

    def configs(self, topic: str) -> dict[str, ConfigRow]:
        """Return every config of a topic: its value and where it was set. Raises CannotSteer for an unknown topic."""
        return self._ask(lambda: configs_of_topic(self._up(), topic))

    def node_configs(self, node: int) -> dict[str, ConfigRow]:
        """Return every config of a node. For -1, or for 0 if no node has that id, return what was set for all nodes at run time."""
        return self._ask(lambda: configs_of_node(self._up(), node))

    def configure_topic(self, name: str, set: ConfigValues | None = None, unset: Iterable[str] = ()) -> None:
        """Set configs of a topic and reset others to their defaults. If one is refused, none is changed."""
        self._command("configure_topic", name=name, **config_changes(set, unset))

    def configure_node(self, node: int, set: ConfigValues | None = None, unset: Iterable[str] = ()) -> None:
        """Change broker configs that may change at run time, of one node or of all (-1, or 0 if no node has that id)."""
        self._command("configure_node", node=node, **config_changes(set, unset))

    def configure_group(self, group: str, set: ConfigValues | None = None, unset: Iterable[str] = ()) -> None:
        """Set configs of a group, which need not exist, such as share.auto.offset.reset, and return others to the broker's values."""
        self._command("configure_group", group=group, **config_changes(set, unset))

    def produce(
        self,
        topic: str,
        value: bytes | str | None,
        key: bytes | str | None = None,
        partition: int | None = None,
        headers: Iterable[tuple[str, bytes | str | None]] | Mapping[str, bytes | str | None] = (),
        timestamp: int | None = None,
    ) -> int:
        """Append one record on the server's side and return its offset.

        Without a `partition` the key decides, hashed as in Kafka's producers (murmur2), and a record without a key goes to partition 0.
        Text is written as UTF-8. `timestamp` is ms since 1970, default now. A missing topic is created with `num.partitions`, unless
        `auto.create.topics.enable` is off. Raises CannotSteer for a missing topic or partition."""
        named = headers.items() if isinstance(headers, Mapping) else headers
        pairs = [(name, content_bytes(content)) for name, content in named]
        content = content_bytes(key), content_bytes(value)
        return self._ask(lambda: self._up().produce(topic, partition, *content, pairs, timestamp))

    def write_records(
        self,
        topic: str,
        lines: str | bytes | Iterable[Mapping[str, Any]],
        partition: int | None = None,
        key_as: Form | None = None,
        value_as: Form | None = None,
    ) -> list[Written]:
        """Write all records or none. They are JSON Lines as text, or mappings {"key": ..., "value": ..., "headers": ...}, which may
        contain bytes.

        `partition` is for records that name none. Without it the key decides, as in Kafka's producers, and records without a key go to all
        partitions in turn. Raises ValueError with the number of the wrong line, and CannotSteer."""
        return self._ask(lambda: write_lines(self._up(), topic, lines, partition, key_as, value_as))

    def records(
        self,
        topic: str,
        partition: int | None = None,
        offset: int = 0,
        limit: int | None = None,
        *,
        isolation: Isolation = "read_uncommitted",
        markers: bool = False,
    ) -> list[Record]:
        """Return at most `limit` records of a topic or of one partition from `offset` on, sorted by partition and offset.

        `transaction` of a record says whether it was aborted. `isolation="read_committed"` leaves aborted ones out and ends at the oldest
        open transaction. `markers` includes the control records that end transactions. Raises ValueError if decompression needs a library
        that is not installed."""
        return self._ask(lambda: self._up().records(topic, partition, offset, limit, isolation, markers))

    def commit_offsets(self, group: str, offsets: Mapping[str, Mapping[int, int]]) -> None:
        """Commit offsets for a group without members: {"orders": {0: 17}}, all or none. Raises CannotSteer while it has members, as Kafka
        does."""
        self._command("commit_offsets", group=group, offsets=offset_rows(offsets))

    def reset_offsets(
        self,
        group: str,
        topic: str | None = None,
        partitions: Iterable[int] | None = None,
        *,
        to: Literal["earliest", "latest", "current"] | None = None,
        offset: int | None = None,
        timestamp: int | None = None,
        shift: int | None = None,
        dry_run: bool = False,
    ) -> list[Reset]:
        """Move the committed offsets of a group without members, as kafka-consumer-groups.sh --reset-offsets does.

        It moves those of one topic, or of all topics that have some: `to` an end of the log, to an `offset`, to a `timestamp` (ms since
        1970), or by a `shift`. Returns the old and new offsets."""
        chosen = partitions and list(partitions)
        wanted = {"group": group, "topic": topic, "partitions": chosen, "to": to, "offset": offset, "timestamp": timestamp, "shift": shift}
        arguments = {name: value for name, value in wanted.items() if value is not None}
        return self._ask(lambda: move_offsets(self._up(), arguments, dry_run))

    def lag(self, group: str) -> GroupLag:
        """Return how far a group is behind: committed and end offset of each partition, and its owner. Raises CannotSteer for an unknown
        group."""
        return self._ask(lambda: lag_of_group(self._up(), group))

    def seed_data(self, source: SeedSource) -> Seeded:
        """Apply seed data, a file or its lines as Python data: create topics, write records, commit offsets and set configs. Returns what
        was done. Raises BadSeedData (a ValueError) with the wrong line."""
        return self._ask(lambda: apply_seed_data(self._up(), source))


def facts_of_topics(running: Running) -> dict[str, TopicFacts]:
    """Return the facts of each topic by its name."""
    from ..data.facts import topic_facts

    cluster = running.cluster
    return {name: topic_facts(cluster, cluster.topics.require(name)) for name in cluster.topics.names()}


def configs_of_topic(running: Running, topic: str) -> dict[str, ConfigRow]:
    """Return the configs of a topic by name. Raises CannotSteer for an unknown topic."""
    from ..core.steering.find import topic_of
    from ..data.facts import topic_configs

    return topic_configs(running.cluster, topic_of(running.cluster, topic))


def configs_of_node(running: Running, node: int) -> dict[str, ConfigRow]:
    """Return the configs of a node by name. Raises CannotSteer for an unknown node."""
    from ..core.steering.find import node_or_all
    from ..data import facts

    return facts.configs_of_node(running.cluster, node_or_all(running.cluster, node))


def write_lines(
    running: Running,
    topic: str,
    lines: str | bytes | Iterable[Mapping[str, Any]],
    partition: int | None,
    key_as: Form | None,
    value_as: Form | None,
) -> list[Written]:
    """Write all records or none. Raises BadLine (a ValueError) or CannotSteer."""
    from ..core.steering.find import topic_of
    from ..data.lines import lines_of
    from ..data.writing import Reader, write

    topic_log = topic_of(running.cluster, topic)
    reader = Reader(running, topic, len(topic_log.partitions), key_as, value_as)
    for _ in reader.read(lines_of(lines), partition):
        pass
    return write(running, topic_log, reader.lines)


def move_offsets(running: Running, arguments: dict[str, Any], dry_run: bool) -> list[Reset]:
    """Return the changes that the command `reset_offsets` makes, and make them unless `dry_run`. Raises CannotSteer."""
    from ..core.steering import checked
    from ..core.steering.offsets import ResetOffsets, resets

    wanted = checked("reset_offsets", arguments)
    assert isinstance(wanted, ResetOffsets)
    moves = resets(running.cluster, wanted)
    if not dry_run:
        running.submit(Command("reset_offsets", arguments))
    return moves


def lag_of_group(running: Running, group: str) -> GroupLag:
    """Return how far the group is behind. Raises CannotSteer if there is no such group."""
    from ..core.steering.find import group_of
    from ..data.lag import lag_of

    return lag_of(running.cluster, group_of(running.cluster, group).view())


def apply_seed_data(running: Running, source: SeedSource) -> Seeded:
    """Apply seed data and return what was done. Raises BadSeedData."""
    from ..data.seed import read_seed_data

    return read_seed_data(source).apply(running)
