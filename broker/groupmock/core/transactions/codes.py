"""Defines the error codes in the transaction coordinator's answers to a producer."""

from __future__ import annotations

from typing import Final, NamedTuple

from groupmock_codec import error_codes

from .states import End
from .transactional_id import NONE, Holder

OK: Final = error_codes.NONE
NOT_VALID: Final = error_codes.INVALID_REQUEST
NO_SUCH: Final = error_codes.INVALID_PRODUCER_ID_MAPPING
NOT_LOGGED: Final = error_codes.UNSUPPORTED_VERSION
BUSY: Final = error_codes.CONCURRENT_TRANSACTIONS
FENCED: Final = error_codes.PRODUCER_FENCED
NOT_ADDED: Final = error_codes.TRANSACTION_ABORTABLE
TOO_MANY_IDS: Final = error_codes.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
"""The error for too many transactional ids must be fatal for every client, because librdkafka retries errors that it does not know for
ever."""
TOO_MANY_PARTITIONS: Final = error_codes.POLICY_VIOLATION
"""The error for too many partitions ends the transaction, not the producer: librdkafka treats an unknown error as permanent
(rdkafka_txnmgr.c, rd_kafka_txn_handle_AddPartitionsToTxn), Java as abortable (TransactionManager.AddPartitionsToTxnHandler)."""
ENDS: Final = {End.DONE: OK, End.NEVER: error_codes.INVALID_TXN_STATE, End.WAIT: BUSY}
NOBODY: Final = Holder(NONE, NONE)


def fenced_code(code: int, since: int, version: int) -> int:
    """Return INVALID_PRODUCER_EPOCH (47) instead of PRODUCER_FENCED (90) for a version that does not know error 90 yet (KIP-588).
    `since` is the first version that does."""
    return error_codes.INVALID_PRODUCER_EPOCH if code == FENCED and version < since else code


class Given(NamedTuple):
    """The coordinator's answer to a producer: an error, or the producer id and epoch to use from now on."""

    code: int
    holder: Holder = NOBODY
