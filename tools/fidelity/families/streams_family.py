"""Generate exchanges of streams groups (KIP-1071): several members of several processes, valid and invalid topologies, topics that come,
grow and go, standby tasks, static members, endpoints, offsets of members and tasks, settings of the group.

A member mostly goes on where it is, says which tasks it was told to own or a part of them, and now and then what it should not. A target is
computed with every heartbeat that finds a new group epoch (assignment interval 0, no initial delay) unless a step changes these settings.
Kafka's coordinator sees changes of topics and settings later, so that a pause follows every such step.
"""

from __future__ import annotations

from random import Random
from typing import Any, Final

from groupmock_codec.api_keys import (
    CONSUMER_GROUP_HEARTBEAT,
    CREATE_PARTITIONS,
    CREATE_TOPICS,
    DELETE_GROUPS,
    DELETE_TOPICS,
    DESCRIBE_GROUPS,
    INCREMENTAL_ALTER_CONFIGS,
    LIST_GROUPS,
    OFFSET_COMMIT,
    STREAMS_GROUP_DESCRIBE,
    STREAMS_GROUP_HEARTBEAT,
    STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE,
)

from ..generated.script import Json, Script, TopicNeed, group, pause, told, topic
from .consumers_family import EPOCHS, NAMES, Actions, ConsumersAuthor, Fields
from .log_family import SETTLING_MS

SOURCES: Final = (1, 2, 3)
"""The numbers of the external topics, all of which exist at the begin."""
REPARTITION: Final = (5, 6)
CHANGELOGS: Final = (7, 8, 9)
ABSENT: Final = 4
"""The number of a topic that does not exist, until a step creates it."""
PROCESSES: Final = ("P", "P", "Q", "Q", "R")
INSTANCE: Final = {"D": "i1"}
ROOM: Final = 3
"""The greatest number of members in a group (settings_classes.py)."""
MOST_MS: Final = 14_000
"""A script stops after pauses of this length in all, because a play has to end within 40 s."""
SETTINGS: Final = (
    ("streams.num.standby.replicas", ("0", "1", "1", "2")), ("streams.num.standby.replicas", ("0", "1", "1", "2")),
    ("streams.initial.rebalance.delay.ms", ("0", "1000", "2500")), ("streams.assignment.interval.ms", ("0", "1500")),
    ("streams.heartbeat.interval.ms", ("5000", "6000")), ("streams.session.timeout.ms", ("45000", "50000")),
)  # fmt: skip
"""Settings of a group with values. Below 4.4 only these exist."""
SETTINGS_SINCE_4_4: Final = (
    ("streams.task.offset.interval.ms", ("60000", "20000")), ("streams.acceptable.recovery.lag", ("10000", "0")),
    ("streams.rack.aware.assignment.tags", ("", "zone", "zone,rack")),
)  # fmt: skip
TASKS: Final = (("0", 0), ("0", 1), ("1", 0), ("1", 2), ("2", 0), ("9", 0))


class StreamsAuthor(ConsumersAuthor):
    """Writes a script about one group. `topology` is what its members send."""

    def __init__(self, script: Script, rng: Random) -> None:
        super().__init__(script, rng)
        self.paused_ms = 0
        self.delays = False
        """True if targets may be delayed by a setting."""
        self.gone: set[str] = set()
        """The members that may not join again, because Kafka 4.4.0 may give them tasks of their former target (ST-119)."""
        self.subtopologies = rng.choices(SHAPES, WEIGHTS)[0](rng)
        self.version = 0 if script.release == "4.3" else 1

    def wait(self, ms: int) -> None:
        self.paused_ms += ms
        self.write(pause(ms))

    def heartbeat(self, name: str, **fields: Json) -> None:
        version = self.rng.choice((0, self.version))
        # Kafka 4.4.0 mislays the tasks of a member whose instance id another member names (docs/kafka/streams-groups.md#st-119).
        instance = INSTANCE.get(name) if self.rng.random() < 0.97 else self.rng.choice((None, "", f"i-{name}"))
        static = {"instance_id": instance if self.version else None}
        self.send(name, STREAMS_GROUP_HEARTBEAT, version, {"member_id": name, **static, **fields})

    # -- members

    def join(self, name: str) -> None:
        """Join with epoch 0 and a topology, mostly the one of the script."""
        rng = self.rng
        fields: Fields = {
            "member_epoch": 0, "rebalance_timeout_ms": 300_000, "process_id": rng.choice(PROCESSES),
            "topology": self._topology(), "active_tasks": [], "standby_tasks": [], "warmup_tasks": [], "client_tags": [],
            "endpoint_information_epoch": rng.choice((-1, 0)),
        }  # fmt: skip
        valid = True
        if rng.random() < 0.1:
            fields["rebalance_timeout_ms"] = rng.choice((0, 60_000, 60_000))
        if rng.random() < 0.05:
            valid = False
            fields |= rng.choice((
                {"rack_id": ""}, {"rebalance_timeout_ms": -1}, {"active_tasks": [_task("0", 0)]}, {"warmup_tasks": None},
                {"topology": None}, {"warmup_tasks": [_task("0", 0)]}, {"client_tags": [{"key": "zone", "value": each} for each in "ab"]},
            ))  # fmt: skip
        elif rng.random() < 0.1:
            fields |= rng.choice((
                {"rack_id": rng.choice(("r1", "r2"))}, {"process_id": None}, {"client_tags": [{"key": "zone", "value": rng.choice("ab")}]},
            ))  # fmt: skip
        if rng.random() < 0.2:
            fields["user_endpoint"] = {"host": rng.choice(("h1", "h2")), "port": rng.choice((1, 2))}
        if self.version and rng.random() < 0.3:
            fields[rng.choice(("task_offsets", "task_offsets", "task_end_offsets"))] = self._offsets()
        if rng.random() < 0.01:
            fields["shutdown_application"] = True
        self.heartbeat(name, **fields)
        if valid and len(self.joined) < ROOM:
            self.joined.add(name)

    def _topology(self) -> Json:
        rng = self.rng
        epoch, subtopologies = (0, self.subtopologies) if rng.random() < 0.93 else rng.choice((
            (1, self.subtopologies), (0, [_subtopology("0", [1])]), (-1, self.subtopologies), (0, []),
        ))  # fmt: skip
        return {"epoch": epoch, "subtopologies": subtopologies}

    def _offsets(self) -> list[Json]:
        rng = self.rng
        tasks = [rng.choice(TASKS) for _ in range(rng.randint(1, 3))]
        return [{"subtopology_id": each, "partition": number, "offset": rng.choice((0, 5, 100, 2**40))} for each, number in tasks]

    def beat(self, name: str) -> None:
        """Send a heartbeat, mostly at the member's epoch, with all owned tasks, some of them, or none of the lists."""
        rng = self.rng
        nothing: Fields = {"active_tasks": None, "standby_tasks": None, "warmup_tasks": None}
        owned: Fields = {"active_tasks": told(name, "active"), "standby_tasks": told(name, "standby"), "warmup_tasks": []}
        given: Fields = {"active_tasks": [], "standby_tasks": [], "warmup_tasks": []}
        fields = dict(rng.choices((nothing, owned, given, {**given, "standby_tasks": told(name, "standby")}), (5, 8, 2, 2))[0])
        if rng.random() < 0.03:
            subtopology, number = rng.choice(TASKS)
            fields |= rng.choice((
                {"active_tasks": [_task(subtopology, number)]}, {"standby_tasks": None}, {"warmup_tasks": [_task(subtopology, number)]},
            ))  # fmt: skip
        fields["member_epoch"] = told(name, "epoch") if rng.random() < 0.92 else rng.choice((told(name, "epoch", -1), *EPOCHS))
        fields["endpoint_information_epoch"] = rng.choice((0, 0, 1))
        if rng.random() < 0.12:
            fields |= rng.choice((
                {"process_id": rng.choice(PROCESSES)}, {"rebalance_timeout_ms": rng.choice((300_000, 60_000))},
                {"user_endpoint": {"host": "h3", "port": 1}}, {"client_tags": [{"key": "zone", "value": "c"}]},
                {"task_offsets": self._offsets()}, {"task_end_offsets": self._offsets()}, {"rack_id": "r3"}, {"topology": self._topology()},
            ))  # fmt: skip
        if rng.random() < 0.01:
            fields["shutdown_application"] = True
        self.heartbeat(name, **fields)

    def everybody_beats(self, name: str) -> None:
        """Let all members send heartbeats until the tasks are where they belong."""
        for _ in range(self.rng.choice((1, 2, 3))):
            for each in sorted(self.joined):
                owned: Fields = {"active_tasks": told(each, "active"), "standby_tasks": told(each, "standby"), "warmup_tasks": []}
                self.heartbeat(each, member_epoch=told(each, "epoch"), endpoint_information_epoch=0, **owned)

    def leave(self, name: str) -> None:
        """Leave for good, or temporarily as a static member."""
        epoch = -2 if name in INSTANCE and self.rng.random() < 0.6 else -1
        self.heartbeat(name, member_epoch=epoch)
        self.joined.discard(name)
        if self.delays:
            self.gone.add(name)

    # -- topics and settings

    def _changes(self, name: str, key: int, version: int, fields: Fields) -> None:
        """Change topics, and wait until Kafka's coordinator has seen that."""
        self.send(name, key, version, {**fields, "timeout_ms": 5000})
        self.wait(2 * SETTLING_MS)
        if self.joined:
            self.beat(self.rng.choice(sorted(self.joined)))

    def create(self, name: str) -> None:
        number = self.rng.choice((*SOURCES, ABSENT, *REPARTITION, *CHANGELOGS))
        wanted = {"name": topic(number), "num_partitions": self.rng.choice((1, 2, 3)), "replication_factor": 1}
        self._changes(name, CREATE_TOPICS, 7, {"topics": [wanted]})

    def delete_topic(self, name: str) -> None:
        number = self.rng.choice((*SOURCES, *REPARTITION, *CHANGELOGS))
        self._changes(name, DELETE_TOPICS, 5, {"topic_names": [topic(number)]})

    def grow(self, name: str) -> None:
        number = self.rng.choice((*SOURCES, *SOURCES, *REPARTITION, *CHANGELOGS))
        self._changes(
            name, CREATE_PARTITIONS, 3, {"topics": [{"name": topic(number), "count": self.rng.choice((2, 3, 4)), "assignments": None}]}
        )

    def configure(self, name: str) -> None:
        """Change a setting of the group, mostly the number of standby tasks."""
        setting, values = self.rng.choice((*SETTINGS, *(SETTINGS_SINCE_4_4 if self.version else ())))
        value = self.rng.choice(values)
        self.delays |= "delay" in setting or "interval" in setting
        change = {"name": setting, "config_operation": 0, "value": value}
        resources = [{"resource_type": 32, "resource_name": group(1), "configs": [change]}]
        self.send(name, INCREMENTAL_ALTER_CONFIGS, 1, {"resources": resources, "validate_only": False})
        self.wait(2 * SETTLING_MS)

    # -- the group seen from outside

    def look(self, name: str) -> None:
        rng = self.rng
        keys = (STREAMS_GROUP_DESCRIBE, STREAMS_GROUP_DESCRIBE, STREAMS_GROUP_DESCRIBE, DESCRIBE_GROUPS, LIST_GROUPS)
        key = rng.choice((*keys, STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE) if self.version else keys)
        if key == STREAMS_GROUP_DESCRIBE:
            self.describe(name)
        elif key == STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE:
            self.send(name, key, 0, {"member_id": name, "topology_epoch": 0})
        elif key == DESCRIBE_GROUPS:
            self.send(name, key, rng.choice((5, 6)), {"groups": [group(1)]})
        else:
            self.send(name, key, 5, {"states_filter": [], "types_filter": rng.choice(([], ["streams"], ["classic"]))})

    def describe(self, name: str) -> None:
        names = [group(number) for number in self.rng.choice(([1], [1], [1], [9]))]
        wanted: Fields = {"include_topology_description": True} if self.version and self.rng.random() < 0.1 else {}
        self.send(name, STREAMS_GROUP_DESCRIBE, self.version, {"group_ids": names, **wanted})

    def commit(self, name: str) -> None:
        """Commit offsets of a source, mostly at the member's own epoch."""
        rng = self.rng
        epoch: Json = told(name, "epoch") if rng.random() < 0.75 else rng.choice((told(name, "epoch", -1), -1, 0, 9))
        rows = [{"partition_index": index, "committed_offset": 3} for index in rng.choice(([0], [0, 1], [2]))]
        member_id: Json = told(name, "member_id") if rng.random() < 0.9 else rng.choice(("", "ghost"))
        topics = [{"name": topic(rng.choice((*SOURCES, *REPARTITION))), "partitions": rows}]
        fields = {"generation_id_or_member_epoch": epoch, "member_id": member_id, "topics": topics}
        self.send(name, OFFSET_COMMIT, rng.choice((7, 9, 9, 9)), fields)

    def intrude(self, name: str) -> None:
        """Ask for the group by another protocol."""
        if self.rng.random() < 0.5:
            fields: Fields = {
                "member_id": name, "member_epoch": 0, "rebalance_timeout_ms": 300_000, "subscribed_topic_names": [topic(1)],
                "topic_partitions": [],
            }  # fmt: skip
            self.send(name, CONSUMER_GROUP_HEARTBEAT, 1, fields)
        else:
            self.classic_beat(name)

    def delete(self, name: str) -> None:
        """Delete the group, sometimes after all members have left, so that the next join may bring another topology."""
        if self.rng.random() < 0.5:
            for each in sorted(self.joined):
                self.heartbeat(each, member_epoch=-1)
            self.joined.clear()
            self.subtopologies = self.rng.choices(SHAPES, WEIGHTS)[0](self.rng)
        self.send(name, DELETE_GROUPS, 2, {"groups_names": [group(1)]})

    def rest(self, name: str) -> None:
        self.wait(self.rng.choice((200, 1200, 2600)))

    of_consumers: Actions = (
        (beat, 40), (everybody_beats, 14), (leave, 6), (join, 4), (commit, 6), (ConsumersAuthor.fetch, 3), (look, 10), (create, 3),
        (delete_topic, 3), (grow, 4), (configure, 4), (intrude, 2), (delete, 2), (rest, 3),
    )  # fmt: skip

    def step(self) -> None:
        name = self.rng.choice(NAMES)
        may_join = name not in self.joined and not (name in self.gone and self.joined)
        if may_join and (len(self.joined) < ROOM or self.rng.random() < 0.1):
            self.join(name)
            return
        if name not in self.joined:
            name = self.rng.choice(sorted(self.joined))
        actions, weights = zip(*self.of_consumers, strict=True)
        self.rng.choices(actions, weights)[0](self, name)


# -- topologies --------------------------------------------------------------------------------------------------------


def _task(subtopology: str, *numbers: int) -> Json:
    return {"subtopology_id": subtopology, "partitions": list(numbers)}


def _internal(number: int, rng: Random | None = None, partitions: int = 0) -> Json:
    """Return an internal topic, sometimes with settings."""
    odd = rng is not None and rng.random() < 0.2
    configs = [{"key": "cleanup.policy", "value": "compact"}] if odd else []
    return {"name": topic(number), "partitions": partitions, "replication_factor": 1 if odd else 0, "topic_configs": configs}


def _subtopology(
    name: str,
    sources: list[int],
    sinks: list[int] | None = None,
    repartition: list[Json] | None = None,
    changelogs: list[Json] | None = None,
    copartitioned: list[tuple[list[int], list[int]]] | None = None,
) -> Json:
    groups = [
        {"source_topics": first, "source_topic_regex": [], "repartition_source_topics": second} for first, second in copartitioned or ()
    ]
    return {
        "subtopology_id": name, "source_topics": [topic(number) for number in sources], "source_topic_regex": [],
        "state_changelog_topics": changelogs or [], "repartition_sink_topics": [topic(number) for number in sinks or ()],
        "repartition_source_topics": repartition or [], "copartition_groups": groups,
    }  # fmt: skip


def _stateless(rng: Random) -> list[Json]:
    return [_subtopology("0", rng.choice(([1], [2], [1, 3])))]


def _stateful(rng: Random) -> list[Json]:
    return [_subtopology("0", rng.choice(([1], [2], [1, 2])), changelogs=[_internal(7, rng)])]


def _counting(rng: Random) -> list[Json]:
    """Records go through a repartition topic to a subtopology that counts."""
    given = rng.choice((0, 0, 0, 2, 5))
    reading = _subtopology("0", rng.choice(([1], [2])), sinks=[5])
    counts = _subtopology("1", rng.choice(([], [], [3])), repartition=[_internal(5, rng, given)], changelogs=[_internal(7, rng)])
    return [reading, counts]


def _joining(rng: Random) -> list[Json]:
    """Two topics are joined, which must have equal numbers of partitions."""
    group_of: tuple[list[int], list[int]] = rng.choice((([0, 1], []), ([0, 1], []), ([], [])))
    return [_subtopology("0", [1, rng.choice((2, 3))], changelogs=[_internal(7), _internal(8)], copartitioned=[group_of])]


def _copartitioned(rng: Random) -> list[Json]:
    """A repartition topic is joined with a source, or with another repartition topic."""
    if rng.random() < 0.5:
        second = _subtopology("1", [2], repartition=[_internal(5, rng, rng.choice((0, 0, 2, 3)))], copartitioned=[([0], [0])])
        return [_subtopology("0", [1], sinks=[5]), second]
    both = [_internal(5, rng, rng.choice((0, 0, 2))), _internal(6, rng, rng.choice((0, 0, 3)))]
    return [_subtopology("0", [1], sinks=[5]), _subtopology("1", [3], sinks=[6]), _subtopology("2", [], None, both, None, [([], [0, 1])])]


def _several(rng: Random) -> list[Json]:
    first = _subtopology("0", [1], changelogs=[_internal(7)])
    return [first, _subtopology("1", [2]), _subtopology(rng.choice(("2", "10")), [3], changelogs=[_internal(8)])]


def _unready(rng: Random) -> list[Json]:
    """The topology has a source that is missing, or cannot be valid."""
    return [
        rng.choice((
            _subtopology("0", [1, ABSENT]), _subtopology("0", [ABSENT], changelogs=[_internal(7)]),
            _subtopology("0", [1], repartition=[_internal(5)]), _subtopology("0", [], sinks=[5], repartition=[_internal(5)]),
            _subtopology("0", []), _subtopology("0", [1], copartitioned=[([3], [])]),
            _subtopology("0", [1], changelogs=[_internal(7, partitions=2)]),
            _subtopology("0", [1], changelogs=[{**_internal(7), "topic_configs": [{"key": "nonsense", "value": "1"}]}]),
        ))
    ]  # fmt: skip


SHAPES: Final[tuple[Any, ...]] = (_stateless, _stateful, _counting, _joining, _copartitioned, _several, _unready)
WEIGHTS: Final = (4, 8, 8, 5, 5, 6, 5)


def generate(seed: int, release: str) -> Script:
    rng = Random(f"streams {release} {seed}")
    script = Script("streams", seed, release, "streams", [], 1, [TopicNeed(rng.choice((1, 2, 3)), True) for _ in SOURCES])
    author = StreamsAuthor(script, rng)
    if rng.random() < 0.6:
        author.configure("A")
    length = rng.randint(12, 44)
    while len(script.steps) < length and author.paused_ms < MOST_MS:
        author.step()
    author.describe("A")
    return script
