"""Functions that make a core from a profile and settings, without a driver."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from random import Random
from typing import Final

from ..config.advertise import identity_of
from ..config.profiles import Profile
from ..config.resolve import Config, resolve, topics_of
from ..core.core import Core, core_of
from ..core.dice import Bits
from ..core.identity import Listener, Node
from ..core.settings import Settings

EPOCH_MS: Final = 1_700_000_000_000
"""The wall clock (ms since 1970) at run time 0 of a rig."""
PORT: Final = 9092


Topics = Mapping[str, int] | Iterable[str] | str
"""Topics with their numbers of partitions, as a mapping, or as one or several texts NAME or NAME:PARTITIONS. A topic without a number
gets `num.partitions`."""


def counted(topics: Topics | None, settings: Settings) -> dict[str, int]:
    """Return the number of partitions of each topic. Raises ConfigError for a wrong topic."""
    return {topic.name: topic.partitions or settings.num_partitions for topic in topics_of(topics or (), "topics")}


def make_config(profile: str | None = None, settings: Mapping[str, object] | None = None, **options: object) -> Config:
    """Resolve the configuration of a rig. `profile` is that of `groupmock serve --profile` (None: its default), `settings` has Kafka's
    names and values, and `options` are further ones of `groupmock serve`. Raises ConfigError."""
    return resolve({"profile": profile, **options}, [(name, str(value)) for name, value in (settings or {}).items()])


def make_core(
    profile: str | None = None,
    settings: Mapping[str, object] | None = None,
    *,
    seed: int = 1,
    nodes: int = 1,
    epoch_ms: int = EPOCH_MS,
) -> Core:
    """Make a new core from the arguments of `make_config`. `nodes` are at 127.0.0.1:9092 and the next ports."""
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
    listeners: Iterable[Listener] = (),
) -> Core:
    """Make a new core from a profile and settings. `seed` is the seed of its random source, or a generator for that; `nodes` is the
    number of nodes, or the nodes, which have PLAINTEXT alone without `listeners`."""
    if isinstance(nodes, int):
        nodes = [Node(1 + index, "127.0.0.1", PORT + index) for index in range(nodes)]
    bits = Random(seed) if isinstance(seed, int) else seed
    return core_of(settings, identity_of(profile, settings, cluster_id, nodes, listeners=listeners), bits, epoch_ms)
