"""What a cluster says of itself as a profile has it: the APIs with a behaviour, cut by the profile (docs/reference/architecture.md#rule-4),
and its features.

Every Identity of a served, played or simulated cluster is made here. It is not made in `core.identity`: that file stands below the APIs,
whose listing says what can be advertised, and the core knows no profiles.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..core.apis import module_names
from ..core.identity import ApiRange, Feature, Identity, Node
from ..core.settings import Settings
from ..core.transactions import levels
from .profiles import FeatureLevel, Profile


def identity_of(
    profile: Profile, settings: Settings, cluster_id: str, nodes: Iterable[Node], limits: tuple[tuple[str, str], ...] = ()
) -> Identity:
    """The identity of a cluster of these nodes; `limits`: what its sockets were told to allow, by Kafka's names."""
    return Identity(
        cluster_id=cluster_id,
        nodes=tuple(nodes),
        advertised=advertised(profile),
        features=tuple(_begins(feature, settings) for feature in profile.features),
        finalized_features_epoch=profile.finalized_features_epoch,
        limits=limits,
    )


def _begins(feature: FeatureLevel, settings: Settings) -> Feature:
    if feature.name == levels.FEATURE:
        return Feature(feature.name, feature.lowest, feature.highest, settings.transaction_version or None)
    return Feature(*feature)


def advertised(profile: Profile) -> tuple[ApiRange, ...]:
    """The rows of the ApiVersions answer, by key."""
    behaviours = module_names()
    return tuple(ApiRange(key, *versions) for key, versions in sorted(profile.versions.items()) if key in behaviours)
