"""What a transactional producer is told."""

from __future__ import annotations

from typing import Final, NamedTuple

from groupmock_codec.errors import ErrorCode

from .states import End
from .transactional_id import NONE, Holder

OK: Final = ErrorCode.NONE
NOT_VALID: Final = ErrorCode.INVALID_REQUEST
NO_SUCH: Final = ErrorCode.INVALID_PRODUCER_ID_MAPPING
NOT_LOGGED: Final = ErrorCode.UNSUPPORTED_VERSION
BUSY: Final = ErrorCode.CONCURRENT_TRANSACTIONS
FENCED: Final = ErrorCode.PRODUCER_FENCED
NOT_ADDED: Final = ErrorCode.TRANSACTION_ABORTABLE
TOO_MANY_IDS: Final = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
"""Final for every client: after any other error that it does not know librdkafka asks again for ever."""
TOO_MANY_PARTITIONS: Final = ErrorCode.POLICY_VIOLATION
"""Ends the transaction and not the producer: librdkafka (rdkafka_txnmgr.c, rd_kafka_txn_handle_AddPartitionsToTxn) takes what it does not
know as permanent, Java (TransactionManager.AddPartitionsToTxnHandler) as abortable."""
ENDS: Final = {End.DONE: OK, End.NEVER: ErrorCode.INVALID_TXN_STATE, End.WAIT: BUSY}
NOBODY: Final = Holder(NONE, NONE)


def fenced_code(code: ErrorCode, since: int, version: int) -> ErrorCode:
    """47 for who does not know 90 yet (KIP-588); `since`: the version that does."""
    return ErrorCode.INVALID_PRODUCER_EPOCH if code is FENCED and version < since else code


class Given(NamedTuple):
    """What a producer is told: an error, or who it is from now on."""

    code: ErrorCode
    holder: Holder = NOBODY
