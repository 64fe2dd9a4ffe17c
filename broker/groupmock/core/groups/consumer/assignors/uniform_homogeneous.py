"""The `uniform` assignor for members with the same subscription gives all members the same number of partitions, give or take one, and
moves as few as possible (CG-103).

Partitions beyond a member's quota go to a pool, member by member; then members with too few are filled from the pool. The quota is
partitions div members; the remainder of that division is the number of `extras`, members that get one more. They are assigned first come,
first served: a member that has not enough partitions for its extra gives it back, as long as more members than extras are still to come.
The pool starts with the unowned partitions, topic by topic, followed by those that members lost. So existing members only lose partitions
when one comes, and only get some when one goes (CG-104).

In Kafka: UniformHomogeneousAssignmentBuilder.
"""

from __future__ import annotations

from ....java.hash_maps import INTEGERS, UUIDS, changed_order, filled_order, room_for
from ....java.orders import SMALLEST_TABLE
from .drafts import Computed, Draft
from .spec import Effort, Group, Member, NoTarget, Steps


class _Deal:
    """The state of one assignment: the pool of free partitions, the number of extra partitions left, and the new targets of members that
    change."""

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
        """Move the partitions beyond each member's quota to the pool."""
        known, quota, extras, waiting = self.known, self.quota, self.extras, len(self.members)
        for member in self.members:
            extra = extras > 0
            left = quota + extra
            for topic, partitions in member.target.items():
                if len(partitions) <= left and topic in known:
                    left -= len(partitions)
                else:
                    left = yield from self._take(member, topic, left)
            if left and extra and waiting > extras:
                left, extra = left - 1, False
            if left:
                self.hungry.append((member, left))
            extras -= extra
            waiting -= 1
            if self.effort.spend(2 + len(member.target)):
                yield

    def _take(self, member: Member, topic: bytes, quota: int) -> Steps[int]:
        """Move the topic's partitions beyond the member's remaining quota to the pool; drop the topic if the member does not subscribe
        to it. Return the rest of the quota."""
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
        """Fill up members that have too few partitions, from the front of the pool, which has as many as they need."""
        if sum(wanted for _, wanted in self.hungry) != len(self.pool):
            raise NoTarget
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
        changed = {}
        for member_id, draft in self.drafts.items():
            changed[member_id] = found = draft.computed()
            if self.effort.spend(6 + 6 * len(found)):
                yield
        return {member.member_id: member.target for member in self.members} | self.cut | changed


def assign(group: Group, effort: Effort) -> Steps[dict[str, Computed]]:
    """Return the target assignment of each member by member id; an unchanged target is the old object. Members that are missing in it
    have no partitions. The group must have members."""
    subscription = group.members[0].subscription
    topics = list(subscription.ids)
    if len(topics) > 1:
        topics = filled_order(UUIDS, topics, max(room_for(subscription.size), SMALLEST_TABLE))
    if not topics:
        return {}
    pool = yield from _unowned(group, topics, effort)
    deal = _Deal(group, topics, pool, effort)
    yield from deal.revoke()
    yield from deal.fill()
    return (yield from deal.computed())


def _unowned(group: Group, topics: list[bytes], effort: Effort) -> Steps[list[tuple[bytes, int]]]:
    """Return the partitions that are in no member's target, topic by topic."""
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
