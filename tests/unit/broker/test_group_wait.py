"""A wait for a group ends when its condition holds, names what is missing before, and refuses impossible conditions. The tests look at
what is missing before, and at conditions that are refused because they can never hold."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from cases import for_each

from groupmock import Broker, GroupTimeout
from groupmock.data.lag import lag_of
from groupmock.rig import CoreRig
from groupmock.rig.wire import AsyncClient
from groupmock.server.fault_wait import NeverSoOften
from groupmock.server.group_wait import from_texts, wanted_of
from groupmock.server.wait_condition import BadWait, Sight
from groupmock_codec.messages.k08_offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic
from groupmock_codec.records import NewRecord, encode_batch


def kitchen() -> CoreRig:
    """Return a Stable group of anna and ben with two partitions each and without committed offsets."""
    rig = CoreRig.make(topics={"orders": 4, "bills": 1}, settings={"group.initial.rebalance.delay.ms": 10})
    members = [rig.member(name, group="kitchen", topics=["orders"]) for name in ("anna", "ben")]
    for member in members:
        member.join()
    rig.sleep(20)
    for member in members:
        member.sync()
    return rig


def lacking(rig: CoreRig, **wanted: Any) -> list[str]:
    """Return what the condition still lacks, or an empty list."""
    waited = wanted_of("kitchen", **wanted)
    sight = Sight(rig.core.cluster, "kitchen")
    told = [text for each in waited.conditions if (text := each.lacks(sight)) is not None]
    assert waited.reached(sight) == (not told)
    return told


HOLDS: list[dict[str, Any]] = [
    {}, {"state": "Stable"}, {"members": 2}, {"generation": 1}, {"generation": 0}, {"member": "anna"},
    {"assignment": "orders"}, {"assignment": ["orders"]}, {"assignment": {"anna": ["orders/0", "orders/2"], "ben": {"orders": [3, 1]}}},
    {"lag": 0}, {"state": "Stable", "members": 2, "member": "ben", "assignment": "orders", "lag": 3},
]  # fmt: skip


@for_each("wanted", HOLDS, ids=str)
def test_what_holds_is_reached(wanted: dict[str, Any]) -> None:
    assert lacking(kitchen(), **wanted) == []


LACKS: dict[str, tuple[dict[str, Any], str]] = {
    "state": ({"state": "Empty"}, "state Empty: it is Stable"),
    "members": ({"members": 3}, "members 3: it has 2"),
    "generation": ({"generation": 2}, "generation 2 or later: it is 1"),
    "member": ({"member": "carl"}, 'member "carl": there are anna, ben'),
    "a topic that is assigned to nobody": ({"assignment": "bills"}, "bills/0 assigned to nobody"),
    "a topic that is not there": ({"assignment": "nope"}, 'there is no topic "nope"'),
    "other partitions": ({"assignment": {"anna": ["orders/0", "orders/1"]}}, '"anna" to have orders/0-1: it has orders/0,2'),
    "somebody who is not there": ({"assignment": {"carl": []}}, 'there is no member "carl"'),
    "an offset": ({"offsets": {"orders/0": 17}}, "orders/0 committed up to 17: it is at none"),
}


@for_each(("wanted", "text"), LACKS.values(), ids=LACKS)
def test_what_is_missing_is_said(wanted: dict[str, Any], text: str) -> None:
    assert lacking(kitchen(), **wanted) == [text]


def test_offsets_and_lag_follow_the_commits() -> None:
    rig = kitchen()
    batch = encode_batch([NewRecord(value=b"v") for _ in range(5)])
    rig.command("append", topic="orders", partition=0, batch=batch)
    assert lacking(rig, lag=5) == ["lag 5 or less: it is unknown, because nothing is committed for orders/0"]
    anna = OffsetCommitRequest(
        group_id="kitchen", generation_id_or_member_epoch=1, member_id=next(iter(rig.group("kitchen").members)),
        topics=[OffsetCommitRequestTopic(name="orders", partitions=[OffsetCommitRequestPartition(committed_offset=3)])],
    )  # fmt: skip
    rig.send(8, 7, anna)
    rig.sleep(0)
    assert lacking(rig, offsets={"orders/0": 4}) == ["orders/0 committed up to 4: it is at 3"]
    assert lacking(rig, offsets={"orders/0": 3}, lag=2) == []
    assert lacking(rig, lag=1) == ["lag 1 or less: it is 2 (orders/0 2)"]


def test_lag_of_a_group_that_never_committed_is_unknown() -> None:
    rig = kitchen()
    assert lag(rig) == (0, [0, 0, 0, 0]), "there is nothing to read"
    rig.command("append", topic="orders", partition=1, batch=encode_batch([NewRecord(value=b"v")]))
    assert lag(rig) == (None, [0, None, 0, 0])
    for member in list(rig.group("kitchen").members):
        rig.command("expire_member", group="kitchen", member=member)
    assert lag(rig) == (None, [])
    assert lacking(rig, lag=0) == ["lag 0 or less: it is unknown, because the group has neither partitions nor committed offsets"]


def lag(rig: CoreRig) -> tuple[int | None, list[int | None]]:
    """Return the lag of the whole group and of each partition."""
    found = lag_of(rig.core.cluster, rig.group("kitchen").view())
    return found.lag, [each.lag for each in found.partitions]


def test_a_group_that_is_gone_is_dead() -> None:
    rig = CoreRig.make()
    assert lacking(rig, state="Dead") == []
    assert not wanted_of("kitchen").reached(Sight(rig.core.cluster, "kitchen"))
    assert lacking(kitchen(), state="Dead") == ["state Dead: it is Stable"]


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no state": (
        {"state": "Stabel"},
        "no state 'Stabel' of a group (did you mean Stable?): there are Empty, PreparingRebalance, CompletingRebalance, Stable, Dead",
    ),
    "Empty with members": ({"state": "Empty", "members": 1}, "members in state Empty can never hold: nobody is in it then"),
    "Empty and assigned": ({"state": "Empty", "assignment": "t"}, "assignment in state Empty can never hold: nobody is in it then"),
    "Stable without members": ({"state": "Stable", "members": 0}, "a group without members is Empty"),
    "Dead with an offset": ({"state": "Dead", "offsets": {"t/0": 1}}, "offsets in state Dead can never hold: there is no such group then"),
    "more are given than there are": ({"members": 1, "assignment": {"a": [], "b": []}}, "can never hold together"),
    "nobody and somebody": ({"members": 0, "member": "a"}, "can never hold together"),
    "negative": ({"lag": -1}, "lag is 0 or more, not -1"),
    "no partition": ({"offsets": {"orders": 1}}, "'orders' is no partition: write topic/number, as orders/0"),
    "no offset": ({"offsets": {"orders/0": "x"}}, "offsets: orders/0 is to be at a number from 0, not 'x'"),
    "no list": ({"assignment": {"a": "orders/0"}}, "a list of partitions"),
    "nobody's assignment": ({"assignment": {}}, "assignment names no member"),
    "no topic": ({"assignment": []}, "assignment is a topic, several of them, or what each member has"),
    "a number": ({"assignment": 3}, "assignment is a topic, several of them, or what each member has"),
    "an object's number": ({"assignment": {"a": {"orders": "x"}}}, "'orders/x' is no partition"),
}


@for_each(("wanted", "text"), REFUSED.values(), ids=REFUSED)
def test_what_can_never_hold_is_refused_at_once(wanted: dict[str, Any], text: str) -> None:
    with pytest.raises(BadWait) as refused:
        wanted_of("g", **wanted)
    assert text in str(refused.value)


TEXTS: dict[str, tuple[dict[str, str], dict[str, Any]]] = {
    "offsets": ({"offsets": "orders/0=17, bills/1=3"}, {"offsets": {"orders/0": 17, "bills/1": 3}}),
    "offsets as JSON": ({"offsets": '{"orders/0": 17}'}, {"offsets": {"orders/0": 17}}),
    "topics": ({"assignment": "orders,bills"}, {"assignment": ["orders", "bills"]}),
    "topics as JSON": ({"assignment": '["orders"]'}, {"assignment": ["orders"]}),
    "who has what": ({"assignment": '{"anna": ["orders/0"]}'}, {"assignment": {"anna": ["orders/0"]}}),
}


@for_each(("texts", "values"), TEXTS.values(), ids=TEXTS)
def test_a_query_says_the_same(texts: dict[str, str], values: dict[str, Any]) -> None:
    assert str(from_texts("g", texts)) == str(wanted_of("g", **values))


@for_each("text", ["orders/0", "orders/0=-1", "{", '{"orders/0": [1]}', "=1", "orders/0=１"])
def test_offsets_that_are_none(text: str) -> None:
    with pytest.raises(BadWait):
        from_texts("g", {"offsets": text})


def commit(group: str, offset: int) -> OffsetCommitRequest:
    """Return a commit by a client that is not a member."""
    topic = OffsetCommitRequestTopic(name="orders", partitions=[OffsetCommitRequestPartition(committed_offset=offset)])
    return OffsetCommitRequest(group_id=group, topics=[topic])


async def test_a_commit_wakes_who_waits_for_it() -> None:
    async with Broker(topics={"orders": 1}) as broker:
        await broker.produce("orders", b"v")
        waiting = [
            asyncio.ensure_future(broker.wait_for("kitchen", timeout=60, **wanted)) for wanted in ({"offsets": {"orders/0": 1}}, {"lag": 0})
        ]
        host, port = broker.bootstrap.split(":")
        client = await AsyncClient.connect(host, int(port), "cron")
        await client.ask(8, 7, commit("kitchen", 1))
        for view in await asyncio.gather(*waiting):
            assert view.offsets == {"orders": {0: 1}}
        client.close()


def test_a_timeout_tells_what_is_missing_and_what_keeps_it() -> None:
    with Broker(topics={"orders": 1}, seed=9) as broker:
        broker.hold("kitchen", "PreparingRebalance")
        with pytest.raises(GroupTimeout) as held:
            broker.wait_for("kitchen", state="Stable", timeout=0)
        assert "there is no such group (seed 9)\nno client has connected\nit is held in PreparingRebalance" in str(held.value)
        assert "it moves on when it is released (`release`)" in str(held.value)
        with pytest.raises(GroupTimeout, match="groups there are: none; clients reach this cluster at "):
            broker.wait_for("bar", members=2, timeout=0)


def test_a_rule_that_cannot_fire_so_often_is_not_waited_for() -> None:
    with Broker() as broker:
        broker.add_fault({"api": "Heartbeat"}, "drop", times=2, name="twice")
        broker.add_fault({"api": "Heartbeat", "nth": 5}, "drop", name="once")
        with pytest.raises(NeverSoOften, match='rule "twice" fires 2 times at most: 3 times never comes'):
            broker.wait_for_fault("twice", hits=3)
        with pytest.raises(NeverSoOften, match='rule "once" fires 1 times at most'):
            broker.wait_for_fault("once", hits=2)
