"""A core made of a profile and settings, with nobody around it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from random import Random
from typing import Final

from ..config.advertise import identity_of
from ..config.profiles import Profile
from ..config.resolve import Config, resolve, topics_of
from ..core.core import Core, core_of
from ..core.dice import Bits
from ..core.identity import Node
from ..core.settings import Settings

EPOCH_MS: Final = 1_700_000_000_000
"""The wall clock (ms since 1970) when a rig's clock stands at 0."""
PORT: Final = 9092


Topics = Mapping[str, int] | Iterable[str] | str
"""Name -> partitions, or a topic NAME or NAME:PARTITIONS, or several; without a number with as many as `num.partitions` says."""


def counted(topics: Topics | None, settings: Settings) -> dict[str, int]:
    """Name -> partitions. Raises ConfigError for what is no topic."""
    return {topic.name: topic.partitions or settings.num_partitions for topic in topics_of(topics or (), "topics")}


def make_config(profile: str | None = None, settings: Mapping[str, object] | None = None) -> Config:
    """`profile`: as `groupmock serve --profile` takes it (None: its default); `settings`: Kafka's names and values. Raises ConfigError."""
    return resolve({"profile": profile}, [(name, str(value)) for name, value in (settings or {}).items()])


def make_core(
    profile: str | None = None,
    settings: Mapping[str, object] | None = None,
    *,
    seed: int = 1,
    nodes: int = 1,
    epoch_ms: int = EPOCH_MS,
) -> Core:
    """A core to which nothing has happened, as `make_config` has it. `nodes`: how many, named 127.0.0.1:9092 and on."""
    config = make_config(profile, settings)
    return core_of_profile(config.profile, config.settings, seed=seed, nodes=nodes, epoch_ms=epoch_ms)


def core_of_profile(
    profile: Profile,
    settings: Settings,
    *,
    seed: int | Bits = 1,
    nodes: int | Iterable[Node] = 1,
    cluster_id: str = "groupmock-rig",
    epoch_ms: int = EPOCH_MS,
) -> Core:
    """The same of parts. `seed`: of its dice, or a generator for them; `nodes`: how many, or which."""
    if isinstance(nodes, int):
        nodes = [Node(1 + place, "127.0.0.1", PORT + place) for place in range(nodes)]
    bits = Random(seed) if isinstance(seed, int) else seed
    return core_of(settings, identity_of(profile, settings, cluster_id, nodes), bits, epoch_ms)
