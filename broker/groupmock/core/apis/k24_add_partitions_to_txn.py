"""AddPartitionsToTxn (24) adds partitions to a transaction before records are written to them (KIP-98). v2 has an error of its own for a
fenced producer (KIP-588). v4 and v5 are sent by brokers, with several transactions at once, also to verify only (KIP-890; TX-44)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from groupmock_codec import error_codes
from groupmock_codec.messages.k24_add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopicResult,
    AddPartitionsToTxnTransaction,
)

from ..authorizer.acl import CLUSTER_ACTION, TOPIC, TRANSACTIONAL_ID, WRITE
from ..authorizer.right import Right
from ..budget import Ration, within
from ..java.hashes import java_hash, partition_hash
from ..java.orders import java_order, scala_table_order
from ..log.names import INTERNAL
from ..transactions import causes
from ..transactions.codes import NOT_LOGGED, fenced_code
from ..transactions.transactional_id import At, Holder

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..events import Request
    from ..turn import Turn

FENCED_SINCE: Final = 2
BATCHED_SINCE: Final = 4
TRANSACTION_COST: Final = 6
TOPIC_COST: Final = 4
PARTITION_COST: Final = 5

RIGHTS: Final = (
    Right(WRITE, TRANSACTIONAL_ID, "v3_and_below_transactional_id", when=lambda request: request.version < BATCHED_SINCE),
    Right(CLUSTER_ACTION, when=lambda request: request.version >= BATCHED_SINCE),
)


def handle(cluster: Cluster, request: Request, turn: Turn) -> None:
    """Add partitions to one transaction up to v3, and to several transactions since v4. Each partition has a code, nearly always that of
    the whole. A request without transactions is never answered, as Kafka answers when the last transaction is handled."""
    asked = request.message
    assert isinstance(asked, AddPartitionsToTxnRequest)
    wanted = asked.transactions if request.version >= BATCHED_SINCE else [_only(asked)]
    ration = Ration(turn.settings)
    ration.take_names([each.transactional_id for each in wanted], TRANSACTION_COST)
    for each in wanted:
        ration.take_names([topic.name for topic in each.topics], TOPIC_COST)
        ration.take(within([topic.partitions for topic in each.topics]), PARTITION_COST)
    if not wanted:
        turn.abandon(request.ticket, "an AddPartitionsToTxn without transactions is never answered")
        return
    first = {each.transactional_id: each for each in reversed(wanted)}
    last = {each.transactional_id: each for each in wanted}
    results = [
        _added(cluster, request, turn, each, first[each.transactional_id], last[each.transactional_id]) for each in wanted
    ]
    codes = {row.partition_error_code for each in results for topic in each.topic_results for row in topic.results_by_partition}
    if NOT_LOGGED in codes:  # If one transaction could not be logged, the whole answer has the error.
        turn.reply(request.ticket, AddPartitionsToTxnResponse(error_code=NOT_LOGGED))
    elif request.version >= BATCHED_SINCE:
        turn.reply(request.ticket, AddPartitionsToTxnResponse(results_by_transaction=results))
    else:
        turn.reply(request.ticket, AddPartitionsToTxnResponse(results_by_topic_v3_and_below=results[0].topic_results))


def _only(asked: AddPartitionsToTxnRequest) -> AddPartitionsToTxnTransaction:
    return AddPartitionsToTxnTransaction(
        transactional_id=asked.v3_and_below_transactional_id,
        producer_id=asked.v3_and_below_producer_id,
        producer_epoch=asked.v3_and_below_producer_epoch,
        topics=asked.v3_and_below_topics,
    )


def _added(
    cluster: Cluster,
    request: Request,
    turn: Turn,
    asked: AddPartitionsToTxnTransaction,
    first: AddPartitionsToTxnTransaction,
    last: AddPartitionsToTxnTransaction,
) -> AddPartitionsToTxnResult:
    """Add or verify the partitions of one transaction. `first` and `last` are the first and the last entry with its transactional id: if
    the id is listed twice, Kafka adds or verifies the partitions of the last entry, and answers an addition with those of the first
    (AddPartitionsToTxnRequest.partitionsByTransaction, errorResponseForTransaction)."""
    codes = dict(_codes(cluster, request, turn, asked, _places(last)))
    mapped = asked.verify_only or error_codes.UNKNOWN_TOPIC_OR_PARTITION in codes.values()
    mapped = mapped or error_codes.TOPIC_AUTHORIZATION_FAILED in codes.values()
    if first is not last and not mapped and codes:
        codes = dict.fromkeys(_places(first), next(iter(codes.values())))
    return AddPartitionsToTxnResult(transactional_id=asked.transactional_id, topic_results=_results(codes, mapped))


def _places(asked: AddPartitionsToTxnTransaction) -> list[At]:
    return list(dict.fromkeys((topic.name, index) for topic in asked.topics for index in topic.partitions))


def _codes(
    cluster: Cluster, request: Request, turn: Turn, asked: AddPartitionsToTxnTransaction, places: Sequence[At]
) -> Iterable[tuple[At, int]]:
    bad = _bad_places(cluster, request, turn, places)
    if bad:  # If one partition is refused, nothing is added, and the others get OPERATION_NOT_ATTEMPTED (55) (TX-41, SEC-99).
        return [(at, bad.get(at, error_codes.OPERATION_NOT_ATTEMPTED)) for at in places]
    transactions, name = cluster.transactions, asked.transactional_id
    by, client_id = Holder(asked.producer_id, asked.producer_epoch), request.client_id
    code = transactions.gate(name, request.node)
    if code == error_codes.NONE and asked.verify_only:
        return [(at, transactions.verify(turn, name, by, at, client_id)) for at in places]
    if code == error_codes.NONE:
        code = transactions.add(
            turn, name, by, places, causes.partitions_added(len(places)), client_id, new=request.version >= BATCHED_SINCE
        )
    return [(at, fenced_code(code, FENCED_SINCE, request.version)) for at in places]


def _bad_places(cluster: Cluster, request: Request, turn: Turn, places: Sequence[At]) -> dict[At, int]:
    """Return the error of each partition that does not exist, or to which a client may not write. No client may write to the internal
    topics."""
    denied: frozenset[str] = frozenset()
    if request.version < BATCHED_SINCE:
        denied = cluster.denied(turn, request, WRITE, TOPIC, (name for name, _ in places if name not in INTERNAL)) | INTERNAL
    bad = {at: error_codes.UNKNOWN_TOPIC_OR_PARTITION for at in places if cluster.topics.find(*at) is None}
    return {**bad, **{at: error_codes.TOPIC_AUTHORIZATION_FAILED for at in places if at[0] in denied}}


def _results(codes: dict[At, int], mapped: bool) -> list[AddPartitionsToTxnTopicResult]:
    """Return the rows of an answer, grouped by topic. `mapped`: a refusal and the answer to a broker have the order of a Scala map and of a
    Java map, because Kafka collects them there (AddPartitionsToTxnResponse.topicCollectionForErrors)."""
    places = scala_table_order(codes, partition_hash) if mapped else list(codes)
    topics: dict[str, list[AddPartitionsToTxnPartitionResult]] = {}
    for name, index in places:
        row = AddPartitionsToTxnPartitionResult(partition_index=index, partition_error_code=codes[name, index])
        topics.setdefault(name, []).append(row)
    names = java_order(topics, java_hash) if mapped else list(topics)
    return [AddPartitionsToTxnTopicResult(name=name, results_by_partition=topics[name]) for name in names]


def refused(request: Request, code: int, text: str) -> AddPartitionsToTxnResponse:
    asked = request.message
    assert isinstance(asked, AddPartitionsToTxnRequest)
    if request.version >= BATCHED_SINCE:
        return AddPartitionsToTxnResponse(error_code=code)
    rows = _results(dict.fromkeys(_places(_only(asked)), code), mapped=False)
    return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=rows)
