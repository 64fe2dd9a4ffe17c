"""Builds the answers of a classic group in the form of each API version (docs/kafka/group-protocol.md#joingroup)."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from typing import Final

import msgspec

from groupmock_codec.messages.k11_join_group import JoinGroupResponse, JoinGroupResponseMember
from groupmock_codec.messages.k14_sync_group import SyncGroupResponse

from ...effects import Reply
from ...work import at_once, parts
from .group import Group, Member, Parked, Protocols, metadata_of

Listed = Callable[[], list[JoinGroupResponseMember]]
NULL_SINCE: Final = 7


def protocol_name(name: str | None, version: int) -> str | None:
    """Return the protocol name for an answer: before v7 null is sent as "", and since v7 "" is sent as null (KIP-559)."""
    return (name or None) if version >= NULL_SINCE else (name or "")


def join_refused(error: int, version: int, member_id: str = "") -> JoinGroupResponse:
    """Return a JoinGroup answer with an error, without leader, members and protocol name. P1-d4 lists the errors that echo the member
    id."""
    name = None if version >= 7 else ""
    return JoinGroupResponse(error_code=error, generation_id=-1, protocol_type=None, protocol_name=name, member_id=member_id)


def sync_refused(error: int) -> SyncGroupResponse:
    """Return a SyncGroup answer with an error, an empty assignment and null names."""
    return SyncGroupResponse(error_code=error)


class Joined(msgspec.Struct, frozen=True):
    """The fields that all JoinGroup answers of one generation have in common. It does not change after the generation began."""

    generation: int
    protocol_type: str | None
    protocol_name: str | None
    leader_id: str

    def to(self, version: int, member_id: str, members: list[JoinGroupResponseMember], skip_assignment: bool = False) -> JoinGroupResponse:
        """Return the JoinGroup answer for one member."""
        return JoinGroupResponse(
            generation_id=self.generation,
            protocol_type=self.protocol_type,
            protocol_name=protocol_name(self.protocol_name, version),
            leader=self.leader_id,
            skip_assignment=skip_assignment,
            member_id=member_id,
            members=members,
        )

    def all(self, waiting: list[tuple[Parked, str]], listed: Listed) -> Iterator[Reply]:
        """Yield the JoinGroup answers of all waiting members one by one. The leader's list is made at its turn."""
        generation, protocol_type, leader_id = self.generation, self.protocol_type, self.leader_id
        before, since = protocol_name(self.protocol_name, 0), protocol_name(self.protocol_name, NULL_SINCE)
        for parked, member_id in waiting:
            answer = JoinGroupResponse(
                generation_id=generation,
                protocol_type=protocol_type,
                protocol_name=since if parked.version >= NULL_SINCE else before,
                leader=leader_id,
                member_id=member_id,
                members=listed() if member_id == leader_id else [],
            )
            yield Reply(parked.ticket, answer)


def joined(group: Group, leader_id: str | None = None) -> Joined:
    """Return the fields that all JoinGroup answers of the current generation share. `leader_id` overrides the leader in the answer
    (SERVER-34)."""
    return Joined(group.generation, group.protocol_type, group.protocol_name, leader_id or group.leader_id or "")


def member_list(group: Group) -> Listed:
    """Return a function that builds the member list for the leader, in hash map order, with the metadata of the chosen protocol only."""
    return at_once(member_list_in_steps(group))


def member_list_in_steps(group: Group) -> Generator[None, None, Listed]:
    """Make the function `member_list` of a group that may be large."""
    # The members are copied, because the answers are built between turns of the event loop, when the group may have changed.
    rows: list[tuple[str, str | None, Protocols]] = []
    for some in parts(group.ordered()):
        if rows:
            yield
        rows += [(m.member_id, m.group_instance_id, m.protocols) for m in some]
    chosen = group.protocol_name or ""

    def listed() -> list[JoinGroupResponseMember]:
        return [
            JoinGroupResponseMember(member_id=member_id, group_instance_id=instance, metadata=metadata_of(protocols, chosen))
            for member_id, instance, protocols in rows
        ]

    return listed


def synced(group: Group, version: int, member: Member) -> SyncGroupResponse:
    """Return the SyncGroup answer with the member's stored assignment."""
    return SyncGroupResponse(
        protocol_type=group.protocol_type,
        protocol_name=protocol_name(group.protocol_name, version),
        assignment=member.assignment,
    )


def all_synced(group: Group, waiting: list[tuple[Parked, bytes]]) -> Iterator[Reply]:
    protocol_type, name = group.protocol_type, group.protocol_name
    before, since = protocol_name(name, 0), protocol_name(name, NULL_SINCE)

    def made() -> Iterator[Reply]:
        for parked, assignment in waiting:
            name_sent = since if parked.version >= NULL_SINCE else before
            yield Reply(parked.ticket, SyncGroupResponse(protocol_type=protocol_type, protocol_name=name_sent, assignment=assignment))

    return made()


def all_syncs_refused(error: int, waiting: list[Parked]) -> Iterator[Reply]:
    return (Reply(parked.ticket, sync_refused(error)) for parked in waiting)
