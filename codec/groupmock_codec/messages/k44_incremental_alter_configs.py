"""IncrementalAlterConfigs (key 44) has versions 0-1, flexible from 1.

v0 new (KIP-339): sets, deletes, appends or subtracts single settings. v1 flexible (KIP-482).
"""

from __future__ import annotations

from typing import Annotated

from ..api_keys import INCREMENTAL_ALTER_CONFIGS
from ..declare import BOOLEAN, INT8, INT16, INT32, STRING, ApiDeclaration, Message, Versions, array, nullable


class AlterableConfig(Message):
    name: Annotated[str, STRING] = ""
    config_operation: Annotated[int, INT8] = 0
    value: Annotated[str | None, STRING, nullable()] = ""


class AlterConfigsResource(Message):
    resource_type: Annotated[int, INT8] = 0
    resource_name: Annotated[str, STRING] = ""
    configs: Annotated[list[AlterableConfig], array(AlterableConfig)] = []


class IncrementalAlterConfigsRequest(Message):
    resources: Annotated[list[AlterConfigsResource], array(AlterConfigsResource)] = []
    validate_only: Annotated[bool, BOOLEAN] = False


class AlterConfigsResourceResponse(Message):
    error_code: Annotated[int, INT16] = 0
    error_message: Annotated[str | None, STRING, nullable()] = ""
    resource_type: Annotated[int, INT8] = 0
    resource_name: Annotated[str, STRING] = ""


class IncrementalAlterConfigsResponse(Message):
    throttle_time_ms: Annotated[int, INT32] = 0
    responses: Annotated[list[AlterConfigsResourceResponse], array(AlterConfigsResourceResponse)] = []


API = ApiDeclaration(
    INCREMENTAL_ALTER_CONFIGS, "IncrementalAlterConfigs", Versions(0, 1), 1, IncrementalAlterConfigsRequest, IncrementalAlterConfigsResponse
)
