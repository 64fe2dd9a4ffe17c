"""The error codes of the transaction coordinator's answers to a producer."""

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
"""An error that is final for every client: after any other error that it does not know librdkafka asks again for ever."""
TOO_MANY_PARTITIONS: Final = error_codes.POLICY_VIOLATION
"""An error that ends the transaction and not the producer: librdkafka (rdkafka_txnmgr.c, rd_kafka_txn_handle_AddPartitionsToTxn) takes
what it does not know as permanent, Java (TransactionManager.AddPartitionsToTxnHandler) as abortable."""
ENDS: Final = {End.DONE: OK, End.NEVER: error_codes.INVALID_TXN_STATE, End.WAIT: BUSY}
NOBODY: Final = Holder(NONE, NONE)


def fenced_code(code: int, since: int, version: int) -> int:
    """Return 47 in place of 90 for a version that does not know 90 yet (KIP-588). `since` is the first version that does."""
    return error_codes.INVALID_PRODUCER_EPOCH if code == FENCED and version < since else code


class Given(NamedTuple):
    """The answer to a producer: an error, or its producer id and epoch from now on."""

    code: int
    holder: Holder = NOBODY
