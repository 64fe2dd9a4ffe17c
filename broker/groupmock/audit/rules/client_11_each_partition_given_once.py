"""CLIENT-11 requires that a leader assigns every partition exactly once, to a subscriber."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from groupmock_codec.api_keys import METADATA, SYNC_GROUP
from groupmock_codec.embedded.designs import NAMES

from ...rounds.embedded import Partition, Partitions
from ..inside import CONSUMER, ONCE, STICKY, Subscribed, Told, claimed_in, given_by, named, plan_of
from ..rule import KEPT, Broken, Judgements, Rule, answered, asked
from ..subjects import Exchange, Json


class EveryPartitionOnce(Rule):
    code = "CLIENT-11"
    title = "The leader gives every partition to exactly one member that subscribes to its topic"
    what = (
        "In an assignment by `range`, `roundrobin`, `sticky`, `cooperative-sticky` or KafkaJS's assigner no partition is given to two "
        "members, none to a member that does not subscribe to its topic, and none of a subscribed topic is left out. A cooperative leader "
        "withholds what another member still owns."
    )
    why = "A partition that two members have is read twice and its offsets overwrite each other; one that nobody has is not read at all."
    source = ("clients.md#client-11", "embedded-protocols.md#client-side-assignors", "AbstractPartitionAssignor")
    fix = "Assign from the subscriptions in the member list and the partitions of those topics, and check the sum before you send it."
    kept = """
topics: t1:2
member *: protocols=[p("range", sub("$t1"))]
do completing2(A, B)
A: Metadata topics=[{name: $t1}] -> any
A: SyncGroup assignments=[for($A.member_id, told(held("$t1", 0))), for($B.member_id, told(held("$t1", 1)))] -> 0
B: SyncGroup -> 0
"""
    broken = """
topics: t1:2
member *: protocols=[p("range", sub("$t1"))]
do completing2(A, B)
A: Metadata topics=[{name: $t1}] -> any
A: SyncGroup assignments=[for($A.member_id, told(held("$t1", 0))), for($B.member_id, told(held("$t1", 0)))] -> 0
B: SyncGroup -> 0
"""

    @asked(SYNC_GROUP)
    def gives(self, x: Exchange) -> Judgements:
        """Judge the leader of a generation in which all Subscriptions and Assignments can be read."""
        plan, member = plan_of(x), x.member
        if plan is None or member is None or plan.skip or plan.protocol_type != CONSUMER or plan.protocol not in ONCE:
            return
        claims = {each: found for each, found in claimed_in(plan).items() if found is not None and found.wrong is None}
        given = [(each, told) for each, told in given_by(plan, x) if told is not None and told.wrong is None]
        if len(claims) < len(plan.claims) or len(given) < len(x.asked["assignments"]):
            return
        wrong = list(_given_wrong(claims, given))
        # The cooperative assignors (Designs I to III in docs/kafka/cooperative-designs.md) withhold lost partitions for a while.
        if plan.protocol not in NAMES:
            all_given = frozenset().union(*(told.assigned for _, told in given))
            claimed = frozenset().union(*(claim.owned for claim in claims.values())) if plan.protocol == STICKY else frozenset()
            known = member.note(self.code, set[str])
            known.update(topic for topic, _ in all_given)
            wrong.extend(_left_out(claims, all_given | claimed, known, self.world.processes.heard_of(member)))
        if not wrong:
            yield KEPT
            return
        yield Broken(
            f"{member.name}, which leads generation {plan.generation} with {plan.protocol}, {' and '.join(wrong)}",
            (plan.row, x.seq),
            "every partition of the subscribed topics given to one member, which subscribes to its topic",
        )

    @answered(METADATA)
    def looks(self, x: Exchange) -> Judgements:
        """Forget topics that an answer to Metadata does not have, because no leader can assign them (AbstractPartitionAssignor.assign
        skips them). Nothing is expected of them until this leader has assigned from them again."""
        member = self.world.processes.sole_member(x.link)
        known: set[str] | None = None if member is None else member.notes.get(self.code)
        if known and x.answer is not None:
            there = {self._name(each) for each in x.answer["topics"] if not each["error_code"]}
            missed = {self._name(each) for each in x.answer["topics"]} - there
            known -= missed
            if x.asked["topics"] is None:  # A null list of topics asks for all topics.
                known &= there
        return iter(())

    def _name(self, topic: Json) -> str:
        """Return the name of a topic in a Metadata answer. From Metadata 12 on a missing topic that was asked for by id has none."""
        return str(topic.get("name") or self.world.topic_names.get(str(topic.get("topic_id"))))


def _left_out(claims: Mapping[str, Subscribed], given: Partitions, known: set[str], heard: Mapping[str, int]) -> Iterator[str]:
    """Yield partitions that no member was assigned, although the leader must know them. Their topic is one from which it assigns, or
    assigned earlier and was not told that the topic is gone, and every Metadata answer to its process had the partition."""
    topics = frozenset().union(*(claim.topics for claim in claims.values())) & known
    missing = {(topic, each) for topic in topics for each in range(heard.get(topic, 0)) if (topic, each) not in given}
    if missing:
        yield f"gives {named(missing)} to nobody"


def _given_wrong(claims: Mapping[str, Subscribed], given: list[tuple[str, Told]]) -> Iterator[str]:
    owner: dict[Partition, str] = {}
    twice, strange = set(), set()
    for member, told in given:
        topics = claims[member].topics if member in claims else None
        for each in told.assigned:
            if owner.setdefault(each, member) != member:
                twice.add(each)
            if topics is not None and each[0] not in topics:
                strange.add(each)
    if twice:
        yield f"gives {named(twice)} to two members"
    if strange:
        yield f"gives {named(strange)} to a member that does not subscribe to the topic"
