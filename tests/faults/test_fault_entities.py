"""A fault for one of several groups, topics or partitions in a request works for every API in every version, on the real driver and
core."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, Final

from cases import for_each
from fault_world import ends

from groupmock.faults.entities import ERRORS, answered, asked
from groupmock.rig import WireRig
from groupmock.rig.wire import read_response, request
from groupmock_codec import APIS
from groupmock_codec.declare import Field, fields_of
from groupmock_codec.messages.k79_share_acknowledge import AcknowledgementBatch
from groupmock_codec.records import NewRecord, encode_batch

CODE: Final = 60
"""INVALID_PRINCIPAL_TYPE (60), which groupmock never answers without a fault."""
ACCEPT: Final = 1
BATCH: Final = encode_batch([NewRecord(value=b"v", timestamp=1)])
CHOSEN: Final[dict[str, dict[str, Any]]] = {
    "group": {"group": "h"},
    "topic": {"topic": "bills"},
    "partition": {"topic": "bills", "partition": 1},
    "resource": {"resource": "topic:bills"},
    "member": {"member_id": "m2"},
    "transaction": {"transactional_id": "h"},
}
PLAIN: Final[dict[str, Any]] = {
    "group_id": "g", "key": "g", "replica_id": -1, "max_bytes": 1 << 20, "partition_max_bytes": 1 << 20, "session_epoch": -1, "acks": -1,
    "timeout_ms": 1000, "timestamp": -1, "max_num_offsets": 1, "num_partitions": 1, "replication_factor": 1, "count": 3, "records": BATCH,
    "committed_offset": 5, "generation_id_or_member_epoch": -1, "response_partition_limit": 100, "transactional_id": None, "offset": 0,
    "committed_metadata": "", "leader_epoch": 0, "current_leader_epoch": -1, "last_fetched_epoch": -1, "configuration_keys": None,
    "start_offset": 0, "max_wait_ms": 0, "max_records": 10,
}  # fmt: skip
TOPICS: Final = ("orders", "bills")
NAMES: Final = (
    "group_id", "partition_index", "index", "partition", "partition_id", "resource_name", "log_dir", "user", "feature", "member_id", "name",
    "topic", "topic_name", "key", "transactional_id",
)  # fmt: skip
UNASKED: Final = ("configs", "assignments", "forgotten_topics_data", "configuration_keys", "acknowledgement_batches")
"""The lists that requests of the tests leave empty."""
RESOURCES: Final = {
    "DescribeUserScramCredentials": "user:bills",
    "AlterUserScramCredentials": "user:bills",
    "DescribeLogDirs": "log_dir:*",
    "UpdateFeatures": "feature:bills",
}
"""API name -> the config resource that its fault rule names; the rules for other APIs name a topic's config."""


SHARED: Final = ("ShareFetch", "ShareAcknowledge", "AlterShareGroupOffsets", "DeleteShareGroupOffsets")
"""The APIs whose requests name a share group."""


class House:
    """A cluster with two topics of two partitions, two empty groups with offsets, a group of two members, and a share group that may read
    both topics."""

    def __init__(self) -> None:
        self.rig = WireRig.make(topics=dict.fromkeys(TOPICS, 2), seed=5, settings={"group.initial.rebalance.delay.ms": 0})
        self.wire = self.rig.connect()
        for group in ("g", "h"):
            self.ask(8, 2, self.made(8, 2, group_id=group))
        for topic in TOPICS:
            for partition in (0, 1):
                self.rig.command("append", topic=topic, partition=partition, batch=BATCH)

        self.ask(91, 0, self.made(91, 0))

    def ask(self, key: int, version: int, message: Any) -> Any:
        self.wire.send(request(key, version, message, 7, "c"))
        self.rig.sleep(2)
        (frame,) = self.wire.take()
        return read_response(key, version, frame, 7)[1]

    def made(self, key: int, version: int, **fields: Any) -> Any:
        """Return a request that names two of everything that the API can name: groups, topics, partitions and so on."""
        made = self._made(APIS[key].request.message, version, key, 0)
        if APIS[key].name in SHARED:
            made.group_id = "s"
        if APIS[key].name in ("ShareFetch", "ShareAcknowledge"):
            made.member_id = "m1"
        if APIS[key].name == "ShareAcknowledge":
            self.ask(78, 1, self.made(78, 1))
            made.share_session_epoch = 1
            for topic in made.topics:
                for partition in topic.partitions:
                    partition.acknowledgement_batches = [AcknowledgementBatch(0, 0, [ACCEPT])]
        for name, value in fields.items():
            setattr(made, name, value)
        return made

    def _made(self, message: Any, version: int, key: int, place: int) -> Any:
        made = message()
        for field in fields_of(message):
            if field.present(version) and (value := self._value(field, version, key, place, message)) is not None:
                setattr(made, field.name, value)
            elif field.name in PLAIN and PLAIN[field.name] is None and field.nullable(version):
                setattr(made, field.name, None)
        return made

    def _value(self, field: Field, version: int, key: int, place: int, message: Any) -> Any:
        new = APIS[key].name == "CreateTopics"
        if field.name in ("name", "topic", "topic_name", "resource_name", "feature"):
            by_id = any(each.name == "topic_id" and each.present(version) for each in fields_of(message)) and field.nullable(version)
            return None if by_id and APIS[key].name == "DeleteTopics" else f"new-{TOPICS[place]}" if new else TOPICS[place]
        if field.name == "topic_id":
            return None if APIS[key].name == "Metadata" else self.rig.core.cluster.topics.topic_id(TOPICS[place])
        if field.name in ("partition", "partition_index", "index"):
            return place
        if field.name == "resource_type":
            return 2
        if field.name == "member_id" and message is not APIS[key].request.message:
            return ("m1", "m2")[place] if APIS[key].name == "LeaveGroup" else ""
        if field.name in ("group_id", "transactional_id") and message is not APIS[key].request.message:
            return "gh"[place]
        if field.wire.kind == "array" and field.name not in UNASKED:
            element = field.wire.element_wire
            if element.kind == "struct":
                return [self._made(element.struct, version, key, each) for each in (0, 1)]
            return [0, 1] if element.kind == "int32" else list(TOPICS) if "topic" in field.name else ["g", "h"]
        return PLAIN.get(field.name)


def flat(message: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    """Yield each element of an answer as the path of names that leads to the element and its plain fields."""
    plain = {}
    for field in fields_of(type(message)):
        value = getattr(message, field.name)
        if field.wire.kind == "array" and field.wire.element_wire.kind == "struct":
            for each in value or ():
                yield from flat(each, (*path, name_of(each)))
        elif field.name != "throttle_time_ms":
            plain[field.name] = value
    yield path, plain


def name_of(element: Any) -> Any:
    for name in NAMES:
        value = getattr(element, name, None)
        if value not in (None, ""):
            return str(value).removeprefix("new-")
    return getattr(element, "topic_id", None) or getattr(element, "node_id", None) or getattr(element, "broker_id", None)


def is_chosen(path: tuple[Any, ...], kind: str) -> bool:
    """Return whether the path leads to the group, topic or partition that the fault rule names, or to a part of it."""
    # The answer has one log dir, so any absolute path means the log dir of "bills".
    said = ["bills" if str(each).startswith("/") else IDS.get(each, each) for each in path]
    wanted = {"partition": ["bills", "1"], "member": ["m2"]}.get(kind, ["h"] if kind in ("group", "transaction") else ["bills"])
    return any(said[at : at + len(wanted)] == wanted for at in range(len(said)))


IDS: Final[dict[Any, str]] = {House().rig.core.cluster.topics.topic_id(topic): topic for topic in TOPICS}
"""Topic id -> topic name. The ids are the same in every house."""


def cases() -> Iterator[tuple[int, int, str, str]]:
    """Yield every combination of API, version, kind of named thing (group, topic, partition and so on) and stage of the fault."""
    served = WireRig.make().driver.codecs.advertised
    for key, row in served.items():
        for version in range(row.lowest, row.highest + 1):
            name = APIS[key].name
            named = [level.kind for level in asked(name, version)]
            for level in answered(name, version):
                for stage in ("request", "reply"):
                    if level.kind in CHOSEN and (stage == "reply" or level.kind in named):
                        yield key, version, level.kind, stage


CASES: Final = list(cases())


def test_there_are_entities_where_kafka_has_them() -> None:
    """The list of APIs whose requests can name several groups, topics or other things was made by hand from Kafka's message files."""
    served = {APIS[key].name: row for key, row in WireRig.make().driver.codecs.advertised.items()}
    newest = {name: [level.kind for level in answered(name, row.highest)] for name, row in served.items()}
    assert newest.items() >= {
        "Produce": ["topic", "partition"], "Fetch": ["topic", "partition"], "ListOffsets": ["topic", "partition"],
        "Metadata": ["topic", "partition"], "OffsetCommit": ["topic", "partition"], "OffsetFetch": ["group", "topic", "partition"],
        "FindCoordinator": ["group"], "LeaveGroup": ["member"], "DescribeGroups": ["group"], "CreateTopics": ["topic"],
        "DeleteTopics": ["topic"], "DeleteRecords": ["topic", "partition"], "OffsetForLeaderEpoch": ["topic", "partition"],
        "DescribeConfigs": ["resource"], "AlterConfigs": ["resource"], "CreatePartitions": ["topic"], "DeleteGroups": ["group"],
        "IncrementalAlterConfigs": ["resource"], "OffsetDelete": ["topic", "partition"],
        "AddPartitionsToTxn": ["transaction", "topic", "partition"], "DescribeTransactions": ["transaction"],
        "DescribeTopicPartitions": ["topic", "partition"],
    }.items()  # fmt: skip


@cache
def usual(key: int, version: int) -> dict[tuple[Any, ...], dict[str, Any]]:
    """Return the answer to the request when no fault applies."""
    house = House()
    return dict(flat(house.ask(key, version, house.made(key, version))))


def struck(key: int, version: int, kind: str, stage: str, do: dict[str, Any]) -> dict[tuple[Any, ...], dict[str, Any]]:
    """Return the answer when a fault rule applies to one group, topic or partition of the request. The rule must fire once and leave
    nothing open."""
    house, name = House(), APIS[key].name
    when = {"api": name, "version": version, **CHOSEN[kind]} | ({"topic": "new-bills"} if name == "CreateTopics" else {})
    when |= {"resource": RESOURCES[name]} if name in RESOURCES else {}
    house.rig.command("add_faults", rules=[{"name": "r", "when": when, "stage": stage, "do": do}])
    found = dict(flat(house.ask(key, version, house.made(key, version))))
    assert house.rig.driver.rules.registry.report("r").fired == 1
    house.rig.command("clear_faults")
    assert house.rig.driver.gate is None
    return found


@for_each(("key", "version", "kind", "stage"), CASES, ids=str)
def test_the_chosen_entity_alone_carries_the_error(key: int, version: int, kind: str, stage: str) -> None:
    found, expected = struck(key, version, kind, stage, {"kind": "error", "code": CODE}), usual(key, version)
    errors = {fields[name] for path, fields in found.items() if is_chosen(path, kind) for name in ERRORS if name in fields}
    assert errors == {CODE}
    assert others(found, kind) == others(expected, kind)


@for_each(("key", "version", "kind", "stage"), [case for case in CASES if case[1] in ends(case[0])], ids=str)
def test_the_chosen_entity_alone_is_left_out(key: int, version: int, kind: str, stage: str) -> None:
    assert struck(key, version, kind, stage, {"kind": "leave_out"}) == others(usual(key, version), kind)


def others(answer: dict[tuple[Any, ...], dict[str, Any]], kind: str) -> dict[tuple[Any, ...], dict[str, Any]]:
    """Return the answer without the group, topic or partition that the fault rule names."""
    return {path: fields for path, fields in answer.items() if not is_chosen(path, kind)}
