"""AddOffsetsToTxn (key 25) has versions 0-4, flexible from 3.

v0 new (KIP-98). v1 answered before the throttled channel is muted (KIP-219). v2 error 90 in the place of 47 (KIP-588). v3
flexible. v4 error 120 may come (KIP-890).
"""

from __future__ import annotations

from typing import Annotated

from ..api_keys import ADD_OFFSETS_TO_TXN
from ..declare import INT16, INT32, INT64, STRING, ApiDeclaration, Message, Versions


class AddOffsetsToTxnRequest(Message):
    transactional_id: Annotated[str, STRING] = ""
    producer_id: Annotated[int, INT64] = 0
    producer_epoch: Annotated[int, INT16] = 0
    group_id: Annotated[str, STRING] = ""


class AddOffsetsToTxnResponse(Message):
    throttle_time_ms: Annotated[int, INT32] = 0
    error_code: Annotated[int, INT16] = 0


API = ApiDeclaration(ADD_OFFSETS_TO_TXN, "AddOffsetsToTxn", Versions(0, 4), 3, AddOffsetsToTxnRequest, AddOffsetsToTxnResponse)
