"""Make record batches for the log family: valid ones, those of idempotent producers, and broken ones."""

from __future__ import annotations

from random import Random
from typing import Any, Final

from groupmock_codec.records import NewRecord, encode_batch

STAMP_MS: Final = 1_700_000_000_000
FUTURE_MS: Final = 4_000_000_000_000
KEYS: Final = (b"k", b"k", b"k", None)
SIZES: Final = (0, 5, 90)
HEADER_BYTES: Final = 61


def good(rng: Random) -> bytes:
    """Return a batch that a log accepts (a compacted one only if every record has a key)."""
    return _batch(rng, compression=rng.choice(("none", "none", "gzip")))


def idempotent(rng: Random) -> bytes:
    """Return a batch of one of two producers, which may be the next one, a duplicate, out of order, or of an old epoch."""
    return _batch(
        rng, producer_id=rng.randint(1, 2), producer_epoch=rng.choice((0, 0, 0, 1)), base_sequence=rng.choice((0, 1, 2, 3, 4, 5, 2**31 - 1))
    )


def broken(rng: Random, release: str) -> bytes | None:
    """Return a batch that is broken in one of many ways, some of which Kafka overlooks."""
    return rng.choice(_BROKEN if release != "3.9" else _BROKEN[:-1])(rng)


def _batch(rng: Random, **how: Any) -> bytes:
    stamp = STAMP_MS + rng.randint(0, 50)
    records = [
        NewRecord(key=rng.choice(KEYS), value=bytes(rng.choice(SIZES)), timestamp=stamp + place) for place in range(rng.randint(1, 4))
    ]
    return encode_batch(records, **how)


def _flipped(rng: Random) -> bytes:
    data = bytearray(_batch(rng))
    data[rng.randrange(8, len(data))] ^= 1 << rng.randrange(8)
    return bytes(data)


def _resealed(rng: Random) -> bytes:
    """Return a batch with a changed header field and a correct CRC."""
    from groupmock_codec.crc import crc32c

    data = bytearray(_batch(rng))
    at, size, value = rng.choice(
        (
            (21, 2, rng.choice((0x08, 0x10, 0x20, 0x40, 5, 7, 0x0100))),  # This entry changes the attributes.
            (23, 4, rng.choice((-1, 0, 9, 2**31 - 1))),  # This entry changes the last offset delta.
            (43, 8, rng.choice((0, 7, -2))),  # This entry changes the producer id.
            (51, 2, rng.choice((0, -2))),  # This entry changes the producer epoch.
            (53, 4, rng.choice((0, 5, -2))),  # This entry changes the base sequence.
            (57, 4, rng.choice((0, -1, 5, 2**31 - 1))),  # This entry changes the number of records.
        )
    )
    data[at : at + size] = value.to_bytes(size, signed=True)
    data[17:21] = crc32c()(bytes(data[21:])).to_bytes(4)
    return bytes(data)


def _behind(rng: Random) -> bytes:
    return _batch(rng) + rng.choice((_batch(rng), b"\0", bytes(20), rng.randbytes(12), rng.randbytes(30)))


def _cut(rng: Random) -> bytes:
    data = _batch(rng)
    return data[: rng.choice((1, 8, 11, 12, 16, 17, 40, 60, 61, len(data) - 1))]


def _sized(rng: Random) -> bytes:
    data = bytearray(_batch(rng))
    data[8:12] = rng.choice((0, 13, 14, 20, 48, 49, -1, 2**31 - 1, len(data))).to_bytes(4, signed=True)
    return bytes(data)


def _magic(rng: Random) -> bytes:
    data = bytearray(_batch(rng))
    data[16] = rng.choice((0, 1, 3, 127, 255))
    return bytes(data)


def _offset(rng: Random) -> bytes:
    return rng.choice((1, 5, -1)).to_bytes(8, signed=True) + _batch(rng)[8:]


def _empty(rng: Random) -> bytes | None:
    return rng.choice((b"", b"", None))


def _large(rng: Random) -> bytes:
    return encode_batch([NewRecord(key=b"k", value=bytes(rng.choice((200, 300, 400))), timestamp=STAMP_MS)])


def _late(rng: Random) -> bytes:
    """Return a batch with a timestamp in the future, which Kafka 4 refuses. Older releases accept it and start a new segment, which
    groupmock does not (ListOffsets v0 shows segments)."""
    return encode_batch([NewRecord(key=b"k", value=b"v", timestamp=FUTURE_MS)])


_BROKEN: Final = (_flipped, _flipped, _resealed, _resealed, _behind, _cut, _sized, _magic, _offset, _empty, _large, _late)
