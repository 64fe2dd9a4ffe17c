"""Names the causes for which records in flight change: each cause is a fixed word for programs, and a sentence for people.

Notes `records_released` have them as `cause` and `reason`. The words are a closed set, as
those of groups are (core.groups.causes).
"""

from __future__ import annotations

from typing import Final, Literal, get_args

import msgspec

Cause = Literal[
    "lock_ended",
    "session_closed",
    "connection_closed",
    "topic_deleted",
    "leader_moved",
    "records_deleted",
    "transaction_aborted",
    "group_idle",
    "state_altered",
    "expiry_ordered",
    "release_ordered",
    "archiving_ordered",
]
CAUSES: Final[tuple[Cause, ...]] = get_args(Cause)


class Why(msgspec.Struct, frozen=True, gc=False):
    cause: Cause
    sentence: str


def lock_ended(lock_ms: int) -> Why:
    """Return the cause for records whose lock has ended, which lasts share.record.lock.duration.ms."""
    return Why("lock_ended", f"the lock ended after {lock_ms / 1000:g} s")


SESSION_CLOSED: Final = Why("session_closed", "the member closed its share session")
CONNECTION_CLOSED: Final = Why("connection_closed", "the connection closed on which the member had opened its share session")
ABORTED: Final = Why("transaction_aborted", "their transaction was aborted, and the group reads committed records only")
DELETED: Final = Why("records_deleted", "the log begins after them")
MOVED: Final = Why("leader_moved", "the partition has another leader, which does not know who has acquired which records")
ALTERED: Final = Why("state_altered", "the group's offset was altered: its records are delivered from the new offset on")
IDLE: Final = Why("group_idle", "the group has no share session on this node any more")
TOPIC_DELETED: Final = Why("topic_deleted", "the topic was deleted")
EXPIRY_ORDERED: Final = Why("expiry_ordered", "a command ended the locks of the records")
RELEASE_ORDERED: Final = Why("release_ordered", "a command released the records of the member")
ARCHIVING_ORDERED: Final = Why("archiving_ordered", "a command archived the records")
