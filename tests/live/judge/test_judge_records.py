"""Kafka's record classes and the codec read each other's records of magic 0 to 2, and convert them down to the same bytes."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any, Final

import pytest

from groupmock_codec.message_sets import down_convert, encode_message_set, read_message_set, up_convert
from groupmock_codec.records import NewRecord, Record, check_produced, decode_records, encode_batch, read_batches

from .oracle import NoOracle, ask, classpath

RELEASE: Final = "3.9.1"  # Kafka 3.9.1 is the last release that writes magic 0 and 1.
PROGRAM: Final = Path(__file__).with_name("KafkaRecords.java")
SEED: Final = int(os.environ.get("GROUPMOCK_JUDGE_SEED", "1"))
COMPRESSIONS: Final = ("none", "gzip")
ROUNDS: Final = 40


@pytest.fixture(autouse=True, scope="module")
def oracle() -> None:
    try:
        classpath(RELEASE)
    except NoOracle as missing:
        pytest.fail(str(missing), pytrace=False)


def blob(dice: random.Random) -> bytes | None:
    return None if dice.random() < 0.2 else dice.randbytes(dice.choice((0, 1, 5, 63, 64, 200)))


def some_records(dice: random.Random, magic: int) -> list[NewRecord]:
    """Draw one to six records, with headers only where the format has them."""
    return [
        NewRecord(
            blob(dice),
            blob(dice),
            [(dice.choice(("a", "é", "")), blob(dice)) for _ in range(dice.randrange(3))] if magic == 2 else [],
            -1 if magic == 0 else dice.choice((0, 1, 1_700_000_000_000, dice.randrange(2**45))),
        )
        for _ in range(dice.randint(1, 6))
    ]


def hexed(data: bytes | None) -> str | None:
    return None if data is None else data.hex()


def shown(records: list[Record]) -> list[list[Any]]:
    """Return records in the form of KafkaRecords.java."""
    return [
        [each.offset, each.timestamp, hexed(each.key), hexed(each.value), [[name, hexed(value)] for name, value in each.headers]]
        for each in records
    ]


def placed(records: list[NewRecord], base: int) -> list[Record]:
    return [Record(base + n, new.timestamp, new.key, new.value, tuple(new.headers)) for n, new in enumerate(records)]


def asked(records: list[NewRecord], magic: int, compression: str, base: int) -> dict[str, Any]:
    rows = [[each[1], *each[2:]] for each in shown(placed(records, 0))]
    return {"magic": magic, "compression": compression, "base": base, "records": rows}


def cases(magics: tuple[int, ...]) -> list[tuple[list[NewRecord], int, str, int]]:
    """Return (records, magic, compression, base offset) of the cases."""
    dice = random.Random(SEED)
    return [
        (some_records(dice, magic), magic, compression, dice.choice((0, 7, 2**40)))
        for magic in magics
        for compression in COMPRESSIONS
        for _ in range(ROUNDS)
    ]


def test_kafka_reads_our_batches_and_message_sets() -> None:
    listed = cases((0, 1, 2))
    written = [
        encode_batch(records, base, compression=compression)
        if magic == 2
        else encode_message_set(placed(records, base), magic, compression)
        for records, magic, compression, base in listed
    ]
    for case, answer in zip(listed, ask(RELEASE, [{"hex": data.hex()} for data in written], PROGRAM), strict=True):
        assert answer == {"valid": True, "records": shown(placed(case[0], case[3]))}, (SEED, case)


def test_we_read_kafkas_batches_and_message_sets() -> None:
    listed = cases((0, 1, 2))
    for case, answer in zip(listed, ask(RELEASE, [asked(*case) for case in listed], PROGRAM), strict=True):
        records, magic, compression, base = case
        data = bytes.fromhex(answer["hex"])
        if magic == 2:
            (batch,) = read_batches(data)
            check_produced(batch)
            assert decode_records(batch) == placed(records, base), (SEED, case)
            assert compression != "none" or encode_batch(records, base) == data, (SEED, case)
        else:
            assert read_message_set(data) == placed(records, base), (SEED, case)
            assert compression != "none" or encode_message_set(placed(records, base), magic) == data, (SEED, case)
            (batch,) = read_batches(up_convert(data, base))
            assert decode_records(batch) == placed(records, base), (SEED, case)


@pytest.mark.parametrize("magic", [0, 1])
def test_down_conversion_is_kafkas(magic: int) -> None:
    dice = random.Random(SEED)
    stored = [
        (encode_batch(some_records(dice, 2), base, compression=compression), compression, base + dice.randrange(3))
        for compression in COMPRESSIONS
        for base in (0, 7, 2**40)
        for _ in range(ROUNDS // 3)
    ]
    answers = ask(RELEASE, [{"hex": data.hex(), "down": magic, "first": first} for data, _, first in stored], PROGRAM)
    for (data, compression, first), answer in zip(stored, answers, strict=True):
        ours, theirs = down_convert(read_batches(data), magic, first), bytes.fromhex(answer["hex"])
        assert read_message_set(ours) == read_message_set(theirs), (SEED, data.hex(), first)
        assert compression != "none" or ours == theirs, (SEED, data.hex(), first)
