"""Commands for records write them as a producer does, with the same checks and refusals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

from msgspec import Meta

from groupmock_codec import error_codes
from groupmock_codec.error_codes import error_name
from groupmock_codec.records import Batch, RecordsError, read_batches

from ..log.partition import Partition
from ..log.producers import Origin
from ..log.topics import Topic
from ..log.validation import Refused, check
from .find import check_partition, topic_of
from .register import Arguments, BadArguments, CannotSteer, NotNow, TopicName, steers

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..turn import Turn

LATER: Final = (error_codes.NOT_ENOUGH_REPLICAS, error_codes.NOT_LEADER_OR_FOLLOWER)
"""The error codes that depend on the cluster's state and not on the record."""


class RecordRefused(BadArguments):
    """A log refuses a record, and nothing was written. The error names the batch and the record in it, both counted from 0."""

    def __init__(self, text: str, batch: int, place: int) -> None:
        super().__init__(text)
        self.batch, self.place = batch, place


class ClusterRefuses(NotNow):
    """The cluster accepts no record for a partition now. Nothing was written."""


class Produce(Arguments):
    """Write record batches as a producer with acks=all would, one per partition, and all of them or none."""

    topic: TopicName
    partitions: Annotated[list[int], Meta(description="where each batch goes, in order")]
    batches: Annotated[bytes, Meta(description="as many record batches (magic 2), one behind the other")]


@steers("produce", Produce)
def produce(cluster: Cluster, arguments: Produce, turn: Turn) -> None:
    """Write the batches to their partitions. Batches that Produce would refuse are refused. Waiting fetches are answered."""
    batches, topic = _read(arguments), topic_of(cluster, arguments.topic)
    for index in set(arguments.partitions):
        check_partition(cluster, arguments.topic, index)
    wanted = [(topic.partitions[index], batch) for index, batch in zip(arguments.partitions, batches, strict=True)]
    _check(cluster, turn, topic, wanted)
    for partition, batch in wanted:
        cluster.topics.write(turn, topic, partition, [batch], Origin.CLIENT)
    cluster.topics.fetches.changed(turn, [(topic.name, index) for index in dict.fromkeys(arguments.partitions)])


def _read(arguments: Produce) -> list[Batch]:
    try:
        batches = read_batches(arguments.batches)
    except RecordsError as broken:
        raise BadArguments(f"produce: {broken}") from None
    if len(batches) != len(arguments.partitions):
        raise BadArguments(f"produce: {len(batches)} batches for {len(arguments.partitions)} partitions")
    return batches


def _check(cluster: Cluster, turn: Turn, topic: Topic, wanted: list[tuple[Partition, Batch]]) -> None:
    """Check all batches as a leader checks those of a producer (core.apis.k00_produce), before any batch is written."""
    if topic.internal:
        raise BadArguments(f"topic {topic.name!r} is Kafka's own: only the cluster writes to it")
    room = turn.settings.room()
    for place, (partition, batch) in enumerate(wanted):
        where = f"{topic.name}-{partition.index}"
        try:
            _check_leader(cluster, topic, partition)
            check(batch, cluster.topics.limits(topic, partition.leader), turn.wall_ms, where, room)
        except RecordsError as refused:
            raise _said(where, place, refused) from None


def _check_leader(cluster: Cluster, topic: Topic, partition: Partition) -> None:
    if all(node.node_id != partition.leader for node in cluster.environment.up):
        raise Refused(error_codes.NOT_LEADER_OR_FOLLOWER, "no node that runs leads it: start one")


def _said(where: str, batch: int, refused: RecordsError) -> CannotSteer:
    faults = refused.faults if isinstance(refused, Refused) else ()
    text = f"{where}: {error_name(refused.error_code)}: {faults[0].message if faults else refused.reason}"
    return ClusterRefuses(text) if refused.error_code in LATER else RecordRefused(text, batch, faults[0].place if faults else 0)
