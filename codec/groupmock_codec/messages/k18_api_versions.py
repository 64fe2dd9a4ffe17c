"""ApiVersions (key 18) has versions 0-5, flexible from 3.

v1 throttle time, v2 answered before the throttled channel is muted (KIP-219). v3 flexible; the client names itself
(KIP-511); tagged: features (KIP-584). v4 a feature's lowest version may be 0 (KAFKA-17011). v5 the client names the
cluster and the node that it means (KIP-1242). The answer's header is always
v0, and a version that the broker has not is answered in v0, error 35.
"""

from __future__ import annotations

from typing import Annotated

from ..api_keys import API_VERSIONS
from ..declare import BOOLEAN, IGNORABLE, INT16, INT32, INT64, STRING, ApiDeclaration, Message, Versions, array, nullable, since, tag


class ApiVersionsRequest(Message):
    client_software_name: Annotated[str, STRING, since(3), IGNORABLE] = ""
    client_software_version: Annotated[str, STRING, since(3), IGNORABLE] = ""
    cluster_id: Annotated[str | None, STRING, nullable(5), since(5), IGNORABLE] = None
    node_id: Annotated[int, INT32, since(5), IGNORABLE] = -1


class ApiVersion(Message):
    api_key: Annotated[int, INT16] = 0
    min_version: Annotated[int, INT16] = 0
    max_version: Annotated[int, INT16] = 0


class SupportedFeatureKey(Message):
    name: Annotated[str, STRING, since(3)] = ""
    min_version: Annotated[int, INT16, since(3)] = 0
    max_version: Annotated[int, INT16, since(3)] = 0


class FinalizedFeatureKey(Message):
    name: Annotated[str, STRING, since(3)] = ""
    max_version_level: Annotated[int, INT16, since(3)] = 0
    min_version_level: Annotated[int, INT16, since(3)] = 0


class ApiVersionsResponse(Message):
    error_code: Annotated[int, INT16] = 0
    api_keys: Annotated[list[ApiVersion], array(ApiVersion)] = []
    throttle_time_ms: Annotated[int, INT32, since(1), IGNORABLE] = 0
    supported_features: Annotated[list[SupportedFeatureKey], array(SupportedFeatureKey), since(3), tag(0), IGNORABLE] = []
    finalized_features_epoch: Annotated[int, INT64, since(3), tag(1), IGNORABLE] = -1
    finalized_features: Annotated[list[FinalizedFeatureKey], array(FinalizedFeatureKey), since(3), tag(2), IGNORABLE] = []
    zk_migration_ready: Annotated[bool, BOOLEAN, since(3), tag(3), IGNORABLE] = False


API = ApiDeclaration(API_VERSIONS, "ApiVersions", Versions(0, 5), 3, ApiVersionsRequest, ApiVersionsResponse)
