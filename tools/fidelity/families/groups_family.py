"""Generate exchanges of several clients with valid and invalid requests of every group and offset API in every version.

A generator plays what it writes on the core as it goes, so that most exchanges come to a Stable group and then disturb it.
"""

from __future__ import annotations

from random import Random
from typing import Final

from ..generated.script import Script, TopicNeed
from ..generated.settings_classes import CLASSES
from .group_author import Client, GroupAuthor
from .group_requests import PARTITIONS

SMALL_EVERY: Final = 6
"""Every sixth seed is for brokers with group.max.size=3."""
LONGEST_MS: Final = 6000


def settings_of(seed: int) -> str:
    """Return the class of broker settings for which the seed's script is made."""
    name = "small" if seed % SMALL_EVERY == SMALL_EVERY - 1 else "plain"
    assert name in CLASSES
    return name


def generate(seed: int, release: str) -> Script:
    rng = Random(f"groups {release} {seed}")
    settings = settings_of(seed)
    groups = 2 if rng.random() < 0.15 else 1
    script = Script("groups", seed, release, settings, [], groups, [TopicNeed(count) for count in PARTITIONS])
    author = GroupAuthor(script, rng, _clients(rng, groups, settings))
    length = rng.randint(9, 25)
    plot = rng.choices((_life, _chaos, _office), (80, 10, 10))[0]
    plot(author, length)
    return script


def _clients(rng: Random, groups: int, settings: str) -> list[Client]:
    names = ["A", "B", "C", "D", "E"][: rng.randint(4, 5) if settings == "small" else rng.randint(2, 5)]
    short = rng.random() < 0.3
    clients = [Client.make(rng, name, rng.randint(1, groups), short) for name in names]
    if rng.random() < 0.5:
        clients.append(Client.make(rng, "I", rng.randint(1, groups), short, "i1"))
        if rng.random() < 0.6:
            clients.append(Client.make(rng, "J", rng.randint(1, groups), short, rng.choice(("i1", "i2"))))
    return clients


def _goes_on(author: GroupAuthor, length: int) -> bool:
    return len(author.script.steps) < length and author.now < LONGEST_MS


def _life(author: GroupAuthor, length: int) -> None:
    """Let a group form and work, and then disturb it."""
    eager = author.rng.uniform(0.6, 0.92)
    while _goes_on(author, length):
        if author.rng.random() < eager and author.progress():
            continue
        author.disturb()


def _chaos(author: GroupAuthor, length: int) -> None:
    """Let random clients do random things."""
    while _goes_on(author, length):
        author.disturb()


def _office(author: GroupAuthor, length: int) -> None:
    """Send requests about offsets and administration, with few members or none."""
    while _goes_on(author, length):
        if author.rng.random() < 0.15:
            author.progress()
        else:
            author.administer()
