"""The compiled codec equals the construct reference for valid messages, every truncation, flipped bits and hostile lengths."""

from __future__ import annotations

import random
from typing import Any

import pytest
from cases import for_each
from found import packed
from hypothesis import given, note
from hypothesis import strategies as st
from properties.codec import DAMAGED, MESSAGES
from searching import examples

from groupmock_codec import DecodeError, reference
from groupmock_codec.declare import Message, fields_of
from groupmock_codec.samples import edge_cases, sample

from .kit import Type, both, every_version, types, walk

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
EVERY_VERSION = for_each(("kind", "version"), every_version())
SAMPLES, BROKEN, JUDGED_CUTS = 5, 20, 4


def written_alike(found: Type, version: int, message: Any) -> bytes:
    """Encode a message with both codecs, check that both decode the bytes to the same message, and return the bytes."""
    written = found.codec.encode(version, message)
    assert written == reference.encode(message, version, found.codec.flexible(version)), message
    assert both(found.codec, version, written) == ((message, len(written)), (message, len(written))), message
    return written


def test_samples_share_no_changeable_default_with_the_declarations() -> None:
    shared = []
    for kind, version in every_version():
        found = types()[kind]
        for _, message in edge_cases(found.codec.message, version, found.codec.flexible(version), random.Random(kind)):
            for path, struct in walk(message):
                defaults = [field.default for field in fields_of(type(struct)) if isinstance(field.default, list | Message)]
                mutable = [each for each in defaults if isinstance(each, list) or not each.__struct_config__.frozen]
                values = [getattr(struct, name) for name in struct.__struct_fields__]
                shared += [(kind, path) for each in mutable if any(each is value for value in values)]
    assert shared == []


@EVERY_VERSION
def test_edge_cases_are_the_same_bytes_and_back(kind: str, version: int) -> None:
    found = types()[kind]
    for _, message in edge_cases(found.codec.message, version, found.codec.flexible(version), random.Random(f"{kind} {version}")):
        written_alike(found, version, message)


@EVERY_VERSION
def test_random_messages_are_the_same_bytes_and_back(kind: str, version: int) -> None:
    found = types()[kind]
    for seed in range(SAMPLES):
        dice = random.Random(f"{seed} {kind} {version}")
        written_alike(found, version, sample(found.codec.message, version, found.codec.flexible(version), dice))


@EVERY_VERSION
def test_every_cut_is_refused(kind: str, version: int) -> None:
    """The compiled decoder is tested at every byte, and the reference, which is fifty times slower, at drawn positions."""
    found, dice = types()[kind], random.Random(f"cut {kind} {version}")
    written = found.codec.encode(version, short_message(found, version, dice))
    judged = {dice.randrange(len(written) or 1) for _ in range(JUDGED_CUTS)}
    for end in range(len(written)):
        if end in judged:
            assert both(found.codec, version, written[:end]) == ("refused", "refused"), written[:end].hex()
        else:
            with pytest.raises(DecodeError):
                found.codec.decoder(version)(written[:end], 0)


@EVERY_VERSION
def test_flipped_bits_and_hostile_lengths_are_judged_alike(kind: str, version: int) -> None:
    found, dice = types()[kind], random.Random(f"broken {kind} {version}")
    written = found.codec.encode(version, short_message(found, version, dice))
    for _ in range(BROKEN):
        broken = damaged(written, dice)
        fast, slow = both(found.codec, version, broken)
        assert fast == slow or repr(fast) == repr(slow), broken.hex()  # A NaN differs from itself, so the texts are compared as well.


drawn = {"kind": st.sampled_from(sorted(types())), "place": st.integers(0, 99), "seed": st.integers(0, 2**32)}


def drawn_bytes(kind: str, place: int, seed: int) -> tuple[int, bytes]:
    """Return a drawn version and the reference's encoding of a random message of that version."""
    found = types()[kind]
    version = found.versions()[place % len(found.versions())]
    message = sample(found.codec.message, version, found.codec.flexible(version), random.Random(seed))
    note(repr(message))
    return version, reference.encode(message, version, found.codec.flexible(version))


@pytest.mark.property
@examples(50)
@given(**drawn)
def test_drawn_messages_come_back(kind: str, place: int, seed: int) -> None:
    version, written = drawn_bytes(kind, place, seed)
    MESSAGES.check({"kind": kind, "version": version, "bytes": packed(written)})


@pytest.mark.property
@examples(50)
@given(**drawn)
def test_drawn_damages_are_judged_alike(kind: str, place: int, seed: int) -> None:
    version, written = drawn_bytes(kind, place, seed)
    DAMAGED.check({"kind": kind, "version": version, "bytes": packed(damaged(written, random.Random(seed)))})


def damaged(data: bytes, dice: random.Random) -> bytes:
    """Return the bytes with one bit, one byte or one length changed."""
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
    """Return a message with content in most fields that is short enough to be truncated at every byte."""
    for _ in range(200):
        message = sample(found.codec.message, version, found.codec.flexible(version), dice)
        if 30 <= len(found.codec.encode(version, message)) <= 300:
            return message
    return sample(found.codec.message, version, found.codec.flexible(version), dice)
