"""kafka-python's admin client, call by call: `calls.py HOST:PORT` prints a line of JSON for each: name, ok, what it said."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import (
    ACL,
    ACLFilter,
    ACLOperation,
    ACLPermissionType,
    ACLResourcePatternType,
    ConfigResource,
    ConfigResourceType,
    KafkaAdminClient,
    NewPartitions,
    NewTopic,
    ResourcePattern,
    ResourcePatternFilter,
    ResourceType,
    UpdateFeatureType,
)

LONGEST = 160
AT = TopicPartition("ledger", 0)


def prepare(bootstrap: str) -> None:
    """Three records, and a group that has read them."""
    producer = KafkaProducer(bootstrap_servers=bootstrap)
    for number in range(3):
        producer.send("ledger", str(number).encode(), partition=0)
    producer.close()
    consumer = KafkaConsumer(bootstrap_servers=bootstrap, group_id="clerks", enable_auto_commit=False)
    consumer.assign([AT])
    consumer.seek_to_beginning(AT)
    while consumer.position(AT) < 3:
        consumer.poll(timeout_ms=500)
    consumer.commit()
    consumer.close()


def calls(admin: KafkaAdminClient, bootstrap: str) -> list[tuple[str, Callable[[], Any]]]:
    """Names and what each does, in order."""
    acl = ACL("User:ann", "*", ACLOperation.READ, ACLPermissionType.ALLOW, ResourcePattern(ResourceType.TOPIC, "ledger"))
    every = ACLFilter(
        None, None, ACLOperation.ANY, ACLPermissionType.ANY, ResourcePatternFilter(ResourceType.ANY, None, ACLResourcePatternType.ANY)
    )
    topic = ConfigResource(ConfigResourceType.TOPIC, "ledger", {"retention.ms": "1000000"})
    return [
        ("create_topics", lambda: admin.create_topics([NewTopic("ledger", 2, 1)])),
        ("produce, consume and commit before the rest", lambda: prepare(bootstrap)),
        ("list_topics", lambda: "ledger" in admin.list_topics()),
        ("describe_topics", lambda: admin.describe_topics(["ledger"])),
        ("describe_cluster", admin.describe_cluster),
        ("create_partitions", lambda: admin.create_partitions({"ledger": NewPartitions(3)})),
        ("describe_configs", lambda: admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, "ledger")])),
        ("alter_configs", lambda: admin.alter_configs([topic])),
        ("list_partition_offsets", lambda: admin.list_partition_offsets({AT: -1})),
        ("list_groups", lambda: "clerks" in str(admin.list_groups())),
        ("describe_groups", lambda: admin.describe_groups(["clerks"])),
        ("list_group_offsets", lambda: admin.list_group_offsets("clerks")),
        ("alter_group_offsets", lambda: admin.alter_group_offsets("clerks", {AT: _offset(1)})),
        ("delete_group_offsets", lambda: admin.delete_group_offsets("clerks", [AT])),
        ("delete_groups", lambda: admin.delete_groups(["clerks"])),
        ("describe_log_dirs", admin.describe_log_dirs),
        ("elect_leaders", lambda: admin.elect_leaders(0, {"ledger": [0]}, raise_errors=False)),
        ("alter_partition_reassignments", lambda: admin.alter_partition_reassignments({AT: [_node(admin)]})),
        ("list_partition_reassignments", admin.list_partition_reassignments),
        ("describe_metadata_quorum", admin.describe_metadata_quorum),
        ("describe_features", admin.describe_features),
        (
            "update_features, tried",
            lambda: admin.update_features({"metadata.version": (UpdateFeatureType.UPGRADE, 30)}, validate_only=True),
        ),
        ("list_transactions", admin.list_transactions),
        ("describe_user_scram_credentials", admin.describe_user_scram_credentials),
        ("describe_acls: SecurityDisabledError", lambda: _refused(lambda: admin.describe_acls(every))),
        ("create_acls: SecurityDisabledError", lambda: _refused(lambda: admin.create_acls([acl]))),
        ("delete_records", lambda: admin.delete_records({AT: 2})),
        ("delete_topics", lambda: admin.delete_topics(["ledger"])),
    ]


def _offset(number: int) -> Any:
    from kafka.structs import OffsetAndMetadata

    return OffsetAndMetadata(number, "", -1)


def _node(admin: KafkaAdminClient) -> int:
    return int(admin.describe_cluster()["brokers"][0]["broker_id"])


def _refused(call: Callable[[], Any]) -> str:
    """What says that there is no authorizer, be it raised or returned."""
    try:
        said = str(call())
    except Exception as refused:
        said = repr(refused)
    if "SecurityDisabled" not in said and "SECURITY_DISABLED" not in said:
        raise AssertionError(said)
    return said


def main() -> None:
    """Every call; one that fails does not end the others."""
    bootstrap = sys.argv[1]
    admin = KafkaAdminClient(bootstrap_servers=bootstrap)
    for name, call in calls(admin, bootstrap):
        try:
            said, fine = call(), True
            fine = said is not False
        except Exception as failure:
            said, fine = f"{type(failure).__name__}: {failure}", False
        print(json.dumps({"call": name, "ok": fine, "said": str(said)[:LONGEST]}), flush=True)
    admin.close()


if __name__ == "__main__":
    main()
