from __future__ import annotations

from typing import Any

from groupmock.rig.wire import Client
from groupmock_codec.messages.k22_init_producer_id import InitProducerIdRequest
from groupmock_codec.messages.k24_add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic


def comes(name: str, timeout_ms: int = 60_000) -> InitProducerIdRequest:
    """Return an InitProducerId request for the versions below 6."""
    return InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=timeout_ms)


def adds(name: str, given: Any, *partitions: int, topic: str = "orders") -> AddPartitionsToTxnRequest:
    """Return an AddPartitionsToTxn request of version 0-3; `given` is the answer to InitProducerId."""
    return AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=name,
        v3_and_below_producer_id=given.producer_id,
        v3_and_below_producer_epoch=given.producer_epoch,
        v3_and_below_topics=[AddPartitionsToTxnTopic(name=topic, partitions=list(partitions))],
    )


def opens(client: Client, name: str, *partitions: int, timeout_ms: int = 60_000) -> Any:
    """Send InitProducerId and AddPartitionsToTxn and return the answer to InitProducerId."""
    given = client.ask(22, 4, comes(name, timeout_ms))
    client.ask(24, 3, adds(name, given, *partitions))
    return given
