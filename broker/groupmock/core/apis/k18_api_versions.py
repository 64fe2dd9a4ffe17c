"""ApiVersions (18) lists the API versions that this broker supports. v3 names the client's software (KIP-511) and answers features
(KIP-584).

An unsupported version never gets here: the driver answers it in the v0 layout (P2-d12).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from groupmock_codec import error_codes
from groupmock_codec.messages.k18_api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..events import Request
    from ..turn import Turn

# This is the pattern of KIP-511, which "", "-x" and "x_y" do not match (P2-d12).
SOFTWARE: Final = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")
SOFTWARE_SINCE: Final = 3
ZERO_FEATURES_SINCE: Final = 4  # Up to v3 the answer hides features whose lowest level is 0 (KIP-1022).


def handle(cluster: Cluster, request: Request, turn: Turn) -> None:
    """Answer the API versions of the profile, or INVALID_REQUEST (42) without versions if the client's software name or version is
    malformed."""
    asked = request.message
    assert isinstance(asked, ApiVersionsRequest)
    if request.version >= SOFTWARE_SINCE and not (
        SOFTWARE.fullmatch(asked.client_software_name) and SOFTWARE.fullmatch(asked.client_software_version)
    ):
        turn.reply(request.ticket, ApiVersionsResponse(error_code=error_codes.INVALID_REQUEST))
        return
    identity = turn.environment.identity
    answer = ApiVersionsResponse(
        api_keys=[ApiVersion(api_key=row.key, min_version=row.lowest, max_version=row.highest) for row in identity.advertised],
        supported_features=[
            SupportedFeatureKey(name=feature.name, min_version=feature.lowest, max_version=feature.highest)
            for feature in identity.features
            if feature.lowest > 0 or request.version >= ZERO_FEATURES_SINCE
        ],
        finalized_features_epoch=identity.finalized_features_epoch,
        finalized_features=[
            FinalizedFeatureKey(name=feature.name, max_version_level=feature.finalized, min_version_level=feature.finalized)
            for feature in identity.features
            if feature.finalized is not None
        ],
    )
    turn.reply(request.ticket, answer)
