"""Tests each rule of the cooperative leader and recomputes the seven rebalances of the document."""

from __future__ import annotations

import pytest
from cases import for_each
from doc_vectors import T1_MS, Example, Held, examples, held
from policy_world import World

from groupmock_clients.cooperative.policy import Claim, Decision, LeaderMemory, LeaderPlan, Loss, Received, Rules, name_of, plan
from groupmock_codec.embedded.consumer import TopicPartitions
from groupmock_codec.embedded.designs import DesignAssignment, encode_assignment

EXAMPLES = for_each("example", examples(), ids=lambda example: example.name)
T = frozenset({"T"})
TWO = Rules(2, delay_ms=T1_MS)
ID = "-00000000-0000-4000-8000-00000000000"


def claims(**owned: str) -> dict[str, Claim]:
    return {member: Claim(T, held(text)) for member, text in owned.items()}


def memory_of(size: int, **owned: str) -> LeaderMemory:
    """Return the leader's memory after a rebalance in which members own these partitions."""
    holdings = {part: member for member, text in owned.items() for part in held(text)}
    return LeaderMemory(dict.fromkeys(owned, T), frozenset(("T", number) for number in range(size)), holdings)


def run(rules: Rules, size: int, joined: dict[str, Claim], memory: LeaderMemory | None, now: int = 0, **more: object) -> LeaderPlan:
    """Plan a rebalance with the first member as leader."""
    return plan(rules, {"T": size}, joined, next(iter(joined)), memory, more.get("received"), now)


def got(planned: LeaderPlan) -> dict[str, tuple[Held, Held]]:
    return {member: (one.gained, one.revoked) for member, one in planned.decisions.items()}


def timeouts(planned: LeaderPlan) -> set[int]:
    return {one.timeout_ms for one in planned.decisions.values()}


def as_bytes(design: int, decision: Decision, full: bool) -> bytes:
    """Return the assignment in the document's literal form, or in the complete form with `full`."""
    lists = []
    for parts in (decision.assigned if full else decision.listed, decision.revoked):
        lists.append([TopicPartitions("T", sorted(number for _, number in parts))] if parts else [])
    return encode_assignment(DesignAssignment(design, *lists, decision.timeout_ms))


@EXAMPLES
def test_the_documents_rounds(example: Example) -> None:
    """In each of the document's rebalances the leader is A, which also led the rebalance before. Example I.leave prints what repeats,
    the others leave it out."""
    rules = Rules(example.design, delay_ms=T1_MS)
    memory = memory_of(4, **example.initial)
    for one in example.rounds:
        now = T1_MS if one.when == "after" else 0 if one.when is None else T1_MS // 2
        planned = run(rules, 4, claims(**one.claims), memory, now)
        for member, decision in planned.decisions.items():
            full = example.name == "I.leave"
            assert as_bytes(example.design, decision, full) == one.assignment_delta[member], f"{one.example}.{one.number} {member}"
        memory = planned.memory


def test_names_are_ids_without_kafkas_uuid() -> None:
    assert name_of("app-1-0b9a3d1e-2c5f-4c3f-9f0e-5f6c1f0f8a11") == "app-1"
    assert name_of("app-1") == "app-1"
    assert name_of("kafka-python-1-abc") == "kafka-python-1-abc"


@for_each("wrong", [{"design": 4}, {"delay_ms": -1}, {"max_moves": 0}, {"move_interval_ms": -1}, {"first": "later"}, {"match": "all"}])
def test_settings_are_checked(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Rules(**wrong)


def test_rule_0_the_holder_in_memory_keeps_a_double_claim() -> None:
    planned = run(TWO, 2, claims(A="T1,T2", B="T2"), memory_of(2, A="T1", B="T2"))
    assert got(planned) == {"A": (held(""), held("T2")), "B": (held(""), held(""))}


def test_rule_0_without_memory_the_leader_that_was_told_so_keeps_it() -> None:
    joined = claims(B="T1,T2", A="T2")
    known = Received("B", None, T, frozenset(held("T1,T2")))
    assert run(TWO, 2, joined, None, received=known).decisions["A"].revoked == held("T2")
    assert run(TWO, 2, joined, None).decisions["B"].revoked == held("T2"), "else the lowest id"


def test_rule_0_one_of_the_last_generation_comes_before_the_lowest_id() -> None:
    planned = run(TWO, 2, claims(B="T1", C="T2", A="T2"), memory_of(2, B="T1", C=""))
    assert planned.decisions["A"].revoked == held("T2")


def test_rule_0_what_is_no_longer_subscribed_or_there_is_given_up() -> None:
    joined = {"A": Claim(T, held("T1,T5")), "B": Claim(frozenset({"U"}), held("T2"))}
    planned = plan(TWO, {"T": 2, "U": 1}, joined, "A", memory_of(2, A="T1", B="T2"), None, 0)
    assert planned.decisions["A"].revoked == held("T5")
    assert planned.decisions["B"].revoked == held("T2")
    assert planned.decisions["B"].gained == {("U", 0)}
    assert timeouts(planned) == {0}


def test_what_the_leader_has_no_metadata_of_stays_where_it_is() -> None:
    joined = {"A": Claim(T, held("T1,T2")), "B": Claim(frozenset({"U"}), frozenset({("U", 0)}))}
    planned = plan(TWO, {"T": 2}, joined, "A", None, None, 0)
    assert planned.decisions["B"].assigned == {("U", 0)}
    assert not planned.decisions["B"].revoked


def test_rule_2_the_first_member_takes_everything_or_waits() -> None:
    assert run(TWO, 2, claims(A=""), None).decisions["A"].gained == held("T1,T2")
    waiting = Rules(2, delay_ms=T1_MS, first="wait")
    one = run(waiting, 2, claims(A=""), None)
    assert (one.decisions["A"].gained, timeouts(one)) == (held(""), {T1_MS})
    two = run(waiting, 2, claims(A="", B=""), one.memory, 2000)
    assert (got(two)["B"][0], timeouts(two)) == (held(""), {3000})
    three = run(waiting, 2, claims(A="", B=""), two.memory, T1_MS)
    assert got(three) == {"A": (held("T1"), held("")), "B": (held("T2"), held(""))}
    assert timeouts(three) == {0}


def test_rule_3_new_partitions_and_topics_are_given_at_once() -> None:
    assert run(TWO, 3, claims(A="T1", B="T2"), memory_of(2, A="T1", B="T2")).decisions["A"].gained == held("T3")
    known = Received("A", None, T, frozenset(held("T1,T2")))
    planned = run(TWO, 4, claims(A="T1"), None, received=known)
    assert {part for one in planned.decisions.values() for part in one.gained} == held("T3,T4"), "T2 is lost, T3 and T4 are new"
    assert timeouts(planned) == {T1_MS}


def test_rule_5_what_did_not_arrive_is_given_again() -> None:
    planned = run(TWO, 2, claims(A="T1", B=""), memory_of(2, A="T1", B="T2"))
    assert planned.decisions["B"].gained == held("T2")


def test_rule_9_plans_in_the_same_round_what_a_member_still_claims_and_no_longer_reads() -> None:
    """Random histories found that planning one rebalance later made b give up ("T", 9) and get it back."""
    a = frozenset({("T", 8), ("T", 11), ("U", 0), ("U", 1), ("U", 2), ("U", 3)})
    b, c = (frozenset(("T", number) for number in numbers) for numbers in ((0, 2, 4, 6, 9), (1, 3, 5, 7, 10)))
    subscriptions = {"c": T, "a": frozenset({"T", "U"}), "b": T}
    holdings = {part: member for member, parts in (("a", a), ("b", b), ("c", c)) for part in parts}
    memory = LeaderMemory(subscriptions, frozenset(holdings), holdings)
    joined = {"c": Claim(frozenset({"U"}), c), "a": Claim(frozenset({"T", "U"}), a), "b": Claim(T, b)}
    revoked = set()
    rounds = []
    for _ in range(3):
        planned = plan(Rules(1), {"T": 12, "U": 4}, joined, "c", memory, None, 0)
        revoked |= {(part, member) for member, one in planned.decisions.items() for part in one.revoked}
        joined = {member: Claim(joined[member].topics, one.assigned) for member, one in planned.decisions.items()}
        memory = planned.memory
        rounds.append(planned)
    assert not any(rounds[-1].decisions[member].revoked for member in joined)
    assert {part for claim in joined.values() for part in claim.owned} == a | b | c
    assert [each for each in revoked if each[0] in joined[each[1]].owned] == []


def test_rule_6_each_loss_has_its_full_delay_and_the_wire_the_smallest_rest() -> None:
    start = memory_of(3, A="T1", B="T2", C="T3")
    one = run(TWO, 3, claims(A="T1", B="T2"), start)
    two = run(TWO, 3, claims(A="T1"), one.memory, 2000)
    assert timeouts(two) == {3000}
    assert two.memory.lost == {("T", 2): Loss(5000, "C"), ("T", 1): Loss(7000, "B")}
    three = run(TWO, 3, claims(A="T1"), two.memory, 5000)
    assert (three.decisions["A"].gained, timeouts(three)) == (held("T3"), {2000})


def test_rule_7_names_first_then_the_largest_set() -> None:
    ids = {name: f"{name}{ID}{number}" for number, name in enumerate("abcd", 1)}
    start = memory_of(4, **{ids["a"]: "T1", ids["b"]: "T2", ids["c"]: "T3,T4"})
    one = run(TWO, 4, claims(**{ids["a"]: "T1"}), start)
    back, stranger = f"b{ID}8", f"x{ID}9"
    two = run(TWO, 4, claims(**{ids["a"]: "T1", back: "", stranger: ""}), one.memory, 100)
    assert two.decisions[back].gained == held("T2")
    assert two.decisions[stranger].gained == held("T3,T4")
    assert not any(each.revoked for each in two.decisions.values())
    named = Rules(2, delay_ms=T1_MS, match="name")
    two = run(named, 4, claims(**{ids["a"]: "T1", stranger: ""}), one.memory, 100)
    assert not two.decisions[stranger].gained


def test_rule_10_the_leader_forces_a_round_when_nobody_else_would() -> None:
    one = run(TWO, 4, claims(A="T1,T2"), memory_of(4, A="T1,T2", B="T3,T4"))
    two = run(TWO, 4, claims(A="T1,T2", C="", D=""), one.memory, 10)
    assert two.decisions["C"].gained == held("T3,T4")
    assert two.again and timeouts(two) == {0}
    three = run(TWO, 4, claims(A="T1,T2", C="T3,T4", D=""), two.memory, 10)
    assert not three.again and three.decisions["C"].revoked == held("T4")


def test_rule_11_a_former_follower_keeps_to_the_deadline_it_was_told() -> None:
    known = Received("B", 3000, T, frozenset(held("T1,T2,T3")))
    joined = claims(B="T2")
    assert timeouts(run(TWO, 3, joined, None, 1000, received=known)) == {2000}
    assert run(TWO, 3, joined, None, 3000, received=known).decisions["B"].gained == held("T1,T3")
    other = Received("B-before", 3000, T, frozenset())
    assert timeouts(run(TWO, 3, joined, None, 1000, received=other)) == {T1_MS}, "under another id it knows nothing"
    three = Rules(3, delay_ms=T1_MS)
    assert timeouts(run(three, 3, joined, None, 1000, received=known)) == {T1_MS}, "in III it may have been the pace of moves"


def test_rule_3_a_former_follower_that_had_no_metadata_yet_takes_nothing_for_new() -> None:
    """Stock kafka-python may receive an assignment before it has metadata, and would then give away the partitions of a departed leader
    at once."""
    known = Received("B", None, T, frozenset())
    planned = run(TWO, 3, claims(B="T2"), None, 1000, received=known)
    assert (got(planned)["B"][0], timeouts(planned)) == (held(""), {T1_MS})
    both = frozenset({"T", "U"})
    joined = {"B": Claim(both, held("T2"))}
    planned = plan(TWO, {"T": 2, "U": 1}, joined, "B", None, Received("B", None, both, frozenset(held("T1,T2"))), 1000)
    assert planned.decisions["B"].gained == {("U", 0)}, "a topic without partitions then, and claimed by nobody, is new"


def test_rule_11_a_new_leader_never_counts_itself_as_the_newcomer() -> None:
    planned = run(TWO, 2, claims(D="", A="T1"), None)
    assert (got(planned)["D"][0], timeouts(planned)) == (held(""), {T1_MS})
    planned = run(TWO, 2, claims(A="T1", D=""), None)
    assert planned.decisions["D"].gained == held("T2")
    planned = run(TWO, 2, claims(A="T1", D="", E=""), None)
    assert timeouts(planned) == {T1_MS}, "three members, two partitions: D and E may always have been without"


def test_design_iii_moves_k_at_a_time_and_paces_itself() -> None:
    rules = Rules(3, delay_ms=T1_MS, max_moves=1, move_interval_ms=700)
    one = run(rules, 4, claims(A="T1,T2,T3,T4", B=""), memory_of(4, A="T1,T2,T3,T4"))
    assert (one.decisions["A"].revoked, timeouts(one)) == (held("T4"), {0})
    two = run(rules, 4, claims(A="T1,T2,T3", B=""), one.memory)
    assert (two.decisions["B"].gained, timeouts(two)) == (held("T4"), {700})
    three = run(rules, 4, claims(A="T1,T2,T3", B="T4"), two.memory, 700)
    assert (three.decisions["A"].revoked, timeouts(three)) == (held("T3"), {0})
    four = run(rules, 4, claims(A="T1,T2", B="T4"), three.memory, 700)
    assert (four.decisions["B"].gained, timeouts(four), four.again) == (held("T3"), {0}, False)


def test_design_iii_keeps_its_plan_between_rounds() -> None:
    """C subscribes only to U and B to both topics: what A gives to B makes B give to C. The second half is not planned anew."""
    T_U, U = frozenset({"T", "U"}), frozenset({"U"})
    rules = Rules(3, delay_ms=T1_MS, max_moves=1, move_interval_ms=700)
    a, b = {("T", n) for n in range(6)}, {("U", n) for n in range(4)}
    joined = {"A": Claim(T, frozenset(a)), "B": Claim(T_U, frozenset(b)), "C": Claim(U)}
    memory = None
    target: object = None
    for _ in range(12):
        planned = plan(rules, {"T": 6, "U": 4}, joined, "A", memory, None, 0)
        if planned.memory.target is not None:
            target = target or planned.memory.target
            assert planned.memory.target == target
        memory = planned.memory
        joined = {member: Claim(joined[member].topics, one.assigned) for member, one in planned.decisions.items()}
    assert {part: member for member, claim in joined.items() for part in claim.owned} == target


@for_each("design", [1, 2, 3])
def test_the_order_in_which_members_are_listed_means_nothing(design: int) -> None:
    rules = Rules(design, delay_ms=T1_MS)
    joined = claims(A="T1,T2,T3", B="", C="T5")
    memory = memory_of(6, A="T1,T2,T3", C="T5", D="T4,T6")
    one = plan(rules, {"T": 6}, joined, "A", memory, None, 0)
    two = plan(rules, {"T": 6}, dict(reversed(joined.items())), "A", memory, None, 0)
    assert one.decisions == two.decisions


def lost_silently(nonce: bool) -> World:
    """C dies, and the leader misses the answer of that rebalance and has no timer, so only one timer of B remains."""
    world = World(TWO, 3, {"T": 3}, nonce)
    leader, follower, victim = (world.join(name, ("T",)) for name in "abc")
    world.leader = leader
    while world.pending:
        world.round()
    world.remove(victim)
    world.round(losing=frozenset({world.group.index(leader)}), silently=True)
    assert leader.timer is None and follower.timer is not None
    for _ in range(20):
        if world.next_timer() is not None:
            world.fire()
        while world.pending:
            world.round()
            if not world.nonce and all(process is not leader for process in world.group if process.wants):
                break
    return world


def test_without_the_nonce_one_lost_answer_stops_the_group_for_ever() -> None:
    assert lost_silently(nonce=True).holders().keys() == held("T1,T2,T3")
    assert len(lost_silently(nonce=False).holders()) == 2
