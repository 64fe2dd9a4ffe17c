"""DescribeClientQuotas (key 48) has versions 0-1, flexible from 1.

v0 new (KIP-546). v1 flexible (KIP-482).
"""

from __future__ import annotations

from typing import Annotated

from ..api_keys import DESCRIBE_CLIENT_QUOTAS
from ..declare import BOOLEAN, FLOAT64, INT8, INT16, INT32, STRING, ApiDeclaration, Message, Versions, array, nullable


class QuotaFilterComponent(Message):
    """`match_type`: 0 this name, 1 the default, 2 any that has a name."""

    entity_type: Annotated[str, STRING] = ""
    match_type: Annotated[int, INT8] = 0
    match: Annotated[str | None, STRING, nullable()] = ""


class DescribeClientQuotasRequest(Message):
    components: Annotated[list[QuotaFilterComponent], array(QuotaFilterComponent)] = []
    strict: Annotated[bool, BOOLEAN] = False


class QuotaEntity(Message):
    entity_type: Annotated[str, STRING] = ""
    entity_name: Annotated[str | None, STRING, nullable()] = ""


class QuotaValue(Message):
    key: Annotated[str, STRING] = ""
    value: Annotated[float, FLOAT64] = 0.0


class QuotaEntry(Message):
    entity: Annotated[list[QuotaEntity], array(QuotaEntity)] = []
    values: Annotated[list[QuotaValue], array(QuotaValue)] = []


class DescribeClientQuotasResponse(Message):
    throttle_time_ms: Annotated[int, INT32] = 0
    error_code: Annotated[int, INT16] = 0
    error_message: Annotated[str | None, STRING, nullable()] = ""
    entries: Annotated[list[QuotaEntry] | None, array(QuotaEntry), nullable()] = []


API = ApiDeclaration(
    DESCRIBE_CLIENT_QUOTAS, "DescribeClientQuotas", Versions(0, 1), 1, DescribeClientQuotasRequest, DescribeClientQuotasResponse
)
