"""What a consumer group lets others do with its offsets and itself: commit, fetch, delete, forget (CG-130 to CG-140, CG-160, CG-161)."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from ...turn import Turn
from .. import codes
from ..offsets.committed import At
from ..type import NOBODY, Committer
from .group import Group, Member

MEMBER_EPOCH_SINCE: Final = 9
"""OffsetCommit and OffsetFetch: the version from which on `generation` may be a member epoch (KIP-848)."""


def commit(turn: Turn, group: Group, by: Committer, version: int, at: Collection[At]) -> int:
    """The checks of OffsetCommit. It is no sign of life, and the instance id is not looked at (CG-83, CG-133)."""
    member = group.members.get(by.member_id)
    if member is not None and member.classic is None and version < MEMBER_EPOCH_SINCE:
        return codes.UNSUPPORTED_VERSION
    return _admit(group, member, by, at)


def transactional_commit(group: Group, by: Committer, at: Collection[At]) -> int:
    """The checks of TxnOffsetCommit: those of OffsetCommit in any version, but a commit that names nothing is taken, and 113 is written
    as 22 (CG-140; TX-76)."""
    if by == NOBODY:
        return codes.NONE
    error = _admit(group, group.members.get(by.member_id), by, at)
    return codes.ILLEGAL_GENERATION if error == codes.STALE_MEMBER_EPOCH else error


def _admit(group: Group, member: Member | None, by: Committer, at: Collection[At]) -> int:
    if by.generation < 0 and not group.members:
        return codes.NONE
    if member is None:
        return codes.UNKNOWN_MEMBER_ID
    if by.generation == member.epoch or (by.generation < member.epoch and _had_them(group, member, by.generation, at)):
        return codes.NONE
    return codes.STALE_MEMBER_EPOCH if member.classic is None else codes.ILLEGAL_GENERATION


def _had_them(group: Group, member: Member, epoch: int, at: Collection[At]) -> bool:
    """Does it still have, and had it at that epoch, every partition that it commits for (KIP-1251; CG-135)? Of none that is asked for it
    does, at any epoch."""
    had = member.assigned | member.revoking
    ids = {topic: group.home.topics.topic_id(topic) or b"" for topic, _ in at}
    return all(had.get((ids[topic], index), epoch + 1) <= epoch for topic, index in at)


def fetch(group: Group, member_id: str | None, epoch: int) -> int:
    """The checks of OffsetFetch v9 and later (CG-136, CG-137)."""
    if member_id is None:
        return codes.NONE if epoch < 0 else codes.UNKNOWN_SERVER_ERROR
    member = group.members.get(member_id)
    if member is None:
        return codes.UNKNOWN_MEMBER_ID
    wrong = codes.STALE_MEMBER_EPOCH if member.classic is None else codes.ILLEGAL_GENERATION
    return codes.NONE if epoch == member.epoch else wrong
