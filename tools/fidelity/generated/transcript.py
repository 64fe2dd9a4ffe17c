"""What came of a script on a stage: per step when it was sent, what it was answered, when, and which ids the broker drew for it."""

from __future__ import annotations

from typing import Any

import msgspec

from .script import Script

Json = Any

SENT = "sent"  # not a request, or nobody waits for its answer (the connection was dropped)
ANSWERED = "answered"
PARKED = "parked"  # not answered to the end
SKIPPED = "skipped"  # not sent: it would have waited behind another request, and what it draws could not be told
CLOSED = "closed"  # the broker closed the connection instead


class TopicFact(msgspec.Struct):
    """A topic as the broker has it. `topic_id` is base64 in JSON; zero where the release has none."""

    name: str
    topic_id: bytes
    partitions: int


class Facts(msgspec.Struct):
    """What the broker is and how it calls what the script names by number. The core is given the same: answers are equal as they are."""

    release: str
    settings: str
    node: int
    host: str
    port: int
    cluster_id: str
    client_host: str
    epoch_ms: int
    groups: list[str]
    topics: list[TopicFact]
    stem: str
    """What this play's own names begin with."""


class Event(msgspec.Struct, omit_defaults=True):
    """One step. Times are ms since the script's start; `after`: the last step that was sent before the answer came (its own, mostly).

    `drew`: what the broker drew for it (`drawn_ids.py`): the UUID text of a member id, a topic id in base64, the number of a fetch session.
    `answer` is the decoded response, only the fields that its version has; {"frames": [base64, ...]} for a Raw step.
    """

    sent_ms: float = 0.0
    status: str = SENT
    answer: dict[str, Json] | None = None
    answered_ms: float | None = None
    after: int | None = None
    drew: list[str] = []


class Transcript(msgspec.Struct, omit_defaults=True):
    """The whole play: an event per step, the ending's (script.ending) behind them."""

    facts: Facts
    events: list[Event]
    stopped: str | None = None
    """Why the play ended early: it was seen to differ from its guide, or the broker failed."""


def imagined(script: Script) -> Facts:
    """A broker for plays without one: names made of the seed."""
    topics = [TopicFact(f"t{number + 1}", bytes([number + 1] * 16), need.partitions) for number, need in enumerate(script.topics)]
    stem = f"d{script.seed}"
    return Facts(
        script.release, script.settings, 1, "127.0.0.1", 9092, "imagined", "/127.0.0.1", 1_700_000_000_000,
        group_names(script, stem), topics, stem,
    )  # fmt: skip


def group_names(script: Script, stem: str) -> list[str]:
    """Those of its groups. About transactions a printed exchange has to have the same: they say where in __consumer_offsets a group is."""
    further = f"{stem}-1" if script.about == "transactions" else stem
    return [f"{stem}-1", *(f"{further}-{number + 1}" for number in range(1, script.groups))][: script.groups]
