"""The embedded consumer protocol is encoded and decoded like Kafka's classes, in both directions. Kafka's classes have no version field,
because its serialisers write it before them."""

from __future__ import annotations

import random
from typing import Any

import pytest

from groupmock_codec import Codec
from groupmock_codec.embedded.consumer import ASSIGNMENT, SUBSCRIPTION
from groupmock_codec.kafka_json import to_kafka_json
from groupmock_codec.samples import edge_cases, sample

from .oracle import ask, offered

SEED, COUNT = 1, 40
KINDS = {"ConsumerProtocolSubscription": SUBSCRIPTION, "ConsumerProtocolAssignment": ASSIGNMENT}
HALVES = pytest.mark.parametrize("kind", KINDS)


def shown(codec: Codec[Any], version: int, message: Any) -> dict[str, Any]:
    """Return the message as Kafka's JSON, without the version."""
    found = to_kafka_json(message, version, False)
    found.pop("version")
    return found


@HALVES
def test_kafka_writes_and_we_read(release: str, kind: str) -> None:
    codec, (lowest, highest) = KINDS[kind], offered(release)["types"][kind]
    questions = [{"type": kind, "version": version, "random": SEED + n} for version in range(lowest, highest + 1) for n in range(COUNT)]
    for question, answer in zip(questions, ask(release, questions), strict=True):
        version = question["version"]
        data = version.to_bytes(2) + bytes.fromhex(answer["hex"])
        message = codec.decode(version, data)
        assert shown(codec, version, message) == answer["json"], question
        assert codec.encode(version, message) == data, question


@HALVES
def test_we_write_and_kafka_reads(release: str, kind: str) -> None:
    codec, (lowest, highest) = KINDS[kind], offered(release)["types"][kind]
    dice = random.Random(SEED)
    written: list[tuple[int, Any, bytes]] = []
    for version in range(lowest, highest + 1):
        messages = [message for _, message in edge_cases(codec.message, version, False, dice)]
        for message in messages + [sample(codec.message, version, False, dice) for _ in range(COUNT)]:
            message.version = version
            written.append((version, message, codec.encode(version, message)))
    questions = [{"type": kind, "version": version, "hex": data[2:].hex()} for version, _, data in written]
    for (version, message, data), answer in zip(written, ask(release, questions), strict=True):
        assert (answer["hex"], answer["rest"]) == (data[2:].hex(), 0), (version, message)
        assert shown(codec, version, message) == answer["json"], (version, message)
