"""Generate exchanges whose members say what is untrue: leaders assign partitions that do not exist or the same ones twice, members claim to
own what others own, and commits name wrong epochs, members and topic ids.

First a classic group gets such assignments, and then consumers (KIP-848) join it, so that Kafka upgrades the group from what was said.
"""

from __future__ import annotations

from random import Random
from typing import Any, Final

from groupmock_clients.probe.language.syntax import Expr

from ..generated.script import Script, TopicNeed, pause, told, topic, topic_id, written
from .consumers_family import INSTANCE, NAMES, Actions, ConsumersAuthor, Fields
from .group_requests import PARTITIONS, commit_topics

FORMS_MS: Final = 480
"""A new classic group waits for this time, its initial rebalance delay (settings_classes.BASE) and a rest."""
MISSING: Final = len(PARTITIONS) + 1
BROKEN: Final = (
    b"", b"\0", b"\0\1", b"\0\1\0\0\0\1", b"\0\1\xff\xff\xff\xff", b"\0\0\0\0\0\0\0\0\0\5ab",
    b"\xff\xff\0\0\0\0\xff\xff\xff\xff", b"\0\x09\0\0\0\0\xff\xff\xff\xff\7",
)  # fmt: skip
"""Assignments and subscriptions that are cut, or have an impossible length or version."""
VERSIONS: Final = (0, 1, 2, 3, 3)


class LiesAuthor(ConsumersAuthor):
    """Writes a script whose members lie. Its classic members have protocols of any kind, with what they claim to own."""

    def _some_held(self, least: int = 1) -> list[Expr]:
        """Return topics with partitions, some of which do not exist. In an assignment each topic has at least one, and not -1 together with
        0, because of the difference `odd-topics-of-a-leader` (recorded_differences.toml)."""
        rng, found = self.rng, []
        for _ in range(rng.choice((0, 1, 1, 1, 2, 3))):
            indexes = [rng.choice((0, 0, 1, 1, 2, 3, 5, 9, -1)) for _ in range(rng.choice((least, 1, 1, 2, 3)))]
            if least and -1 in indexes:
                indexes = [index for index in indexes if index]
            found.append(written("held", topic(rng.choice((1, 1, 2, 3, MISSING))), *indexes))
        return found

    def _assignment(self) -> Any:
        rng = self.rng
        if rng.random() < 0.12:
            return rng.choice(BROKEN)
        whole = written("told", *self._some_held())
        return whole if rng.random() < 0.9 else written("join", whole, b"\1\2")

    def _subscription(self) -> Any:
        rng = self.rng
        if rng.random() < 0.04:
            return rng.choice(BROKEN)
        version = rng.choice(VERSIONS)
        topics = [topic(number) for number in rng.choice(([1], [1], [1, 2], [3, MISSING], []))]
        return written("subscribed", version, topics, rng.choice((-1, 0, 1, 7)), *(self._some_held(0) if version else ()))

    # -- the classic protocol

    def classic_join(self, name: str) -> None:
        """Send JoinGroup with the id that was told, or with the name as the id of a member of the consumer protocol."""
        rng = self.rng
        protocols = rng.choice((["range"], ["range"], ["range", "sticky"], ["cooperative-sticky"]))
        member_id: Any = told(name, "member_id") if rng.random() < 0.9 else name
        fields: Fields = {
            "member_id": member_id, "session_timeout_ms": 300_000, "rebalance_timeout_ms": 300_000,
            "protocol_type": "consumer", "protocols": [{"name": each, "metadata": self._subscription()} for each in protocols],
            "group_instance_id": INSTANCE.get(name),
        }  # fmt: skip
        self.send(name, 11, rng.choice((5, 9)), fields)
        self.classic.add(name)
        self.joined.add(name)

    def classic_sync(self, name: str) -> None:
        """Send SyncGroup with assignments for any members, which only count if the client is the leader."""
        rng = self.rng
        who = rng.sample(NAMES, rng.randint(1, len(NAMES)))
        assignments = [{"member_id": told(each, "member_id"), "assignment": self._assignment()} for each in who]
        if rng.random() < 0.15:
            assignments.append({"member_id": rng.choice(("ghost", "", told(name, "member_id"))), "assignment": self._assignment()})
        self.send(name, 14, 4, {**self._at_generation(name), "assignments": assignments})

    def form(self) -> None:
        """Let some clients form a classic group, whose members get assignments that may be untrue."""
        names = self.rng.sample(NAMES, self.rng.choice((1, 1, 2, 3)))
        for name in names:
            self.classic_join(name)
            if name not in INSTANCE:  # The first answer to a dynamic member is only an id, with which it joins again.
                self.classic_join(name)
        self.write(pause(FORMS_MS))
        for name in names:
            self.classic_sync(name)

    # -- the consumer protocol

    def claim(self, name: str) -> None:
        """Send a heartbeat that claims to own what the member may not own, or what another member owns."""
        rng = self.rng
        partitions = [rng.choice((0, 1, 2, 3, 5, 9, -1)) for _ in range(rng.choice((0, 1, 2, 2, 3)))]
        claimed = {"topic_id": topic_id(rng.choice((1, 1, 2, 3, MISSING))), "partitions": partitions}
        owned: Any = rng.choice(([claimed], [claimed, claimed], told(rng.choice(NAMES), "assigned")))
        epoch = told(name, "epoch", rng.choice((0, 0, 0, 0, -1, -1, 1)))
        self.send(name, 68, 1, {"member_id": name, "member_epoch": epoch, "instance_id": INSTANCE.get(name), "topic_partitions": owned})

    def commit(self, name: str) -> None:
        """Commit offsets as a member, mostly with an epoch, an id or topics that are wrong."""
        rng = self.rng
        other = rng.choice((name, name, rng.choice(NAMES)))
        own = "generation" if other in self.classic else "epoch"
        epoch: Any = rng.choice((told(name, own), told(other, own), told(name, own, -1), told(name, own, 1), -1, 0, 2))
        member_id: Any = rng.choice((told(other, "member_id"), told(other, "member_id"), name, "", "ghost"))
        who = {"member_id": member_id, "group_instance_id": INSTANCE.get(other) if rng.random() < 0.3 else None}
        fields = {"generation_id_or_member_epoch": epoch, **who, "topics": commit_topics(rng)}
        self.send(name, 8, rng.choice((7, 8, 9, 9, 10, 10)), fields)

    of_consumers: Actions = (
        (ConsumersAuthor.beat, 40), (claim, 16), (ConsumersAuthor.resubscribe, 6), (ConsumersAuthor.leave, 5), (ConsumersAuthor.join, 4),
        (commit, 12), (ConsumersAuthor.fetch, 2), (ConsumersAuthor.look, 8), (classic_join, 4), (ConsumersAuthor.classic_leave, 2),
    )  # fmt: skip
    of_classics: Actions = (
        (ConsumersAuthor.classic_beat, 20), (classic_sync, 20), (classic_join, 18), (ConsumersAuthor.classic_leave, 5), (commit, 10),
        (ConsumersAuthor.look, 6), (ConsumersAuthor.join, 8), (ConsumersAuthor.fetch, 2),
    )  # fmt: skip


def generate(seed: int, release: str) -> Script:
    rng = Random(f"lies {release} {seed}")
    script = Script("lies", seed, release, "crossed", [], 1, [TopicNeed(count) for count in PARTITIONS])
    author = LiesAuthor(script, rng)
    if rng.random() < 0.85:
        author.form()
    length = len(script.steps) + rng.randint(6, 24)
    while len(script.steps) < length:
        author.step()
    return script
