"""The assignor `uniform` where all members subscribe alike (CG-103): everybody gets the same number, one more or less, and keeps what fits.

Members are asked in order for what is beyond their quota, then those that have less are filled from a pool. The quota is partitions
div members; `extras` of them, the rest of that division, get one more, first come first served: whoever could have it and has not enough
for it gives it back, as long as there are more members to come than extras. The pool has first what nobody had, topic by topic, then what
members gave. So old members only lose when one comes, and only win when one goes (CG-104).
In Kafka: UniformHomogeneousAssignmentBuilder.
"""

from __future__ import annotations

from ....java.hash_maps import INTEGERS, UUIDS, changed_order, filled_order, room_for
from ....java.orders import SMALLEST_TABLE
from .drafts import Computed, Draft
from .spec import Effort, Group, Member, Steps


class _Deal:
    """One assignment: the pool, how many extras are left, and what members that change are to have."""

    def __init__(self, group: Group, topics: list[bytes], pool: list[tuple[bytes, int]], effort: Effort) -> None:
        self.effort = effort
        self.members = group.members
        self.known = frozenset(topics)
        self.pool = pool
        self.quota, self.extras = divmod(sum(map(group.partitions.__getitem__, topics)), len(group.members))
        self.drafts: dict[str, Draft] = {}
        self.cut: dict[str, Computed] = {}
        self.hungry: list[tuple[Member, int]] = []

    def draft(self, member: Member) -> Draft:
        if member.member_id not in self.drafts:
            self.drafts[member.member_id] = Draft(member.target, self.effort)
        return self.drafts[member.member_id]

    def revoke(self) -> Steps[None]:
        """Move to the pool what is beyond a member's quota."""
        known, quota, extras, waiting = self.known, self.quota, self.extras, len(self.members)
        for member in self.members:
            extra = extras > 0
            left = quota + extra
            for topic, partitions in member.target.items():
                if len(partitions) <= left and topic in known:
                    left -= len(partitions)
                else:
                    left = yield from self._take(member, topic, left)
            if left and extra and waiting > extras:  # so many that were not asked yet, with this one
                left, extra = left - 1, False
            if left:
                self.hungry.append((member, left))
            extras -= extra
            waiting -= 1
            if self.effort.spend(2 + len(member.target)):
                yield

    def _take(self, member: Member, topic: bytes, quota: int) -> Steps[int]:
        """All of a topic that it does not subscribe to, or what is beyond the quota. What of that is left."""
        if topic not in self.known:
            self.draft(member).drop(topic)
            return quota
        partitions = member.target[topic]
        self.pool += [(topic, partition) for partition in partitions[quota:]]
        if len(member.target) == 1 and quota:
            room = max(room_for(len(partitions)), SMALLEST_TABLE)
            self.cut[member.member_id] = {topic: changed_order(INTEGERS, partitions, partitions[quota:], (), room)}
            return 0
        draft = self.draft(member)
        for partition in partitions[quota:]:
            draft.remove(topic, partition)
            if self.effort.spend(6):
                yield
        return 0

    def fill(self) -> Steps[None]:
        """The hungry take from the front of the pool."""
        given = 0
        for member, wanted in self.hungry:
            taken = self.pool[given : given + wanted]
            given += wanted
            if self.effort.spend(4):
                yield
            if not member.target and len({topic for topic, _ in taken}) == 1:
                partitions = filled_order(INTEGERS, [partition for _, partition in taken], SMALLEST_TABLE)
                self.cut[member.member_id] = {taken[0][0]: partitions}
                continue
            draft = self.draft(member)
            for topic, partition in taken:
                draft.add(topic, partition, SMALLEST_TABLE)
                if self.effort.spend(6):
                    yield

    def computed(self) -> Steps[dict[str, Computed]]:
        """Return the new targets of all members."""
        changed = {}
        for member_id, draft in self.drafts.items():
            changed[member_id] = found = draft.computed()
            if self.effort.spend(6 + 6 * len(found)):
                yield
        return {member.member_id: member.target for member in self.members} | self.cut | changed


def assign(group: Group, effort: Effort) -> Steps[dict[str, Computed]]:
    """Member id -> its target, the old one itself where nothing changes; who is missing has none. The group has members."""
    subscription = group.members[0].subscription
    topics = filled_order(UUIDS, subscription.ids, max(room_for(subscription.size), SMALLEST_TABLE))
    if not topics:
        return {}
    pool = yield from _unowned(group, topics, effort)
    deal = _Deal(group, topics, pool, effort)
    yield from deal.revoke()
    yield from deal.fill()
    return (yield from deal.computed())


def _unowned(group: Group, topics: list[bytes], effort: Effort) -> Steps[list[tuple[bytes, int]]]:
    """Topic by topic what is in nobody's target."""
    owned: dict[bytes, set[int]] = {topic: set() for topic in topics}
    for member in group.members:
        for topic, partitions in member.target.items():
            taken = owned.get(topic)
            if taken is not None:
                taken.update(partitions)
        if effort.spend(1 + len(member.target)):
            yield
    pool = []
    for topic, taken in owned.items():
        pool += [(topic, partition) for partition in range(group.partitions[topic]) if partition not in taken]
        if effort.spend(1 + group.partitions[topic] // 4):
            yield
    return pool
