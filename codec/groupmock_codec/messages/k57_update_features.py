"""UpdateFeatures (key 57) has versions 0-2, flexible from 0.

v0 new (KIP-584). v1 three kinds of change, and trying without doing (KIP-778). v2 one answer for all features (KIP-1022).
"""

from __future__ import annotations

from typing import Annotated

from ..api_keys import UPDATE_FEATURES
from ..declare import BOOLEAN, IGNORABLE, INT8, INT16, INT32, STRING, ApiDeclaration, Message, Versions, array, nullable, since, until


class FeatureUpdateKey(Message):
    feature: Annotated[str, STRING] = ""
    max_version_level: Annotated[int, INT16] = 0
    allow_downgrade: Annotated[bool, BOOLEAN, until(0)] = False
    upgrade_type: Annotated[int, INT8, since(1)] = 1


class UpdateFeaturesRequest(Message):
    timeout_ms: Annotated[int, INT32] = 60000
    feature_updates: Annotated[list[FeatureUpdateKey], array(FeatureUpdateKey)] = []
    validate_only: Annotated[bool, BOOLEAN, since(1)] = False


class UpdatableFeatureResult(Message):
    feature: Annotated[str, STRING] = ""
    error_code: Annotated[int, INT16] = 0
    error_message: Annotated[str | None, STRING, nullable()] = ""


class UpdateFeaturesResponse(Message):
    throttle_time_ms: Annotated[int, INT32] = 0
    error_code: Annotated[int, INT16] = 0
    error_message: Annotated[str | None, STRING, nullable()] = ""
    results: Annotated[list[UpdatableFeatureResult], array(UpdatableFeatureResult), until(1), IGNORABLE] = []


API = ApiDeclaration(UPDATE_FEATURES, "UpdateFeatures", Versions(0, 2), 0, UpdateFeaturesRequest, UpdateFeaturesResponse)
