"""Tests the bytes and results of a cooperative member by playing leader and follower, also with unreadable peers."""

from __future__ import annotations

import logging

import pytest
from cases import for_each
from doc_vectors import examples, held

from groupmock_clients.cooperative.balance import Partition
from groupmock_clients.cooperative.errors import UnreadableSubscription
from groupmock_clients.cooperative.member import AssignmentEffect, Membership, PeerSubscription, flat
from groupmock_clients.cooperative.policy import Rules
from groupmock_codec.embedded import consumer, designs

DESIGNS = for_each("design", [1, 2, 3])
COUNTS = {"T": 4}


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class One:
    """A cooperative member and its owned partitions without a client library. `shows_owned`: as kafka-python's leader sees it, else as
    aiokafka's."""

    def __init__(self, name: str, design: int, clock: Clock, shows_owned: bool, **rules: object) -> None:
        self.name, self.shows_owned = name, shows_owned
        self.member = Membership(Rules(design, **{"delay_ms": 5000, **rules}), clock=clock)
        self.owned: frozenset[Partition] = frozenset()
        self.last: AssignmentEffect | None = None

    def peer(self, shows_owned: bool) -> PeerSubscription:
        stock = consumer.decode_subscription(self.member.subscription(["T"], self.owned))
        assert flat(stock.owned_partitions) == self.owned, "any KIP-429 leader reads it"
        return PeerSubscription(stock.topics, stock.user_data, flat(stock.owned_partitions) if shows_owned else None)

    def deliver(self, data: bytes) -> None:
        stock = consumer.ASSIGNMENT.decode(1, data, trailing=True)
        self.last = self.member.received(
            self.owned, flat(stock.assigned_partitions), stock.user_data, self.name, ["T"], [("T", number) for number in range(4)]
        )
        self.owned = self.last.held


def rounds(leader: One, *others: One) -> dict[str, bytes]:
    """Run one rebalance and return the assignments that the leader sent."""
    everybody = (leader, *others)
    sent = leader.member.assign(COUNTS, {one.name: one.peer(leader.shows_owned) for one in everybody}, None)
    for one in everybody:
        one.deliver(sent[one.name])
    return sent


def team(names: str, design: int, shows_owned: bool, clock: Clock | None = None, **rules: object) -> list[One]:
    clock = clock or Clock()
    return [One(name, design, clock, shows_owned, **rules) for name in names]


@DESIGNS
@for_each("shows_owned", [True, False], ids=["kafka-python leads", "aiokafka leads"])
def test_a_joiner_gets_its_part_in_two_rounds(design: int, shows_owned: bool) -> None:
    a, b = team("AB", design, shows_owned, max_moves=2)
    rounds(a)
    assert a.owned == held("T1,T2,T3,T4")
    rounds(a, b)
    assert a.last == AssignmentEffect(held("T1,T2"), held(""), held("T3,T4"), True, 0)
    assert b.last == AssignmentEffect(held(""), held(""), held(""), False, 0)
    rounds(a, b)
    assert b.last is not None and b.last.added == held("T3,T4")
    assert a.last == AssignmentEffect(held("T1,T2"), held(""), held(""), False, 0)


@for_each("shows_owned", [True, False], ids=["kafka-python leads", "aiokafka leads"])
@for_each("example", examples(), ids=lambda example: example.name)
def test_the_documents_rounds_as_they_go_over_the_wire(example, shows_owned: bool) -> None:
    clock = Clock()
    people = {one.name: one for one in team("".join(example.initial), example.design, shows_owned, clock)}
    rounds(*people.values())
    assert {name: one.owned for name, one in people.items()} == {name: held(claim) for name, claim in example.initial.items()}
    for one in example.rounds:
        clock.now += {"after": 5.0, "before": 2.0, None: 0.0}[one.when]
        people = {name: people.get(name) or One(name, example.design, clock, shows_owned) for name in one.claims}
        assert rounds(*people.values()) == one.assignment_wire


@DESIGNS
def test_every_join_has_a_nonce_of_its_own(design: int) -> None:
    (one,) = team("A", design, False)
    first, second = one.member.subscription(["T"], ()), one.member.subscription(["T"], ())
    assert first != second
    assert consumer.decode_subscription(first).topics == consumer.decode_subscription(second).topics == ["T"]


def test_a_timeout_is_only_for_who_loses_nothing() -> None:
    clock = Clock()
    a, b, c = team("ABC", 2, True, clock)
    rounds(a, b, c)
    sent = rounds(a, b)
    assert b.last is not None and (b.last.timeout_ms, b.last.rejoin) == (5000, False)
    assert designs.carried_assignment(consumer.decode_assignment(sent["B"]).user_data) == designs.DesignAssignment(2, [], [], 5000)


def test_leading_on_after_somebody_else_led_starts_without_memory() -> None:
    """A led first and B afterwards, so A's memory is outdated and lost partitions are withheld from the beginning."""
    clock = Clock()
    a, b, c = team("ABC", 2, True, clock)
    rounds(a, b, c)
    rounds(b, a, c)
    clock.now += 1
    rounds(a, b)
    assert a.last is not None and a.last.timeout_ms == 5000
    assert a.member.problems == []


def test_a_former_follower_keeps_the_deadline_that_it_was_told() -> None:
    clock = Clock()
    a, b, c = team("ABC", 2, True, clock)
    rounds(a, b, c)
    rounds(a, b)
    clock.now += 2
    rounds(b)
    assert b.last is not None and b.last.timeout_ms == 3000


BROKEN = [(1, b"\0\0\0\1"[:3]), (1, b"junk"[:3]), (2, b"junk"), (2, b""), (3, None)]


@for_each(("design", "data"), BROKEN)
def test_an_unreadable_peer_is_named_with_its_bytes_and_what_was_assumed(
    design: int, data: bytes | None, caplog: pytest.LogCaptureFixture
) -> None:
    a, b = team("AB", design, False, max_moves=4)
    rounds(a, b)
    rounds(a, b)
    kept = b.owned
    assert kept
    with caplog.at_level(logging.ERROR, "groupmock.cooperative"):
        sent = a.member.assign(COUNTS, {"A": a.peer(False), "B": PeerSubscription(["T"], data)}, "A")
    (problem,) = a.member.problems
    assert (problem.member, problem.data) == ("B", data)
    names = ", ".join(f"T-{number}" for _, number in sorted(kept))
    assert str(problem) in caplog.text
    assert "member B" in str(problem) and f"it holds what it was given last: {names}" in str(problem)
    assert ("null" if data is None else data.hex()) in str(problem)
    assert flat(consumer.ASSIGNMENT.decode(1, sent["B"], trailing=True).assigned_partitions) == kept, "nobody else gets it meanwhile"


def test_of_what_could_not_be_read_little_is_kept() -> None:
    (a,) = team("A", 2, False)
    a.member.assign(COUNTS, {"A": a.peer(False), "B": PeerSubscription(["T"], b"\xff" * 1_000_000)}, "A")
    (problem,) = a.member.problems
    assert problem.data == b"\xff" * 4096
    assert "1000000 bytes" in str(problem)


def test_an_unreadable_peer_that_was_never_given_anything_holds_nothing() -> None:
    (a,) = team("A", 2, False)
    a.member.assign(COUNTS, {"A": a.peer(False), "B": PeerSubscription(["T"], b"\xff")}, "A")
    assert str(a.member.problems[0]).endswith("it holds nothing")


def test_strict_refuses_an_unreadable_peer() -> None:
    member = Membership(Rules(2), strict=True)
    member.subscription(["T"], ())
    with pytest.raises(UnreadableSubscription, match=r"member B: .*2 bytes ffff"):
        member.assign(COUNTS, {"A": PeerSubscription(["T"], None, frozenset()), "B": PeerSubscription(["T"], b"\xff\xff")}, "A")


def test_a_leader_that_is_not_among_the_members_is_told_so() -> None:
    a, b = team("AB", 1, False)
    a.member.subscription(["T"], ())
    with pytest.raises(LookupError, match="pass `me`"):
        a.member.assign(COUNTS, {"B": b.peer(False)})


def test_new_members_may_leave_their_data_out() -> None:
    (a,) = team("A", 1, False)
    a.member.assign(COUNTS, {"A": a.peer(False), "B": PeerSubscription(["T"], b""), "C": PeerSubscription(["T"], None)}, "A")
    assert a.member.problems == []
