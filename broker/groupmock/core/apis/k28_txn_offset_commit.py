"""TxnOffsetCommit (28) commits offsets of a group within a transaction (KIP-98). v3 names the committing member (KIP-447), and v5 adds the
group's partition to the transaction by itself (KIP-890). docs/kafka/transactions.md#tx-74 has the order of the checks."""

from __future__ import annotations

from collections.abc import Generator
from functools import partial
from typing import TYPE_CHECKING, Final

from groupmock_codec import error_codes
from groupmock_codec.messages.k28_txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)

from ..authorizer.acl import GROUP, READ, TOPIC, TRANSACTIONAL_ID, WRITE
from ..authorizer.right import Right
from ..budget import Ration, within
from ..groups import causes
from ..groups.offsets import commits
from ..groups.offsets.commit_topics import Line, Rows, grouped, heads_of, lines_of, names_of
from ..groups.offsets.commits import Commit, Prepared
from ..groups.offsets.offset_records import transactional_batch
from ..groups.type import Committer
from ..transactions.transactional_id import NONE, Holder

if TYPE_CHECKING:
    from groupmock_codec.records import Batch

    from ..cluster import Cluster
    from ..events import Request
    from ..turn import Turn
    from ..work import Steps

TOPIC_COST: Final = 5
PARTITION_COST: Final = 9
ABORTABLE_SINCE: Final = 4  # Since this version the answer may be TRANSACTION_ABORTABLE (120) instead of INVALID_TXN_STATE (48) (KIP-890).
ADDS_SINCE: Final = 5
IDS_SINCE: Final = 6  # Since this version of TxnOffsetCommit, topics have ids and no names (KIP-1319).

RIGHTS: Final = (Right(WRITE, TRANSACTIONAL_ID, "transactional_id"), Right(READ, GROUP, "group_id"))


def handle(cluster: Cluster, request: Request, turn: Turn) -> None:
    """Store the offsets as pending until their transaction ends, and answer a code per partition. Many partitions are handled in
    steps."""
    asked = request.message
    assert isinstance(asked, TxnOffsetCommitRequest)
    ration = Ration(turn.settings)
    ration.take_names([topic.name for topic in asked.topics], TOPIC_COST)
    partitions = within([topic.partitions for topic in asked.topics])
    ration.take(partitions, PARTITION_COST)
    turn.begin_request(partial(_answered, cluster, request, asked), partitions, (asked.group_id,))


def _answered(cluster: Cluster, request: Request, asked: TxnOffsetCommitRequest, turn: Turn) -> Steps:
    topics, by_id = cluster.topics, request.version >= IDS_SINCE
    denied = cluster.denied(turn, request, READ, TOPIC, names_of(topics, asked.topics, by_id))
    while True:
        lines, deleted = lines_of(topics, asked.topics, by_id, denied), topics.deleted
        heads = heads_of(topics, asked.topics, by_id, denied, lines)
        known = [line for line in lines if not line.error]
        yield
        prepared = yield from commits.prepare(turn, asked.group_id, map(_wanted, known))
        batch = yield from _batch(turn, asked, prepared)
        yield from turn.others_first(asked.group_id)
        if topics.deleted == deleted or lines_of(topics, asked.topics, by_id, denied) == lines:
            break  # If a topic of the request was deleted between two steps, the loop starts again, because nothing was stored yet.
    errors = _commit(cluster, request, asked, turn, prepared, batch) if known else []
    yield
    if errors is None:
        done, refused = [], [(line, error_codes.UNKNOWN_SERVER_ERROR) for line in lines]
    else:
        done, refused = list(zip(known, errors, strict=True)), [(line, line.error) for line in lines if line.error]
    turn.reply(request.ticket, TxnOffsetCommitResponse(topics=_rows(grouped([*refused, *done], bool(heads or refused), heads))))


def _batch(turn: Turn, asked: TxnOffsetCommitRequest, prepared: Prepared) -> Generator[None, None, Batch | None]:
    """Build the record batch for the log of the group's partition, or return None if every offset was refused."""
    if not prepared.offsets:
        return None
    by, old_values = Holder(asked.producer_id, asked.producer_epoch), turn.quirks.old_offset_values
    return (yield from transactional_batch(asked.group_id, prepared.offsets, *by, turn.wall_ms, old_values))


def _commit(
    cluster: Cluster, request: Request, asked: TxnOffsetCommitRequest, turn: Turn, prepared: Prepared, batch: Batch | None
) -> list[int] | None:
    """Store the offsets as pending and return an error code per commit, or None if the coordinator throws, which fails every partition."""
    groups, by = cluster.groups, Committer(asked.generation_id, asked.member_id, asked.group_instance_id)
    error = error_codes.INVALID_GROUP_ID if not asked.group_id else groups.gate(asked.group_id, request.node)
    if error:
        return [error] * len(prepared.errors)
    group = groups.find(asked.group_id)
    error = _verified(cluster, request, asked, turn) or commits.admit_transactional(
        turn, group, by, request.version, prepared.places
    )
    # Pending offsets keep a group alive even without members (TX-77).
    if group is None and (not error or turn.quirks.refused_transactional_commit_makes_group):
        group = groups.create_simple(turn, asked.group_id, causes.first_commit(request.client_id))
    if error or group is None:
        return [error] * len(prepared.errors)
    # Kafka's coordinator throws on producer epoch -1, because without verification nothing has checked the epoch before
    # (MemoryRecordsBuilder.validateProducerState).
    if asked.producer_epoch == NONE:
        return None
    return groups.write_pending(turn, group, prepared, batch)


def _verified(cluster: Cluster, request: Request, asked: TxnOffsetCommitRequest, turn: Turn) -> int:
    """Return the error of verifying that the group's partition of __consumer_offsets is in the open transaction, or 0. Only the first
    write of each transaction is verified (KIP-890)."""
    hosting, by = cluster.groups.hosting, Holder(asked.producer_id, asked.producer_epoch)
    hosting.make_topic(turn)
    at = (hosting.topic, hosting.partition_of(asked.group_id))
    partition = cluster.topics.find(*at)
    any_epoch = turn.quirks.any_epoch_is_amid_its_transaction
    adds = request.version >= ADDS_SINCE
    asks = turn.settings.transaction_partition_verification_enable or adds
    if partition is None or not asks or partition.producers.in_transaction(*by, any_epoch):
        return error_codes.NONE
    # The epoch is checked against the partition's log before the coordinator is asked, as in Produce (4.3.0;
    # UnifiedLog.maybeStartTransactionVerification).
    if partition.producers.is_fenced(*by) and not turn.quirks.coordinator_asked_first:
        return error_codes.INVALID_PRODUCER_EPOCH
    code = cluster.transactions.check(turn, asked.transactional_id, by, at, adds, request.client_id)
    if code == error_codes.TRANSACTION_ABORTABLE and request.version < ABORTABLE_SINCE:
        return error_codes.INVALID_TXN_STATE
    # The group coordinator translates errors of its log (CoordinatorOperationExceptionHelper).
    return error_codes.COORDINATOR_NOT_AVAILABLE if code == error_codes.NOT_ENOUGH_REPLICAS else code


def _wanted(line: Line) -> Commit:
    each = line.partition
    return Commit(line.name, each.partition_index, each.committed_offset, each.committed_leader_epoch, each.committed_metadata or "")


def _rows(groups: list[Rows]) -> list[TxnOffsetCommitResponseTopic]:
    return [
        TxnOffsetCommitResponseTopic(
            name=name,
            topic_id=topic_id,
            partitions=[TxnOffsetCommitResponsePartition(partition_index=index, error_code=error) for index, error in partitions],
        )
        for name, topic_id, partitions in groups
    ]


def refused(request: Request, code: int, text: str) -> TxnOffsetCommitResponse:
    asked = request.message
    assert isinstance(asked, TxnOffsetCommitRequest)
    rows = [Rows(topic.name, topic.topic_id, [(each.partition_index, code) for each in topic.partitions]) for topic in asked.topics]
    return TxnOffsetCommitResponse(topics=_rows(rows))
