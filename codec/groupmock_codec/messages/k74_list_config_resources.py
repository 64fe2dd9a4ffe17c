"""ListConfigResources (key 74) has versions 0-1, flexible from 0.

v0 new as ListClientMetricsResources (KIP-714, renamed by KIP-1142): client metrics only. v1 resources of the types that are named.
"""

from __future__ import annotations

from typing import Annotated

from ..api_keys import LIST_CONFIG_RESOURCES
from ..declare import IGNORABLE, INT8, INT16, INT32, STRING, ApiDeclaration, Message, Versions, array, since


class ListConfigResourcesRequest(Message):
    resource_types: Annotated[list[int], array(INT8), since(1)] = []


class ConfigResource(Message):
    resource_name: Annotated[str, STRING] = ""
    resource_type: Annotated[int, INT8, since(1), IGNORABLE] = 16


class ListConfigResourcesResponse(Message):
    throttle_time_ms: Annotated[int, INT32] = 0
    error_code: Annotated[int, INT16] = 0
    config_resources: Annotated[list[ConfigResource], array(ConfigResource)] = []


API = ApiDeclaration(
    LIST_CONFIG_RESOURCES, "ListConfigResources", Versions(0, 1), 0, ListConfigResourcesRequest, ListConfigResourcesResponse
)
