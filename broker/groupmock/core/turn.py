"""One call into the core as the group's parts see it: the cluster, the time, the effects so far."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from groupmock_codec.declare import Message

from .effects import Abandoned, Effects, Lease, MemberChanged, Moved, Note, Replies, Reply
from .units import NS_PER_MS

if TYPE_CHECKING:
    from .cluster import Cluster
    from .group.group import Group, Member
    from .group.states import State
    from .settings import Quirks, Settings
    from .timers import Timers


class Turn:
    """What a behaviour needs at hand. `now` is int ns since the run's epoch; `out` collects the effects in order."""

    __slots__ = ("cluster", "now", "out")

    def __init__(self, cluster: Cluster, now: int, out: Effects) -> None:
        self.cluster = cluster
        self.now = now
        self.out = out

    @property
    def settings(self) -> Settings:
        """The cluster's settings."""
        return self.cluster.settings

    @property
    def quirks(self) -> Quirks:
        """The release's peculiarities."""
        return self.cluster.settings.quirks

    @property
    def timers(self) -> Timers:
        """All deadlines."""
        return self.cluster.timers

    @property
    def wall_ms(self) -> int:
        """Ms since 1970."""
        return self.cluster.wall_ms(self.now)

    def largest_batch(self, group: Group) -> int:
        """Bytes of one batch in the offsets topic, as configs are now (seen on 4.3.0 and 3.9.1: a change at run time counts at once)."""
        topics, node = self.cluster.topics, self.cluster.coordinators.node_of(group.group_id)
        return topics.group_record_limit(topics.controller() if node is None else node)

    def after(self, delay_ms: int) -> int:
        """The deadline that many ms from now (now, for less than none)."""
        return self.now + max(delay_ms, 0) * NS_PER_MS

    def reply(self, ticket: int, message: Message, lease: Lease | None = None) -> None:
        """Answer a request."""
        self.out.append(Reply(ticket, message, lease))

    def replies(self, replies: Iterator[Reply]) -> None:
        """Answer many requests, each made when the driver gets to it."""
        self.out.append(Replies(replies))

    def abandon(self, ticket: int, reason: str) -> None:
        """Never answer a request, as Kafka does; its connection stays mute."""
        self.out.append(Abandoned(ticket, reason))

    def note(self, what: str, **fields: object) -> None:
        """Tell something that is no protocol event."""
        self.out.append(Note(what, fields))

    def changed(self, group: Group, member_id: str, what: str, reason: str, member: Member | None = None) -> None:
        """Tell what happened to a member or a reserved id."""
        if member is None:
            self.out.append(MemberChanged(group.group_id, member_id, what, reason))
            return
        told = MemberChanged(group.group_id, member_id, what, reason, member.group_instance_id, member.client_id, member.client_host)
        self.out.append(told)

    def move(self, group: Group, state: State, reason: str) -> None:
        """Change a group's state and tell why in plain words."""
        before = group.move(state, self.wall_ms)
        self.tell_move(group, str(before), str(state), reason)

    def tell_move(self, group: Group, before: str, after: str, reason: str) -> None:
        """Tell a change of state that has happened."""
        self.out.append(
            Moved(
                group=group.group_id,
                before=before,
                after=after,
                generation=group.generation,
                reason=reason,
                leader=group.leader_id,
                protocol_type=group.protocol_type,
                protocol_name=group.protocol_name,
                members=len(group.members),
            )
        )
