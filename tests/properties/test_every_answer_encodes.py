"""The core answers any request of any version with a message that this version can encode, and without an internal error. Requests are
made from the message declarations (limits, nulls, empty values), with existing names, ids and generations mixed in, so that they pass
the first checks. The APIs and versions are those that each profile advertises."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from found import packed
from properties.answers import ANSWERS, TOPICS, Asking
from searching import seeds

from groupmock.config import profiles
from groupmock_codec import APIS
from groupmock_codec.declare import Field, Message, Wire, fields_of
from groupmock_codec.records import NewRecord, encode_batch
from groupmock_codec.samples import sample

SEEDS = seeds(10)
REQUESTS = 80
PYTHON = {"string": str, "bytes": bytes, "records": bytes, "uuid": bytes, "int8": int, "int16": int, "int32": int, "int64": int}
NAMES = [*TOPICS, "gone"]
BATCH = encode_batch([NewRecord(value=b"v", timestamp=1), NewRecord(key=b"k", value=None, timestamp=2)])


class Client:
    """A client that knows the cluster and makes requests."""

    def __init__(self, profile: str, seed: int) -> None:
        self.dice = Random(seed)
        self.case = ANSWERS.shown({"profile": profile, "seed": seed, "steps": []})
        self.asking = Asking(profile, seed, lambda message: self.learn(message))
        self.pools: dict[str, list[Any]] = {
            "group_id": ["g", "h", "s"],
            "groups": ["g", "h", "nope"],
            "groups_names": ["g", "nope"],
            "name": [*NAMES, "range", "sticky", "max.message.bytes", "new"],
            "topic": NAMES,
            "member_id": ["", ""],
            "protocol_type": ["consumer", "connect", ""],
            "protocol_name": ["range", "sticky"],
            "generation_id": [-1, 0, 1, 2, 3],
            "generation_id_or_member_epoch": [-1, 0, 1, 2, 3],
            "group_instance_id": [None, "i", "j"],
            "session_timeout_ms": [100, 1000, 10_000],
            "rebalance_timeout_ms": [200, 1000],
            "partition": [0, 1, 2],
            "partition_index": [0, 1, 2],
            "index": [0, 1, 2],
            "partition_indexes": [0, 1],
            "acks": [0, 1, -1],
            "records": [BATCH, None, b""],
            "session_id": [0, 0, 1, 2],
            "session_epoch": [-1, 0, 1],
            "max_wait_ms": [0, 50],
            "min_bytes": [0, 1],
            "max_bytes": [1000, 1 << 20],
            "fetch_offset": [0, 1, 5],
            "timestamp": [-1, -2, -3, 0],
            "current_leader_epoch": [-1, 0],
            "topic_id": [self.asking.rig.core.cluster.topics.topic_id(name) for name in TOPICS],
            "key": ["g", "h"],
            "resource_type": [2, 4],
            "resource_name": ["orders", "1", ""],
            "transactional_id": [None],
            "num_partitions": [1, 2, -1],
            "replication_factor": [1, -1],
            "assignments": [[]],
            "count": [3, 4],
            "committed_offset": [0, 7],
        }

    def likely(self, message: Message, version: int) -> Message:
        """Fill most fields of a random request with meaningful values."""
        for field in fields_of(type(message)):
            value = getattr(message, field.name)
            if isinstance(value, Message):
                self.likely(value, version)
            elif isinstance(value, list) and value and isinstance(value[0], Message):
                for each in value:
                    self.likely(each, version)
            elif field.present(version) and (pool := self.pools.get(field.name)) and self.dice.random() < 0.85:
                self.put(message, field, value, self.dice.choice(pool), version)
        return message

    def put(self, message: Message, field: Field, value: Any, chosen: Any, version: int) -> None:
        """Set the field if the types agree."""
        if field.wire.kind == "array":
            element = field.wire.element
            if chosen == [] or (isinstance(element, Wire) and type(chosen) is PYTHON.get(element.kind)):
                setattr(message, field.name, chosen if chosen == [] else [chosen])
        elif type(chosen) is PYTHON.get(field.wire.kind) or (chosen is None and field.nullable(version)):
            setattr(message, field.name, chosen)

    def ask(self) -> None:
        row = self.dice.choice(self.asking.rows)
        version = self.dice.randint(row.lowest, row.highest)
        api = APIS[row.key]
        flexible = api.flexible_from is not None and version >= api.flexible_from
        message = self.likely(sample(api.request.message, version, flexible, self.dice), version)
        data = packed(api.request.encode(version, message))
        self.take("ask", self.dice.randint(1, 3), (self.asking.asked + 1) % 7, row.key, version, data)

    def step(self) -> None:
        self.take("wait", self.dice.choice((0, 1, 20, 60, 300)))
        if self.dice.random() < 0.05:
            self.take("gone", self.dice.randint(0, 6))

    def take(self, *step: Any) -> None:
        self.case["steps"].append(step)
        self.asking.take(step)

    def learn(self, message: Message) -> None:
        """Remember the member ids and fetch sessions of an answer."""
        for name in ("member_id", "session_id"):
            value = getattr(message, name, None)
            if value:
                self.pools[name].append(value)
                del self.pools[name][2:-6]


@pytest.mark.property
@pytest.mark.soak
@pytest.mark.parametrize("profile", profiles.names())
@pytest.mark.parametrize("seed", SEEDS)
def test_every_answer_encodes(profile: str, seed: int) -> None:
    client = Client(profile, seed)
    for _ in range(REQUESTS):
        client.ask()
        client.step()
