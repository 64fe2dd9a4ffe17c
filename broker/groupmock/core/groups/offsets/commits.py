"""Checks and stores offset commits (docs/kafka/offsets.md). OffsetFetch reads them in `core/apis/k09_offset_fetch.py`."""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable
from typing import NamedTuple

from groupmock_codec import error_codes

from ...turn import Turn
from ...work import A_FEW
from ..type import Committer, GroupType
from .committed import At, Offset

TRANSACTIONAL_MEMBER_EPOCH_SINCE = 6
"""The first version of TxnOffsetCommit that knows the errors of member epochs and of unknown groups (KIP-1319)."""
NO_OFFSET = Offset(-1, -1, "", -1)
"""The answer of an OffsetFetch for a partition without a committed offset."""


class Commit(NamedTuple):
    """The commit of an offset for one partition. Times are ms; `retention_ms` is None for the broker's."""

    topic: str
    partition: int
    offset: int
    leader_epoch: int
    metadata: str
    timestamp_ms: int | None = None
    retention_ms: int | None = None


def admit(turn: Turn, group: GroupType | None, by: Committer, version: int, at: Collection[At]) -> int:
    """Return the error with which the group refuses an OffsetCommit, or 0. A group that does not exist accepts commits without a member
    (docs/kafka/offsets.md#offsetcommit)."""
    if group is not None:
        return group.admit_commit(turn, by, version, at)
    if by.generation < 0:
        return error_codes.NONE
    old = turn.quirks.commit_to_unknown_group_is_illegal_generation
    return error_codes.GROUP_ID_NOT_FOUND if version >= 9 and not old else error_codes.ILLEGAL_GENERATION


def admit_transactional(turn: Turn, group: GroupType | None, by: Committer, version: int, at: Collection[At]) -> int:
    """Return the error with which the group refuses a TxnOffsetCommit, or 0. A committer that only gives the group's name may commit in
    any state (KIP-447; TX-75)."""
    if group is not None:
        return group.admit_transactional_commit(turn, by, version, at)
    if by.generation < 0:
        return error_codes.NONE
    if version >= TRANSACTIONAL_MEMBER_EPOCH_SINCE:
        return error_codes.GROUP_ID_NOT_FOUND
    old = turn.quirks.transactional_commit_to_unknown_group_is_unknown_member
    return error_codes.UNKNOWN_MEMBER_ID if old else error_codes.ILLEGAL_GENERATION


def utf16_length(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def refused_metadata(turn: Turn, metadata: str) -> int:
    """Return OFFSET_METADATA_TOO_LARGE if the metadata is longer than allowed, else 0."""
    return error_codes.NONE if utf16_length(metadata) <= turn.settings.offset_metadata_max_bytes else error_codes.OFFSET_METADATA_TOO_LARGE


class Prepared(NamedTuple):
    """The commits of one request, checked as far as possible without their group."""

    errors: list[int]
    offsets: list[tuple[At, Offset]]
    size: int

    @property
    def places(self) -> list[At]:
        """Return the partitions for which the group still has to check that the member has them. A commit that was refused for its
        metadata is not checked (KIP-1251; OffsetMetadataManager.commitOffset)."""
        return [at for at, _ in self.offsets]


def prepare(turn: Turn, group_id: str, commits: Iterable[Commit]) -> Generator[None, None, Prepared]:
    """Check the commits of a request, in steps, and prepare the offsets that `write` stores."""
    now_ms, limited, size = turn.wall_ms, turn.quirks.group_record_limit, 0
    fixed = 40 + len(group_id.encode("utf-8", "surrogatepass"))
    errors: list[int] = []
    offsets: list[tuple[At, Offset]] = []
    for number, one in enumerate(commits):
        if number % A_FEW == A_FEW - 1:
            yield
        error = refused_metadata(turn, one.metadata)
        errors.append(error)
        if not error:
            offsets.append(((one.topic, one.partition), _stored(now_ms, one)))
        if limited:
            size += fixed + len(one.topic) + len(one.metadata.encode("utf-8", "surrogatepass"))
    return Prepared(errors, offsets, 61 + size if limited else 0)


def write(turn: Turn, group: GroupType, prepared: Prepared) -> list[int]:
    """Store the accepted offsets and return an error code per commit. The last commit of a partition wins."""
    if too_large(group, prepared):
        return [error or size_error(turn) for error in prepared.errors]
    for at, offset in prepared.offsets:
        group.offsets.commit(at, offset)
    return prepared.errors


def _stored(now_ms: int, commit: Commit) -> Offset:
    """Return the offset in the form in which a group stores it. All commits of one request share `now_ms`, because a number of its own
    takes 32 bytes."""
    # Only OffsetCommit v1 has a commit time, and only v2 to v4 have a retention (docs/kafka/offsets.md#per-partition).
    committed = now_ms if commit.timestamp_ms is None else commit.timestamp_ms
    expires = None if commit.retention_ms is None else committed + commit.retention_ms
    return Offset(commit.offset, commit.leader_epoch, commit.metadata, committed, expires)


def size_error(turn: Turn) -> int:
    """Return the error code of a commit that is larger than a record batch may be."""
    return error_codes.INVALID_COMMIT_OFFSET_SIZE if turn.quirks.large_commit_invalid_size else error_codes.UNKNOWN_SERVER_ERROR


def too_large(group: GroupType, prepared: Prepared) -> bool:
    """True if all these commits fail, because the log refuses their batch as too large."""
    return prepared.size > group.home.largest_batch(group.partition)
