"""Committed offsets: who may commit, what is stored, what is read (docs/kafka/offsets.md)."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from groupmock_codec import error_codes

from ...turn import Turn
from ..type import Committer, GroupType, Home
from .committed import At, Offset

NO_OFFSET = Offset(-1, -1, "", -1)
"""What a partition without a commit answers."""


class Commit(NamedTuple):
    """One partition of a commit. Times are ms; `retention_ms` None: the broker's."""

    topic: str
    partition: int
    offset: int
    leader_epoch: int
    metadata: str
    timestamp_ms: int | None = None
    retention_ms: int | None = None


def admit(turn: Turn, group: GroupType | None, by: Committer, version: int, at: Collection[At]) -> int:
    """The group's checks; a group that does not exist takes commits of no member (docs/kafka/offsets.md#offsetcommit)."""
    if group is not None:
        return group.admit_commit(turn, by, version, at)
    if by.generation < 0:
        return error_codes.NONE
    old = turn.quirks.commit_to_unknown_group_is_illegal_generation
    return error_codes.GROUP_ID_NOT_FOUND if version >= 9 and not old else error_codes.ILLEGAL_GENERATION


def admit_transactional(turn: Turn, group: GroupType | None, by: Committer, at: Collection[At]) -> int:
    """The same for a transaction: who only knows the group's name may commit whatever its state (KIP-447; TX-75)."""
    if group is not None:
        return group.admit_transactional_commit(turn, by, at)
    if by.generation < 0:
        return error_codes.NONE
    old = turn.quirks.transactional_commit_to_unknown_group_is_unknown_member
    return error_codes.UNKNOWN_MEMBER_ID if old else error_codes.ILLEGAL_GENERATION


def utf16_length(text: str) -> int:
    """The length as Java counts it."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def refused_metadata(turn: Turn, metadata: str) -> int:
    """OFFSET_METADATA_TOO_LARGE where it is longer than allowed."""
    return error_codes.NONE if utf16_length(metadata) <= turn.settings.offset_metadata_max_bytes else error_codes.OFFSET_METADATA_TOO_LARGE


def asked_for(turn: Turn, commits: list[Commit]) -> list[At]:
    """Return the partitions for which the group asks whether the member had them. A commit that is refused for its metadata is not asked
    (KIP-1251; OffsetMetadataManager.commitOffset)."""
    return [(one.topic, one.partition) for one in commits if not refused_metadata(turn, one.metadata)]


def write(turn: Turn, group: GroupType, commits: list[Commit]) -> list[int]:
    """Store what may be stored; a code per commit. The last one of a partition wins."""
    errors = [refused_metadata(turn, one.metadata) for one in commits]
    if too_large(turn, group.home, group.partition, group.group_id, commits):
        return [error or size_error(turn) for error in errors]
    for commit, error in zip(commits, errors, strict=True):
        if not error:
            group.offsets.commit((commit.topic, commit.partition), stored_offset(turn, commit))
    return errors


def stored_offset(turn: Turn, commit: Commit) -> Offset:
    """As the group keeps it."""
    # Only v1 names a commit time, only v2 to v4 a retention (docs/kafka/offsets.md#per-partition)
    committed = turn.wall_ms if commit.timestamp_ms is None else commit.timestamp_ms
    expires = None if commit.retention_ms is None else committed + commit.retention_ms
    return Offset(commit.offset, commit.leader_epoch, commit.metadata, committed, expires)


def size_error(turn: Turn) -> int:
    """The code of a commit that is larger than a batch may be."""
    return error_codes.INVALID_COMMIT_OFFSET_SIZE if turn.quirks.large_commit_invalid_size else error_codes.UNKNOWN_SERVER_ERROR


def too_large(turn: Turn, home: Home, partition: int, group_id: str, commits: list[Commit]) -> bool:
    """The records of one commit are one batch, which the log takes or refuses as a whole."""
    if not turn.quirks.group_record_limit:
        return False
    fixed = 40 + len(group_id.encode("utf-8", "surrogatepass"))
    sizes = (fixed + len(one.topic) + len(one.metadata.encode("utf-8", "surrogatepass")) for one in commits)
    return 61 + sum(sizes) > home.largest_batch(partition)
