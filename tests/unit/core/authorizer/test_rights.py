"""Rights that each API needs, and the place of the error for the lack of each of them (SEC-82 to SEC-101).

The answers of Apache Kafka 4.4.0 and 3.9.1 to generated requests under generated rules are equal to those of the core
(docs/kafka/security.md#authorisation).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from cases import for_each
from rights import ADMIN, ALICE, allow, authorizer_of, deny, make_rig

from groupmock.config.profiles.kafka_4_4 import PROFILE
from groupmock.core.authorizer.acl import (
    ALTER,
    ALTER_CONFIGS,
    CLUSTER,
    CLUSTER_ACTION,
    CLUSTER_NAME,
    CREATE,
    DELETE,
    DESCRIBE,
    DESCRIBE_CONFIGS,
    GROUP,
    IDEMPOTENT_WRITE,
    READ,
    TOPIC,
    TRANSACTIONAL_ID,
    WRITE,
    Acl,
)
from groupmock.core.effects import Note
from groupmock.rig import CoreRig
from groupmock_codec import APIS
from groupmock_codec.declare import ZERO_UUID, fields_of
from groupmock_codec.messages.k88_streams_group_heartbeat import Subtopology, Topology
from groupmock_codec.records import NewRecord, encode_batch
from groupmock_codec.response_errors import error_codes

BATCH = encode_batch([NewRecord(key=None, value=b"v", headers=[], timestamp=1_700_000_000_000)])
GROUP_READ, GROUP_DESCRIBE, GROUP_DELETE = (allow(each, GROUP, "g") for each in (READ, DESCRIBE, DELETE))
TOPIC_READ, TOPIC_WRITE, TOPIC_DESCRIBE, TOPIC_DELETE = (allow(each, TOPIC, "orders") for each in (READ, WRITE, DESCRIBE, DELETE))
TXN_WRITE, TXN_DESCRIBE = allow(WRITE, TRANSACTIONAL_ID, "x"), allow(DESCRIBE, TRANSACTIONAL_ID, "x")
DENIALS = (29, 30, 31, 53)


def make(key: int, /, **fields: Any) -> Any:
    """Make a request, in which lists of dictionaries become lists of the structs that belong there."""
    return _made(APIS[key].request.message, fields)


def _made(message: Any, given: dict[str, Any]) -> Any:
    declared = {field.name: field for field in fields_of(message)}
    values = {}
    for name, value in given.items():
        wire = declared[name].wire
        struct = wire.element_wire.struct if wire.kind == "array" and wire.element_wire.kind == "struct" else None
        values[name] = value if struct is None or value is None else [_made(struct, each) for each in value]
    return message(**values)


class Need(NamedTuple):
    """A request of Alice, the rights that it needs, and for each of them the error without it: its path in the answer, and its code.
    `before` are requests of the administrator, each with its key and its version, which make what the request is about."""

    key: int
    version: int
    message: Any
    rights: dict[Acl, tuple[str, int]]
    before: tuple[tuple[int, int, Any], ...] = ()


PARTITION = [{"partition_index": 0}]
PRODUCE = [{"name": "orders", "partition_data": [{"index": 0, "records": BATCH}]}]
IN_TRANSACTION = encode_batch(
    [NewRecord(key=None, value=b"v", headers=[], timestamp=0)], producer_id=1, producer_epoch=0, base_sequence=0, attributes=16
)
COMMITS = [{"name": "orders", "partitions": [{"partition_index": 0, "committed_offset": 1}]}]
CONFIG_APIS: list[tuple[str, int, int, str, dict[str, Any]]] = [
    ("DescribeConfigs", 32, DESCRIBE_CONFIGS, "results", {"configuration_keys": []}),
    ("AlterConfigs", 33, ALTER_CONFIGS, "responses", {}),
    ("IncrementalAlterConfigs", 44, ALTER_CONFIGS, "responses", {}),
]
# A rig gives a topic the same id whenever it is made, so that requests can name it by its id before their rig exists.
ORDERS_ID = make_rig(topics={"orders": 1, "pay": 1}).core.cluster.topics.topic_id("orders")
SHARE_READ, SHARE_DESCRIBE, SHARE_DELETE = (allow(each, GROUP, "s") for each in (READ, DESCRIBE, DELETE))
SHARE_MEMBER = {"group_id": "s", "member_id": "m"}
ACCEPTED = {"first_offset": 0, "last_offset": 0, "acknowledge_types": [1]}
ACKNOWLEDGED = [{"topic_id": ORDERS_ID, "partitions": [{"partition_index": 0, "acknowledgement_batches": [ACCEPTED]}]}]
SHARE_BEAT = make(76, **SHARE_MEMBER, subscribed_topic_names=["orders"])
SHARE_FETCH = make(78, **SHARE_MEMBER, max_records=1, topics=[{"topic_id": ORDERS_ID, "partitions": [{"partition_index": 0}]}])
SHARE_OFFSETS = make(91, group_id="s", topics=[{"topic_name": "orders", "partitions": [{"partition_index": 0, "start_offset": 0}]}])
STREAMS_READ, STREAMS_DESCRIBE = allow(READ, GROUP, "k"), allow(DESCRIBE, GROUP, "k")
NO_TASKS: dict[str, list[Any]] = {"active_tasks": [], "standby_tasks": [], "warmup_tasks": []}
STREAMS_SOURCE = Topology(epoch=0, subtopologies=[Subtopology(subtopology_id="0", source_topics=["orders"])])
STREAMS_BEAT = make(88, group_id="k", member_id="m", rebalance_timeout_ms=1000, topology=STREAMS_SOURCE, **NO_TASKS)
SHARE_READY = ((0, 9, make(0, acks=1, topic_data=PRODUCE)), (91, 0, SHARE_OFFSETS), (78, 2, SHARE_FETCH))
"""After these requests the member has acquired one record."""
NEEDS = {
    "Produce": Need(0, 9, make(0, acks=1, topic_data=PRODUCE), {TOPIC_WRITE: ("responses[0].partition_responses[0].error_code", 29)}),
    "Produce in a transaction": Need(
        0,
        9,
        make(0, acks=1, transactional_id="x", topic_data=[{"name": "orders", "partition_data": [{"index": 0, "records": IN_TRANSACTION}]}]),
        {
            TXN_WRITE: ("responses[0].partition_responses[0].error_code", 53),
            TOPIC_WRITE: ("responses[0].partition_responses[0].error_code", 29),
        },
    ),
    "Fetch": Need(
        1, 12, make(1, session_epoch=-1, topics=[{"topic": "orders", "partitions": [{"partition": 0}]}]),
        {TOPIC_READ: ("responses[0].partitions[0].error_code", 29)},
    ),
    "Fetch of a follower": Need(
        1, 12, make(1, replica_id=2, session_epoch=-1, topics=[{"topic": "orders", "partitions": [{"partition": 0}]}]),
        {allow(CLUSTER_ACTION, CLUSTER): ("responses[0].partitions[0].error_code", 29)},
    ),
    "ListOffsets": Need(
        2, 5, make(2, topics=[{"name": "orders", "partitions": [{"partition_index": 0, "timestamp": -1}]}]),
        {TOPIC_DESCRIBE: ("topics[0].partitions[0].error_code", 29)},
    ),
    "Metadata": Need(3, 9, make(3, topics=[{"name": "orders"}]), {TOPIC_DESCRIBE: ("topics[0].error_code", 29)}),
    "Metadata that creates": Need(
        3, 9, make(3, topics=[{"name": "new"}]),
        {allow(DESCRIBE, TOPIC, "new"): ("topics[0].error_code", 29), allow(CREATE, TOPIC, "new"): ("topics[0].error_code", 29)},
    ),
    "OffsetCommit": Need(
        8, 7, make(8, group_id="g", topics=COMMITS),
        {GROUP_READ: ("topics[0].partitions[0].error_code", 30), TOPIC_READ: ("topics[0].partitions[0].error_code", 29)},
    ),
    "OffsetFetch": Need(
        9, 5, make(9, group_id="g", topics=[{"name": "orders", "partition_indexes": [0]}]),
        {GROUP_DESCRIBE: ("error_code", 30), TOPIC_DESCRIBE: ("topics[0].partitions[0].error_code", 29)},
    ),
    "OffsetFetch of groups": Need(
        9, 8, make(9, groups=[{"group_id": "g", "topics": [{"name": "orders", "partition_indexes": [0]}]}]),
        {GROUP_DESCRIBE: ("groups[0].error_code", 30), TOPIC_DESCRIBE: ("groups[0].topics[0].partitions[0].error_code", 29)},
    ),
    "FindCoordinator": Need(10, 2, make(10, key="g"), {GROUP_DESCRIBE: ("error_code", 30)}),
    "FindCoordinator of a transaction": Need(
        10, 4, make(10, key_type=1, coordinator_keys=["x"]), {TXN_DESCRIBE: ("coordinators[0].error_code", 53)}
    ),
    "FindCoordinator of shares": Need(
        10, 6, make(10, key_type=2, coordinator_keys=["s"]), {allow(CLUSTER_ACTION, CLUSTER): ("coordinators[0].error_code", 31)}
    ),
    "JoinGroup": Need(11, 5, make(11, group_id="g", member_id="m"), {GROUP_READ: ("error_code", 30)}),
    "Heartbeat": Need(12, 4, make(12, group_id="g", member_id="m"), {GROUP_READ: ("error_code", 30)}),
    "LeaveGroup": Need(13, 4, make(13, group_id="g", members=[{"member_id": "m"}]), {GROUP_READ: ("error_code", 30)}),
    "SyncGroup": Need(14, 3, make(14, group_id="g", member_id="m"), {GROUP_READ: ("error_code", 30)}),
    "DescribeGroups": Need(15, 5, make(15, groups=["g"]), {GROUP_DESCRIBE: ("groups[0].error_code", 30)}),
    "CreateTopics": Need(
        19, 5, make(19, timeout_ms=1000, topics=[{"name": "new", "num_partitions": 1, "replication_factor": 1}]),
        {
            allow(CREATE, TOPIC, "new"): ("topics[0].error_code", 29),
            allow(DESCRIBE_CONFIGS, TOPIC, "new"): ("topics[0].topic_config_error_code", 29),
        },
    ),
    "DeleteTopics": Need(20, 5, make(20, timeout_ms=1000, topic_names=["orders"]), {TOPIC_DELETE: ("responses[0].error_code", 29)}),
    "DeleteRecords": Need(
        21, 2, make(21, timeout_ms=1000, topics=[{"name": "orders", "partitions": PARTITION}]),
        {TOPIC_DELETE: ("topics[0].partitions[0].error_code", 29)},
    ),
    "InitProducerId": Need(22, 4, make(22, transactional_id=None), {allow(IDEMPOTENT_WRITE, CLUSTER): ("error_code", 31)}),
    "InitProducerId of a producer": Need(22, 4, make(22, transactional_id=None), {TOPIC_WRITE: ("error_code", 31)}),
    "InitProducerId of a transaction": Need(
        22, 4, make(22, transactional_id="x", transaction_timeout_ms=1000), {TXN_WRITE: ("error_code", 53)}
    ),
    "OffsetForLeaderEpoch": Need(
        23, 3, make(23, topics=[{"topic": "orders", "partitions": [{"partition": 0}]}]),
        {TOPIC_DESCRIBE: ("topics[0].partitions[0].error_code", 29)},
    ),
    "AddPartitionsToTxn": Need(
        24, 3, make(24, v3_and_below_transactional_id="x", v3_and_below_topics=[{"name": "orders", "partitions": [0]}]),
        {
            TXN_WRITE: ("results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code", 53),
            TOPIC_WRITE: ("results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code", 29),
        },
    ),
    "AddPartitionsToTxn of a broker": Need(
        24, 4, make(24, transactions=[{"transactional_id": "x"}]), {allow(CLUSTER_ACTION, CLUSTER): ("error_code", 31)}
    ),
    "AddOffsetsToTxn": Need(
        25, 3, make(25, transactional_id="x", group_id="g"), {TXN_WRITE: ("error_code", 53), GROUP_READ: ("error_code", 30)}
    ),
    "EndTxn": Need(26, 3, make(26, transactional_id="x"), {TXN_WRITE: ("error_code", 53)}),
    "WriteTxnMarkers": Need(
        27, 1, make(27, markers=[{"producer_id": 1, "topics": [{"name": "orders", "partition_indexes": [0]}]}]),
        {allow(CLUSTER_ACTION, CLUSTER): ("markers[0].topics[0].partitions[0].error_code", 31)},
    ),
    "TxnOffsetCommit": Need(
        28, 3, make(28, transactional_id="x", group_id="g", topics=COMMITS),
        {
            TXN_WRITE: ("topics[0].partitions[0].error_code", 53),
            GROUP_READ: ("topics[0].partitions[0].error_code", 30),
            TOPIC_READ: ("topics[0].partitions[0].error_code", 29),
        },
    ),
    "DescribeAcls": Need(
        29, 3, make(29, resource_type_filter=1, operation=1, permission_type=1), {allow(DESCRIBE, CLUSTER): ("error_code", 31)}
    ),
    "CreateAcls": Need(
        30, 3, make(30, creations=[{"resource_type": 2, "resource_name": "t", "principal": ALICE, "operation": 3, "permission_type": 3}]),
        {allow(ALTER, CLUSTER): ("results[0].error_code", 31)},
    ),
    "DeleteAcls": Need(
        31, 3, make(31, filters=[{"resource_type_filter": 1, "operation": 15, "permission_type": 1}]),
        {allow(ALTER, CLUSTER): ("filter_results[0].error_code", 31)},
    ),
    **{
        f"{name} of a {what}": Need(
            key, 1, make(key, resources=[{"resource_type": number, "resource_name": resource, **more}]),
            {allow(operation, kind, resource): (f"{rows}[0].error_code", code)},
        )
        for name, key, operation, rows, more in CONFIG_APIS
        for what, number, resource, kind, code in (
            ("topic", 2, "orders", TOPIC, 29), ("broker", 4, "1", CLUSTER, 31), ("group", 32, "g", GROUP, 30),
        )
    },
    "AlterReplicaLogDirs": Need(
        34, 2, make(34, dirs=[{"path": "/d", "topics": [{"name": "orders", "partitions": [0]}]}]),
        {allow(ALTER, CLUSTER): ("results[0].partitions[0].error_code", 31)},
    ),
    "DescribeLogDirs": Need(35, 4, make(35), {allow(DESCRIBE, CLUSTER): ("error_code", 31)}),
    "CreatePartitions": Need(
        37, 2, make(37, timeout_ms=1000, topics=[{"name": "orders", "count": 9}]),
        {allow(ALTER, TOPIC, "orders"): ("results[0].error_code", 29)},
    ),
    "DeleteGroups": Need(42, 2, make(42, groups_names=["g"]), {GROUP_DELETE: ("results[0].error_code", 30)}),
    "ElectLeaders": Need(43, 2, make(43, topic_partitions=[]), {allow(ALTER, CLUSTER): ("error_code", 31)}),
    "AlterPartitionReassignments": Need(45, 0, make(45), {allow(ALTER, CLUSTER): ("error_code", 31)}),
    "ListPartitionReassignments": Need(46, 0, make(46, topics=None), {allow(DESCRIBE, CLUSTER): ("error_code", 31)}),
    "OffsetDelete": Need(
        47, 0, make(47, group_id="g", topics=[{"name": "orders", "partitions": PARTITION}]),
        {GROUP_DELETE: ("error_code", 30), TOPIC_READ: ("topics[0].partitions[0].error_code", 29)},
    ),
    "DescribeClientQuotas": Need(48, 1, make(48), {allow(DESCRIBE_CONFIGS, CLUSTER): ("error_code", 31)}),
    "AlterClientQuotas": Need(
        49, 1, make(49, entries=[{"entity": [{"entity_type": "user", "entity_name": "u"}]}]),
        {allow(ALTER_CONFIGS, CLUSTER): ("entries[0].error_code", 31)},
    ),
    "DescribeUserScramCredentials": Need(50, 0, make(50, users=[]), {allow(DESCRIBE, CLUSTER): ("error_code", 31)}),
    "AlterUserScramCredentials": Need(
        51, 0, make(51, deletions=[{"name": "u", "mechanism": 1}]), {allow(ALTER, CLUSTER): ("results[0].error_code", 31)}
    ),
    "DescribeQuorum": Need(55, 2, make(55), {allow(DESCRIBE, CLUSTER): ("error_code", 31)}),
    "UpdateFeatures": Need(57, 1, make(57), {allow(ALTER, CLUSTER): ("error_code", 31)}),
    "DescribeProducers": Need(
        61, 0, make(61, topics=[{"name": "orders", "partition_indexes": [0]}]), {TOPIC_READ: ("topics[0].partitions[0].error_code", 29)}
    ),
    "DescribeTransactions": Need(65, 0, make(65, transactional_ids=["x"]), {TXN_DESCRIBE: ("transaction_states[0].error_code", 53)}),
    "ConsumerGroupHeartbeat": Need(
        68, 1, make(68, group_id="g", member_id="m", member_epoch=7, subscribed_topic_names=["orders"]),
        {GROUP_READ: ("error_code", 30), TOPIC_DESCRIBE: ("error_code", 29)},
    ),
    "ConsumerGroupDescribe": Need(69, 1, make(69, group_ids=["g"]), {GROUP_DESCRIBE: ("groups[0].error_code", 30)}),
    "ListConfigResources": Need(74, 1, make(74), {allow(DESCRIBE_CONFIGS, CLUSTER): ("error_code", 31)}),
    "DescribeTopicPartitions": Need(75, 0, make(75, topics=[{"name": "orders"}]), {TOPIC_DESCRIBE: ("topics[0].error_code", 29)}),
    "ShareGroupHeartbeat": Need(76, 1, SHARE_BEAT, {SHARE_READ: ("error_code", 30), TOPIC_DESCRIBE: ("error_code", 29)}),
    "ShareGroupDescribe": Need(
        77, 1, make(77, group_ids=["s"]),
        {SHARE_DESCRIBE: ("groups[0].error_code", 30), TOPIC_DESCRIBE: ("groups[0].error_code", 29)},
        before=((76, 1, SHARE_BEAT), (76, 1, make(76, **SHARE_MEMBER, member_epoch=2))),
    ),
    "StreamsGroupHeartbeat": Need(88, 1, STREAMS_BEAT, {STREAMS_READ: ("error_code", 30), TOPIC_DESCRIBE: ("error_code", 29)}),
    "StreamsGroupDescribe": Need(
        89, 1, make(89, group_ids=["k"]),
        {STREAMS_DESCRIBE: ("groups[0].error_code", 30), TOPIC_DESCRIBE: ("groups[0].error_code", 29)},
        before=((88, 1, STREAMS_BEAT),),
    ),
    "StreamsGroupTopologyDescriptionUpdate": Need(93, 0, make(93, group_id="k"), {STREAMS_READ: ("error_code", 30)}),
    "ShareFetch": Need(
        78, 2, SHARE_FETCH, {SHARE_READ: ("error_code", 30), TOPIC_READ: ("responses[0].partitions[0].error_code", 29)},
        before=((91, 0, SHARE_OFFSETS),),
    ),
    "ShareFetch that acknowledges": Need(
        78, 2, make(78, **SHARE_MEMBER, share_session_epoch=-1, topics=ACKNOWLEDGED),
        {SHARE_READ: ("error_code", 30), TOPIC_READ: ("responses[0].partitions[0].acknowledge_error_code", 29)},
        before=SHARE_READY,
    ),
    "ShareAcknowledge": Need(
        79, 2, make(79, **SHARE_MEMBER, share_session_epoch=1, topics=ACKNOWLEDGED),
        {SHARE_READ: ("error_code", 30), TOPIC_READ: ("responses[0].partitions[0].error_code", 29)},
        before=SHARE_READY,
    ),
    "DescribeShareGroupOffsets": Need(
        90, 1, make(90, groups=[{"group_id": "s", "topics": [{"topic_name": "orders", "partitions": [0]}]}]),
        {SHARE_DESCRIBE: ("groups[0].error_code", 30), TOPIC_DESCRIBE: ("groups[0].topics[0].partitions[0].error_code", 29)},
        before=((91, 0, SHARE_OFFSETS),),
    ),
    "AlterShareGroupOffsets": Need(
        91, 0, SHARE_OFFSETS, {SHARE_READ: ("error_code", 30), TOPIC_READ: ("responses[0].partitions[0].error_code", 29)}
    ),
    "DeleteShareGroupOffsets": Need(
        92, 0, make(92, group_id="s", topics=[{"topic_name": "orders"}]),
        {SHARE_DELETE: ("error_code", 30), TOPIC_READ: ("responses[0].error_code", 29)},
        before=((91, 0, SHARE_OFFSETS),),
    ),
}  # fmt: skip
WITHOUT_RIGHTS = (16, 17, 18, 36, 60, 66)
"""The APIs that answer everybody; ListGroups and ListTransactions leave out what the sender may not see."""


def _rig(*rules: Acl) -> CoreRig:
    rig = make_rig(topics={"orders": 1, "pay": 1})
    rig.ask(8, 7, make(8, group_id="g", topics=COMMITS), principal=ADMIN)
    authorizer_of(rig).add(rules)
    return rig


def _rig_for(need: Need, *rules: Acl) -> CoreRig:
    rig = _rig(*rules)
    for key, version, message in need.before:
        rig.ask(key, version, message, principal=ADMIN)
        rig.sleep(2000)  # The partitions of a share group are initialised in the background, and its member gets them afterwards.
    return rig


def _errors(rig: CoreRig, need: Need) -> list[tuple[str, int]]:
    answer = rig.ask(need.key, need.version, need.message, principal=ALICE)
    return list(error_codes(type(answer), need.version).each(answer))


def test_every_api_has_its_rights_in_the_table() -> None:
    assert {need.key for need in NEEDS.values()} | set(WITHOUT_RIGHTS) == set(PROFILE.versions)


@for_each("need", NEEDS.values(), ids=NEEDS)
def test_api_refuses_a_request_without_one_of_its_rights(need: Need) -> None:
    allowed = _errors(_rig_for(need, *need.rights), need)
    assert not [each for each in allowed if each[1] in DENIALS], f"with all rights: {allowed}"
    for missing, error in need.rights.items():
        rig = _rig_for(need, *(right for right in need.rights if right != missing))
        assert error in _errors(rig, need)
        [note] = [note.fields for note in rig.of(Note) if note.what == "not_authorized"]
        # A producer without a transactional id may write by a right on a topic, but what it lacks is the right on the cluster.
        assert note["principal"] == ALICE and note["resource"] in (missing.name, CLUSTER_NAME)


@for_each("need", NEEDS.values(), ids=NEEDS)
def test_api_refuses_a_denied_right(need: Need) -> None:
    for missing, error in need.rights.items():
        rig = _rig_for(need, *need.rights, missing._replace(permission=deny(READ, TOPIC).permission))
        assert error in _errors(rig, need)


def test_unknown_topics_are_refused_as_known_ones_until_they_may_be_described() -> None:
    rig = _rig(allow(DESCRIBE, TOPIC, "seen"))
    message = make(3, topics=[{"name": "orders"}, {"name": "hidden"}, {"name": "seen"}], allow_auto_topic_creation=False)
    answer = rig.ask(3, 9, message, principal=ALICE)
    assert [(topic.name, topic.error_code) for topic in answer.topics] == [("seen", 3), ("orders", 29), ("hidden", 29)]


def test_topics_by_id_do_not_tell_the_names_of_denied_ones() -> None:
    rig = _rig()
    topic_id = rig.core.cluster.topics.topic_id("orders")
    answer = rig.ask(3, 12, make(3, topics=[{"name": None, "topic_id": topic_id}]), principal=ALICE)
    assert [(topic.name, topic.topic_id, topic.error_code) for topic in answer.topics] == [(None, topic_id, 29)]


def test_lists_leave_out_what_may_not_be_described() -> None:
    rig = _rig(TOPIC_DESCRIBE)
    rig.ask(8, 7, make(8, group_id="h", topics=COMMITS), principal=ADMIN)
    rig.ask(22, 4, make(22, transactional_id="x", transaction_timeout_ms=1000), principal=ADMIN)

    def listed() -> tuple[list[str], list[str], list[str]]:
        groups, transactions = rig.ask(16, 4, make(16), principal=ALICE), rig.ask(66, 0, make(66), principal=ALICE)
        topics = rig.ask(3, 9, make(3, topics=None), principal=ALICE)
        return (
            [each.group_id for each in groups.groups],
            [each.transactional_id for each in transactions.transaction_states],
            [each.name for each in topics.topics],
        )

    assert listed() == ([], [], ["orders"])
    authorizer_of(rig).add([GROUP_DESCRIBE, TXN_DESCRIBE, allow(DESCRIBE, TOPIC, "pay")])
    assert listed() == (["g"], ["x"], ["orders", "pay"])
    authorizer_of(rig).add([allow(DESCRIBE, CLUSTER), deny(DESCRIBE, GROUP, "h")])
    assert sorted(listed()[0]) == ["g", "h"], "who may describe the cluster sees every group"
    assert not [note for note in rig.of(Note) if note.what == "not_authorized"]


def test_offsets_of_all_topics_leave_out_denied_ones() -> None:
    rig = _rig(GROUP_DESCRIBE)
    assert rig.ask(9, 5, make(9, group_id="g", topics=None), principal=ALICE).topics == []
    authorizer_of(rig).add([TOPIC_DESCRIBE])
    assert [each.name for each in rig.ask(9, 5, make(9, group_id="g", topics=None), principal=ALICE).topics] == ["orders"]


def test_operations_are_shown_for_what_may_be_described() -> None:
    rig = _rig(TOPIC_READ, GROUP_READ)
    topics = rig.ask(3, 9, make(3, topics=[{"name": "orders"}, {"name": "pay"}], include_topic_authorized_operations=True), principal=ALICE)
    assert [each.topic_authorized_operations for each in topics.topics] == [264, -(2**31)]
    groups = rig.ask(15, 5, make(15, groups=["g", "h"], include_authorized_operations=True), principal=ALICE)
    assert [each.authorized_operations for each in groups.groups] == [-(2**31), 264]
    cluster = make(60, include_cluster_authorized_operations=True)
    assert rig.ask(60, 0, cluster, principal=ALICE).cluster_authorized_operations == 0
    authorizer_of(rig).add([allow(DESCRIBE, CLUSTER)])
    assert rig.ask(60, 0, cluster, principal=ALICE).cluster_authorized_operations == 256


def test_sync_group_without_names_is_inconsistent_before_any_right() -> None:
    answer = _rig().ask(14, 5, make(14, group_id="g", protocol_type=None, protocol_name=None), principal=ALICE)
    assert answer.error_code == 23


def test_group_rights_come_before_the_check_of_an_empty_group_id() -> None:
    rig = _rig()
    assert [rig.ask(key, 3, make(key), principal=ALICE).error_code for key in (12, 13, 14)] == [30, 30, 30]


def test_produce_without_acks_closes_the_connection_if_it_is_refused() -> None:
    assert _rig().send(0, 9, make(0, acks=0, topic_data=PRODUCE), principal=ALICE).status == "closed"


def test_describing_all_scram_users_without_the_right_is_never_answered() -> None:
    assert _rig().send(50, 0, make(50, users=None), principal=ALICE).status == "abandoned"


def test_all_rights_on_the_cluster_allow_to_delete_topics() -> None:
    rig = _rig(allow(DELETE, CLUSTER))
    answer = rig.ask(20, 5, make(20, timeout_ms=1000, topic_names=["orders"]), principal=ALICE)
    assert [each.error_code for each in answer.responses] == [0]


def test_consumer_group_with_a_topic_that_may_not_be_described_is_hidden() -> None:
    rig = _rig(allow(DESCRIBE, GROUP, "c"))
    beat = make(68, group_id="c", member_id="m", rebalance_timeout_ms=1000, subscribed_topic_names=["orders"], topic_partitions=[])
    assert rig.ask(68, 1, beat, principal=ADMIN).error_code == 0
    rig.sleep(2000)
    [group] = rig.ask(69, 1, make(69, group_ids=["c"]), principal=ALICE).groups
    assert (group.error_code, group.error_message, group.members) == (
        29,
        "The group has described topic(s) that the client is not authorized to describe.",
        [],
    )
    authorizer_of(rig).add([TOPIC_DESCRIBE])
    assert rig.ask(69, 1, make(69, group_ids=["c"]), principal=ALICE).groups[0].error_code == 0


def test_regular_expression_matches_only_topics_that_its_member_may_describe() -> None:
    rig = _rig(allow(READ, GROUP, "c"), TOPIC_DESCRIBE)
    beat = make(68, group_id="c", member_id="m", rebalance_timeout_ms=1000, subscribed_topic_regex=".*", topic_partitions=[])
    assert rig.ask(68, 1, beat, principal=ALICE).error_code == 0
    rig.sleep(2000)
    assert list(rig.group("c").topics) == ["orders"]  # type: ignore[attr-defined]


def test_super_user_is_never_denied() -> None:
    rig = _rig(deny(2, TOPIC, "*"), deny(2, GROUP, "*"), deny(2, CLUSTER), deny(2, TRANSACTIONAL_ID, "*"))
    for need in NEEDS.values():
        answer = rig.ask(need.key, need.version, need.message, principal=ADMIN)
        assert not [each for each in error_codes(type(answer), need.version).each(answer) if each[1] in DENIALS]
        authorizer_of(rig).add([deny(2, TOPIC, "*")])  # DeleteAcls may have removed it.


def test_alter_share_group_offsets_answers_denied_topics_first_with_their_ids() -> None:
    rig = _rig(SHARE_READ, TOPIC_READ)
    topics = [{"topic_name": name, "partitions": [{"partition_index": 0}]} for name in ("orders", "none", "pay")]
    answer = rig.ask(91, 0, make(91, group_id="s", topics=topics), principal=ALICE)
    pay_id = rig.core.cluster.topics.topic_id("pay")
    found = [(each.topic_name, each.topic_id, each.partitions[0].error_code) for each in answer.responses]
    assert found == [("none", ZERO_UUID, 29), ("pay", pay_id, 29), ("orders", ORDERS_ID, 0)]


@for_each("names, code", [(("orders", "pay"), -1), (("pay",), 0), (("pay", "none"), 0)])
def test_empty_share_group_id_fails_only_if_a_named_topic_may_be_seen(names: tuple[str, ...], code: int) -> None:
    rig = _rig(allow(DESCRIBE, GROUP, "*"), TOPIC_DESCRIBE)
    topics = [{"topic_name": name, "partitions": [0]} for name in names]
    [group] = rig.ask(90, 1, make(90, groups=[{"group_id": "", "topics": topics}]), principal=ALICE).groups
    text = "The server experienced an unexpected error when processing the request." if code else None
    assert (group.error_code, group.error_message) == (code, text)
    assert [(row.error_code, row.start_offset) for topic in group.topics for row in topic.partitions] == [(29, -1)] * len(group.topics)
    assert len(group.topics) == (0 if code else len(names))


@for_each("profile", ["kafka-4.4", "kafka-4.3"])
def test_topic_id_of_no_topic_fails_share_requests_under_an_authorizer(profile: str) -> None:
    rig = make_rig(profile, topics={"orders": 1})
    authorizer_of(rig).add([SHARE_READ, TOPIC_READ])
    nameless = [{"topic_id": b"x" * 16, "partitions": [{"partition_index": 0}]}]
    version = 2 if profile == "kafka-4.4" else 1
    assert rig.ask(78, version, make(78, **SHARE_MEMBER, topics=nameless), principal=ALICE).error_code == -1
    asked = make(79, **SHARE_MEMBER, share_session_epoch=1, topics=nameless)
    assert rig.ask(79, version, asked, principal=ALICE).error_code == -1


def test_topic_that_may_be_deleted_but_not_described_is_not_deleted() -> None:
    rig = _rig(allow(DELETE, TOPIC, "*"), deny(DESCRIBE, TOPIC, "orders"), deny(DESCRIBE, TOPIC, "none"))
    answer = rig.ask(20, 1, make(20, topic_names=["orders", "none", "unknown", "pay"]), principal=ALICE)
    assert {each.name: each.error_code for each in answer.responses} == {"orders": 29, "none": 29, "unknown": 3, "pay": 0}
    assert "orders" in rig.core.cluster.topics
