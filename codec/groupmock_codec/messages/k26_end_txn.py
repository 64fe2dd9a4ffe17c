"""EndTxn (key 26) has versions 0-5, flexible from 3.

v0 new (KIP-98). v1 answered before the throttled channel is muted (KIP-219). v2 error 90 in the place of 47 (KIP-588). v3
flexible. v4 error 120 may come (KIP-890). v5 every transaction bumps the epoch; id and epoch in the answer (KIP-890).
"""

from __future__ import annotations

from typing import Annotated

from ..api_keys import END_TXN
from ..declare import BOOLEAN, IGNORABLE, INT16, INT32, INT64, STRING, ApiDeclaration, Message, Versions, since


class EndTxnRequest(Message):
    transactional_id: Annotated[str, STRING] = ""
    producer_id: Annotated[int, INT64] = 0
    producer_epoch: Annotated[int, INT16] = 0
    committed: Annotated[bool, BOOLEAN] = False


class EndTxnResponse(Message):
    throttle_time_ms: Annotated[int, INT32] = 0
    error_code: Annotated[int, INT16] = 0
    producer_id: Annotated[int, INT64, since(5), IGNORABLE] = -1
    producer_epoch: Annotated[int, INT16, since(5), IGNORABLE] = -1


API = ApiDeclaration(END_TXN, "EndTxn", Versions(0, 5), 3, EndTxnRequest, EndTxnResponse)
