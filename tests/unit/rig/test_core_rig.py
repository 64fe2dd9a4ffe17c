"""The core rig handles one request at a time per connection, fires timers at their times, runs scripted members, and accepts given
random numbers."""

from __future__ import annotations

import pytest

from groupmock.config.resolve import ConfigError
from groupmock.core.effects import TimerFired
from groupmock.rig import CoreRig, FedDice, Watch
from groupmock_codec.messages.k03_metadata import MetadataRequest
from groupmock_codec.messages.k11_join_group import JoinGroupRequest, JoinGroupRequestProtocol
from groupmock_codec.messages.k12_heartbeat import HeartbeatRequest
from groupmock_codec.messages.k18_api_versions import ApiVersionsRequest
from groupmock_codec.units import NS_PER_MS

RANGE = [JoinGroupRequestProtocol(name="range", metadata=bytes(6))]


def test_a_hundred_members_settle_in_one_generation() -> None:
    rig = CoreRig.make(topics={"orders": 250}, seed=7)
    members = [rig.member(f"m{number}", topics=["orders"]) for number in range(100)]
    waiting = [member.join() for member in members]
    assert all(ask.parked for ask in waiting)
    rig.until(lambda: rig.group("g").state == "CompletingRebalance")
    assert [ask.error for ask in waiting] == [0] * 100 and sum(member.leads for member in members) == 1
    for member in members:
        member.sync()
    held = [each for member in members for each in member.assignment]
    assert sorted(held) == [("orders", index) for index in range(250)]
    assert {member.beat() for member in members} == {0} and rig.group("g").generation == 1


def test_what_waits_behind_a_parked_request_goes_on_when_that_is_answered() -> None:
    rig = CoreRig.make(topics={"orders": 1})
    member = rig.member("m", topics=["orders"])
    joining = member.join()
    behind = rig.send(12, 3, HeartbeatRequest(group_id="g", generation_id=1, member_id=member.member_id), connection="m")
    assert (joining.status, behind.status) == ("parked", "waiting")
    rig.sleep(10_000)
    assert (joining.error, behind.error) == (0, 0)
    assert joining.done == behind.done


def test_what_stands_behind_an_abandoned_request_is_never_handed_in_and_lost_when_the_peer_hangs_up() -> None:
    rig = CoreRig.make(topics={"orders": 1})
    member = rig.member("m", topics=["orders"])
    first = member.join()
    behind = rig.send(18, 0, ApiVersionsRequest(), connection="m")
    rig.member("elsewhere").member_id = member.member_id
    again = rig.send(11, 5, first.request.message, connection="elsewhere")
    assert (first.status, behind.status, again.status) == ("abandoned", "waiting", "parked") and first.reason
    rig.sleep(60_000)
    assert behind.status == "waiting"
    rig.hang_up("m")
    assert behind.status == "lost"
    assert rig.send(18, 0, ApiVersionsRequest(), connection="m").status == "answered", "the name stands for a new connection"


def test_timers_fire_at_their_own_times_however_far_the_clock_goes() -> None:
    class Times(Watch):
        def effect(self, effect: object) -> None:
            if isinstance(effect, TimerFired):
                fired.append((effect.timer, rig.now_ms))

    fired: list[tuple[str, float]] = []
    rig = CoreRig.make(topics={"orders": 1}, settings={"group.initial.rebalance.delay.ms": 500}, watch=Times())
    member = rig.member("m", topics=["orders"], session_ms=6000, rebalance_ms=9000)
    member.join()
    rig.sleep(500)
    member.sync()
    rig.sleep(100_000)
    assert fired == [("join", 500.0), ("session", 6500.0)]
    assert [row.t for row in rig.rows() if getattr(row, "timer", None) == "session"] == [6500 * NS_PER_MS]
    assert rig.group("g").state == "Empty" and member.beat() == 25


def test_fed_dice_give_a_request_the_ids_that_it_is_to_draw() -> None:
    rig = CoreRig.make(topics={"orders": 1}, dice=FedDice(1))
    member = rig.member("c", topics=["orders"])
    drawn = "00112233-4455-6677-8899-aabbccddeeff"
    ask = rig.send(11, 5, JoinGroupRequest(group_id="g", session_timeout_ms=10_000, protocol_type="consumer", protocols=RANGE),
                   client_id="c", draws=[drawn])  # fmt: skip
    assert (ask.answer.member_id, ask.drew) == (f"c-{drawn}", [drawn])
    member.join()
    assert member.member_id.startswith("c-") and drawn not in member.member_id


def test_the_same_seed_draws_the_same_ids() -> None:
    def ids(seed: int) -> list[str]:
        rig = CoreRig.make(seed=seed)
        members = [rig.member(f"m{number}") for number in range(3)]
        for member in members:
            member.join()
        return [member.member_id for member in members]

    assert ids(3) == ids(3) != ids(4)


def test_answers_have_what_their_version_carries() -> None:
    rig = CoreRig.make(topics={"orders": 3}, nodes=3)
    old, new = (rig.ask(3, version, MetadataRequest(topics=None)) for version in (1, 12))
    assert [topic.topic_id == bytes(16) for topic in (old.topics[0], new.topics[0])] == [True, False]
    assert {part.leader_id for part in old.topics[0].partitions} == {1, 2, 3}


def test_nothing_that_is_missing_goes_unsaid() -> None:
    rig = CoreRig.make()
    member = rig.member("m")
    with pytest.raises(AssertionError, match="m has not joined"):
        member.sync()
    joining = member.join()
    with pytest.raises(AssertionError, match=r"<JoinGroup v\d, connection 1, parked>"):
        _ = joining.error
    with pytest.raises(AssertionError, match="not so after 100 virtual ms"):
        rig.until(lambda: False, limit_ms=100)
    with pytest.raises(LookupError, match="no group 'other'"):
        rig.group("other")
    with pytest.raises(ConfigError):
        CoreRig.make(settings={"group.min.session.timeout": 1})


def test_a_core_that_answers_twice_is_broken() -> None:
    rig = CoreRig.make()
    ask = rig.send(18, 0, ApiVersionsRequest())
    assert ask.status == "answered" and list(rig.open()) == []
    handle = rig.core.handle
    rig.core.handle = lambda event, now: handle(event, now) * 2  # type: ignore[method-assign]
    with pytest.raises(AssertionError, match="ticket 2 is done already"):
        rig.send(18, 0, ApiVersionsRequest())
