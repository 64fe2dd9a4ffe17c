"""Bytes recorded from Kafka's own classes (2.8.2, 3.9.1, 4.3.0) are decoded, compared by field, and encoded to the same bytes."""

from __future__ import annotations

from collections import Counter

from cases import for_each

from groupmock_codec import APIS, reference
from groupmock_codec.kafka_json import from_kafka_json

from .kit import every_version, types, vectors

# Only this many of the at least twenty vectors per type and version are checked with the reference, which is fifty times slower.
JUDGED = 5
STEMS = [APIS[key].stem for key in APIS]


@for_each("stem", STEMS)
def test_recorded_bytes_are_read_as_kafka_meant_them(stem: str) -> None:
    for vector in vectors(stem):
        codec, version = types()[vector["type"]].codec, vector["version"]
        expected = from_kafka_json(codec.message, version, codec.flexible(version), vector["json"])
        assert codec.decode(version, bytes.fromhex(vector["hex"])) == expected, vector


@for_each("stem", STEMS)
def test_recorded_messages_are_written_as_kafka_wrote_them(stem: str) -> None:
    for vector in vectors(stem):
        codec, version = types()[vector["type"]].codec, vector["version"]
        message = from_kafka_json(codec.message, version, codec.flexible(version), vector["json"])
        assert codec.encode(version, message).hex() == vector["hex"], vector


@for_each("stem", STEMS)
def test_the_judge_reads_and_writes_recorded_bytes_alike(stem: str) -> None:
    """The compiled codec is tested on all vectors and equals the reference on every edge case, so the reference gets only some."""
    for vector in vectors(stem)[::JUDGED]:
        codec, version, data = types()[vector["type"]].codec, vector["version"], bytes.fromhex(vector["hex"])
        message, end = reference.decode(codec.message, version, codec.flexible(version), data)
        assert (message, end) == codec.decoder(version)(data, 0), vector
        assert reference.encode(message, version, codec.flexible(version)) == data, vector


def test_every_type_and_version_has_at_least_twenty_vectors() -> None:
    count = Counter((vector["type"], vector["version"]) for stem in STEMS for vector in vectors(stem))
    assert {pair: count[pair] for pair in every_version() if count[pair] < 20} == {}


def test_all_releases_have_written_vectors() -> None:
    assert {vector["release"] for stem in STEMS for vector in vectors(stem)} == {"2.8.2", "3.9.1", "4.3.0", "4.4.0"}
