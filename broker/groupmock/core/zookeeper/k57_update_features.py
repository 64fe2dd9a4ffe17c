"""UpdateFeatures (57) as Kafka 2.8 has it: it supports no feature, so that none can be finalized or deleted (KIP-584)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from groupmock_codec.errors import ErrorCode
from groupmock_codec.messages.k57_update_features import (
    FeatureUpdateKey,
    UpdatableFeatureResult,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)

from ..apis.k57_update_features import FEATURE_COST
from ..budget import Ration
from ..log.refusal import WRONG_CONTROLLER

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..events import Request
    from ..turn import Turn

UNSUPPORTED: Final = "Could not apply finalized feature update because the provided feature is not supported."
NOT_THERE: Final = "Can not delete non-existing finalized feature."


def handle(cluster: Cluster, request: Request, turn: Turn) -> None:
    """A row per feature; the controller alone answers."""
    asked = request.message
    assert isinstance(asked, UpdateFeaturesRequest)
    Ration(turn.settings).take_names([each.feature for each in asked.feature_updates], FEATURE_COST)
    if turn.quirks.controller_only and request.node != cluster.topics.controller():
        elsewhere = UpdateFeaturesResponse(error_code=ErrorCode.NOT_CONTROLLER, error_message=WRONG_CONTROLLER)
        turn.reply(request.ticket, elsewhere)
        return
    wanted = {each.feature: each for each in asked.feature_updates}
    results = [
        UpdatableFeatureResult(feature=name, error_code=ErrorCode.INVALID_REQUEST, error_message=_why_not(each))
        for name, each in wanted.items()
    ]
    turn.reply(request.ticket, UpdateFeaturesResponse(error_message=None, results=results))


def _why_not(wanted: FeatureUpdateKey) -> str:
    return NOT_THERE if wanted.max_version_level < 1 and wanted.allow_downgrade else UNSUPPORTED
