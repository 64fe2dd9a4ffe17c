"""Draws requests of every API that needs rights, about topics, groups and transactional ids of which some may not exist.

Requests change nothing that a later one could see: records and offsets are committed at the same place, topics are only validated, and
producers have ids that no transaction has.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, Final, NamedTuple
from uuid import NAMESPACE_URL, UUID, uuid5

from groupmock_codec import APIS
from groupmock_codec.declare import Message, fields_of
from groupmock_codec.records import NewRecord, encode_batch

TOPICS: Final = ("ta", "tb", "tab", "tc", "td", "ux")
ABSENT: Final = ("na", "nab", "tz")
GROUPS: Final = ("ga", "gb", "gab", "g-none")
SHARE_GROUP: Final = "gs"
TRANSACTIONAL_IDS: Final = ("xa", "xb")
BATCH: Final = encode_batch([NewRecord(key=None, value=b"v", headers=[], timestamp=1_700_000_000_000)])
NOBODY: Final = {"producer_id": 77, "producer_epoch": 0}
OLDEST: Final = {0: 3, 2: 2, 3: 4, 19: 2, 29: 1}
"""The lowest versions in use. Older ones lack fields that the requests have, or have records of another format."""


class Drawn(NamedTuple):
    """A request as (API key, version, message). Its topics are named by `topic_ids`, which differ from broker to broker."""

    key: int
    version: int
    fields: dict[str, Any]

    def message(self, topic_ids: dict[str, bytes]) -> Message:
        return made(APIS[self.key].request.message, with_ids(self.fields, topic_ids))


def made(message: type[Message], given: dict[str, Any]) -> Message:
    """Make a message, in which lists of dictionaries become lists of the structs that belong there."""
    declared = {field.name: field.wire for field in fields_of(message)}
    values = {}
    for name, value in given.items():
        wire = declared[name]
        struct = wire.element_wire.struct if wire.kind == "array" and wire.element_wire.kind == "struct" else None
        values[name] = value if struct is None or value is None else [made(struct, each) for each in value]
    return message(**values)  # type: ignore[arg-type]  # The fields are those of the message.


def with_ids(value: Any, topic_ids: dict[str, bytes]) -> Any:
    """Replace the name of a topic in each field `topic_id` by the topic's id at a broker, or by an id of no topic."""
    if isinstance(value, dict):
        found = {name: with_ids(each, topic_ids) for name, each in value.items()}
        if isinstance(found.get("topic_id"), str):
            found["topic_id"] = topic_ids.get(found["topic_id"]) or uuid5(NAMESPACE_URL, found["topic_id"]).bytes
        return found
    return [with_ids(each, topic_ids) for each in value] if isinstance(value, list) else value


class Drawer:
    """Draws requests for one seed. All names begin with `stem`, so that seeds do not meet on a broker."""

    def __init__(self, rng: Random, stem: str, versions: dict[int, tuple[int, int]]) -> None:
        self.rng, self.stem = rng, stem
        self.versions = versions
        self.topics = [stem + name for name in TOPICS]
        self.absent = [stem + name for name in ABSENT]
        self.groups = [stem + name for name in (*GROUPS, SHARE_GROUP)]
        self.transactional_ids = [stem + name for name in TRANSACTIONAL_IDS]
        self.session: tuple[str, str, int] = "", "", 0
        """The share session that may exist: its group, its member, and the epoch of its next request."""

    def request(self) -> Drawn:
        key = self.rng.choice([key for key in DRAWS if key in self.versions])
        lowest, highest = self.versions[key]
        version = self.rng.randint(max(lowest, OLDEST.get(key, 0)), highest)
        return Drawn(key, version, DRAWS[key](self, version))

    def some(self, names: list[Any], least: int = 1, most: int = 4, twice: float = 0.1) -> list[Any]:
        """Return some of the names in any order, sometimes all, and sometimes one of them twice."""
        count = len(names) if self.rng.random() < 0.12 else min(self.rng.randint(least, most), len(names))
        found = self.rng.sample(names, count)
        return [*found, self.rng.choice(found)] if found and self.rng.random() < twice else found

    def named(self, version: int, ids_since: int, name: str = "name", twice: float = 0.1) -> list[dict[str, Any]]:
        """Return topics by name, or since a version by id."""
        found = self.some([*self.topics, *self.absent], twice=twice)
        return [{"topic_id": each} if version >= ids_since else {name: each} for each in found]

    def indexes(self, least: int = 1) -> list[int]:
        found: list[int] = self.some([0, 1, 7], least, 2, 0)
        return found

    def group(self) -> str:
        return self.rng.choice([*self.groups, ""])

    def resources(self) -> list[dict[str, Any]]:
        found = [{"resource_type": 2, "resource_name": name} for name in self.some([*self.topics, *self.absent, "bad name"], 0, 3, 0)]
        found += [{"resource_type": 32, "resource_name": name} for name in self.some(self.groups, 0, 2, 0)]
        if self.rng.random() < 0.4:
            found.append({"resource_type": 4, "resource_name": self.rng.choice(["", "7"])})
        self.rng.shuffle(found)
        return found


NEVER: Final = 99
CONFIGS: Final = {2: ("retention.ms", "50000"), 4: ("log.cleaner.threads", "1"), 32: ("consumer.session.timeout.ms", "50000")}


def _produce(draw: Drawer, version: int) -> dict[str, Any]:
    topics = draw.named(version, 13, twice=0)
    for topic in topics:
        topic["partition_data"] = [{"index": index, "records": BATCH} for index in draw.indexes()]
    return {"acks": draw.rng.choice([1, -1, 5]), "timeout_ms": 500, "topic_data": topics}


def _fetch(draw: Drawer, version: int) -> dict[str, Any]:
    topics = draw.named(version, 13, "topic", twice=0)
    for topic in topics:
        topic["partitions"] = [{"partition": index, "partition_max_bytes": 100_000} for index in draw.indexes()]
    replica = draw.rng.choice([-1, -1, -1, -1, 1]) if version < 15 else -1
    return {
        "replica_id": replica,
        "max_bytes": 1_000_000,
        "isolation_level": draw.rng.choice([0, 1]),
        "session_epoch": -1,
        "topics": topics,
    }


def _partitions(draw: Drawer, version: int, ids_since: int, name: str, rows: str, row: Callable[[int], Any]) -> list[dict[str, Any]]:
    topics = draw.named(version, ids_since, name)
    for topic in topics:
        topic[rows] = [row(index) for index in draw.indexes()]
    return topics


def _once(draw: Drawer, name: str, rows: str, row: Callable[[int], Any]) -> list[dict[str, Any]]:
    return [{name: topic, rows: [row(index) for index in draw.indexes()]} for topic in draw.some([*draw.topics, *draw.absent], twice=0)]


def _metadata(draw: Drawer, version: int) -> dict[str, Any]:
    names = draw.some([*draw.topics, *draw.absent, "bad name"], 1, 6)
    how = draw.rng.choice(["names", "names", "names", "ids" if version >= 12 else "names"])
    topics = [{"name": None, "topic_id": name} if how == "ids" else {"name": name} for name in names]
    asked: dict[str, Any] = {"topics": topics, "allow_auto_topic_creation": False}
    if version >= 8:
        asked["include_topic_authorized_operations"] = draw.rng.random() < 0.6
    if 8 <= version <= 10:
        asked["include_cluster_authorized_operations"] = draw.rng.random() < 0.5
    return asked


def _commit(draw: Drawer, version: int, ids_since: int) -> list[dict[str, Any]]:
    def row(index: int) -> dict[str, Any]:
        return {"partition_index": index, "committed_offset": 1, "committed_metadata": "m"}

    return _partitions(draw, version, ids_since, "name", "partitions", row)


def _offset_fetch(draw: Drawer, version: int) -> dict[str, Any]:
    everything = draw.rng.random() < 0.25 and version >= 2
    topics = None if everything else _partitions(draw, version, 10, "name", "partition_indexes", int)
    groups = draw.some([*draw.groups, ""], 1, 3)
    if version < 8:
        return {"group_id": groups[0], "topics": topics}
    return {"groups": [{"group_id": each, "topics": topics} for each in groups]}


def _find_coordinator(draw: Drawer, version: int) -> dict[str, Any]:
    kind = draw.rng.choice([0, 0, 1, 1, 2, 3]) if version else 0
    keys = draw.some([*draw.groups, *draw.transactional_ids, ""])
    if version < 4:
        return {"key": keys[0], **({"key_type": kind} if version else {})}
    return {"coordinator_keys": keys, "key_type": kind}


def _sync_group(draw: Drawer, version: int) -> dict[str, Any]:
    names = {"protocol_type": draw.rng.choice([None, "consumer"]), "protocol_name": "range"} if version >= 5 else {}
    return {"group_id": draw.group(), "generation_id": 1, "member_id": "no", **names}


def _create_topics(draw: Drawer, version: int) -> dict[str, Any]:
    names = draw.some([*draw.absent, "bad name", draw.topics[0], draw.stem + "q1", draw.stem + "q2"], 1, 6)
    numbers = {"num_partitions": draw.rng.choice([1, 1, 0]), "replication_factor": 1}
    topics = [{"name": name, **numbers} for name in names]
    return {"validate_only": True, "timeout_ms": draw.rng.choice([5000, 5000, -1]), "topics": topics}


def _delete_topics(draw: Drawer, version: int) -> dict[str, Any]:
    names = draw.some([*draw.absent, "bad name"], 1, 3, 0.2)
    if version < 6:
        return {"timeout_ms": 5000, "topic_names": names}
    ids = [{"name": None, "topic_id": name} for name in draw.some(draw.absent, 0, 2, 0)]
    return {"timeout_ms": 5000, "topics": [*({"name": name} for name in names), *ids]}


def _configured(draw: Drawer, **more: Any) -> dict[str, Any]:
    resources = draw.resources()
    for each in resources:
        name, value = CONFIGS[each["resource_type"]]
        each["configs"] = [{"name": name, "value": value, **more}]
    return {"validate_only": True, "resources": resources}


def _described(draw: Drawer, version: int) -> dict[str, Any]:
    return {"resources": [{**each, "configuration_keys": ["cleanup.policy"]} for each in draw.resources()]}


def _added(draw: Drawer, version: int) -> dict[str, Any]:
    name, topics = draw.rng.choice(draw.transactional_ids), _once(draw, "name", "partitions", int)
    if version >= 4:
        return {"transactions": [{"transactional_id": name, **NOBODY, "verify_only": True, "topics": topics}]}
    of_one = {"transactional_id": name, **NOBODY, "topics": topics}
    return {f"v3_and_below_{field}": value for field, value in of_one.items()}


def _in_transaction(draw: Drawer, **more: Any) -> dict[str, Any]:
    return {"transactional_id": draw.rng.choice(draw.transactional_ids), **NOBODY, **more}


def _heartbeat(draw: Drawer, version: int) -> dict[str, Any]:
    names = draw.some([*draw.topics, *draw.absent], 0, 3) or None
    return {"group_id": draw.group(), "member_id": "m", "member_epoch": draw.rng.choice([5, -1]), "subscribed_topic_names": names}


def _share_group_heartbeat(draw: Drawer, version: int) -> dict[str, Any]:
    names = draw.some([*draw.topics, *draw.absent], 0, 3) or None
    member_id = str(UUID(int=draw.rng.getrandbits(128)))
    return {"group_id": draw.group(), "member_id": member_id, "member_epoch": draw.rng.choice([5, -1]), "subscribed_topic_names": names}


def _shared(draw: Drawer, **more: Any) -> list[dict[str, Any]]:
    """Return partitions that no topic has, so that no records are acquired."""
    names = draw.some([*draw.topics, *draw.absent], twice=0)
    return [{"topic_id": name, "partitions": [{"partition_index": 7, **more}]} for name in names]


def _share_fetch(draw: Drawer, version: int) -> dict[str, Any]:
    group, member = draw.group(), str(UUID(int=draw.rng.getrandbits(128)))
    epoch = draw.rng.choice([0, 0, 0, 5, -1])
    if not epoch:
        draw.session = group, member, 1
    limits = {"max_records": 1, "batch_size": 1}
    return {"group_id": group, "member_id": member, "share_session_epoch": epoch, **limits, "topics": _shared(draw)}


def _share_acknowledge(draw: Drawer, version: int) -> dict[str, Any]:
    group, member, epoch = draw.session if draw.rng.random() < 0.6 else (draw.group(), "m", draw.rng.choice([0, 5, -1]))
    draw.session = (group, member, epoch + 1) if member == draw.session[1] else draw.session
    batches = [{"first_offset": 0, "last_offset": 0, "acknowledge_types": [1]}]
    topics = _shared(draw, acknowledgement_batches=batches)
    return {"group_id": group, "member_id": member, "share_session_epoch": epoch, "topics": topics}


def _share_offsets(draw: Drawer, version: int) -> dict[str, Any]:
    groups = draw.some([*draw.groups, ""], 1, 3)
    # Kafka takes 25 s to describe a partition that the topic does not have (SG-100).
    names = draw.some([*draw.topics, *draw.absent], twice=0)
    topics = None if draw.rng.random() < 0.3 else [{"topic_name": name, "partitions": draw.rng.sample([0, 1], 2)} for name in names]
    return {"groups": [{"group_id": each, "topics": topics} for each in groups]}


def _markers(draw: Drawer, version: int) -> dict[str, Any]:
    topics = [{"name": name, "partition_indexes": [7]} for name in draw.some([*draw.topics, *draw.absent], twice=0)]
    return {"markers": [{"producer_id": 88, "topics": topics}]}


DRAWS: Final[dict[int, Callable[[Drawer, int], dict[str, Any]]]] = {
    0: _produce,
    1: _fetch,
    2: lambda draw, version: {
        "replica_id": -1,
        "topics": _partitions(draw, version, NEVER, "name", "partitions", lambda index: {"partition_index": index, "timestamp": -1}),
    },
    3: _metadata,
    8: lambda draw, version: {"group_id": draw.group(), "generation_id_or_member_epoch": -1, "topics": _commit(draw, version, 10)},
    9: _offset_fetch,
    10: _find_coordinator,
    11: lambda draw, version: {
        "group_id": draw.group(),
        "session_timeout_ms": draw.rng.choice([10_000, 1]),
        "rebalance_timeout_ms": 1000,
        "member_id": "no",
        "protocol_type": "consumer",
        "protocols": [{"name": "range", "metadata": b""}],
    },
    12: lambda draw, version: {"group_id": draw.group(), "generation_id": 1, "member_id": "no"},
    13: lambda draw, version: {
        "group_id": draw.group(),
        **({"member_id": "no"} if version < 3 else {"members": [{"member_id": "no"}]}),
    },
    14: _sync_group,
    15: lambda draw, version: {
        "groups": draw.some([*draw.groups, ""], 1, 5),
        "include_authorized_operations": version >= 3 and draw.rng.random() < 0.6,
    },
    19: _create_topics,
    20: _delete_topics,
    21: lambda draw, version: {"timeout_ms": 1000, "topics": _once(draw, "name", "partitions", lambda index: {"partition_index": index})},
    22: lambda draw, version: {"transactional_id": draw.rng.choice([None, None, draw.stem + "nx", ""]), "transaction_timeout_ms": -5},
    23: lambda draw, version: {"topics": _once(draw, "topic", "partitions", lambda index: {"partition": index})},
    24: _added,
    25: lambda draw, version: _in_transaction(draw, group_id=draw.rng.choice(draw.groups)),
    26: lambda draw, version: _in_transaction(draw, committed=True),
    27: _markers,
    28: lambda draw, version: _in_transaction(draw, group_id=draw.rng.choice(draw.groups), topics=_commit(draw, version, 6)),
    29: lambda draw, version: {
        "resource_type_filter": 4,
        "resource_name_filter": None,
        "pattern_type_filter": 1,
        "principal_filter": "User:zed",
        "host_filter": None,
        "operation": 1,
        "permission_type": 1,
    },
    32: _described,
    33: lambda draw, version: _configured(draw),
    37: lambda draw, version: {
        "validate_only": True,
        "timeout_ms": draw.rng.choice([5000, 5000, -1]),
        "topics": [{"name": name, "count": 3} for name in draw.some([*draw.topics, *draw.absent])],
    },
    42: lambda draw, version: {"groups_names": draw.some([draw.stem + "zz", draw.stem + "zy", draw.stem + "ga2", ""])},
    43: lambda draw, version: {"timeout_ms": 1000, "topic_partitions": [{"topic": "none", "partitions": [0]}]},
    44: lambda draw, version: _configured(draw, config_operation=0),
    45: lambda draw, version: {
        "timeout_ms": 1000,
        "topics": [{"name": "none", "partitions": [{"partition_index": 0, "replicas": [1]}]}],
    },
    46: lambda draw, version: {"timeout_ms": 1000, "topics": None},
    47: lambda draw, version: {
        "group_id": draw.group(),
        "topics": [{"name": name, "partitions": [{"partition_index": 7}]} for name in draw.some([*draw.absent, draw.topics[0]])],
    },
    50: lambda draw, version: {"users": [{"name": "zed"}]},
    57: lambda draw, version: {"timeout_ms": 1000, "feature_updates": [{"feature": "f", "max_version_level": 9}]},
    60: lambda draw, version: {"include_cluster_authorized_operations": draw.rng.random() < 0.8},
    61: lambda draw, version: {
        "topics": [{"name": name, "partition_indexes": [0, 7]} for name in draw.some([*draw.topics, *draw.absent])],
    },
    65: lambda draw, version: {"transactional_ids": draw.some([*draw.transactional_ids, ""], 1, 3)},
    68: _heartbeat,
    69: lambda draw, version: {
        "group_ids": draw.some([*draw.groups, ""], 1, 5),
        "include_authorized_operations": draw.rng.random() < 0.5,
    },
    74: lambda draw, version: {"resource_types": [16]} if version else {},
    76: _share_group_heartbeat,
    77: lambda draw, version: {
        "group_ids": draw.some([*draw.groups, ""], 1, 5),
        "include_authorized_operations": draw.rng.random() < 0.5,
    },
    78: _share_fetch,
    79: _share_acknowledge,
    90: _share_offsets,
    91: lambda draw, version: {
        "group_id": draw.rng.choice([draw.stem + SHARE_GROUP, draw.group()]),
        "topics": _once(draw, "topic_name", "partitions", lambda index: {"partition_index": index, "start_offset": 1}),
    },
    92: lambda draw, version: {
        "group_id": draw.rng.choice([draw.stem + SHARE_GROUP, draw.group()]),
        "topics": [{"topic_name": name} for name in draw.some([*draw.topics, *draw.absent], twice=0)],
    },
    75: lambda draw, version: {
        "topics": [{"name": name} for name in draw.some([*draw.topics, *draw.absent], 1, 7, 0)],
        "response_partition_limit": 2000,
    },
}
"""Maps each API key to the function that draws the fields of its request."""
