"""Stock consumers with the cooperative assignors get the right listener calls, keep positions and pauses, and hand partitions over."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from coop_house import ALL, LIBRARIES, PER_PARTITION, everything, fill, holding
from waiting import until

EVERY_LIBRARY = pytest.mark.parametrize("library", LIBRARIES)
DESIGNS = pytest.mark.parametrize("design", [1, 2, 3])


@DESIGNS
@EVERY_LIBRARY
def test_only_what_moves_is_told_and_what_stays_goes_on_where_it_was(library: str, design: int, house: Any) -> None:
    """Offsets are committed only at a hand-over, so kept partitions would be read again if their positions were lost."""
    fill(house)
    settings = {"design": design, "delay_ms": 60_000, "max_moves": 4}
    a = house.stock(library, "A", settings, commit_revoked=True)
    holding(house, a)
    everything(house, a, each=PER_PARTITION)
    b = house.stock(library, "B", settings, commit_revoked=True)
    holding(house, a, b, sizes=[2, 2])
    moved, kept = frozenset({("T", 2), ("T", 3)}), frozenset({("T", 0), ("T", 1)})
    fill(house)
    counts = everything(house, a, b, each=2 * PER_PARTITION)
    assert set(counts.values()) == {1}, "nothing twice"
    assert a.told == [("assigned", ALL), ("revoked", moved)]
    assert b.told == [("assigned", moved)]
    assert {part for part, _ in b.delivered} == moved
    assert a.owned() == kept


def test_a_kafka_python_listener_that_commits_at_the_close_commits_where_it_is(house: Any) -> None:
    """kafka-python revokes everything when it closes. Its last join was long ago, and without care its positions would go back."""
    a = house.stock("kafka-python", "A", {"design": 2}, commit_revoked=True)
    holding(house, a)
    fill(house)
    everything(house, a, each=PER_PARTITION)
    house.gone(a)
    assert house.broker.groups["g"].offsets == {"T": dict.fromkeys(range(4), PER_PARTITION)}


def test_a_kafka_python_listener_that_fails_at_the_close_leaves_no_client_running(house: Any, caplog: Any) -> None:
    """kafka-python stops closing if a listener raises an exception, and its client would go on connecting for ever."""
    from kafka import KafkaConsumer
    from kafka.consumer.subscription_state import ConsumerRebalanceListener

    from groupmock_clients.cooperative.kafka_python import CooperativeAssignor

    class Failing(ConsumerRebalanceListener):  # type: ignore[misc]  # kafka-python ships no types
        def on_partitions_assigned(self, assigned: Any) -> None: ...

        def on_partitions_revoked(self, revoked: Any) -> None:
            raise ZeroDivisionError("planted")

    assignor = CooperativeAssignor()
    where = house.broker.bootstrap
    consumer = KafkaConsumer(bootstrap_servers=where, group_id="g", partition_assignment_strategy=[assignor], metrics_enabled=False)
    assignor.attach(consumer)
    consumer.subscribe(["T"], listener=assignor.listener(Failing()))
    until("an assignment", lambda: consumer.poll(timeout_ms=200) or consumer.assignment(), lambda: house.broker.story("g"))
    consumer.close(autocommit=False)
    connections = house.broker._up().server.driver.connections
    until("no connection", lambda: not connections, lambda: connections)
    assert "on_partitions_revoked failed while the consumer closes" in caplog.text


@EVERY_LIBRARY
def test_a_pause_survives_the_round(library: str, house: Any) -> None:
    fill(house)
    a = house.stock(library, "A", {"design": 1}, commit_revoked=True)
    holding(house, a)
    everything(house, a, each=PER_PARTITION)
    paused, other = partition(library, 0), partition(library, 1)
    a.call(lambda consumer: consumer.pause(paused))
    b = house.stock(library, "B", {"design": 1}, commit_revoked=True)
    holding(house, a, b, sizes=[2, 2])
    assert set(a.call(lambda consumer: consumer.paused())) == {paused}
    fill(house, 5)
    until("the other partition", lambda: (("T", 1), PER_PARTITION + 4) in a.delivered, lambda: a.delivered[-5:])
    assert (("T", 0), PER_PARTITION) not in a.delivered
    a.call(lambda consumer: consumer.resume(paused))
    counts = everything(house, a, b, each=PER_PARTITION + 5)
    assert set(counts.values()) == {1}
    assert other.partition == 1


def partition(library: str, number: int) -> Any:
    if library == "aiokafka":
        from aiokafka import TopicPartition

        return TopicPartition("T", number)
    from kafka import TopicPartition as KafkaPythonPartition

    return KafkaPythonPartition("T", number)


@EVERY_LIBRARY
def test_a_seek_before_the_round_is_kept(library: str, house: Any) -> None:
    """A seek is kept even if no record is delivered after it."""
    fill(house)
    a = house.stock(library, "A", {"design": 1}, commit_revoked=True)
    everything(house, a, each=PER_PARTITION)
    tp = partition(library, 0)
    a.call(lambda consumer: (consumer.pause(tp), consumer.seek(tp, 5)))
    b = house.stock(library, "B", {"design": 1}, commit_revoked=True)
    holding(house, a, b, sizes=[2, 2])
    a.call(lambda consumer: consumer.resume(tp))
    until("offsets 5 to the end again", lambda: a.delivered.count((("T", 0), PER_PARTITION - 1)) == 2, lambda: a.delivered[-3:])
    assert a.delivered.count((("T", 0), 5)) == 2 and a.delivered.count((("T", 0), 4)) == 1


@EVERY_LIBRARY
def test_what_is_lost_waits_its_delay_and_then_moves(library: str, house: Any) -> None:
    settings = {"design": 2, "delay_ms": 1500}
    a = house.stock(library, "A", settings, poll_ms=60_000)
    holding(house, a)
    b = house.stock(library, "B", settings)
    holding(house, a, b, sizes=[2, 2])
    before = house.broker.groups["g"].generation
    house.gone(b)
    until("the round without B", lambda: house.broker.groups["g"].generation > before, lambda: house.broker.story("g"))
    house.broker.wait_for("g", state="Stable", members=1)
    assert len(a.owned()) == 2, "kept for B"
    holding(house, a)
    assert house.broker.groups["g"].generation == before + 2, "one round for the loss, one for the deadline"


@EVERY_LIBRARY
def test_who_comes_back_in_time_gets_its_own(library: str, house: Any) -> None:
    settings = {"design": 2, "delay_ms": 30_000}
    a = house.stock(library, "A", settings)
    holding(house, a)
    b = house.stock(library, "B", settings)
    holding(house, a, b, sizes=[2, 2])
    its = b.owned()
    house.gone(b)
    house.broker.wait_for("g", state="Stable", members=1)
    b = house.stock(library, "B", settings)
    holding(house, a, b, sizes=[2, 2])
    assert b.owned() == its
    assert [what for what, _ in a.told] == ["assigned", "revoked"], "nothing moved at A when B went and came"


@EVERY_LIBRARY
def test_design_iii_moves_one_at_a_time(library: str, house: Any) -> None:
    settings = {"design": 3, "delay_ms": 30_000, "max_moves": 1, "move_interval_ms": 300}
    a = house.stock(library, "A", settings)
    holding(house, a)
    b = house.stock(library, "B", settings)
    holding(house, a, b, sizes=[2, 2])
    assert a.told == [("assigned", ALL), ("revoked", frozenset({("T", 3)})), ("revoked", frozenset({("T", 2)}))]
    assert b.told == [("assigned", frozenset({("T", 3)})), ("assigned", frozenset({("T", 2)}))]


@EVERY_LIBRARY
def test_new_partitions_are_given_at_once(library: str, house: Any) -> None:
    a = house.stock(library, "A", {"design": 2, "delay_ms": 60_000}, metadata_max_age_ms=300)
    holding(house, a)
    house.broker.grow_topic("T", 6)
    holding(house, a, wanted=frozenset(("T", number) for number in range(6)))
    assert a.told == [("assigned", ALL), ("assigned", frozenset({("T", 4), ("T", 5)}))]


@pytest.mark.parametrize("design", [1, 2])
@pytest.mark.parametrize("first", LIBRARIES)
def test_one_group_of_both_libraries_with_the_leader_moving_between_them(first: str, design: int, house: Any) -> None:
    second = next(library for library in LIBRARIES if library != first)
    settings = {"design": design, "delay_ms": 400}
    a = house.stock(first, "A", settings)
    holding(house, a)
    b = house.stock(second, "B", settings)
    holding(house, a, b, sizes=[2, 2])
    c = house.stock(first, "C", settings)
    holding(house, a, b, c, sizes=[1, 1, 2])
    house.gone(a)  # The leader A leaves the group.
    holding(house, b, c, sizes=[2, 2])
    d = house.stock(second, "D", settings)
    holding(house, b, c, d, sizes=[1, 1, 2])
    for member in (b, c, d):
        assert member.assignor.member.problems == []


def test_aiokafka_delivers_nothing_new_before_the_callback_returned(house: Any) -> None:
    """Kept partitions are still delivered while the callback runs. Without the restored position all their records would come again."""
    import asyncio

    fill(house)
    a = house.stock("aiokafka", "A", {"design": 1}, commit_revoked=True)
    everything(house, a, each=PER_PARTITION)
    b = house.stock("aiokafka", "B", {"design": 1}, commit_revoked=True)
    holding(house, a, b, sizes=[2, 2])
    until("the first callback", lambda: b.told, lambda: house.broker.story("g"))
    seen: list[Any] = []
    gate = asyncio.run_coroutine_threadsafe(_event(), b.loop).result(10)

    class Slow:
        async def on_partitions_revoked(self, revoked: Any) -> None: ...

        async def on_partitions_assigned(self, assigned: Any) -> None:
            seen.append({(tp.topic, tp.partition) for tp in assigned})
            await gate.wait()

    change_listener(b, Slow())
    house.gone(a)  # B gets the other two partitions, but its callback is still running.
    until("the callback", lambda: seen, lambda: house.broker.story("g"))
    fill(house, 3)
    until("what stayed at B", lambda: all((part, PER_PARTITION + 2) in b.delivered for part in [("T", 2), ("T", 3)]), lambda: b.delivered)
    assert {part for part, _ in b.delivered} == {("T", 2), ("T", 3)}, "nothing of what is new yet"
    b.loop.call_soon_threadsafe(gate.set)
    until("what is new", lambda: {part for part, _ in b.delivered} == ALL, lambda: b.delivered)
    assert max(count for (part, _), count in Counter(b.delivered).items() if part[1] >= 2) == 1


def test_what_the_user_pauses_in_the_callback_stays_paused(house: Any) -> None:
    """The assignor pauses partitions itself, and must not resume those that the user paused; the others are read."""
    fill(house, 3)
    told: list[Any] = []
    a = house.stock("aiokafka", "A", {"design": 1})
    holding(house, a)
    everything(house, a, each=3)
    b = house.stock("aiokafka", "B", {"design": 1})

    class Pausing:
        def on_partitions_revoked(self, revoked: Any) -> None: ...

        def on_partitions_assigned(self, assigned: Any) -> None:
            told.append(set(assigned))
            b.consumer.pause(partition("aiokafka", 0))
            b.consumer.pause(partition("aiokafka", 1))
            b.consumer.resume(partition("aiokafka", 1))

    holding(house, a, b, sizes=[2, 2])
    until("the first callback", lambda: b.told, lambda: house.broker.story("g"))
    change_listener(b, Pausing())
    house.gone(a)
    until("what came", lambda: {part for part, _ in b.delivered} >= ALL - {("T", 0)}, lambda: (told, b.delivered))
    assert b.call(lambda consumer: consumer.paused()) == {partition("aiokafka", 0)}
    assert ("T", 0) not in {part for part, _ in b.delivered}
    b.call(lambda consumer: consumer.resume(partition("aiokafka", 0)))
    everything(house, b, each=3)


def test_aiokafka_without_our_listener_keeps_its_positions_too(house: Any) -> None:
    """Nothing is committed here, so only the assignor can restore positions."""
    fill(house)
    a = house.stock("aiokafka", "A", {"design": 1}, listens=False)
    everything(house, a, each=PER_PARTITION)
    b = house.stock("aiokafka", "B", {"design": 1}, listens=False)
    holding(house, a, b, sizes=[2, 2])
    fill(house, 2)
    until("what stayed", lambda: all((part, PER_PARTITION + 1) in a.delivered for part in a.owned()), lambda: a.delivered[-5:])
    assert max(Counter(a.delivered).values()) == 1


def test_aiokafka_subscribing_again_keeps_what_stays_subscribed(house: Any) -> None:
    """A second subscribe() replaces the library's whole subscription. The partitions of the removed topic are handed over, and the other
    topic goes on."""
    house.broker.create_topic("U", 2)
    fill(house)
    a = house.stock("aiokafka", "A", {"design": 1}, topics=("T", "U"))
    everything(house, a, each=PER_PARTITION)
    left = frozenset({("U", 0), ("U", 1)})
    holding(house, a, wanted=ALL | left)
    a.call(lambda consumer: consumer.subscribe(["T"], listener=a.assignor._listener))
    until("what was left", lambda: len(a.told) == 2, lambda: (a.told, house.broker.story("g")))
    assert a.told[1] == ("revoked", left)
    fill(house, 2)
    counts = everything(house, a, each=PER_PARTITION + 2)
    assert set(counts.values()) == {1}


def change_listener(member: Any, user: Any) -> None:
    """Subscribe to the same topics with another listener."""
    member.assignor._listener._user = user


async def _event() -> Any:
    import asyncio

    return asyncio.Event()


def expel(house: Any, name: str) -> str:
    """Remove the member from the group with a LeaveGroup in its name and return its former id."""
    from raw_member import RawMember

    from groupmock_codec.messages.k13_leave_group import LeaveGroupRequest, MemberIdentity

    view = house.broker.groups["g"]
    (victim,) = [member.member_id for member in view.members if member.member_id.startswith(f"{name}-")]
    answer = RawMember.ask_once(house.broker.bootstrap, 13, 3, LeaveGroupRequest(group_id="g", members=[MemberIdentity(member_id=victim)]))
    assert answer.error_code == 0 and answer.members[0].error_code == 0, answer
    return str(victim)


@pytest.mark.parametrize("victim", ["follower", "leader"])
@EVERY_LIBRARY
def test_an_expelled_member_claims_nothing_and_gets_its_own_back(library: str, victim: str, house: Any) -> None:
    """The expelled process goes on with its partitions until it notices. Its listener learns that they are lost, and under a new id it
    counts as the process that came back."""
    settings = {"design": 2, "delay_ms": 30_000}
    a = house.stock(library, "A", settings)
    holding(house, a)
    b = house.stock(library, "B", settings)
    holding(house, a, b, sizes=[2, 2])
    house.broker.wait_for("g", state="Stable", members=2)
    out, other = (a, b) if victim == "leader" else (b, a)
    its, before, others = out.owned(), len(out.told), len(other.told)
    gone = expel(house, "A" if victim == "leader" else "B")
    until("what it lost", lambda: len(out.told) >= before + 2, lambda: (out.told, house.broker.story("g")))
    holding(house, a, b, sizes=[2, 2])
    assert out.told[before:] == [("lost", its), ("assigned", its)]
    assert len(other.told) == others, "the other one heard nothing"
    assert gone not in {member.member_id for member in house.broker.groups["g"].members}
