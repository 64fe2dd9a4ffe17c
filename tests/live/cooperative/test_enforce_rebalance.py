"""enforce_rebalance (KIP-568) starts one rebalance per call with both libraries, also for static members, and does nothing without a
group."""

from __future__ import annotations

import logging
from importlib import import_module
from typing import Any

import pytest
from coop_house import EVERY, LIBRARIES
from stock_members import Partition, heard
from waiting import until

from groupmock.journal.read import read
from groupmock.journal.rows import ClientRow
from groupmock_clients.cooperative import asked

EVERY_LIBRARY = pytest.mark.parametrize("library", LIBRARIES)


def enforce(library: str) -> Any:
    return import_module(f"groupmock_clients.cooperative.{'aiokafka' if 'aiokafka' in library else 'kafka_python'}").enforce_rebalance


def settled(house: Any, *members: Any) -> list[frozenset[Partition]]:
    """Wait until the members own each of the four partitions once and their listeners know it, and return the partitions of each."""

    def done() -> bool:
        held = sorted(part for member in members for part in member.owned())
        told = all(member.owned() and heard(member) == member.owned() for member in members)
        return told and held == [("T", number) for number in range(4)]

    until("four partitions", done, lambda: house.broker.story("g"))
    house.broker.wait_for("g", state="Stable", members=len(members))
    return [member.owned() for member in members]


@pytest.mark.parametrize("caller", ["leader", "follower"])
@pytest.mark.parametrize("static", [False, True], ids=["dynamic", "static"])
@EVERY_LIBRARY
def test_a_call_is_a_round_in_which_nothing_moves(
    library: str, static: bool, caller: str, house: Any, caplog: pytest.LogCaptureFixture
) -> None:
    def options(name: str) -> dict[str, str]:
        return {"group_instance_id": name} if static else {}

    a = house.stock(library, "A", {"design": 2, "delay_ms": 60_000}, **options("A"))
    settled_alone = settled(house, a)
    b = house.stock(library, "B", {"design": 2, "delay_ms": 60_000}, **options("B"))
    before = settled(house, a, b)
    assert settled_alone != before
    generation, told = house.broker.groups["g"].generation, [len(a.told), len(b.told)]
    who = a if caller == "leader" else b

    def asked() -> bool:
        """Return whether the member has requested a rebalance. A round without a change of partitions is invisible to its listener."""
        return bool(who.call(lambda consumer: enforce(library)(consumer, "the moon is full")))

    with caplog.at_level(logging.INFO, "groupmock.cooperative"):
        until("the call to be taken", asked, lambda: house.broker.story("g"))
    house.broker.wait_for("g", state="Stable", members=2, generation=generation + 1)
    assert settled(house, a, b) == before
    assert [len(a.told), len(b.told)] == told
    assert "the moon is full" in caplog.text


@pytest.mark.parametrize("library", EVERY)
def test_the_reason_can_be_kept_in_a_row_of_the_journal(library: str, house: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asked, "hooks", [asked.client_rows(house.broker.client_says)])
    a = house.stock(library, "A", {"design": 2, "delay_ms": 60_000})
    settled(house, a)
    generation = house.broker.groups["g"].generation
    assert a.call(lambda consumer: enforce(library)(consumer, "the moon is full")) is True
    house.broker.wait_for("g", state="Stable", members=1, generation=generation + 1)

    def rows() -> list[ClientRow]:
        return [row for row in read(house.broker.journal)[1] if isinstance(row, ClientRow)]

    until("a client row", rows, lambda: house.broker.story("g"))
    (row,) = rows()
    assert (row.what, row.fields["group"], row.fields["reason"]) == ("asked", "g", "the moon is full")
    assert row.fields["member"].startswith(row.client)


@pytest.mark.parametrize("library", EVERY)
def test_a_second_call_before_the_round_does_nothing(library: str, house: Any) -> None:
    a = house.stock(library, "A", {"design": 1})
    settled(house, a)
    generation = house.broker.groups["g"].generation
    both = a.call(lambda consumer: (enforce(library)(consumer), enforce(library)(consumer)))
    assert both == (True, False)
    house.broker.wait_for("g", state="Stable", members=1, generation=generation + 1)


async def test_aiokafka_without_a_subscription_to_topics_in_a_group_is_refused(house: Any) -> None:
    from aiokafka import AIOKafkaConsumer, TopicPartition
    from aiokafka.errors import IllegalStateError

    for group in ("g", None):
        consumer = AIOKafkaConsumer(bootstrap_servers=house.broker.bootstrap, group_id=group)
        with pytest.raises(IllegalStateError, match="started consumer"):
            enforce("aiokafka")(consumer)
        await consumer.start()
        consumer.assign([TopicPartition("T", 0)])
        with pytest.raises(IllegalStateError):
            enforce("aiokafka")(consumer)
        await consumer.topics()  # If the consumer were stopped at once, aiokafka would fail on a task of its own that has not started.
        await consumer.stop()


def test_kafka_python_without_a_subscription_to_topics_in_a_group_is_refused(house: Any) -> None:
    from kafka import KafkaConsumer, TopicPartition
    from kafka.errors import IllegalStateError

    for group in ("g", None):
        consumer = KafkaConsumer(bootstrap_servers=house.broker.bootstrap, group_id=group, metrics_enabled=False)
        consumer.assign([TopicPartition("T", 0)])
        with pytest.raises(IllegalStateError, match="subscribed to topics"):
            enforce("kafka-python")(consumer)
        consumer.close(autocommit=False)


@EVERY_LIBRARY
def test_under_a_foreign_assignor_only_the_leaders_call_starts_a_round(library: str, house: Any) -> None:
    """The broker answers a follower's unchanged JoinGroup with the current generation, as the docs say."""
    a = house.stock(library, "A", None)
    b = house.stock(library, "B", None)
    house.broker.wait_for("g", state="Stable", members=2)
    until("both to have joined", lambda: a.told and b.told and a.told[-1][0] == b.told[-1][0] == "assigned", lambda: (a.told, b.told))
    view = house.broker.groups["g"]
    leader, follower = (a, b) if view.leader.startswith("A") else (b, a)
    told = len(follower.told)
    follower.call(lambda consumer: enforce(library)(consumer))
    until("the follower's answer", lambda: len(follower.told) > told and follower.told[-1][0] == "assigned", lambda: follower.told)
    assert house.broker.groups["g"].generation == view.generation
    leader.call(lambda consumer: enforce(library)(consumer))
    house.broker.wait_for("g", state="Stable", members=2, generation=view.generation + 1)
