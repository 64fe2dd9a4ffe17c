"""Reads the examples of the cooperative-rebalancing document from tests/data/doc_vectors.json."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from groupmock_codec.embedded.consumer import TopicPartitions

FILE: Final = Path(__file__).resolve().parents[1] / "data" / "doc_vectors.json"
T1_MS: Final = 5000
DESIGNS: Final = {"I": 1, "II": 2, "III": 3}
Held = frozenset[tuple[str, int]]


def held(text: str) -> Held:
    """Convert a text like `T1,T4` to {("T", 0), ("T", 3)}, because the document counts from one."""
    return frozenset(("T", int(name[1:]) - 1) for name in text.split(",") if name)


def listed(text: str) -> list[TopicPartitions]:
    """Convert a text like `T1,T4` to the codec's list of TopicPartitions."""
    partitions = sorted(partition for _, partition in held(text))
    return [TopicPartitions("T", partitions)] if partitions else []


@dataclass(frozen=True)
class Sent:
    """The assignment that the leader sends to one member, in the notation of the document."""

    assigned: str
    revoked: str
    timeout_ms: int


@dataclass(frozen=True)
class Round:
    """One rebalance of an example in the document. `when` is None, or "after" or "before" t1. Each member has its claim, the leader's
    assignment, and the three byte forms."""

    example: str
    number: int
    when: str | None
    claims: dict[str, str]
    sent: dict[str, Sent]
    subscription_delta: dict[str, bytes]
    assignment_delta: dict[str, bytes]
    assignment_wire: dict[str, bytes]


@dataclass(frozen=True)
class Example:
    """One of the four examples in the document. `initial` has the claims of the settled round before it."""

    name: str
    design: int
    initial: dict[str, str]
    rounds: list[Round]


def examples() -> list[Example]:
    return [
        Example(
            each["id"], DESIGNS[each["design"]], each["initial"], [_round(each["id"], n, one) for n, one in enumerate(each["rounds"], 1)]
        )
        for each in json.loads(FILE.read_text())
    ]


def _round(example: str, number: int, one: dict[str, Any]) -> Round:
    when = next((word for word in ("after", "before") if word in one), None)
    sent = {member: Sent(words[0], words[1], T1_MS if words[2:] == ["t1"] else 0) for member, words in one["sent"].items()}
    raw = {
        form: {member: bytes.fromhex(text) for member, text in one[f"{form}_hex"].items()}
        for form in ("subscription_delta", "assignment_delta", "assignment_wire")
    }
    return Round(example, number, when, one["subs"], sent, **raw)
