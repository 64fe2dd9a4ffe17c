"""CLIENT-11 requires that a leader assigns every partition exactly once, to a subscriber."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, ClassVar, Final

from groupmock_codec.api_keys import METADATA, SYNC_GROUP
from groupmock_codec.embedded.designs import NAMES
from groupmock_codec.error_codes import UNKNOWN_TOPIC_OR_PARTITION
from groupmock_codec.units import NS_PER_MS

from ...rounds.embedded import EAGER, Partition, Partitions
from ...text.printable import one_line
from ..inside import CONSUMER, ONCE, Plan, Subscribed, Told, claimed_in, given_by, named, plan_of
from ..judgement import UNREADABLE
from ..order import GRACE_NS
from ..rule import KEPT, Broken, Judgements, NotJudged, Rule, answered, asked
from ..subjects import NONE, Exchange, Json, Member

if TYPE_CHECKING:
    from ..known_world import World

TWO_TOPICS: Final = """
topics: t1:1 t2:1
member *: session_timeout_ms=1200 rebalance_timeout_ms=1200 protocols=[p("range", sub("$t1", "$t2"))]
"""
ONLY_THE_FIRST: Final = 'A: SyncGroup assignments=[for($A.member_id, told(held("$t1", 0)))] -> 0\n'


class EveryPartitionOnce(Rule):
    code = "CLIENT-11"
    title = "The leader gives every partition to exactly one member that subscribes to its topic"
    what = (
        "In an assignment by `range`, `roundrobin`, `sticky`, `cooperative-sticky` or KafkaJS's assigner no partition is given to two "
        "members, none to a member that does not subscribe to its topic, and none of a subscribed topic is left out. A leader that has yet "
        "to hear of a topic joins again within its rebalance timeout. A cooperative leader withholds what another member still owns. No "
        "assignor gives partitions that do not exist, or some partitions of a topic to one member and others to several."
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
    also_broken: ClassVar[dict[str, str]] = {
        # The leader has heard of both topics, and assigns from one of them.
        "topic-left-out": f"""{TWO_TOPICS}
do completing1(A)
A: Metadata topics=[{{name: $t1}}, {{name: $t2}}] -> any
pause 300
{ONLY_THE_FIRST}""",
        "topic-left-out-for-long": f"""{TWO_TOPICS}
do completing1(A)
A: Metadata topics=[{{name: $t1}}] -> any
{ONLY_THE_FIRST}
repeat 4
pause 400
A: Heartbeat -> 0
end
""",
        "without-metadata": f"""{TWO_TOPICS}
do completing1(A)
{ONLY_THE_FIRST}
repeat 4
pause 400
A: Heartbeat -> 0
end
""",
        "partition-left-out-without-metadata": """
topics: t1:2
member *: protocols=[p("roundrobin", sub("$t1"))]
do completing1(A)
A: SyncGroup assignments=[for($A.member_id, told(held("$t1", 1)))] -> 0
""",
        "partition-that-does-not-exist": """
topics: t1:2
member *: protocols=[p("my-own", sub("$t1"))]
do completing1(A)
A: SyncGroup assignments=[for($A.member_id, told(held("$t1", 0, 1, 2)))] -> 0
""",
        "given-twice-by-an-assignor-of-its-own": """
topics: t1:2
member *: protocols=[p("my-own", sub("$t1"))]
do completing2(A, B)
A: SyncGroup assignments=[for($A.member_id, told(held("$t1", 0, 1))), for($B.member_id, told(held("$t1", 1)))] -> 0
B: SyncGroup -> 0
""",
    }
    also_kept: ClassVar[dict[str, str]] = {
        # The leader hears of the other topic when it has assigned, and joins again.
        "topic-heard-of-later": f"""{TWO_TOPICS}
do completing1(A)
A: Metadata topics=[{{name: $t1}}] -> any
{ONLY_THE_FIRST}
A: Metadata topics=[{{name: $t1}}, {{name: $t2}}] -> any
pause 300
A: JoinGroup -> 0 generation_id=2
A: SyncGroup assignments=[for($A.member_id, told(held("$t1", 0), held("$t2", 0)))] -> 0
""",
    }

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self._barred: set[str] = set()
        """Topics that Metadata refused to show to somebody, for example because ACLs forbid it."""

    @asked(SYNC_GROUP)
    def gives(self, x: Exchange) -> Judgements:
        """Judge the leader of a generation in which all Subscriptions and Assignments can be read."""
        plan, member = plan_of(x), x.member
        if plan is None or member is None or plan.skip or plan.protocol_type != CONSUMER:
            return
        claims = {each: found for each, found in claimed_in(plan).items() if found is not None and found.wrong is None}
        given = [(each, told) for each, told in given_by(plan, x) if told is not None and told.wrong is None]
        if len(claims) < len(plan.claims) or len(given) < len(x.asked["assignments"]):
            yield UNREADABLE
            return
        stock, all_given = plan.protocol in ONCE, frozenset().union(*(told.assigned for _, told in given))
        topics = frozenset().union(*(claim.topics for claim in claims.values()))
        # Leaders of eager assignors do not look at what members claim.
        claimed = frozenset().union(*(claim.owned for claim in claims.values())) if plan.protocol not in EAGER else frozenset()
        wrong = [*(_given_wrong(claims, given) if stock else _unevenly(given)), *self._unreal(all_given)]
        # The assignors of Designs I to III (docs/kafka/cooperative-designs.md) withhold lost partitions for a while, and so may an assignor
        # that nobody else knows.
        if (all_due := stock and plan.protocol not in NAMES) and (missing := self._missing(x, member, topics, all_given, claimed)):
            wrong.append(f"gives {named(missing)} to nobody")
        if wrong:
            yield self._broken(x, member, plan, " and ".join(wrong), (plan.row, x.seq))
        elif not stock:
            yield NotJudged("an assignor that nobody else knows may leave partitions out, or give them to several members")
        elif not all(self.world.topics.most.get(topic) for topic in topics):
            yield NotJudged("the journal does not show how many partitions a topic has")
        elif all_due and self._expect_more(x, member, plan, topics, all_given | claimed):
            yield NotJudged("the leader may not have heard of all partitions yet")
        else:
            yield KEPT

    def _unreal(self, given: Partitions) -> Iterator[str]:
        """Yield the partitions whose number is too high for all that the journal has ever shown of their topic."""
        most = self.world.topics.most
        unreal = {(topic, number) for topic, number in given if number >= most.get(topic, number + 1)}
        if unreal:
            yield f"gives {named(unreal)}, which does not exist"

    def _missing(self, x: Exchange, member: Member, topics: frozenset[str], given: Partitions, claimed: Partitions) -> set[Partition]:
        """Return the partitions that no member was assigned, although the leader must know them. Their topic is one from which it assigns,
        or assigned earlier and was not told that the topic is gone, or the topic is in the last answer to Metadata, and every answer to
        its process had the partition, or the leader assigns one with a higher number."""
        known = member.note(self.code, set[str])
        known.update(topic for topic, _ in given)
        heard, last = self.world.processes.heard_of(member), self.world.processes.last_metadata(member)
        if last is not None and self.knew(x, last[0]):
            heard, known = {**last[1], **heard}, known | last[1].keys()
        missing, highest = set[Partition](), dict(sorted(given))
        for topic in topics:
            count, exist = heard.get(topic, 0) if topic in known else 0, self.world.topics.exist(topic)
            count = max(count, highest.get(topic, -1) + 1)
            missing |= {(topic, each) for each in range(count if exist is None else min(count, exist))}
        return missing - given - claimed

    def _expect_more(self, x: Exchange, member: Member, plan: Plan, topics: frozenset[str], given: Partitions) -> bool:
        """Look again when the rebalance timeout has passed, if partitions that exist since before the leader came are missing. A leader
        that has not heard of them yet (kafka-python assigns before its Metadata is there) joins again when it has."""
        existed = {(topic, each) for topic in topics for each in range(self.world.topics.existed(topic, member.since))}
        missing = {each for each in existed - given if each[0] not in self._barred}
        if missing:
            self.later(x.at + member.rebalance_ns + GRACE_NS, member, lambda: self._late(x, member, plan, missing))
        return bool(missing)

    def _late(self, x: Exchange, member: Member, plan: Plan, missing: set[Partition]) -> Judgements:
        fold = member.group.fold
        stands = fold.rebalance is None and fold.generation is not None and fold.generation.number == plan.generation == member.generation
        if not stands or member.joining is not None or member.leaving is not None or member.seen + member.session_ns < self.world.now:
            return
        still = {each for each in missing if each[1] < (self.world.topics.exist(each[0]) or 0) and each[0] not in self._barred}
        if still:
            what = f"gives {named(still)} to nobody, and has not joined again for {member.rebalance_ns // NS_PER_MS} ms"
            yield self._broken(x, member, plan, what, (plan.row, x.seq))

    def _broken(self, x: Exchange, member: Member, plan: Plan, what: str, rows: tuple[int, ...]) -> Broken:
        return Broken(
            f"{member.name}, which leads generation {plan.generation} with {one_line(plan.protocol)}, {what}",
            rows,
            "every partition of the subscribed topics given to one member, which subscribes to its topic",
        )

    @answered(METADATA)
    def looks(self, x: Exchange) -> Judgements:
        """Forget topics that an answer to Metadata does not have, because no leader can assign them (AbstractPartitionAssignor.assign
        skips them). Nothing is expected of them until this leader has assigned from them again."""
        for topic in x.answer["topics"] if x.answer is not None else ():
            if topic["error_code"] not in (NONE, UNKNOWN_TOPIC_OR_PARTITION):
                self._barred.add(self._name(topic))
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


def _unevenly(given: list[tuple[str, Told]]) -> Iterator[str]:
    """Yield the partitions that an assignor of any name gives to several members, while it gives others of the same topic to one member
    only. An assignor that gives each partition to several members may mean it."""
    owners = Counter(each for _, told in given for each in told.assigned)
    single = {topic for (topic, _), count in owners.items() if count == 1}
    twice = {each for each, count in owners.items() if count > 1 and each[0] in single}
    if twice:
        yield f"gives {named(twice)} to several members, and other partitions of the topic to one"


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
