"""The compiled form equals the construct reference: on valid messages, on every cut, on flipped bits and on hostile lengths."""

from __future__ import annotations

import random
from typing import Any

import pytest
from found import packed
from hypothesis import given, note
from hypothesis import strategies as st
from properties.codec import DAMAGED, MESSAGES
from searching import examples

from groupmock_codec import reference
from groupmock_codec.samples import edge_cases, sample

from .kit import Type, both, every_version, types

HOSTILE = [
    bytes.fromhex(text)
    for text in (
        "ffffffff",
        "7fffffff",
        "80000000",
        "fffffffe",
        "ffff",
        "7fff",
        "8000",
        "ffffffff0f",
        "ffffffff07",
        "8080808001",
        "808080808001",
        "8200",
        "00",
        "01",
        "7f",
        "80",
        "ff",
    )
]
KINDS = sorted(types())
QUICK = examples(25)


@pytest.mark.property
@pytest.mark.parametrize("kind", KINDS)
@QUICK
@given(data=st.data())
def test_random_messages_are_the_same_bytes_and_back(kind: str, data: st.DataObject) -> None:
    found = types()[kind]
    version = data.draw(st.sampled_from(found.versions()), "version")
    dice = random.Random(data.draw(st.integers(0, 2**32), "seed of the message"))
    message = sample(found.codec.message, version, found.codec.flexible(version), dice)
    note(repr(message))
    written = reference.encode(message, version, found.codec.flexible(version))
    assert found.codec.decode(version, written) == message
    MESSAGES.check({"kind": kind, "version": version, "bytes": packed(written)})


@pytest.mark.parametrize(("kind", "version"), every_version())
def test_edge_cases_are_the_same_bytes_and_back(kind: str, version: int) -> None:
    codec = types()[kind].codec
    for name, message in edge_cases(codec.message, version, codec.flexible(version), random.Random(f"{kind} {version}")):
        written = codec.encode(version, message)
        assert written == reference.encode(message, version, codec.flexible(version)), name
        assert both(codec, version, written) == ((message, len(written)), (message, len(written))), name


@pytest.mark.parametrize(("kind", "version"), every_version())
def test_random_messages_of_every_version_are_the_same_bytes_and_back(kind: str, version: int) -> None:
    codec = types()[kind].codec
    for seed in range(5):
        message = sample(codec.message, version, codec.flexible(version), random.Random(f"{seed} {kind} {version}"))
        written = codec.encode(version, message)
        assert written == reference.encode(message, version, codec.flexible(version)), seed
        assert both(codec, version, written) == ((message, len(written)), (message, len(written))), seed


@pytest.mark.parametrize(("kind", "version"), every_version())
def test_every_cut_is_refused_by_both(kind: str, version: int) -> None:
    codec = types()[kind].codec
    seed = f"cut {kind} {version}"
    written = codec.encode(version, short_message(types()[kind], version, random.Random(seed)))
    for end in range(len(written)):
        assert both(codec, version, written[:end]) == ("refused", "refused"), (seed, written[:end].hex())


@pytest.mark.property
@pytest.mark.parametrize("kind", KINDS)
@QUICK
@given(data=st.data())
def test_flipped_bits_and_hostile_lengths_are_judged_alike(kind: str, data: st.DataObject) -> None:
    found = types()[kind]
    version = data.draw(st.sampled_from(found.versions()), "version")
    dice = random.Random(data.draw(st.integers(0, 2**32), "seed of the message"))
    written = found.codec.encode(version, sample(found.codec.message, version, found.codec.flexible(version), dice))
    for _ in range(8):
        DAMAGED.check({"kind": kind, "version": version, "bytes": packed(damaged(written, dice))})


def damaged(data: bytes, dice: random.Random) -> bytes:
    """One bit, one byte or one length changed."""
    out = bytearray(data)
    at = dice.randrange(len(out) + 1)
    how: Any = dice.choice(("bit", "byte", "over", "insert", "cut"))
    if how == "bit" and at < len(out):
        out[at] ^= 1 << dice.randrange(8)
    elif how == "byte" and at < len(out):
        out[at] = dice.randrange(256)
    elif how == "over":
        hostile = dice.choice(HOSTILE)
        out[at : at + len(hostile)] = hostile
    elif how == "insert":
        out[at:at] = dice.choice(HOSTILE)
    else:
        del out[at:]
    return bytes(out)


def short_message(found: Type, version: int, dice: random.Random) -> Any:
    """A message with something in most fields, short enough to be cut everywhere."""
    for _ in range(200):
        message = sample(found.codec.message, version, found.codec.flexible(version), dice)
        if 30 <= len(found.codec.encode(version, message)) <= 300:
            return message
    return sample(found.codec.message, version, found.codec.flexible(version), dice)
