"""Build the identity that a cluster advertises: the implemented APIs, restricted by the profile (docs/reference/architecture.md#rule-4),
and the profile's features.

Every Identity of a served, replayed or simulated cluster is made here. `core.identity` cannot make it, because that module is imported by
the APIs, whose listing says what can be advertised, and because the core knows no profiles.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..core.apis import module_names
from ..core.identity import ApiRange, Feature, Identity, Listener, Node
from ..core.settings import Settings
from ..core.transactions import levels
from .profiles import FeatureLevel, Profile


def identity_of(
    profile: Profile, settings: Settings, cluster_id: str, nodes: Iterable[Node], limits: tuple[tuple[str, str], ...] = (),
    listeners: Iterable[Listener] = (),
) -> Identity:  # fmt: skip
    """Build the identity of a cluster with these nodes. `limits` holds the limits of the cluster's sockets by Kafka's names. Without
    `listeners` each node has one, PLAINTEXT, at its own address."""
    return Identity(
        cluster_id=cluster_id,
        nodes=tuple(nodes),
        advertised=advertised(profile),
        features=tuple(_begins(feature, settings) for feature in profile.features),
        finalized_features_epoch=profile.finalized_features_epoch,
        limits=limits,
        listeners=tuple(listeners),
    )


def _begins(feature: FeatureLevel, settings: Settings) -> Feature:
    if feature.name == levels.FEATURE:
        return Feature(feature.name, feature.lowest, feature.highest, settings.transaction_version or None)
    return Feature(*feature)


def advertised(profile: Profile) -> tuple[ApiRange, ...]:
    """Return the rows of the ApiVersions response, sorted by API key."""
    behaviours = module_names()
    return tuple(ApiRange(key, *versions) for key, versions in sorted(profile.versions.items()) if key in behaviours)
