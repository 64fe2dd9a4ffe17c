"""Kafka's classes and the codec decode each other's bytes and agree on malformed bytes.

GROUPMOCK_JUDGE_SEED and GROUPMOCK_JUDGE_COUNT (per type and version) change the cases; every failure shows both.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from groupmock_codec import APIS, Codec, DecodeError, reference
from groupmock_codec.declare import Message
from groupmock_codec.kafka_json import to_kafka_json
from groupmock_codec.samples import edge_cases, sample

from . import names
from .oracle import RELEASES, ask, offered
from .told import tell

SEED: Final = int(os.environ.get("GROUPMOCK_JUDGE_SEED", "1"))
COUNT: Final = int(os.environ.get("GROUPMOCK_JUDGE_COUNT", "6"))
HOSTILE: Final = [
    bytes.fromhex(text)
    for text in (
        "ffffffff",
        "7fffffff",
        "80000000",
        "ffff",
        "8000",
        "7fff",
        "ffffffff07",
        "808080808001",
        "8200",
        "00",
        "01",
        "7f",
        "ff",
        "fffe",
    )
]
ONLY_WHEN_REWRITING: Final = ("raw tag field list", "as an undefined tag")  # Kafka decodes these bytes but refuses to encode them.


class Case(NamedTuple):
    """One message with its type and version."""

    kind: str
    version: int
    codec: Codec[Message]
    data: bytes

    @property
    def question(self) -> dict[str, Any]:
        """Return the request that makes Kafka decode the message."""
        return {"type": self.kind, "version": self.version, "hex": self.data.hex()}

    def __str__(self) -> str:
        return f"{self.kind} v{self.version} {self.data.hex()} (GROUPMOCK_JUDGE_SEED={SEED})"


def every(release: str) -> Iterator[tuple[str, int, Codec[Message]]]:
    """Yield every (type, version) that a release has."""
    types = offered(release)["types"]
    for key in APIS:
        for kind, codec in ((f"{APIS[key].name}Request", APIS[key].request), (f"{APIS[key].name}Response", APIS[key].response)):
            if kind in types:
                for version in range(types[kind][0], types[kind][1] + 1):
                    yield kind, version, codec


def shown(release: str, case: Case, message: Message, known: Any) -> Any:
    """Return the message as JSON in the release's names, without tagged fields that only later releases know."""
    return trimmed(masked(names.theirs(release, case.kind, to_kafka_json(message, case.version, case.codec.flexible(case.version)))), known)


def only_we_know_a_tag(release: str, case: Case, message: Message, known: Any) -> bool:
    """Return whether the message has a tag that the release does not know. The release skips the announced bytes, while the codec decodes
    the field."""
    ours = str(to_kafka_json(message, case.version, case.codec.flexible(case.version)))
    return release != RELEASES[-1] and any(name in ours and name not in str(known) for name in LATER_TAGS)


def masked(value: Any) -> Any:
    """Mask record bytes, because Kafka's JSON shows only whether they are null. Re-encoding to the same bytes compares them."""
    if isinstance(value, dict):
        return {name: "" if name in ("records", "recordSet") and inner is not None else masked(inner) for name, inner in value.items()}
    return [masked(each) for each in value] if isinstance(value, list) else value


def trimmed(ours: Any, theirs: Any) -> Any:
    """Drop fields that are missing in Kafka's JSON and that the codec's JSON for older releases omits too."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return {name: trimmed(value, theirs[name]) for name, value in ours.items() if name in theirs or name not in LATER_TAGS}
    if isinstance(ours, list) and isinstance(theirs, list):
        return [trimmed(one, other) for one, other in zip(ours, theirs, strict=True)] if len(ours) == len(theirs) else ours
    return ours


LATER_TAGS: Final = ("zkMigrationReady", "replicaDirectoryId", "highWatermark", "nodeEndpoints", "replicaState")


def test_kafka_writes_and_we_read(release: str) -> None:
    pairs = [(kind, version, codec, number) for kind, version, codec in every(release) for number in range(COUNT)]
    made = ask(release, [{"type": kind, "version": version, "random": SEED * 1_000_003 + number} for kind, version, _, number in pairs])
    cases = [
        Case(kind, version, codec, bytes.fromhex(answer["hex"])) for (kind, version, codec, _), answer in zip(pairs, made, strict=True)
    ]
    assert len(cases) >= 300 * COUNT
    for case, answer in zip(cases, ask(release, [case.question for case in cases]), strict=True):
        message = case.codec.decode(case.version, case.data)
        assert masked(names.theirs(release, case.kind, to_kafka_json(message, case.version, case.codec.flexible(case.version)))) == masked(
            answer["json"]
        ), case
        assert case.codec.encode(case.version, message) == case.data, case
        flexible = case.codec.flexible(case.version)
        assert reference.decode(case.codec.message, case.version, flexible, case.data) == (message, len(case.data)), case
    tell("Kafka wrote, we read and wrote again", release, SEED, cases)


def test_we_write_and_kafka_reads(release: str) -> None:
    dice = random.Random(SEED)
    written: list[tuple[Case, Message]] = []
    for kind, version, codec in every(release):
        flexible = codec.flexible(version)
        messages = [message for _, message in edge_cases(codec.message, version, flexible, dice)]
        messages += [sample(codec.message, version, flexible, dice) for _ in range(COUNT)]
        written += [(Case(kind, version, codec, codec.encode(version, message)), message) for message in messages]
    for (case, message), answer in zip(written, ask(release, [case.question for case, _ in written]), strict=True):
        assert "error" not in answer, (str(case), answer)
        assert shown(release, case, message, answer["json"]) == masked(answer["json"]), case
        assert (answer["hex"], answer["rest"]) == (case.data.hex(), 0), case
    tell("we wrote, Kafka read and wrote again", release, SEED, [case for case, _ in written])


def test_broken_bytes_are_judged_alike(release: str) -> None:
    """Since 3.x Kafka checks array counts before it allocates. 2.8 does not, which changes the exception, not the verdict."""
    dice = random.Random(SEED)
    cases = [
        Case(kind, version, codec, damaged(codec.encode(version, sample(codec.message, version, codec.flexible(version), dice)), dice))
        for kind, version, codec in every(release)
        for _ in range(COUNT)
    ]
    for case, answer in zip(cases, ask(release, [case.question for case in cases]), strict=True):
        theirs = "json" in answer or any(text in answer["error"] for text in ONLY_WHEN_REWRITING)
        try:
            message, end = case.codec.decoder(case.version)(case.data, 0)
        except DecodeError as error:
            # A release accepts an unknown tag in versions for which only a later release declares the tag.
            later_tag = release != RELEASES[-1] and "declared for other versions" in error.reason
            assert not theirs or later_tag, (str(case), error.place)
            continue
        assert theirs, (str(case), answer)
        if "json" in answer and not only_we_know_a_tag(release, case, message, answer["json"]):
            assert len(case.data) - end == answer["rest"], case
            assert shown(release, case, message, answer["json"]) == masked(answer["json"]), case
    tell("we wrote and broke, both judged", release, SEED, cases)


def damaged(data: bytes, dice: random.Random) -> bytes:
    """Change one bit, byte or length, or cut off the end."""
    out = bytearray(data)
    at = dice.randrange(len(out) + 1)
    how = dice.randrange(5)
    if how == 0 and at < len(out):
        out[at] ^= 1 << dice.randrange(8)
    elif how == 1 and at < len(out):
        out[at] = dice.randrange(256)
    elif how == 2:
        hostile = dice.choice(HOSTILE)
        out[at : at + len(hostile)] = hostile
    elif how == 3:
        out[at:at] = dice.choice(HOSTILE)
    else:
        del out[at:]
    return bytes(out)
