"""The compiled codec agrees with the reference implementation in construct, and framer and record formats return their input.

Cases: `kind` (Kafka's name of a message), `version` and `bytes` (base64); `bodies` and `cuts` of a stream of frames; `records` (each with
key, value, headers, timestamp) behind `base`, with `compression`, and for the older formats `magic`.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

from found import Case, Property, unpacked

from groupmock_codec import APIS, Codec, DecodeError, reference
from groupmock_codec.declare import Message
from groupmock_codec.frame import Framer
from groupmock_codec.message_sets import down_convert, up_convert
from groupmock_codec.records import Batch, NewRecord, Record, check_produced, decode_records, encode_batch, read_batches


class Type(NamedTuple):
    kind: str
    codec: Codec[Message]

    def versions(self) -> range:
        return self.codec.versions.every


@functools.cache
def types() -> dict[str, Type]:
    """Return the message types by Kafka's name: JoinGroupRequest, JoinGroupResponse, and so on."""
    halves = ((f"{APIS[key].name}{half}", getattr(APIS[key], half.lower())) for key in APIS for half in ("Request", "Response"))
    return {kind: Type(kind, codec) for kind, codec in halves}


def both(codec: Codec[Message], version: int, data: bytes) -> tuple[object, object]:
    """Decode bytes with the compiled codec and with the reference; each result is (message, end) or the string `refused`."""
    flexible = codec.flexible(version)

    def fast() -> object:
        return codec.decoder(version)(data, 0)

    def slow() -> object:
        return reference.decode(codec.message, version, flexible, data)

    answers = []
    for read in (fast, slow):
        try:
            answers.append(read())
        except DecodeError:
            answers.append("refused")
    return answers[0], answers[1]


# -- Messages


def _comes_back(case: Case) -> None:
    """Check that the compiled codec reads and writes the reference's bytes identically."""
    codec, version, data = types()[case["kind"]].codec, case["version"], unpacked(case["bytes"])
    message, end = reference.decode(codec.message, version, codec.flexible(version), data)
    assert end == len(data)
    assert codec.encode(version, message) == data
    fast, slow = both(codec, version, data)
    assert fast == slow == (message, len(data))


def _judged_alike(case: Case) -> None:
    fast, slow = both(types()[case["kind"]].codec, case["version"], unpacked(case["bytes"]))
    assert fast == slow or repr(fast) == repr(slow)  # A NaN differs from itself, so the texts are compared as well.


MESSAGES = Property("codec-messages", _comes_back)
DAMAGED = Property("codec-damaged", _judged_alike)


# -- Frames


def framed(*bodies: bytes) -> bytes:
    return b"".join(len(body).to_bytes(4) + body for body in bodies)


def _cut_anywhere(case: Case) -> None:
    bodies = [unpacked(body) for body in case["bodies"]]
    stream, framer, found, at = framed(*bodies), Framer(), [], 0
    for cut in [*sorted(cut for cut in case["cuts"] if cut < len(stream)), len(stream)]:
        found += framer.feed(stream[at:cut])
        at = cut
    assert found == bodies
    assert framer.buffered == 0


FRAMES = Property("codec-frames", _cut_anywhere)


# -- Records


def _records(case: Case) -> list[NewRecord]:
    return [
        NewRecord(_blob(key), _blob(value), tuple((name, _blob(data)) for name, data in headers), timestamp)
        for key, value, headers, timestamp in case["records"]
    ]


def _blob(text: str | None) -> bytes | None:
    return None if text is None else unpacked(text)


def one(data: bytes) -> Batch:
    """Return the only record batch in the data."""
    (batch,) = read_batches(data)
    return batch


def _records_come_back(case: Case) -> None:
    records, base, compression = _records(case), case["base"], case["compression"]
    batch = one(encode_batch(records, base, 3, compression))
    assert (batch.base_offset, batch.leader_epoch, batch.compression) == (base, 3, compression)
    expected = [Record(base + n, new.timestamp, new.key, new.value, tuple(new.headers)) for n, new in enumerate(records)]
    assert decode_records(batch) == expected
    check_produced(batch)


def _down_and_up(case: Case) -> None:
    magic, base = case["magic"], case["base"]
    batch = one(encode_batch(_records(case), base, compression=case["compression"]))
    again = one(up_convert(down_convert([batch], magic), base))
    expected = [record._replace(timestamp=record.timestamp if magic else -1) for record in decode_records(batch)]
    assert decode_records(again) == expected


RECORDS = Property("codec-records", _records_come_back)
MESSAGE_SETS = Property("codec-message-sets", _down_and_up)
