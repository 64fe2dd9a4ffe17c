"""Generate exchanges of consumer groups whose members subscribe by regular expressions, while the topics that match come, grow and go.

Kafka looks at topics again for the expressions of a group at least 10 s after it did so last (docs/kafka/consumer-groups.md#cg-112), so
that these exchanges contain long pauses.
"""

from __future__ import annotations

from random import Random
from typing import Final

from groupmock_clients.probe.language.syntax import Expr, Text

from ..generated.script import Script, TopicNeed, group, pause, told, topic
from .consumers_family import INSTANCE, NAMES, Actions, ConsumersAuthor, Fields
from .log_family import SETTLING_MS

OWN: Final = (2, 1)
"""The numbers of partitions of the topics that exist at the begin."""
OFTEN: Final = 4
"""The numbers of topics from 1 on that are created, grown and deleted often."""
EXPRESSIONS: Final = (
    "${t1}", "${t2}", "${t3}", "${t1}|${t3}", "${stem}-.*", "${stem}-t[12]", "${stem}-no-.*", ".*${t1}", "${stem}-t1",
    "(${t2})|nothing", "(?i)${t1}", "nothing", "",
)  # fmt: skip
BROKEN: Final = ("(", "[", "*a", "a**", "(?!x)y", "a{2,1}", "\\")
RESOLVES_MS: Final = 900
"""Kafka resolves expressions in the background within this time, also while many exchanges are played on a busy machine."""
AGAIN_MS: Final = 10_500
RESTS_MS: Final = 7_000
"""The longest time without such a pause, well below the 10 s, so that the two sides cannot differ in whether they are over."""
LONGEST_MS: Final = 15_000


class RegexesAuthor(ConsumersAuthor):
    """Writes a script whose members mostly subscribe by regular expressions. `past_ms` is how long its pauses take."""

    past_ms = 0
    made = len(OWN)
    """The highest number of a topic that was created."""
    looked_ms = 0
    """The time since which Kafka does not look at topics for AGAIN_MS."""

    def wait(self, ms: int) -> None:
        self.past_ms += ms
        self.write(pause(ms))

    def _expression(self) -> Expr:
        return Text(self.rng.choice(BROKEN if self.rng.random() < 0.06 else EXPRESSIONS))

    def _subscribed(self) -> Fields:
        """Return the fields of a subscription by an expression, by names, or by both."""
        kind = self.rng.random()
        names = [topic(number) for number in self.rng.sample(range(1, OFTEN + 1), self.rng.choice((1, 1, 2)))]
        if kind < 0.7:
            return {"subscribed_topic_regex": self._expression(), "subscribed_topic_names": self.rng.choice((None, []))}
        if kind < 0.85:
            return {"subscribed_topic_regex": self._expression(), "subscribed_topic_names": names}
        return {"subscribed_topic_names": names}

    def join(self, name: str) -> None:
        """Join with epoch 0, mostly subscribed by an expression."""
        fields: Fields = {
            "member_id": name, "member_epoch": 0, "rebalance_timeout_ms": 300_000, "topic_partitions": [],
            "instance_id": INSTANCE.get(name), **self._subscribed(),
        }  # fmt: skip
        self.send(name, 68, 1, fields)
        self.wait(RESOLVES_MS)
        self.joined.add(name)
        self.classic.discard(name)

    def resubscribe(self, name: str) -> None:
        """Send a heartbeat with another subscription."""
        fields = {"member_id": name, "member_epoch": told(name, "epoch"), "instance_id": INSTANCE.get(name), **self._subscribed()}
        self.send(name, 68, 1, {**fields, "topic_partitions": self.rng.choice((None, told(name, "assigned")))})
        self.wait(RESOLVES_MS)

    def look_again(self, name: str) -> None:
        """Create a topic, wait until Kafka looks at topics again, and let all members send heartbeats until the matches are assigned."""
        if self.past_ms > LONGEST_MS:
            return
        self.create_new(name)
        self.wait(AGAIN_MS)
        self.looked_ms = self.past_ms
        self.beat(name)
        self.wait(RESOLVES_MS)
        for _ in range(2):
            for each in sorted(self.joined - self.classic):
                self.beat(each)
        self.describe(name)

    def describe(self, name: str) -> None:
        self.send(name, 69, 1, {"group_ids": [group(1)]})

    # -- topics

    def create(self, name: str) -> None:
        """Create a topic, which may exist."""
        self._create(name, self.rng.randint(1, min(self.made + 1, OFTEN)))

    def create_new(self, name: str) -> None:
        """Create a topic that never existed. Other scripts create topics at the same time, so that Kafka has always reason to look again;
        the core, which has the topics of this script only, needs a new one of its own."""
        self.made += 1
        self._create(name, self.made)

    def _create(self, name: str, number: int) -> None:
        self.made = max(self.made, number)
        wanted = {"name": topic(number), "num_partitions": self.rng.choice((1, 2)), "replication_factor": 1}
        self.send(name, 19, 7, {"topics": [wanted], "timeout_ms": 5000})
        self.wait(SETTLING_MS)

    def delete_topic(self, name: str) -> None:
        self.send(name, 20, 5, {"topic_names": [topic(self.rng.randint(1, OFTEN))], "timeout_ms": 5000})
        self.wait(SETTLING_MS)

    def grow(self, name: str) -> None:
        """Add partitions to a topic."""
        topics = [{"name": topic(self.rng.randint(1, OFTEN)), "count": self.rng.choice((2, 3)), "assignments": None}]
        self.send(name, 37, 3, {"topics": topics, "timeout_ms": 5000})
        self.wait(SETTLING_MS)

    of_consumers: Actions = (
        (ConsumersAuthor.beat, 40), (resubscribe, 9), (ConsumersAuthor.leave, 5), (join, 4), (ConsumersAuthor.commit, 4), (look_again, 9),
        (create, 9), (delete_topic, 6), (grow, 5), (describe, 6), (ConsumersAuthor.look, 2), (ConsumersAuthor.classic_join, 1),
    )  # fmt: skip


def generate(seed: int, release: str) -> Script:
    rng = Random(f"regexes {release} {seed}")
    script = Script("regexes", seed, release, "crossed", [], 1, [TopicNeed(count, True) for count in OWN])
    author = RegexesAuthor(script, rng)
    length = rng.randint(12, 34)
    while len(script.steps) < length and author.past_ms < LONGEST_MS:
        if author.past_ms - author.looked_ms > RESTS_MS:
            author.look_again(rng.choice(NAMES))
        author.step()
    author.describe("A")
    return script
