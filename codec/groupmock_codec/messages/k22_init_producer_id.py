"""InitProducerId (key 22) has versions 0-6, flexible from 2.

v0 new (KIP-98). v1 answered before the throttled channel is muted (KIP-219). v2 flexible. v3 a producer may go on with the
id and epoch it has (KIP-360). v4 error 90 in the place of 47 (KIP-588). v5 error 120 may come (KIP-890). v6 two-phase commit
(KIP-939).
"""

from __future__ import annotations

from typing import Annotated

from ..api_keys import INIT_PRODUCER_ID
from ..declare import BOOLEAN, IGNORABLE, INT16, INT32, INT64, STRING, ApiDeclaration, Message, Versions, nullable, since


class InitProducerIdRequest(Message):
    transactional_id: Annotated[str | None, STRING, nullable()] = ""
    transaction_timeout_ms: Annotated[int, INT32] = 0
    producer_id: Annotated[int, INT64, since(3)] = -1
    producer_epoch: Annotated[int, INT16, since(3)] = -1
    enable2_pc: Annotated[bool, BOOLEAN, since(6)] = False
    keep_prepared_txn: Annotated[bool, BOOLEAN, since(6)] = False


class InitProducerIdResponse(Message):
    throttle_time_ms: Annotated[int, INT32, IGNORABLE] = 0
    error_code: Annotated[int, INT16] = 0
    producer_id: Annotated[int, INT64] = -1
    producer_epoch: Annotated[int, INT16] = 0
    ongoing_txn_producer_id: Annotated[int, INT64, since(6)] = -1
    ongoing_txn_producer_epoch: Annotated[int, INT16, since(6)] = -1


API = ApiDeclaration(INIT_PRODUCER_ID, "InitProducerId", Versions(0, 6), 2, InitProducerIdRequest, InitProducerIdResponse)
