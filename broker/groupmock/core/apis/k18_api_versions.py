"""ApiVersions (18) lists the API versions that this broker supports. v3 requests name the client's software (KIP-511), and v3 answers have
features (KIP-584). v5 refuses a client that expects another cluster or node (KIP-1242).

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

# This pattern of client software names is that of KIP-511; "", "-x" and "x_y" do not match (P2-d12).
SOFTWARE: Final = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")
SOFTWARE_SINCE: Final = 3
ANY_NODE: Final = -1
ZERO_FEATURES_SINCE: Final = 4  # Up to v3 the ApiVersions answer hides features whose lowest level is 0 (KIP-1022).


def handle(cluster: Cluster, request: Request, turn: Turn) -> None:
    """Answer the API versions of the profile, or an error without versions: INVALID_REQUEST (42) for a malformed request, and
    REBOOTSTRAP_REQUIRED (129) for one that means another broker."""
    asked = request.message
    assert isinstance(asked, ApiVersionsRequest)
    identity = turn.environment.identity
    if error := error_of(request.version, asked, identity.cluster_id, request.node):
        turn.reply(request.ticket, ApiVersionsResponse(error_code=error))
        return
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


def error_of(version: int, asked: ApiVersionsRequest, cluster_id: str, node: int) -> int:
    """Return the error with which a node answers a request, or 0. After an error the connection stays open, as that of Kafka 4.4.0 does. A
    version without the fields of the cluster and the node has their defaults, which mean no broker in particular."""
    if version >= SOFTWARE_SINCE and not (
        SOFTWARE.fullmatch(asked.client_software_name) and SOFTWARE.fullmatch(asked.client_software_version)
    ):
        return error_codes.INVALID_REQUEST
    if (asked.cluster_id is None) != (asked.node_id == ANY_NODE):
        # A client that names only one of cluster id and node id is refused: it has to name both or neither.
        return error_codes.INVALID_REQUEST
    if asked.cluster_id is not None and (asked.cluster_id, asked.node_id) != (cluster_id, node):
        return error_codes.REBOOTSTRAP_REQUIRED
    return error_codes.NONE
