"""Compresses records like stock producers, with the compressions that the codec itself does not write."""

from __future__ import annotations

from collections.abc import Callable
from struct import pack
from typing import Final

import cramjam
import lz4.frame

from groupmock_codec.compression import COMPRESSIONS
from groupmock_codec.records import HEADER_BYTES, Batch, NewRecord, _sealed, encode_batch, read_batches


def _xerial(data: bytes) -> bytes:
    """Compress like snappy-java: blocks of 32 KiB, each with its length in front."""
    blocks = [bytes(cramjam.snappy.compress_raw(data[at : at + 32_768])) for at in range(0, len(data), 32_768)]
    return b"\x82SNAPPY\0" + pack(">ii", 1, 1) + b"".join(pack(">i", len(block)) + block for block in blocks)


PACKED: Final[dict[str, Callable[[bytes], bytes]]] = {
    "snappy": _xerial,
    "snappy in one block": lambda data: bytes(cramjam.snappy.compress_raw(data)),
    "lz4": lambda data: bytes(lz4.frame.compress(data, block_linked=False, store_size=False)),
    "zstd": lambda data: bytes(cramjam.zstd.compress(data)),
}
"""Maps names to compression functions. The first word of a name is the compression."""


def packed(name: str, records: list[NewRecord], spoiled: Callable[[bytes], bytes] = bytes) -> Batch:
    """Return a batch as a client with that compression writes it. `spoiled` may damage the compressed bytes."""
    plain = read_batches(encode_batch(records))[0]
    if name in ("none", "gzip"):
        return read_batches(encode_batch(records, compression=name))[0]
    data = PACKED[name](plain.data[HEADER_BYTES:])
    return _sealed(plain._replace(attributes=COMPRESSIONS.index(name.split()[0])), spoiled(data))
