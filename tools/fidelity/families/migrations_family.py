"""Generate exchanges in which transactions hold offsets of a group, while its members come and go by both protocols, so that the group is
upgraded, downgraded, emptied and deleted.

The transactions are those of the transactions family without records, and the members those of the consumers family.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, Final

from ..generated.script import Json, Script, TopicNeed, group, told, topic
from .consumers_family import INSTANCE, NAMES, ConsumersAuthor
from .group_requests import PARTITIONS, fetch_topics
from .transactions_author import Producer, TransactionsAuthor
from .transactions_family import (
    ADMIN,
    JOIN_MS,
    READER,
    act_as_member,
    add_offsets,
    admin,
    commit_offsets,
    delete_group_or_offsets,
    delete_topic,
    disturb,
    end_transaction,
    fetch_offsets,
    init_producer,
    pause_for_timeouts,
    plain_commit,
    some_producers,
)

MEMBERS: Final = 0.45
"""The share of steps that a member of the group takes."""
EAGER: Final = 0.6
"""The share of the other steps that a client library would choose in the same situation."""
OWN: Final = 0.15
"""The share of exchanges with topics of their own, which are deleted."""
LONGEST_MS: Final = 6000
MOST_TRIES: Final = 6
"""The number of steps in which a transaction gets to hold offsets, or does not."""


class MigrationsAuthor(TransactionsAuthor):
    """Writes a script about transactions beside the members of `ConsumersAuthor`. `member` is a classic member that has no static id."""

    member = "E"

    def __init__(self, script: Script, rng: Random, producers: list[Producer]) -> None:
        super().__init__(script, rng, producers)
        self.members = ConsumersAuthor(script, rng, self.write)

    def holds(self) -> bool:
        """Tell whether open transactions have offsets of the group."""
        group = self.player.core.cluster.groups.find(self.player.facts.groups[0])
        return group is not None and bool(group.offsets.unstable)

    def membership(self) -> dict[str, Json]:
        """Return the fields of a member of any protocol, sometimes with an older or a newer epoch."""
        name = self.rng.choice((*NAMES, self.member))
        epoch = "generation" if name == self.member or name in self.members.classic else "epoch"
        plus = self.rng.choice((0, 0, 0, 0, -1, 1))
        fields: dict[str, Json] = {"generation_id": told(name, epoch, plus), "member_id": told(name, "member_id")}
        if name in INSTANCE and self.rng.random() < 0.5:
            fields["group_instance_id"] = INSTANCE[name]
        return fields


def generate(seed: int, release: str) -> Script:
    rng = Random(f"migrations {release} {seed}")
    own = rng.random() < OWN
    topics = [TopicNeed(count, True) for count in (2, 1)] if own else [TopicNeed(count) for count in PARTITIONS]
    script = Script("migrations", seed, release, "crossed", [], 2, topics)
    acts = {**ACTS, delete_topic: 12} if own else ACTS
    producers = [each for each in some_producers(rng, release) if each.number is not None]
    author = MigrationsAuthor(script, rng, producers)
    if rng.random() < 0.65:
        _form(author)
    if rng.random() < 0.85:
        _hold(author, rng.choice(producers))
    length = len(script.steps) + rng.randint(8, 28)
    while len(script.steps) < length and author.now < LONGEST_MS:
        if rng.random() < MEMBERS:
            author.members.step()
        elif rng.random() < EAGER:
            _go_on(author, rng.choice(producers))
        else:
            rng.choices([*acts], [*acts.values()])[0](author)
    return script


def _form(author: MigrationsAuthor) -> None:
    """Let some clients form a classic group."""
    members = author.members
    for name in author.rng.choice(((), ("C",), ("D",), ("C", "D"))):
        members.classic_join(name)
    act_as_member(author)
    author.wait(JOIN_MS)
    for name in sorted(members.classic):
        members.classic_sync(name)
    act_as_member(author)


def _hold(author: MigrationsAuthor, producer: Producer) -> None:
    """Let a producer commit offsets of the group in a transaction that stays open, mostly."""
    for _ in range(MOST_TRIES):
        if author.holds():
            break
        _go_on(author, producer)


def _go_on(author: TransactionsAuthor, producer: Producer) -> None:
    """Let a producer commit offsets as a client library would in its situation."""
    known = author.transaction(producer)
    under_way = known is not None and str(known.state) == "Ongoing"
    if producer.holder is None or (author.is_fenced(producer) and author.rng.random() < 0.6):
        init_producer(author, producer, own=False)
    elif not under_way and not producer.new:
        add_offsets(author, producer)
    elif under_way and author.rng.random() < 0.2:
        end_transaction(author, producer)
    else:
        commit_offsets(author, producer)


def _fetch_as_member(author: MigrationsAuthor) -> None:
    """Send OffsetFetch with require_stable as a member of either protocol."""
    name = author.rng.choice(NAMES)
    member = {"member_id": told(name, "member_id"), "member_epoch": told(name, "epoch")}
    groups = [{"group_id": group(1), "topics": fetch_topics(author.rng, False), **member}]
    author.send(READER, 9, 9, {"groups": groups, "require_stable": True})


def _leave_all(author: MigrationsAuthor) -> None:
    """Let all members leave, so that the group is empty while transactions hold its offsets, and sometimes delete it."""
    _leave_consumers(author)
    for name in (*sorted(author.members.classic), author.member):
        author.send(ADMIN, 13, 5, {"group_id": group(1), "members": [{"member_id": told(name, "member_id")}]})
    author.members.joined.clear()
    author.members.classic.clear()
    if author.rng.random() < 0.5:
        author.send(ADMIN, 42, author.version(42), {"groups_names": [group(1)]})


def _leave_consumers(author: MigrationsAuthor) -> None:
    """Let the members of the consumer protocol leave, so that a group with classic members becomes a classic one."""
    for name in sorted(author.members.joined - author.members.classic):
        author.members.leave(name)


def _delete_offsets(author: MigrationsAuthor) -> None:
    """Delete offsets of the group, whose topics are mostly subscribed to."""
    number, index = author.place()
    topics = [{"name": topic(number), "partitions": [{"partition_index": index}]}]
    author.send(ADMIN, 47, author.version(47), {"group_id": group(1), "topics": topics})


ACTS: Final[dict[Callable[[MigrationsAuthor], Any], int]] = {
    fetch_offsets: 14,
    _fetch_as_member: 6,
    act_as_member: 10,
    plain_commit: 8,
    delete_group_or_offsets: 10,
    _delete_offsets: 4,
    _leave_all: 8,
    _leave_consumers: 8,
    admin: 3,
    pause_for_timeouts: 6,
    disturb(init_producer): 6,
    disturb(add_offsets): 6,
    disturb(end_transaction): 8,
    disturb(commit_offsets): 8,
}
"""Maps each further action to its weight."""
