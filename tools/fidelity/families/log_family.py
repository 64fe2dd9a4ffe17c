"""Generate exchanges about records, offsets and topics in every version, valid and invalid, on topics of the script's own.

Stored batches are compared byte by byte; fetches wait for what another client produces; fetch sessions are opened, used and misused.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, Final

from ..generated.script import Json, Script, TopicNeed, act, pause, request, told, topic, topic_id
from .log_author import LogAuthor
from .log_batches import STAMP_MS, broken, good, idempotent

SETTLING_MS: Final = 700
"""A broker applies a controller's change within this time. No request tells when it has."""
WAIT_MS: Final = 500
KEPT: Final = {"retention.ms": "-1"}
"""The config of topics that keeps Kafka from deleting records by time, because their timestamps are of 2023."""
TOPICS: Final[tuple[dict[str, str], ...]] = ({}, {"cleanup.policy": "compact"}, {"max.message.bytes": "300"})
CONFIGS: Final = ("cleanup.policy", "max.message.bytes", "retention.ms", "segment.ms", "min.insync.replicas", "nope")
VALUES: Final = ("5", "x", None, "compact", "delete", "1000", "compact,delete", "", "-1")


def generate(seed: int, release: str) -> Script:
    rng = Random(f"log {release} {seed}")
    topics = [TopicNeed(rng.randint(1, 2), True, {**KEPT, **rng.choice(TOPICS)}) for _ in range(rng.choice((1, 1, 2)))]
    script = Script("log", seed, release, "plain", [], 1, topics)
    author = LogAuthor(script, rng)
    length = rng.randint(6, 18)
    acts = [act for act in ACTS if act is not _describe_partitions or 75 in author.versions]
    weights = [ACTS[act] for act in acts]
    while len(script.steps) < length:
        rng.choices(acts, weights)[0](author)
    return script


# -- produce -----------------------------------------------------------------------------------------------------------


def _produce(author: LogAuthor, client: str | None = None) -> None:
    rng, version = author.rng, author.version(0)
    places: dict[int, list[int]] = {}
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        places.setdefault(author.topic(), []).append(author.partition())
    topics = [
        {
            **author.named(number, version, 13, "name"),
            "partition_data": [{"index": index, "records": _records(rng, author.script.release)} for index in indexes],
        }
        for number, indexes in places.items()
    ]
    acks = rng.choice((-1, -1, -1, 1, 1, 0, 2)) if client is None else -1
    fields: dict[str, Json] = {"acks": acks, "timeout_ms": 1000, "topic_data": topics}
    if acks:
        author.send(0, fields, version, client)
    else:
        _unanswered(author, fields, version)


def _unanswered(author: LogAuthor, fields: dict[str, Json], version: int) -> None:
    """Send Produce with acks=0 on its own connection, and a second request that shows whether the broker closed the connection."""
    steps = author.script.steps
    steps.append(act("Z", "reconnects"))
    steps.append(request("Z", 0, version, fields))
    steps.append(request("Z", 60 if 60 in author.versions else 3, 0))


def _records(rng: Random, release: str) -> bytes | None:
    kind = rng.choices((good, idempotent, None), (5, 5, 3))[0]
    return broken(rng, release) if kind is None else kind(rng)


def _init_producer_id(author: LogAuthor) -> None:
    fields: dict[str, Json] = {"transactional_id": None, "transaction_timeout_ms": author.rng.choice((1000, -1))}
    if author.rng.random() < 0.3:
        fields |= {"producer_id": author.rng.choice((-1, 5)), "producer_epoch": author.rng.choice((-1, 0))}
    if author.rng.random() < 0.1:
        fields["transactional_id"] = ""
    author.send(22, fields)


# -- fetch -------------------------------------------------------------------------------------------------------------


def _fetch(author: LogAuthor) -> None:
    rng, version = author.rng, author.version(1)
    client = rng.choice("AB")
    fields = _fetch_fields(author, version)
    if version >= 7 and rng.random() < 0.7:
        fields |= _session(author, client, version)
    author.send(1, fields, version, client)


def _fetch_fields(author: LogAuthor, version: int) -> dict[str, Json]:
    rng = author.rng
    numbers = list(dict.fromkeys(author.topic() for _ in range(rng.choice((1, 1, 2)))))
    topics = [
        {
            **author.named(number, version, 13, "topic"),
            "partitions": [
                _fetch_partition(rng, index, version) for index in dict.fromkeys(author.partition() for _ in range(rng.randint(1, 2)))
            ],
        }
        for number in numbers
    ]
    return {
        "replica_id": -1,
        "max_wait_ms": 0,
        "min_bytes": rng.choice((0, 1)),
        "max_bytes": rng.choice((0, 100, 300, 1 << 20, 1 << 20)),
        "isolation_level": rng.choice((0, 0, 1, 7)) if rng.random() < 0.3 else 0,
        "topics": topics,
    }


def _fetch_partition(rng: Random, index: int, version: int) -> dict[str, Json]:
    partition: dict[str, Json] = {
        "partition": index,
        "fetch_offset": rng.choice((0, 0, 0, 1, 2, 3, 5, 9, -1)),
        "partition_max_bytes": rng.choice((0, 100, 1000, 1 << 20, 1 << 20)),
    }
    if version >= 9 and rng.random() < 0.4:
        partition["current_leader_epoch"] = rng.choice((-1, 0, 0, 1))
    if version >= 12 and rng.random() < 0.4:
        partition["last_fetched_epoch"] = rng.choice((-1, 0, 1))
    return partition


def _session(author: LogAuthor, client: str, version: int) -> dict[str, Json]:
    """Return the session fields of a Fetch: a full fetch creates a session, and later ones use it, sometimes with a wrong epoch or id."""
    rng, expected = author.rng, author.sessions.get(client)
    if expected is None:
        author.sessions[client] = 1
        return {"session_id": 0, "session_epoch": 0}
    epoch = rng.choice((expected, expected, expected, expected, expected + 1, 0, -1, 7))
    fields: dict[str, Json] = {"session_id": told(client, "session_id"), "session_epoch": epoch}
    if rng.random() < 0.1:
        fields["session_id"] = rng.choice((0, 5, -7, 2**31 - 1))
    elif epoch == expected:
        author.sessions[client] += 1
    elif epoch in (0, -1):
        author.sessions.pop(client)
    if rng.random() < 0.4:
        fields["topics"] = []
    if rng.random() < 0.3:
        fields["forgotten_topics_data"] = [{**author.named(author.topic(), version, 13, "topic"), "partitions": [author.partition()]}]
    return fields


def _wait_for_records(author: LogAuthor) -> None:
    """Send a Fetch that waits until another client produces or its time is over."""
    rng = author.rng
    version = author.version(1)
    fields = _fetch_fields(author, version) | {"min_bytes": rng.choice((1, 80, 300)), "max_wait_ms": WAIT_MS, "max_bytes": 1 << 20}
    author.send(1, fields, version, "W")
    if rng.random() < 0.7:
        _produce(author, "A")
    if rng.random() < 0.5:
        _produce(author, "B")
    author.script.steps.append(pause(WAIT_MS))


# -- offsets -----------------------------------------------------------------------------------------------------------


def _list_offsets(author: LogAuthor) -> None:
    rng, version = author.rng, author.version(2)
    numbers = [author.topic() for _ in range(rng.choice((1, 1, 2)))]
    topics = [
        {"name": topic(number), "partitions": [_offset_asked(author, version) for _ in range(rng.choice((1, 1, 2, 3)))]}
        for number in numbers
    ]
    author.send(2, {"replica_id": -1, "isolation_level": rng.choice((0, 0, 1)), "topics": topics}, version)


def _offset_asked(author: LogAuthor, version: int) -> dict[str, Json]:
    rng = author.rng
    asked: dict[str, Json] = {
        "partition_index": author.partition(),
        "timestamp": rng.choice((-1, -2, -1, -2, -3, -4, -5, -6, -7, 0, STAMP_MS + rng.randint(0, 60), STAMP_MS + 1_000_000)),
    }
    if version >= 4 and rng.random() < 0.3:
        asked["current_leader_epoch"] = rng.choice((-1, 0, 1))
    if version == 0:
        asked["max_num_offsets"] = rng.choice((0, 1, 2, -1))
    return asked


def _epochs(author: LogAuthor) -> None:
    rng, version = author.rng, author.version(23)
    partitions = []
    for index in dict.fromkeys(author.partition() for _ in range(rng.randint(1, 2))):
        partition: dict[str, Json] = {"partition": index, "leader_epoch": rng.randint(-2, 2)}
        if version >= 2:
            partition["current_leader_epoch"] = rng.choice((-1, -1, 0, 1))
        partitions.append(partition)
    author.send(23, {"replica_id": -1, "topics": [{"topic": topic(author.topic()), "partitions": partitions}]}, version)


def _delete_records(author: LogAuthor) -> None:
    rng = author.rng
    numbers = list(dict.fromkeys(author.topic() for _ in range(rng.choice((1, 1, 2)))))
    topics = [
        {
            "name": topic(number),
            "partitions": [
                {"partition_index": index, "offset": rng.choice((-2, -1, 0, 1, 2, 3, 50))}
                for index in dict.fromkeys((author.partition(), author.partition()))
            ],
        }
        for number in numbers
    ]
    author.send(21, {"timeout_ms": 5000, "topics": topics})


# -- topics ------------------------------------------------------------------------------------------------------------


def _metadata(author: LogAuthor) -> None:
    rng, version = author.rng, author.version(3)
    topics: Json = [{"name": topic(author.topic())} for _ in range(rng.randint(1, 6))]
    topics += [{"name": name} for name in rng.sample(("a b", "", "..", "x" * 250, "nope-1", "nope-2", "nope-3"), rng.randint(0, 2))]
    if version >= 12 and rng.random() < 0.3:
        topics = [{"name": None, "topic_id": topic_id(author.topic())} for _ in range(rng.randint(1, 2))]
    fields: dict[str, Json] = {"topics": topics, "allow_auto_topic_creation": False}
    if version >= 8:
        fields["include_topic_authorized_operations"] = rng.random() < 0.5
    if 8 <= version <= 10:
        fields["include_cluster_authorized_operations"] = rng.random() < 0.5
    author.send(3, fields, max(version, 4))


def _describe_partitions(author: LogAuthor) -> None:
    rng = author.rng
    fields: dict[str, Json] = {
        "topics": [{"name": topic(author.topic())} for _ in range(rng.randint(1, 3))],
        "response_partition_limit": rng.choice((2000, 1, 1, 0, -1)),
    }
    if rng.random() < 0.4:
        fields["cursor"] = {"topic_name": topic(author.topic()), "partition_index": rng.choice((0, 1, 9, -1))}
    author.send(75, fields)


def _create(author: LogAuthor) -> None:
    """Create a topic, mostly with validate_only, because topics are expensive on a real broker."""
    rng = author.rng
    number = author.topic()
    made = rng.random() < 0.15
    version = 7 if made else max(author.version(19), 1)  # CreateTopics v7 returns the id of the new topic.
    wanted: dict[str, Json] = {
        "name": topic(number) if rng.random() < 0.8 else rng.choice(("a b", "", "..", "x" * 250)),
        "num_partitions": rng.choice((-1, 0, 1, 2, 20_000)) if not made else 2,
        "replication_factor": rng.choice((-1, 0, 1, 3)) if not made else 1,
        "assignments": [],
        "configs": [{"name": (name := rng.choice(CONFIGS)), "value": _value(rng, name)} for _ in range(rng.choice((0, 0, 1, 2)))],
    }
    if rng.random() < 0.15:
        indexes = rng.choice(((0,), (0, 1), (1,), (0, 0)))
        wanted["assignments"] = [{"partition_index": index, "broker_ids": rng.choice(([1], [2], [1, 1], []))} for index in indexes]
        wanted |= {"num_partitions": -1, "replication_factor": -1}
    topics = [wanted] * rng.choice((1, 1, 1, 1, 2))
    author.send(19, {"topics": topics, "timeout_ms": rng.choice((5000, 5000, 5000, -1)), "validate_only": not made}, version)
    if made:
        author.script.steps.append(pause(SETTLING_MS))


def _delete(author: LogAuthor) -> None:
    """Delete topics, mostly by names and ids that do not exist."""
    rng, version = author.rng, author.version(20)
    gone = len(author.script.topics) + 1
    number = rng.choice((gone, gone, gone, 1))
    if version >= 6:
        states: Json = [
            rng.choice(({"name": topic(number)}, {"name": None, "topic_id": topic_id(number)})) for _ in range(rng.choice((1, 1, 2)))
        ]
        if rng.random() < 0.1:
            states.append(rng.choice(({"name": None}, {"name": topic(number), "topic_id": topic_id(number)})))
        fields: dict[str, Json] = {"topics": states}
    else:
        fields = {"topic_names": [topic(number) for _ in range(rng.choice((1, 1, 2)))]}
    author.send(20, {**fields, "timeout_ms": rng.choice((5000, 5000, -1))}, version)
    author.script.steps.append(pause(SETTLING_MS))


def _grow(author: LogAuthor) -> None:
    rng = author.rng
    count = rng.choice((0, 1, 2, 3, 3, -1))
    really = rng.random() < 0.3
    topics: list[dict[str, Json]] = [{"name": topic(author.topic()), "count": count, "assignments": None}]
    if rng.random() < 0.2:
        topics[0]["assignments"] = [{"broker_ids": rng.choice(([1], [9], [1, 1], []))} for _ in range(rng.randint(0, 2))]
    topics *= rng.choice((1, 1, 1, 2))
    author.send(37, {"topics": topics, "timeout_ms": rng.choice((5000, 5000, -1)), "validate_only": not really})
    if really:
        author.script.steps.append(pause(SETTLING_MS))


# -- configs -----------------------------------------------------------------------------------------------------------


def _resource(author: LogAuthor) -> dict[str, Json]:
    rng = author.rng
    kind = rng.choice((2, 2, 2, 2, 2, 0, 3, 99))
    return {"resource_type": kind, "resource_name": topic(author.topic()) if rng.random() < 0.9 else rng.choice(("a b", "", ".."))}


def _describe_configs(author: LogAuthor) -> None:
    rng, version = author.rng, author.version(32)
    keys = rng.choice((None, [], list(CONFIGS), [rng.choice(CONFIGS)]))
    resources = [{**_resource(author), "configuration_keys": keys} for _ in range(rng.choice((1, 1, 2)))]
    fields: dict[str, Json] = {"resources": resources}
    if version >= 1:
        fields["include_synonyms"] = rng.random() < 0.5
    author.send(32, fields, version)


def _value(rng: Random, name: str) -> str | None:
    """Return a config's value, mostly an invalid one. Segments of 5 ms are left out: `segments` in recorded_differences.toml."""
    value = rng.choice(VALUES)
    return "1000" if (name, value) == ("segment.ms", "5") else value


def _alter(author: LogAuthor) -> None:
    rng = author.rng
    count = rng.choice((1, 1, 2))
    configs = [{"name": name, "value": _value(rng, name)} for name in rng.sample(CONFIGS, count)]
    configs.append({"name": "retention.ms", "value": "-1"})
    author.send(33, {"resources": [{**_resource(author), "configs": configs}], "validate_only": rng.random() < 0.5})
    author.script.steps.append(pause(SETTLING_MS))


def _alter_some(author: LogAuthor) -> None:
    rng = author.rng
    names = rng.sample([name for name in CONFIGS if name != "retention.ms"], rng.choice((1, 1, 2)))
    configs = [{"name": name, "config_operation": rng.choice((0, 0, 1, 2, 3, 9)), "value": _value(rng, name)} for name in names]
    resources = [{**_resource(author), "configs": configs}] * rng.choice((1, 1, 1, 2))
    author.send(44, {"resources": resources, "validate_only": rng.random() < 0.5})
    author.script.steps.append(pause(SETTLING_MS))


def _cluster(author: LogAuthor) -> None:
    rng, version = author.rng, author.version(60)
    fields: dict[str, Json] = {"include_cluster_authorized_operations": rng.random() < 0.5}
    if version >= 1:
        fields["endpoint_type"] = rng.choice((1, 1, 2, 3, 0))
    author.send(60, fields, version)


Act = Callable[[LogAuthor], Any]
ACTS: Final[dict[Act, int]] = {
    _produce: 30,
    _fetch: 26,
    _wait_for_records: 5,
    _list_offsets: 14,
    _epochs: 3,
    _delete_records: 3,
    _metadata: 5,
    _describe_partitions: 3,
    _create: 4,
    _delete: 1,
    _grow: 2,
    _describe_configs: 4,
    _alter: 1,
    _alter_some: 2,
    _init_producer_id: 2,
    _cluster: 1,
}
"""Maps each action of the log family to its weight."""
