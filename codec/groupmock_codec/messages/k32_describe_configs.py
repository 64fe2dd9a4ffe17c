"""DescribeConfigs (key 32) has versions 0-4, flexible from 4.

v1 synonyms and where a value comes from, in the place of is_default (KIP-226). v2 answered before the throttled channel is
muted (KIP-219). v3 types and documentation (KIP-569). v4 flexible (KIP-482).
"""

from __future__ import annotations

from typing import Annotated

from ..api_keys import DESCRIBE_CONFIGS
from ..declare import BOOLEAN, IGNORABLE, INT8, INT16, INT32, STRING, ApiDeclaration, Message, Versions, array, nullable, since, until


class DescribeConfigsResource(Message):
    resource_type: Annotated[int, INT8] = 0
    resource_name: Annotated[str, STRING] = ""
    configuration_keys: Annotated[list[str] | None, array(STRING), nullable()] = []


class DescribeConfigsRequest(Message):
    resources: Annotated[list[DescribeConfigsResource], array(DescribeConfigsResource)] = []
    include_synonyms: Annotated[bool, BOOLEAN, since(1)] = False
    include_documentation: Annotated[bool, BOOLEAN, since(3)] = False


class DescribeConfigsSynonym(Message):
    name: Annotated[str, STRING, since(1)] = ""
    value: Annotated[str | None, STRING, nullable(), since(1)] = ""
    source: Annotated[int, INT8, since(1)] = 0


class DescribeConfigsResourceResult(Message):
    name: Annotated[str, STRING] = ""
    value: Annotated[str | None, STRING, nullable()] = ""
    read_only: Annotated[bool, BOOLEAN] = False
    is_default: Annotated[bool, BOOLEAN, until(0)] = False
    config_source: Annotated[int, INT8, since(1), IGNORABLE] = -1
    is_sensitive: Annotated[bool, BOOLEAN] = False
    synonyms: Annotated[list[DescribeConfigsSynonym], array(DescribeConfigsSynonym), since(1), IGNORABLE] = []
    config_type: Annotated[int, INT8, since(3), IGNORABLE] = 0
    documentation: Annotated[str | None, STRING, nullable(), since(3), IGNORABLE] = ""


class DescribeConfigsResult(Message):
    error_code: Annotated[int, INT16] = 0
    error_message: Annotated[str | None, STRING, nullable()] = ""
    resource_type: Annotated[int, INT8] = 0
    resource_name: Annotated[str, STRING] = ""
    configs: Annotated[list[DescribeConfigsResourceResult], array(DescribeConfigsResourceResult)] = []


class DescribeConfigsResponse(Message):
    throttle_time_ms: Annotated[int, INT32] = 0
    results: Annotated[list[DescribeConfigsResult], array(DescribeConfigsResult)] = []


API = ApiDeclaration(DESCRIBE_CONFIGS, "DescribeConfigs", Versions(0, 4), 4, DescribeConfigsRequest, DescribeConfigsResponse)
