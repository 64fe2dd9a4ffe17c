"""The transcript of a script on a stage: for each step its time, its answer and the ids that the broker drew."""

from __future__ import annotations

from typing import Any

import msgspec

from .script import WITH_TRANSACTIONS, Script
from .settings_classes import NODES

Json = Any

SENT = "sent"  # The step is no request, or nobody waits for its answer because the connection was dropped.
ANSWERED = "answered"
PARKED = "parked"  # The request was still unanswered when the play ended.
# The request was not sent, because it would have waited behind another one, and the ids that it draws could not be found out.
SKIPPED = "skipped"
CLOSED = "closed"  # The broker closed the connection instead of answering.


class TopicFact(msgspec.Struct):
    """A topic of the broker with its id. `topic_id` is base64 in JSON; zero where the release has none."""

    name: str
    topic_id: bytes
    partitions: int


class NodeFact(msgspec.Struct):
    """A further node of the broker's cluster."""

    node: int
    host: str
    port: int


class Facts(msgspec.Struct):
    """The broker's address and the real names of the groups and topics that a script numbers. The core gets the same facts, so that
    answers can be compared directly."""

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
    """The prefix of all names that belong to this play."""
    others: list[NodeFact] = []
    """The further nodes of the cluster, for scripts that use several."""

    @property
    def nodes(self) -> list[NodeFact]:
        return [NodeFact(self.node, self.host, self.port), *self.others]

    def node_at(self, link: str) -> NodeFact:
        """Return the node to which a connection leads: `A/2` to the second one, if there are several."""
        number = link.partition("/")[2] or "1"
        return self.nodes[(int(number) - 1) % len(self.nodes)]

    def leaders(self, topic: int, partitions: int) -> list[int]:
        """Return the first leader of each partition of a topic, which is given by its index."""
        nodes = self.nodes
        return [nodes[(topic + index) % len(nodes)].node for index in range(partitions)]


class Event(msgspec.Struct, omit_defaults=True):
    """The result of one step of a script, with its times. Times are ms since the script's start; `after`: the last step that was sent
    before the answer came (its own, mostly).

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
    """The events of a whole play, one per step, followed by those of the final requests (script.ending)."""

    facts: Facts
    events: list[Event]
    stopped: str | None = None
    """The reason why the play ended early: it differed from its guide, or the broker failed."""


def imagined(script: Script) -> Facts:
    """Return facts of an imagined broker for plays without one, with names made from the seed."""
    topics = [TopicFact(f"t{number + 1}", bytes([number + 1] * 16), need.partitions) for number, need in enumerate(script.topics)]
    stem = f"d{script.seed}"
    others = [NodeFact(node, "127.0.0.1", 9091 + node) for node in range(2, NODES.get(script.settings, 1) + 1)]
    return Facts(
        script.release, script.settings, 1, "127.0.0.1", 9092, "imagined", "/127.0.0.1", 1_700_000_000_000,
        group_names(script, stem), topics, stem, others,
    )  # fmt: skip


def group_names(script: Script, stem: str) -> list[str]:
    """Return the names of the script's groups. With transactions a printed exchange must keep them, because they determine the partition
    of __consumer_offsets."""
    further = f"{stem}-1" if script.about in WITH_TRANSACTIONS else stem
    return [f"{stem}-1", *(f"{further}-{number + 1}" for number in range(1, script.groups))][: script.groups]
