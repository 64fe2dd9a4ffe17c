"""UpdateFeatures (57) raises or lowers the feature levels of the cluster (KIP-584, KIP-778, KIP-1022), with the error messages of the KRaft
controller.

`metadata.version` cannot change: to lower it is refused like a change that could lose metadata in Kafka, and no release knows a higher
level than its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from groupmock_codec import error_codes
from groupmock_codec.messages.k57_update_features import (
    FeatureUpdateKey,
    UpdatableFeatureResult,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)

from ..authorizer.acl import ALTER
from ..authorizer.right import Right
from ..budget import Ration, fitting
from ..java.hashes import java_hash
from ..java.orders import java_order

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..events import Request
    from ..identity import Feature
    from ..turn import Turn

UPGRADE: Final = 1
SAFE_DOWNGRADE: Final = 2
UNSAFE_DOWNGRADE: Final = 3
ONE_ANSWER_SINCE: Final = 2
FEATURE_COST: Final = 8
METADATA: Final = "metadata.version"
KRAFT: Final = "kraft.version"
NEWER: Final = "Can't downgrade to a newer version."
DOWNGRADE: Final = "Can't downgrade the version of this feature without setting the upgrade type to either safe or unsafe downgrade."
LOSES: Final = "Refusing to perform the requested downgrade because it might delete metadata information."
NO_UNSAFE: Final = "Unsafe metadata downgrade is not supported in this version."
ALL_FAILED: Final = "The update failed for all features since the following feature had an error: "

RIGHTS: Final = (Right(ALTER),)


def handle(cluster: Cluster, request: Request, turn: Turn) -> None:
    """Update all features or none, except in Kafka 3.9, which updates each on its own (`features_updated_one_by_one`). If a feature is
    listed twice, the last row counts."""
    asked = request.message
    assert isinstance(asked, UpdateFeaturesRequest)
    Ration(turn.settings).take_names([each.feature for each in asked.feature_updates], FEATURE_COST)
    wanted = {each.feature: each for each in asked.feature_updates}
    order = sorted(wanted) if turn.quirks.features_updated_one_by_one else java_order(wanted, java_hash)
    refusals = {name: _why_not(cluster, turn, wanted[name]) for name in order}
    if turn.quirks.features_updated_one_by_one:
        answer = UpdateFeaturesResponse(results=[_result(name, why, None) for name, why in refusals.items()])
        done = [name for name, why in refusals.items() if why is None]
    else:
        why = next((why for why in refusals.values() if why is not None), None)
        answer, done = _answer(request.version, list(refusals), why), [] if why is not None else list(refusals)
    if not asked.validate_only:
        _finalize(turn, {name: wanted[name].max_version_level for name in done})
    turn.reply(request.ticket, answer)


def _answer(version: int, names: list[str], why: str | None) -> UpdateFeaturesResponse:
    """Return an answer that gives every feature the same result. Up to v1 every updated feature has a row besides."""
    if why is not None:
        return UpdateFeaturesResponse(error_code=error_codes.INVALID_UPDATE_VERSION, error_message=fitting(ALL_FAILED + why))
    rows = [_result(name, None, "NONE") for name in names] if version < ONE_ANSWER_SINCE else []
    return UpdateFeaturesResponse(error_message=None, results=rows)


def _result(name: str, why: str | None, fine: str | None) -> UpdatableFeatureResult:
    if why is None:
        return UpdatableFeatureResult(feature=name, error_message=fine)
    return UpdatableFeatureResult(feature=name, error_code=error_codes.INVALID_UPDATE_VERSION, error_message=fitting(why))


def _why_not(cluster: Cluster, turn: Turn, wanted: FeatureUpdateKey) -> str | None:
    """Return the reason why the feature cannot have this level, or None (FeatureControlManager.updateFeature)."""
    # In UpdateFeatures v0 the controller ignores `allow_downgrade`, so v0 can only raise a level (seen on 4.3.0).
    name, level, kind = wanted.feature, wanted.max_version_level, wanted.upgrade_type
    invalid = f"Invalid update version {level} for feature {name}."
    feature = next((each for each in turn.environment.identity.features if each.name == name), None)
    if kind not in (UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE):
        return f"{invalid} The controller does not support the given upgrade type."
    if level < 0:
        return f"{invalid} A feature version cannot be less than 0."
    if feature is None:
        # A feature that does not exist counts as level 0.
        return None if level == 0 else f"{invalid} Local controller {cluster.topics.controller()} does not support this feature."
    if not feature.lowest <= level <= feature.highest:
        only = f"only supports versions {feature.lowest}-{feature.highest}"
        return f"{invalid} Local controller {cluster.topics.controller()} {only}"
    return _why_not_from_there(turn, feature, level, kind, invalid)


def _why_not_from_there(turn: Turn, feature: Feature, level: int, kind: int, invalid: str) -> str | None:
    now = feature.finalized or 0
    if level > now and kind != UPGRADE:
        return f"{invalid} {NEWER}"
    if level >= now:
        return None
    if kind == UPGRADE:
        return f"{invalid} {DOWNGRADE}"
    if feature.name == KRAFT:
        return f"{invalid} Can't downgrade the version of this feature."
    if feature.name != METADATA:
        return None
    told = (
        f"Invalid metadata.version {level}."
        if turn.quirks.features_updated_one_by_one
        else f"Unsupported metadata.version downgrade from {now} to {level}."
    )
    return f"{told} {NO_UNSAFE if kind == UNSAFE_DOWNGRADE else LOSES}"


def _finalize(turn: Turn, levels: dict[str, int]) -> None:
    """Set the finalized levels of features. A feature at level 0 is no longer listed as finalized."""
    environment = turn.environment
    identity = environment.identity
    features = tuple(each._replace(finalized=levels.get(each.name, each.finalized) or None) for each in identity.features)
    if features != identity.features:
        epoch = identity.finalized_features_epoch + 1
        environment.known_as(identity._replace(features=features, finalized_features_epoch=epoch))
        turn.note("features_finalized", levels={each.name: each.finalized for each in features})


def refused(request: Request, code: int, text: str) -> UpdateFeaturesResponse:
    return UpdateFeaturesResponse(error_code=code, error_message=text)
