"""Make valid requests of any API and version from the codec's declarations, with names of the script's own and plausible numbers.

They change nothing that another script sees: topics and groups carry the script's token, no config of a broker is touched.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, Final

from groupmock_codec import APIS, api_keys
from groupmock_codec.declare import Field, Message, Wire, fields_of
from groupmock_codec.embedded.consumer import Subscription, encode_subscription
from groupmock_codec.records import NewRecord, encode_batch

STAMP_MS: Final = 1_700_000_000_000
CONFIGS: Final = ("cleanup.policy", "retention.ms", "max.message.bytes", "segment.bytes", "no.such.config")

FieldMaker = Callable[["RequestMaker"], Any]


class RequestMaker:
    """Makes valid requests for one script. `token` is in every name that it makes up."""

    def __init__(self, token: str, rng: random.Random) -> None:
        self.token = token
        self.rng = rng
        self.key = 0

    def request(self, key: int, version: int) -> Message:
        self.key = key
        made: Message = self.message(APIS[key].request.message, version)
        return made

    def message(self, made: type[Message], version: int) -> Any:
        """Return one message or struct with plausible values, in which fields that the version lacks keep their defaults."""
        config = "Config" in made.__name__ and self.key != api_keys.DESCRIBE_CONFIGS
        values = {field.name: self.field(field, version) for field in fields_of(made) if field.present(version)}
        return made(**(values | {"name": self.rng.choice(CONFIGS)} if config and "name" in values else values))

    def field(self, field: Field, version: int) -> Any:
        """Return a value for a field, chosen by the field's name or otherwise by its type."""
        maker = _BY_API.get((self.key, field.name)) or _BY_NAME.get(field.name)
        value = maker(self) if maker is not None else self.value(field, field.wire, version)
        if value is None and not field.nullable(version):
            return [] if field.wire.kind == "array" else ""
        return value

    def value(self, field: Field, wire: Wire, version: int) -> Any:
        """Return a small value of the wire type of a field."""
        rng = self.rng
        if wire.kind == "array":
            if field.nullable(version) and rng.random() < 0.1 and self.key != api_keys.METADATA:
                return None
            return [self.value(field, wire.element_wire, version) for _ in range(rng.choice((1, 1, 1, 2, 2, 0)))]
        if wire.kind == "struct":
            if field.wire.kind == "struct" and field.nullable_since is not None and rng.random() < 0.5:
                return None
            return self.message(wire.struct, version)
        if wire.kind == "string":
            return self.topic() if "topic" in field.name or field.name == "name" else self.group()
        if wire.kind in ("bytes", "records"):
            return rng.randbytes(rng.choice((0, 1, 5)))
        if wire.kind == "uuid":
            return rng.randbytes(16)
        return rng.random() < 0.5 if wire.kind == "bool" else rng.choice((0, 0, 1))

    def topic(self) -> str:
        """Return the name of a topic that does not exist."""
        return f"t-{self.token}{self.rng.choice('abc')}"

    def group(self) -> str:
        """Return the name of a group that only this script uses."""
        return f"g-{self.token}{self.rng.choice('ab')}"

    def batch(self) -> bytes:
        return encode_batch([NewRecord(key=b"k", value=b"v", timestamp=STAMP_MS)])


def _one_of(*values: Any) -> FieldMaker:
    return lambda maker: maker.rng.choice(values)


_BY_NAME: Final[dict[str, FieldMaker]] = {
    "member_id": _one_of("", "", "m"),
    "group_instance_id": _one_of(None, None, "i"),
    "protocol_type": _one_of("other", "other", ""),
    "protocol_name": _one_of("range", None),
    "reason": _one_of(None, "because"),
    "session_timeout_ms": _one_of(10_000, 30_000),
    "rebalance_timeout_ms": _one_of(1000, 60_000),
    "generation_id": _one_of(-1, 0, 1),
    "generation_id_or_member_epoch": _one_of(-1, -1, 0, 1),
    "member_epoch": _one_of(-1, -1, 1),
    "retention_time_ms": _one_of(-1),
    "commit_timestamp": _one_of(-1),
    "transactional_id": _one_of(None),
    "timeout_ms": _one_of(1000, 5000),
    "transaction_timeout_ms": _one_of(1000),
    "max_wait_ms": _one_of(0),
    "max_bytes": _one_of(1 << 20),
    "partition_max_bytes": _one_of(1 << 20),
    "isolation_level": _one_of(0, 1),
    "replica_id": _one_of(-1),
    "replica_epoch": _one_of(-1),
    "session_id": _one_of(0),
    "session_epoch": _one_of(-1, -1, 0),
    "timestamp": _one_of(-1, -2, STAMP_MS),
    "current_leader_epoch": _one_of(-1, 0),
    "last_fetched_epoch": _one_of(-1, 0),
    "high_watermark": _one_of(2**63 - 1),
    "replica_directory_id": _one_of(bytes(16)),
    "cluster_id": _one_of(None),
    "allow_auto_topic_creation": _one_of(False),
    "states_filter": _one_of([], ["Stable"], ["Dead", "Empty"]),
    "types_filter": _one_of([], ["classic"]),
    "client_software_name": _one_of("groupmock", "a.b-c"),
    "client_software_version": _one_of("1", "4.3.0"),
    "producer_id": _one_of(-1),
    "producer_epoch": _one_of(-1),
    "enable2_pc": _one_of(False),
    "keep_prepared_txn": _one_of(False),
    "include_cluster_authorized_operations": _one_of(False, True),
    "endpoint_type": _one_of(1, 1, 2),
    "response_partition_limit": _one_of(1, 2000),
    "records": lambda maker: maker.rng.choice((maker.batch(), maker.batch(), b"")),
    "metadata": lambda maker: encode_subscription(Subscription(topics=[maker.topic()])),
}
_ACL_CODES: Final = (
    "resource_type", "resource_type_filter", "resource_pattern_type", "pattern_type_filter", "operation", "permission_type"
)  # fmt: skip
_BY_API: Final[dict[tuple[int, str], FieldMaker]] = {
    (0, "acks"): _one_of(-1, 1, 0),
    (10, "key_type"): _one_of(0),
    (11, "name"): _one_of("range", "sticky"),
    (19, "replication_factor"): _one_of(9),  # This replication factor is larger than the number of brokers, so that no topic is created.
    (19, "num_partitions"): _one_of(1, 2),
    (19, "assignments"): _one_of([]),
    (19, "validate_only"): _one_of(True),
    (33, "validate_only"): _one_of(True),
    (37, "count"): _one_of(1, 2),
    (37, "assignments"): _one_of(None),
    (37, "validate_only"): _one_of(True),
    (44, "validate_only"): _one_of(True),
    (44, "config_operation"): _one_of(0, 1),
    **{
        (key, "resource_type"): _one_of(2)
        for key in (api_keys.DESCRIBE_CONFIGS, api_keys.ALTER_CONFIGS, api_keys.INCREMENTAL_ALTER_CONFIGS)
    },
    # A 0 in one of these ACL fields makes the broker close the connection (SEC-77, SEC-78).
    **{(key, code): _one_of(2, 3) for key in (api_keys.DESCRIBE_ACLS, api_keys.CREATE_ACLS, api_keys.DELETE_ACLS) for code in _ACL_CODES},
    **{
        (key, "resource_name"): lambda maker: maker.topic()
        for key in (api_keys.DESCRIBE_CONFIGS, api_keys.ALTER_CONFIGS, api_keys.INCREMENTAL_ALTER_CONFIGS)
    },
    **{
        (key, "value"): _one_of("1000", "delete", None)
        for key in (api_keys.CREATE_TOPICS, api_keys.ALTER_CONFIGS, api_keys.INCREMENTAL_ALTER_CONFIGS)
    },
    (32, "configuration_keys"): lambda maker: maker.rng.choice((None, [], list(CONFIGS))),
}
