"""AlterConfigs (key 33) has versions 0-2, flexible from 2.

v0 new (KIP-133): replaces all settings of a resource. v1 answered before the throttled channel is muted (KIP-219). v2
flexible (KIP-482).
"""

from __future__ import annotations

from typing import Annotated

from ..api_keys import ALTER_CONFIGS
from ..declare import BOOLEAN, INT8, INT16, INT32, STRING, ApiDeclaration, Message, Versions, array, nullable


class AlterableConfig(Message):
    name: Annotated[str, STRING] = ""
    value: Annotated[str | None, STRING, nullable()] = ""


class AlterConfigsResource(Message):
    resource_type: Annotated[int, INT8] = 0
    resource_name: Annotated[str, STRING] = ""
    configs: Annotated[list[AlterableConfig], array(AlterableConfig)] = []


class AlterConfigsRequest(Message):
    resources: Annotated[list[AlterConfigsResource], array(AlterConfigsResource)] = []
    validate_only: Annotated[bool, BOOLEAN] = False


class AlterConfigsResourceResponse(Message):
    error_code: Annotated[int, INT16] = 0
    error_message: Annotated[str | None, STRING, nullable()] = ""
    resource_type: Annotated[int, INT8] = 0
    resource_name: Annotated[str, STRING] = ""


class AlterConfigsResponse(Message):
    throttle_time_ms: Annotated[int, INT32] = 0
    responses: Annotated[list[AlterConfigsResourceResponse], array(AlterConfigsResourceResponse)] = []


API = ApiDeclaration(ALTER_CONFIGS, "AlterConfigs", Versions(0, 2), 2, AlterConfigsRequest, AlterConfigsResponse)
