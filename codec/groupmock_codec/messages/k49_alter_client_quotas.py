"""AlterClientQuotas (key 49) has versions 0-1, flexible from 1.

v0 new (KIP-546). v1 flexible (KIP-482).
"""

from __future__ import annotations

from typing import Annotated

from ..api_keys import ALTER_CLIENT_QUOTAS
from ..declare import BOOLEAN, FLOAT64, INT16, INT32, STRING, ApiDeclaration, Message, Versions, array, nullable


class AlteredQuotaEntity(Message):
    entity_type: Annotated[str, STRING] = ""
    entity_name: Annotated[str | None, STRING, nullable()] = ""


class QuotaOperation(Message):
    key: Annotated[str, STRING] = ""
    value: Annotated[float, FLOAT64] = 0.0
    remove: Annotated[bool, BOOLEAN] = False


class QuotaAlteration(Message):
    entity: Annotated[list[AlteredQuotaEntity], array(AlteredQuotaEntity)] = []
    ops: Annotated[list[QuotaOperation], array(QuotaOperation)] = []


class AlterClientQuotasRequest(Message):
    entries: Annotated[list[QuotaAlteration], array(QuotaAlteration)] = []
    validate_only: Annotated[bool, BOOLEAN] = False


class QuotaAlterationResult(Message):
    error_code: Annotated[int, INT16] = 0
    error_message: Annotated[str | None, STRING, nullable()] = ""
    entity: Annotated[list[AlteredQuotaEntity], array(AlteredQuotaEntity)] = []


class AlterClientQuotasResponse(Message):
    throttle_time_ms: Annotated[int, INT32] = 0
    entries: Annotated[list[QuotaAlterationResult], array(QuotaAlterationResult)] = []


API = ApiDeclaration(ALTER_CLIENT_QUOTAS, "AlterClientQuotas", Versions(0, 1), 1, AlterClientQuotasRequest, AlterClientQuotasResponse)
