"""Which APIs a cluster advertises: those with a behaviour, cut by the profile (architecture rule 4)."""

from __future__ import annotations

from .core.apis import stems
from .core.identity import ApiRange, Feature
from .profiles import Profile


def advertised(profile: Profile) -> tuple[ApiRange, ...]:
    """The rows of the ApiVersions answer, by key."""
    behaviours = stems()
    return tuple(ApiRange(key, *versions) for key, versions in sorted(profile.versions.items()) if key in behaviours)


def features(profile: Profile) -> tuple[Feature, ...]:
    """The feature levels of the ApiVersions answer."""
    return tuple(Feature(*level) for level in profile.features)
