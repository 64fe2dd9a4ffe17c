"""Write scripts about share groups: members, their share sessions, the records that they hold, and what producers append meanwhile.

Each step is played on the core while it is written, so that most acknowledgements name records that the member really holds.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Final

from groupmock.core.share.runs import ACQUIRED, Run
from groupmock.core.share.sessions import ShareSession
from groupmock.core.share.share_partition import SharePartition
from groupmock.core.share.shares import Shares
from groupmock_clients.probe.language.exchange import Act, Pause, Send
from groupmock_codec.api_keys import SHARE_GROUP_HEARTBEAT
from groupmock_codec.units import NS_PER_MS

from ..generated.script import Json, Script, client_of, group, ms_of, pause, request
from ..generated.transcript import PARKED, imagined
from ..guided.core_player import STEP_MS, CorePlayer

Place = tuple[int, int]
"""A partition as the number of its topic and its index."""

FULL: Final = 30
"""The number of records in flight from which on another batch may reach the smallest limit."""


@dataclass
class ShareMember:
    """A member of a share group in a script: its name is its member id, and the first of its connections."""

    name: str
    group: int
    node: int = 1
    """The number of the node to which the member sends, if there are several."""


class SharesAuthor:
    """Writes a script of the shares family while the core plays it."""

    def __init__(self, script: Script, rng: Random, members: list[ShareMember]) -> None:
        self.script, self.rng, self.members = script, rng, members
        self.player = CorePlayer(script, imagined(script))
        self.facts = self.player.facts
        self.now = 0.0
        self.sequences: dict[Place, int] = {}
        """The next sequence number of the transactional producer in each partition."""

    # -- looking

    @property
    def shares(self) -> Shares:
        return self.player.core.cluster.shares

    @property
    def several(self) -> bool:
        """True if the script is for a cluster of several nodes."""
        return bool(self.facts.others)

    def session(self, member: ShareMember) -> ShareSession | None:
        """Return the core's share session of a member on the node to which it sends."""
        return self.shares.sessions(member.node).find(self.facts.groups[member.group - 1], member.name)

    def partition(self, member: ShareMember, place: Place) -> SharePartition | None:
        """Return the core's share partition, or None if it is not in memory."""
        return self.shares.partitions.get((self.facts.groups[member.group - 1], self.facts.topics[place[0] - 1].topic_id, place[1]))

    def is_stored(self, member: ShareMember, place: Place) -> bool:
        """Tell whether the partition is initialized for the member's group."""
        topic_id = self.facts.topics[place[0] - 1].topic_id
        return self.shares.stored(self.facts.groups[member.group - 1], topic_id, place[1]) is not None

    def places(self) -> list[Place]:
        return [(number, index) for number, need in enumerate(self.script.topics, 1) for index in range(need.partitions)]

    def leader_of(self, place: Place) -> int:
        """Return the node that leads a partition, or the first one if its topic is gone."""
        found = self.player.core.cluster.topics.find(self.facts.topics[place[0] - 1].name, place[1])
        return 1 if found is None else found.leader

    @property
    def coordinator(self) -> int:
        """Return the node that coordinates all groups."""
        return self.player.core.cluster.groups.hosting.node_of(self.facts.groups[0]) or 1

    def is_loaded(self, member: ShareMember, place: Place) -> bool:
        """Tell whether a fetch of the member needs no stored state of the partition."""
        return self.partition(member, place) is not None or self.leader_of(place) != member.node

    def end_of(self, place: Place) -> int:
        """Return the log end offset of a partition."""
        found = self.player.core.cluster.topics.find(self.facts.topics[place[0] - 1].name, place[1])
        return 0 if found is None else found.end

    def held(self, member: ShareMember, place: Place) -> list[Run]:
        """Return the records of a partition that a member has acquired, as runs within their batches."""
        partition = self.partition(member, place)
        batches = () if partition is None else partition.states.batches
        return [run for batch in batches for run in batch.runs if run.state == ACQUIRED and run.member_id == member.name]

    def is_full(self, member: ShareMember, place: Place) -> bool:
        """Tell whether about as many records of a partition are in flight as its group may have."""
        partition = self.partition(member, place)
        return partition is not None and partition.states.in_flight >= FULL

    def is_cut(self, member: ShareMember, place: Place) -> bool:
        """Tell whether records were deleted of which no fetch knows yet, which changes what is in flight."""
        partition = self.partition(member, place)
        return partition is not None and partition.log.start > partition.states.start

    def split_lock_ends(self, member: ShareMember, within_ms: int) -> bool:
        """Tell whether locks of a split batch may end within a time. A broker ends the locks of such records one by one, and a waiting
        fetch gets those that have ended first (SharePartition.scheduleAcquisitionLockTimeout)."""
        end_ns = (self.now + within_ms) * NS_PER_MS
        partitions = (self.partition(member, place) for place in self.places())
        split = (batch for partition in partitions if partition is not None for batch in partition.states.batches if batch.split)
        return any(run.state == ACQUIRED and run.deadline <= end_ns for batch in split for run in batch.runs)

    def waits(self, client: str) -> bool:
        """Tell whether the client has an unanswered request."""
        return any(client_of(step) == client for step in self._parked())

    def fetch_waits(self, group: int) -> bool:
        """Tell whether a member of the group has an unanswered request."""
        names = {member.name for member in self.members if member.group == group}
        return any(client_of(step) in names for step in self._parked())

    def _parked(self) -> list[Send]:
        steps = zip(self.script.steps, self.player.events, strict=True)
        return [step for step, event in steps if isinstance(step, Send) and event.status == PARKED]

    def version(self, key: int) -> int:
        """Return a random version of an API."""
        return self.rng.randint(*self.player.known.versions[key])

    # -- writing

    def send(self, client: str, key: int, version: int, fields: dict[str, Json], link: str | None = None) -> dict[str, Json] | None:
        """Send one request and return the core's answer. Without a link it goes to the node that coordinates the groups."""
        if link is None and self.several:
            link = f"{client}/{self.coordinator}"
        return self.write(request(client, key, version, fields, link))

    def member_sends(self, member: ShareMember, key: int, version: int, fields: dict[str, Json]) -> dict[str, Json] | None:
        """Send a request of a member, which waits for no other request on a connection of its own."""
        link = f"{member.name}/2" if self.waits(member.name) or self.rng.random() < 0.04 else None
        if self.several:
            link = None if key == SHARE_GROUP_HEARTBEAT else f"{member.name}/{member.node}"
        named = {"group_id": group(member.group), "member_id": member.name, **fields}
        return self.send(member.name, key, version, named, link)

    def wait(self, ms: int) -> None:
        self.write(pause(ms))

    def write(self, step: Send | Pause | Act) -> dict[str, Json] | None:
        self.now += ms_of(step) if isinstance(step, Pause) else STEP_MS
        self.script.steps.append(step)
        return self.player.play(step, self.now).answer
