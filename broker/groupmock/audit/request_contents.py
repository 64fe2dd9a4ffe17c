"""Read what a request of an exchange names: members, assignments, partitions, epochs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from ..journal.whose import bytes_of
from ..rounds.embedded import Partitions

if TYPE_CHECKING:
    from .subjects import Exchange

OFFSETS_OF_GROUPS: Final = 8
"""OffsetFetch asks for a list of groups from this version on (KIP-709); rules judge it if the list has one group."""
OFFSETS_BY_ID: Final = 10
"""OffsetFetch names topics by id from this version on."""
FETCH_BY_ID: Final = 13


def assignments_of(sync: Exchange) -> list[tuple[str, bytes]]:
    """Return the member id and the assignment of each entry of a SyncGroup."""
    return [(str(each["member_id"]), bytes_of(each["assignment"])) for each in sync.asked["assignments"]]


def leavers_of(leave: Exchange) -> list[tuple[str, str | None]]:
    """Return member id and instance id of each member that a LeaveGroup names, which is one below version 3 (KIP-345)."""
    if leave.version < 3:
        return [(str(leave.asked["member_id"]), None)]
    return [(str(each["member_id"]), each.get("group_instance_id")) for each in leave.asked["members"]]


def fetched_of(fetch: Exchange, names: Mapping[str, str]) -> Partitions:
    """Return the partitions that a Fetch names, by topic id from version 13 on (KIP-516). Ids without a known name are left out. In a
    fetch session (KIP-227) more partitions may be read."""
    return frozenset(
        (str(name), int(each["partition"]))
        for topic in fetch.asked["topics"]
        if (name := topic["topic"] if fetch.version < FETCH_BY_ID else names.get(str(topic["topic_id"])))
        for each in topic["partitions"]
    )


def all_named(fetch: Exchange, names: Mapping[str, str]) -> bool:
    """Return whether the names of all topics in a Fetch are known."""
    return fetch.version < FETCH_BY_ID or all(str(topic["topic_id"]) in names for topic in fetch.asked["topics"])


def wanted_of(fetch: Exchange, names: Mapping[str, str]) -> Partitions | None:
    """Return the partitions in an OffsetFetch of one group, by topic id from version 10 on. None if it asks for all offsets, or names an
    unknown topic id."""
    topics = (fetch.asked["groups"][0] if fetch.version >= OFFSETS_OF_GROUPS else fetch.asked).get("topics")
    if topics is None:
        return None
    called = [str(each["name"]) if fetch.version < OFFSETS_BY_ID else names.get(str(each["topic_id"])) for each in topics]
    if None in called:
        return None
    return frozenset((str(name), int(number)) for name, each in zip(called, topics, strict=True) for number in each["partition_indexes"])


def epoch_of(commit: Exchange) -> int:
    """Return the generation or member epoch in an OffsetCommit, or -1 without one."""
    return int(commit.asked.get("generation_id_or_member_epoch", commit.asked.get("generation_id", -1)))
