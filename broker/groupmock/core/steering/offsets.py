"""Commands for committed offsets commit them for a group, or reset them to another position.

Permission. As in Kafka, only its members may commit while a group has any: OffsetCommit refuses other clients with UNKNOWN_MEMBER_ID, and
kafka-consumer-groups.sh does not even try unless the group is Empty or Dead ("Assignments can only be reset if the group 'g' is inactive,
but the current state is Stable.": seen on 4.3.0). A group that does not exist is Dead, and its first commit creates it.

Target of a reset. It is always an offset of the log: an offset before the log's start or after its end becomes the start or the end, and a
time after the last record becomes the end (ConsumerGroupCommand.checkOffsetsRange, logTimestampOffsets; seen on 4.3.0). A commit, unlike a
reset, is accepted as it is, whatever offsets the log has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final, Literal

import msgspec
from msgspec import Meta

from groupmock_codec.error_codes import error_name

from ..groups import causes
from ..groups.offsets import commits
from ..groups.offsets.commits import Commit
from ..groups.type import Committer, GroupType
from ..work import at_once
from .find import check_partition, first_not_older, listed, partitions_of
from .register import Arguments, BadArguments, Group, NoSuch, NotNow, TopicName, steers

if TYPE_CHECKING:
    from groupmock_codec.room import Room

    from ..cluster import Cluster
    from ..turn import Turn

NotNegative = Annotated[int, Meta(ge=0)]
ADMIN: Final = Committer(-1, "", None)
"""The committer of commits that no member sends."""
COMMIT_VERSION: Final = 9
WAYS: Final = ("to", "offset", "timestamp", "shift")
RESET_REFUSED: Final = "Assignments can only be reset if the group '{group}' is inactive, but the current state is {state}"
COMMIT_REFUSED: Final = "group '{group}' is {state}: nobody but its members may commit for it (UNKNOWN_MEMBER_ID)"


class PartitionOffset(msgspec.Struct, forbid_unknown_fields=True):
    """An offset of one partition, which a command line writes as TOPIC:PARTITION=OFFSET."""

    topic: TopicName
    partition: Annotated[int, Meta(ge=0)]
    offset: Annotated[int, Meta(description="of the next record to be read", ge=0, le=2**63 - 1)]
    metadata: Annotated[str, Meta(description="any text")] = ""

    @classmethod
    def parse(cls, text: str) -> PartitionOffset:
        """Parse a text of the form `TOPIC:PARTITION=OFFSET`. Raises ValueError."""
        place, mark, offset = text.partition("=")
        topic, colon, partition = place.partition(":")
        if not (mark and colon and topic and partition.isdecimal() and offset.isdecimal()):
            raise ValueError(f"{text!r} is not TOPIC:PARTITION=OFFSET: orders:0=17")
        return cls(topic, int(partition), int(offset))


class Reset(msgspec.Struct, frozen=True):
    """A reset of one partition's committed offset from `before` (None: none was committed) to `after`."""

    topic: str
    partition: int
    before: int | None
    after: int


class CommitOffsets(Arguments):
    """Commit offsets for a group without members, as an admin client does. The group need not exist."""

    group: Group
    offsets: Annotated[list[PartitionOffset], Meta(description="topic, partition, offset, each once", min_length=1)]


@steers("commit_offsets", CommitOffsets)
def commit_offsets(cluster: Cluster, arguments: CommitOffsets, turn: Turn) -> None:
    for each in arguments.offsets:
        check_partition(cluster, each.topic, each.partition)
    wanted = [Commit(each.topic, each.partition, each.offset, -1, each.metadata) for each in arguments.offsets]
    if len({(each.topic, each.partition) for each in wanted}) < len(wanted):
        raise BadArguments("commit_offsets: a partition is named twice")
    _commit(cluster, turn, arguments.group, wanted)


class ResetOffsets(Arguments):
    """Move the committed offsets of a group without members backward or forward, as kafka-consumer-groups.sh --reset-offsets does.

    Exactly one of `to`, `offset`, `timestamp` and `shift` gives the target."""

    group: Group
    topic: Annotated[TopicName | None, Meta(description="of this topic; null: of all that the group has committed")] = None
    partitions: Annotated[list[int] | None, Meta(description="of these partitions of the topic; null: of all")] = None
    to: Annotated[
        Literal["earliest", "latest", "current"] | None,
        Meta(description="earliest, latest, or current: what was committed, moved to what the log has"),
    ] = None
    offset: Annotated[NotNegative | None, Meta(description="this offset")] = None
    timestamp: Annotated[NotNegative | None, Meta(description="the first record that is not older, ms since 1970")] = None
    shift: Annotated[int | None, Meta(description="so many records on from what was committed; below 0: back")] = None


@steers("reset_offsets", ResetOffsets)
def reset_offsets(cluster: Cluster, arguments: ResetOffsets, turn: Turn) -> None:
    wanted = [Commit(each.topic, each.partition, each.after, -1, "") for each in resets(cluster, arguments)]
    _commit(cluster, turn, arguments.group, wanted)


def resets(cluster: Cluster, arguments: ResetOffsets) -> list[Reset]:
    """Return the changes that `reset_offsets` would make, without making them. Raises CannotSteer."""
    if sum(getattr(arguments, way) is not None for way in WAYS) != 1:
        raise BadArguments(f"reset_offsets: say where by exactly one of {', '.join(WAYS)}")
    group = _inactive(cluster, arguments.group, RESET_REFUSED)
    committed = {} if group is None else {at: offset.offset for at, offset in group.offsets.items()}
    room = cluster.environment.settings.room()
    found = [_reset(cluster, arguments, at, committed.get(at), room) for at in _places(cluster, arguments, committed)]
    if not found:
        raise NoSuch(f"group {arguments.group!r} has committed nothing: name a topic")
    return found


def _places(cluster: Cluster, arguments: ResetOffsets, committed: dict[tuple[str, int], int]) -> list[tuple[str, int]]:
    if arguments.topic is None:
        if arguments.partitions is not None:
            raise BadArguments("reset_offsets: partitions of which topic?")
        return sorted(committed)
    count = partitions_of(cluster, arguments.topic)
    wanted = range(count) if arguments.partitions is None else dict.fromkeys(arguments.partitions)
    for partition in wanted:
        if not 0 <= partition < count:
            raise NoSuch(f"no partition {partition} of topic {arguments.topic!r}: there are 0 to {count - 1}")
    return [(arguments.topic, partition) for partition in wanted]


def _reset(cluster: Cluster, arguments: ResetOffsets, at: tuple[str, int], before: int | None, room: Room) -> Reset:
    topic, index = at
    partition = cluster.topics.require_partition(topic, index)
    if before is None and (arguments.shift is not None or arguments.to == "current"):
        if arguments.shift is not None:
            raise NotNow(f"{topic}/{index}: there is no committed offset to shift: reset it to earliest, latest or an offset")
        # If no offset is committed, Kafka's tool kafka-consumer-groups also uses the end of the log.
        return Reset(topic, index, None, partition.end)
    wanted = {
        "earliest": partition.start,
        "latest": partition.end,
        "current": before,
        None: arguments.offset,
    }[arguments.to]
    if arguments.timestamp is not None:
        wanted = first_not_older(topic, partition, arguments.timestamp, room)
    elif arguments.shift is not None:
        wanted = (before or 0) + arguments.shift
    assert wanted is not None
    return Reset(topic, index, before, min(max(wanted, partition.start), partition.end))


def _inactive(cluster: Cluster, group_id: str, refusal: str) -> GroupType | None:
    """Return the group, or None if it does not exist, after checking that it has no members. Raises NotNow if it has members."""
    hosting = cluster.groups.hosting
    node = hosting.node_of(group_id)
    if node is None or cluster.groups.gate(group_id, node):
        raise NotNow(f"nobody coordinates group {group_id!r} now: move its coordinator to a node, or wait until that has loaded")
    group = cluster.groups.find(group_id)
    if group is not None and group.members:
        who = listed([member.client_id for member in group.members.values()])
        raise NotNow(f"{refusal.format(group=group_id, state=group.state)}: stop its members ({who}), or expire them")
    return group


def _commit(cluster: Cluster, turn: Turn, group_id: str, wanted: list[Commit]) -> None:
    """Commit the offsets for the group, which is created if necessary. Everything is checked before a group is created for it."""
    group, hosting = _inactive(cluster, group_id, COMMIT_REFUSED), cluster.groups.hosting
    long = next((one for one in wanted if commits.refused_metadata(turn, one.metadata)), None)
    if long is not None:
        limit = turn.settings.offset_metadata_max_bytes
        raise BadArguments(f"{long.topic}/{long.partition}: metadata of more than offset.metadata.max.bytes ({limit})")
    prepared = at_once(commits.prepare(turn, group_id, wanted))
    if prepared.size > hosting.largest_batch(hosting.partition_of(group_id)):
        raise BadArguments(f"offsets of {len(wanted)} partitions are more than one batch of {hosting.topic} holds: commit fewer at once")
    if error := commits.admit(turn, group, ADMIN, COMMIT_VERSION, prepared.places):
        raise NotNow(f"group {group_id!r} takes no commit of an admin: {error_name(error)}")
    commits.write(turn, group or cluster.groups.create_simple(turn, group_id, causes.committed_by_admin()), prepared)
