"""The assignor `uniform` where all members subscribe alike (CG-103): everybody gets the same number, one more or less, and keeps what fits.

Members are asked in order for what is beyond their quota, then those that have less are filled from a pool. The quota is partitions
div members; `extras` of them, the rest of that division, get one more, first come first served: whoever could have it and has not enough
for it gives it back, as long as there are more members to come than extras. The pool has first what nobody had, topic by topic, then what
members gave. So old members only lose when one comes, and only win when one goes (CG-104).
In Kafka: UniformHomogeneousAssignmentBuilder.
"""

from __future__ import annotations

from collections.abc import Iterator

from ....java.hash_maps import UUIDS, filled_order, room_for
from ....java.orders import SMALLEST_TABLE
from .drafts import Computed, Draft
from .spec import Group, Member


class _Deal:
    """One assignment: the pool, how many extras are left, and the drafts of members that change."""

    def __init__(self, group: Group, topics: list[bytes]) -> None:
        self.members = group.members
        self.known = group.members[0].subscription.known
        self.pool = list(_unowned(group, topics))
        self.quota, self.extras = divmod(sum(group.partitions[topic] for topic in topics), len(group.members))
        self.drafts: dict[str, Draft] = {}
        self.hungry: list[tuple[Member, int]] = []

    def draft(self, member: Member) -> Draft:
        if member.member_id not in self.drafts:
            self.drafts[member.member_id] = Draft(member.target)
        return self.drafts[member.member_id]

    def revoke(self, member: Member, waiting: int) -> None:
        """What is beyond the member's quota goes to the pool. `waiting`: members that were not asked yet, with this one."""
        extra = self.extras > 0
        left = self._keep(member, self.quota + extra)
        if left and extra and waiting > self.extras:
            left, extra = left - 1, False
        if left:
            self.hungry.append((member, left))
        self.extras -= extra

    def _keep(self, member: Member, quota: int) -> int:
        """What of the quota is left."""
        for topic, partitions in member.target.items():
            if topic not in self.known:
                self.draft(member).drop(topic)
            elif len(partitions) <= quota:
                quota -= len(partitions)
            else:
                draft = self.draft(member)
                for partition in partitions[quota:]:
                    draft.remove(topic, partition)
                    self.pool.append((topic, partition))
                quota = 0
        return quota

    def fill(self) -> None:
        """The hungry take from the front of the pool."""
        given = 0
        for member, wanted in self.hungry:
            draft = self.draft(member)
            for topic, partition in self.pool[given : given + wanted]:
                draft.add(topic, partition, SMALLEST_TABLE)
            given += wanted


def assign(group: Group) -> dict[str, Computed]:
    """Member id -> its target, the old one itself where nothing changes; who is missing has none. The group has members."""
    subscription = group.members[0].subscription
    topics = filled_order(UUIDS, subscription.ids, max(room_for(subscription.size), SMALLEST_TABLE))
    if not topics:
        return {}
    deal = _Deal(group, topics)
    for index, member in enumerate(group.members):
        deal.revoke(member, len(group.members) - index)
    deal.fill()
    return {one.member_id: deal.drafts[one.member_id].computed() if one.member_id in deal.drafts else one.target for one in group.members}


def _unowned(group: Group, topics: list[bytes]) -> Iterator[tuple[bytes, int]]:
    """Topic by topic what is in nobody's target."""
    owned: dict[bytes, set[int]] = {topic: set() for topic in topics}
    for member in group.members:
        for topic, partitions in member.target.items():
            if topic in owned:
                owned[topic].update(partitions)
    for topic, taken in owned.items():
        yield from ((topic, partition) for partition in range(group.partitions[topic]) if partition not in taken)
