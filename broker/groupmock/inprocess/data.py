"""What stands in the cluster, written and read in process: topics, records, configs, offsets, lag, seed data.

The words are those of the routes and of the verbs (docs/how-to/seed-and-read.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, TypeVar

from ..core.events import Command
from .calls import Calls, ConfigValues, R, config_texts

if TYPE_CHECKING:
    from ..core.steering.offsets import Reset
    from ..data.facts import ConfigRow, TopicFacts
    from ..data.lag import GroupLag
    from ..data.lines import Form
    from ..data.seed import Seeded
    from ..data.seed import Source as SeedSource
    from ..data.writing import Written

__tracebackhide__: Final = True
Facts = TypeVar("Facts")
Configs = TypeVar("Configs")
Behind = TypeVar("Behind")
Moved = TypeVar("Moved")
Wrote = TypeVar("Wrote")
Sown = TypeVar("Sown")
"""What `topics`, `configs`, `lag`, `reset_offsets`, `write_records` and `seed_data` give: a value, or a coroutine of it."""


class Data(Calls[R], Generic[R, Facts, Configs, Behind, Moved, Wrote, Sown]):
    """Topics, records, configs, committed offsets."""

    @property
    def topics(self) -> Facts:
        """Every topic by name: id, configs, and each partition's leader, epochs, replicas, offsets, segments."""

        def look() -> dict[str, TopicFacts]:
            from ..data.facts import topic_facts

            cluster = self._up().cluster
            return {name: topic_facts(cluster, cluster.topics.require(name)) for name in cluster.topics.names()}

        done: Facts = self._ask(look)
        return done

    def configs(self, topic: str) -> Configs:
        """Every config of a topic: its value, and where that was set. CannotSteer for a topic that is not there."""

        def look() -> dict[str, ConfigRow]:
            from ..core.steering.find import topic_of
            from ..data.facts import topic_configs

            cluster = self._up().cluster
            return topic_configs(cluster, topic_of(cluster, topic))

        done: Configs = self._ask(look)
        return done

    def node_configs(self, node: int) -> Configs:
        """Every config of a node; of -1, or of 0 where no node has that id, what was set for all nodes at run time."""

        def look() -> dict[str, ConfigRow]:
            from ..core.steering.find import node_or_all
            from ..data.facts import configs_of_node

            cluster = self._up().cluster
            return configs_of_node(cluster, node_or_all(cluster, node))

        done: Configs = self._ask(look)
        return done

    def configure_topic(self, name: str, set: ConfigValues | None = None, unset: Iterable[str] = ()) -> R:
        """Set configs of a topic, or let them go back to their defaults; all of it or nothing."""
        return self._command("configure_topic", name=name, **_changes(set, unset))

    def configure_node(self, node: int, set: ConfigValues | None = None, unset: Iterable[str] = ()) -> R:
        """The same of broker configs that may change at run time, of one node or of all (-1, or 0 where no node has that id)."""
        return self._command("configure_node", node=node, **_changes(set, unset))

    def write_records(
        self,
        topic: str,
        lines: str | bytes | Iterable[Mapping[str, Any]],
        partition: int | None = None,
        key_as: Form | None = None,
        value_as: Form | None = None,
    ) -> Wrote:
        """Write records, all or none: JSON Lines as text, or {"key": ..., "value": ..., "headers": ...} each, in which bytes may stand.

        `partition`: of records that name none; without it their key decides, as with Kafka's producers, else they go to all in turn.
        ValueError with the number of the line that is wrong; CannotSteer.
        """

        def do() -> list[Written]:
            from ..core.steering.find import topic_of
            from ..data.lines import lines_of
            from ..data.writing import Reader, write

            running = self._up()
            found = topic_of(running.cluster, topic)
            reader = Reader(running, topic, len(found.partitions), key_as, value_as)
            for _ in reader.read(lines_of(lines), partition):
                pass
            return write(running, found, reader.lines)

        done: Wrote = self._ask(do)
        return done

    def commit_offsets(self, group: str, offsets: Mapping[str, Mapping[int, int]]) -> R:
        """Commit for a group without members: {"orders": {0: 17}}, all or none. CannotSteer while it has members, as Kafka refuses."""
        given: object = offsets  # whatever the caller's type checker did not see
        if not (isinstance(given, Mapping) and all(isinstance(each, Mapping) for each in given.values())):
            raise ValueError(f'offsets: {{"orders": {{0: 17}}}}, not {offsets!r}')
        rows = [{"topic": topic, "partition": index, "offset": offset} for topic, each in offsets.items() for index, offset in each.items()]
        return self._command("commit_offsets", group=group, offsets=rows)

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
    ) -> Moved:
        """Put the offsets of a group without members back, or forth, as kafka-consumer-groups.sh --reset-offsets does: of a topic or of all
        that it has committed, `to` an end of the log, an `offset`, a `timestamp` (ms since 1970), or by a `shift`. What went where."""
        said = {"topic": topic, "partitions": partitions and list(partitions), "to": to, "offset": offset, "timestamp": timestamp}
        arguments = {name: value for name, value in {"group": group, **said, "shift": shift}.items() if value is not None}

        def do() -> list[Reset]:
            from ..core.steering import checked
            from ..core.steering.offsets import ResetOffsets, resets

            running = self._up()
            wanted = checked("reset_offsets", arguments)
            assert isinstance(wanted, ResetOffsets)
            found = resets(running.cluster, wanted)
            if not dry_run:
                running.submit(Command("reset_offsets", arguments))
            return found

        done: Moved = self._ask(do)
        return done

    def lag(self, group: str) -> Behind:
        """How far a group is behind: committed and end offset of each partition, and who reads it. CannotSteer: there is no such group."""

        def look() -> GroupLag:
            from ..core.steering.find import group_of
            from ..data.lag import lag_of

            cluster = self._up().cluster
            return lag_of(cluster, group_of(cluster, group).view())

        done: Behind = self._ask(look)
        return done

    def seed_data(self, source: SeedSource) -> Sown:
        """Make topics, write records, commit offsets and set configs: a file of seed data, or its lines as Python data. What was done.
        BadSeedData (a ValueError) with the line that is wrong."""

        def do() -> Seeded:
            from ..data.seed import read_seed_data

            return read_seed_data(source).apply(self._up())

        done: Sown = self._ask(do)
        return done


def _changes(set: ConfigValues | None, unset: Iterable[str]) -> dict[str, Any]:
    return {"set": config_texts(set), "unset": list(unset)}
