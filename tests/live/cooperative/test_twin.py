"""Twin consumers go on delivering records during a delayed rebalance, and lose or repeat none when partitions move."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from typing import Any

import pytest
from raw_member import RawMember
from stock_members import Partition
from waiting import until

SINGLE = {"aiokafka twin": "aiokafka", "kafka-python twin": "kafka-python"}
TWINS = pytest.mark.parametrize("twin", SINGLE)
SETTINGS = {"design": 1}
ALL = frozenset(("T", number) for number in range(4))


def fill(house: Any, count: int) -> None:
    for number in range(4):
        for _ in range(count):
            house.broker.produce("T", b"x", partition=number)


def held_up(house: Any, a: Any) -> tuple[RawMember, RawMember]:
    """Delay a rebalance: A and the scripted member B own two partitions each, C joins, and B does not learn of it."""
    b = house.script("B", 1)
    until("two each", lambda: len(a.owned()) == len(b.owned) == 2, lambda: (a.owned(), b.owned, house.broker.story("g")))
    house.broker.wait_for("g", state="Stable", members=2)
    b.hear_nothing()
    before = len(a.delivered)
    c = house.script("C", 1)
    house.broker.wait_for("g", state="PreparingRebalance")
    inside = a.assignor.consumer

    def joining() -> bool:
        return bool(inside._subscription.reassignment_in_progress if "aiokafka" in a.library else inside._coordinator.rejoining)

    until("A to join again", joining, lambda: house.broker.story("g"))
    assert before <= len(a.delivered)
    return b, c


def delivered(member: Any, part: Partition) -> list[int]:
    return [offset for each, offset in list(member.delivered) if each == part]


@TWINS
def test_delivery_goes_on_while_the_round_waits_for_somebody(twin: str, house: Any) -> None:
    fill(house, 5)
    a = house.stock(twin, "A", SETTINGS)
    until("all of it", lambda: len(a.delivered) == 20, lambda: a.delivered)
    b, c = held_up(house, a)
    fill(house, 5)
    held = sorted(a.owned())
    until("more, in the round", lambda: all(delivered(a, part) == list(range(10)) for part in held), lambda: a.delivered[20:])
    assert house.broker.groups["g"].state == "PreparingRebalance"
    b.may_beat.set()
    house.broker.wait_for("g", state="Stable", members=3)
    until("the end of the round", lambda: len(a.owned()) + len(b.owned) + len(c.owned) == 4, lambda: house.broker.story("g"))
    fill(house, 5)
    kept = sorted(a.owned())
    until("the rest", lambda: all(delivered(a, part) == list(range(15)) for part in kept), lambda: a.delivered[20:])
    assert max(Counter(a.delivered).values()) == 1


@TWINS
def test_a_single_consumer_delivers_nothing_in_that_round(twin: str, house: Any) -> None:
    """The test shows why the twin exists: a single consumer delivers nothing in the same rebalance."""
    fill(house, 5)
    a = house.stock(SINGLE[twin], "A", SETTINGS)
    until("all of it", lambda: len(a.delivered) == 20, lambda: a.delivered)
    b, _ = held_up(house, a)
    fill(house, 5)
    threading.Event().wait(0.5)  # The pause is many times longer than a delivery takes, and nothing may arrive during it.
    assert len(a.delivered) == 20
    b.may_beat.set()
    house.broker.wait_for("g", state="Stable", members=3)


@pytest.mark.parametrize("design", [1, 2, 3])
@TWINS
def test_nothing_is_lost_or_comes_twice_when_partitions_move(twin: str, design: int, house: Any) -> None:
    """Records are written all the time while B joins and leaves and C joins, and are committed only at a hand-over."""
    settings = {"design": design, "delay_ms": 300, "max_moves": 1, "move_interval_ms": 100}
    members: list[Any] = []
    sent = 0

    def more(count: int) -> None:
        nonlocal sent
        fill(house, count)
        sent += count

    def settled(*there: Any) -> None:
        def done() -> bool:
            more(1)
            for member in there:
                member.check()
            held = sorted(part for member in there for part in member.owned())
            return held == sorted(ALL) and max(len(member.owned()) for member in there) <= 4 // len(there) + (4 % len(there) > 0)

        until("balance", done, lambda: ([member.owned() for member in there], house.broker.story("g")))

    a = house.stock(twin, "A", settings)
    members.append(a)
    settled(a)
    b = house.stock(twin, "B", settings)
    members.append(b)
    settled(a, b)
    house.gone(b)
    settled(a)
    c = house.stock(twin, "C", settings)
    members.append(c)
    settled(a, c)
    more(3)
    wanted = {(part, offset) for part in ALL for offset in range(sent)}
    until("everything", lambda: wanted <= {each for member in members for each in member.delivered}, lambda: house.broker.story("g"))
    counts = Counter(each for member in members for each in member.delivered)
    assert counts == Counter(wanted), "each record once"


class Slow:
    """A slow rebalance callback that runs an action at its end."""

    def __init__(self, then: Any) -> None:
        self.then = then

    def on_partitions_revoked(self, revoked: Any) -> None: ...

    def on_partitions_assigned(self, assigned: Any) -> None:
        threading.Event().wait(0.3)  # This wait blocks the calling thread, as a user's callback may.
        self.then(assigned)


@TWINS
def test_a_slow_callback_neither_loses_the_place_nor_lets_records_past(twin: str, house: Any) -> None:
    """The application polls during the callback. New partitions begin at their committed offset, and only after the callback has
    returned."""
    fill(house, 5)
    a = house.stock(twin, "A", SETTINGS)
    until("all of it", lambda: len(a.delivered) == 20, lambda: a.delivered)
    b = house.stock(twin, "B", SETTINGS)
    until("two each, and told so", lambda: len(a.owned()) == len(b.owned()) == 2 and b.told, lambda: (a.owned(), b.owned()))
    early: list[Any] = []
    gets = a.owned()
    b.consumer._user = Slow(lambda assigned: early.extend(part for part, _ in b.delivered if part in gets))
    house.gone(a)
    fill(house, 2)
    wanted = {(part, offset) for part in ALL for offset in (5, 6)}
    until("the new records", lambda: wanted <= set(b.delivered), lambda: b.delivered)
    assert not early
    assert Counter(b.delivered) == Counter(wanted), "A had the first five of each"


@TWINS
def test_a_pause_and_a_seek_within_the_callback_count(twin: str, house: Any) -> None:
    fill(house, 5)
    a = house.stock(twin, "A", SETTINGS)
    until("all of it", lambda: len(a.delivered) == 20, lambda: a.delivered)
    b = house.stock(twin, "B", SETTINGS)
    until("two each, and told so", lambda: len(a.owned()) == len(b.owned()) == 2 and b.told, lambda: (a.owned(), b.owned()))

    chosen: list[Any] = []

    def choose(assigned: Any) -> None:
        paused, sought = sorted(assigned)
        b.consumer.pause(paused)
        b.consumer.seek(sought, 3)
        chosen.extend([paused.partition, sought.partition])

    b.consumer._user = Slow(choose)
    house.gone(a)
    until("from 3 on", lambda: chosen and delivered(b, ("T", chosen[1])) == [3, 4], lambda: (chosen, b.delivered))
    fill(house, 1)
    others = ALL - {("T", chosen[0])}
    until("the others", lambda: others == {part for part, _ in b.delivered}, lambda: b.delivered)
    assert {tp.partition for tp in b.call(lambda consumer: consumer.paused())} == {chosen[0]}


@TWINS
def test_what_was_delivered_is_committed_at_the_end(twin: str, house: Any) -> None:
    fill(house, 5)
    a = house.stock(twin, "A", SETTINGS)
    until("all of it", lambda: len(a.delivered) == 20, lambda: a.delivered)
    house.gone(a)
    assert house.broker.groups["g"].offsets == {"T": dict.fromkeys(range(4), 5)}


def test_an_auto_commit_of_an_aiokafka_twin_that_failed_is_tried_again(house: Any) -> None:
    """The commit is retried after any error, because the library may raise other exceptions than its own."""
    a = house.stock("aiokafka twin", "A", SETTINGS, auto_commit_interval_ms=50)
    until("all partitions", lambda: a.owned() == ALL, lambda: house.broker.story("g"))
    failed: list[Any] = []

    def break_once(consumer: Any) -> None:
        commit = consumer._membership.commit

        async def broken(offsets: Any) -> None:
            if not failed:
                failed.append(offsets)
                raise ZeroDivisionError("planted")
            await commit(offsets)

        consumer._membership.commit = broken

    a.call(break_once)
    fill(house, 5)
    offsets = {"T": dict.fromkeys(range(4), 5)}
    until("the next commit", lambda: house.broker.groups["g"].offsets == offsets, lambda: house.broker.groups["g"].offsets)
    assert failed


@TWINS
def test_a_commit_in_a_round_waits_for_its_end(twin: str, house: Any) -> None:
    fill(house, 5)
    a = house.stock(twin, "A", SETTINGS)
    until("all of it", lambda: len(a.delivered) == 20, lambda: a.delivered)
    b, _ = held_up(house, a)
    done = threading.Event()

    def commit() -> None:
        a.call_aside(lambda consumer: consumer.commit())
        done.set()

    committing = threading.Thread(target=commit, daemon=True)
    committing.start()
    fill(house, 1)
    until("delivery", lambda: len(a.delivered) >= 22, lambda: a.delivered[20:])
    assert not done.is_set()
    b.may_beat.set()
    committing.join(20)
    assert done.is_set()
    kept = {number for _, number in a.owned()}
    assert all(house.broker.groups["g"].offsets["T"][number] >= 5 for number in kept)


@TWINS
def test_an_expelled_twin_starts_where_its_successor_left_off(twin: str, house: Any) -> None:
    """The expelled twin cannot commit, so records since its last commit are delivered again, and none is lost."""
    fill(house, 5)
    a = house.stock(twin, "A", SETTINGS)
    until("all of it", lambda: len(a.delivered) == 20, lambda: a.delivered)
    a.call(lambda consumer: consumer.commit())
    fill(house, 2)
    until("more", lambda: len(a.delivered) == 28, lambda: a.delivered)
    from groupmock_codec.messages.k13_leave_group import LeaveGroupRequest, MemberIdentity

    (victim,) = [member.member_id for member in house.broker.groups["g"].members]
    RawMember.ask_once(house.broker.bootstrap, 13, 3, LeaveGroupRequest(group_id="g", members=[MemberIdentity(member_id=victim)]))
    until("again from the commit", lambda: len(a.delivered) == 36, lambda: (a.told, len(a.delivered)))
    assert [what for what, _ in a.told] == ["assigned", "lost", "assigned"]
    assert Counter(Counter(a.delivered).values()) == {1: 20, 2: 8}


@pytest.mark.parametrize("broken", ["assign", "on_assignment"])
def test_an_aiokafka_twins_errors_in_a_round_are_raised_and_its_loop_lives(broken: str, house: Any) -> None:
    """After the first error aiokafka rejoins, and the second error ends its coordination without waking getone. The second error ends
    its coordination, and no waiting getone is told."""
    from aiokafka.errors import KafkaError

    from groupmock_clients.cooperative.aiokafka import CooperativeAssignor, CooperativeConsumer

    attempts: list[str] = []

    def fail(*_: Any) -> None:
        attempts.append(broken)
        raise ZeroDivisionError("planted")

    async def story() -> None:
        assignor = CooperativeAssignor(1)
        setattr(assignor, broken, fail)
        twin = CooperativeConsumer(group_id="g", bootstrap_servers=house.broker.bootstrap, assignor=assignor)
        async with twin:
            twin.subscribe(["T"])
            for _ in range(2):  # The loop runs twice, because the CooperativeConsumer must still work after its first error.
                with pytest.raises(KafkaError, match="planted"):
                    await asyncio.wait_for(twin.getone(), 20)
            await asyncio.sleep(0.5)  # Without a limit, hundreds of attempts would be made in this pause, and only a few are allowed.
            assert len(attempts) < 50

    asyncio.run(story())


def test_a_seek_of_what_a_kafka_python_twin_does_not_hold_is_refused_and_never_committed(house: Any) -> None:
    from kafka import TopicPartition

    from groupmock_clients.cooperative.kafka_python import CooperativeConsumer

    with CooperativeConsumer("T", group_id="g", bootstrap_servers=house.broker.bootstrap, metrics_enabled=False) as consumer:
        with pytest.raises(Exception, match="assign"):
            consumer.seek(TopicPartition("T", 0), 3)
        until("all of it", lambda: consumer.poll(timeout_ms=100) == {} and len(consumer.assignment()) == 4, lambda: house.broker.story("g"))
    assert house.broker.groups["g"].offsets == {}


def test_the_twins_have_the_libraries_methods() -> None:
    from aiokafka import AIOKafkaConsumer
    from kafka import KafkaConsumer

    from groupmock_clients.cooperative import aiokafka, kafka_python

    for theirs, ours in ((AIOKafkaConsumer, aiokafka.CooperativeConsumer), (KafkaConsumer, kafka_python.CooperativeConsumer)):
        ways = {"__aiter__", "__anext__", "__aenter__", "__aexit__", "__iter__", "__next__", "__enter__", "__exit__"}
        public = {name for name in dir(theirs) if callable(getattr(theirs, name)) and (not name.startswith("_") or name in ways)}
        assert public - set(dir(ours)) == set()


def test_what_a_kafka_python_twin_cannot_be_is_refused(house: Any) -> None:
    from kafka import TopicPartition
    from kafka.errors import IllegalStateError

    from groupmock_clients.cooperative.kafka_python import CooperativeConsumer

    with pytest.raises(ValueError, match="group_id"):
        CooperativeConsumer("T", bootstrap_servers=house.broker.bootstrap)
    with pytest.raises(ValueError, match="assignor="):
        CooperativeConsumer("T", group_id="g", partition_assignment_strategy=[])
    with CooperativeConsumer("T", group_id="g", bootstrap_servers=house.broker.bootstrap, metrics_enabled=False) as consumer:
        with pytest.raises(IllegalStateError, match="subscribes"):
            consumer.assign([TopicPartition("T", 0)])
        assert consumer.subscription() == {"T"}
    with pytest.raises(IllegalStateError, match="closed"):
        consumer.poll()


def test_a_kafka_python_twin_is_read_record_by_record(house: Any) -> None:
    """The test iterates over the twin, which ends by consumer_timeout_ms."""
    from groupmock_clients.cooperative.kafka_python import CooperativeConsumer

    fill(house, 2)
    with CooperativeConsumer(
        "T", group_id="g", bootstrap_servers=house.broker.bootstrap, metrics_enabled=False, auto_offset_reset="earliest",
        consumer_timeout_ms=1500,
    ) as consumer:  # fmt: skip
        seen = [(record.partition, record.offset) for record in consumer]
    assert sorted(seen) == [(number, offset) for number in range(4) for offset in range(2)]
    assert house.broker.groups["g"].offsets == {"T": dict.fromkeys(range(4), 2)}


async def test_what_an_aiokafka_twin_cannot_be_is_refused(house: Any) -> None:
    from aiokafka import TopicPartition
    from aiokafka.errors import IllegalStateError

    from groupmock_clients.cooperative.aiokafka import CooperativeConsumer

    with pytest.raises(ValueError, match="group_id"):
        CooperativeConsumer("T", bootstrap_servers=house.broker.bootstrap)
    with pytest.raises(ValueError, match="assignor="):
        CooperativeConsumer("T", group_id="g", partition_assignment_strategy=[])
    async with CooperativeConsumer("T", group_id="g", bootstrap_servers=house.broker.bootstrap) as consumer:
        with pytest.raises(IllegalStateError, match="subscribes"):
            consumer.assign([TopicPartition("T", 0)])
        assert consumer.subscription() == {"T"}
        assert await consumer.topics() >= {"T"}
