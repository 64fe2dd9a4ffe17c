"""DescribeTransactions (65) shows what the coordinator knows of transactional ids (KIP-664)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from groupmock_codec import error_codes
from groupmock_codec.messages.k65_describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TopicData,
    TransactionState,
)

from ..authorizer.acl import DESCRIBE, TOPIC, TRANSACTIONAL_ID
from ..budget import Ration
from ..java.hashes import partition_hash
from ..java.orders import java_order, scala_table_order

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..events import Request
    from ..settings import Quirks
    from ..transactions.transactional_id import TransactionalId
    from ..turn import Turn

ID_COST: Final = 8
PARTITION_COST: Final = 3
PARTITION_BYTES: Final = 20


def handle(cluster: Cluster, request: Request, turn: Turn) -> None:
    """Describe the transactional ids in the order of the request, even those that are listed twice."""
    asked = request.message
    assert isinstance(asked, DescribeTransactionsRequest)
    ration = Ration(turn.settings)
    ration.take_names(asked.transactional_ids, ID_COST)
    denied = cluster.denied(turn, request, DESCRIBE, TRANSACTIONAL_ID, asked.transactional_ids)
    code = error_codes.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    states = [
        TransactionState(error_code=code, transactional_id=name)
        if name in denied
        else _described(cluster, request.node, ration, name, turn.quirks)
        for name in asked.transactional_ids
    ]
    for state in states:
        state.topics = [topic for topic in state.topics if cluster.allows(request, DESCRIBE, TOPIC, topic.topic)]
    turn.reply(request.ticket, DescribeTransactionsResponse(transaction_states=states))


def _described(cluster: Cluster, node: int, ration: Ration, name: str, quirks: Quirks) -> TransactionState:
    code = cluster.transactions.gate(name, node)
    if code != error_codes.NONE:
        return TransactionState(error_code=code, transactional_id=name)
    known = cluster.transactions.find(name)
    if known is None:
        return TransactionState(error_code=error_codes.TRANSACTIONAL_ID_NOT_FOUND, transactional_id=name)
    ration.take(len(known.partitions), PARTITION_COST, size=len(known.partitions) * PARTITION_BYTES)
    return TransactionState(
        transactional_id=name,
        transaction_state=str(known.state),
        transaction_timeout_ms=known.timeout_ms,
        transaction_start_time_ms=known.started_ms,
        producer_id=known.producer_id,
        producer_epoch=known.epoch,
        topics=_topics(known, quirks),
    )


def _topics(known: TransactionalId, quirks: Quirks) -> list[TopicData]:
    topics: dict[str, TopicData] = {}
    order = scala_table_order if quirks.described_partitions_in_a_scala_set else java_order
    for name, index in order(known.partitions, partition_hash):
        topics.setdefault(name, TopicData(topic=name)).partitions.append(index)
    return list(topics.values())
