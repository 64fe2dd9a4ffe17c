"""`play` sends a stage the right requests for each scenario."""

from __future__ import annotations

from typing import Any

import pytest
from cases import for_each

from groupmock_clients.scenarios.catalogue import LIVE, SCENARIOS, VIRTUAL, plays, protocols, scenario, virtual_twin
from groupmock_clients.scenarios.play import Protocol, Sizes, Speaks, Unsupported, play

DESIGN = Protocol("design-2", "scripted")


class Recorder:
    """A stage that completes everything at once and has m0001 as leader until that member leaves."""

    kind = "recorded"

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.names: list[str] = []

    def start(self, member, speaks, topics):
        self.names.append(member)
        self.calls.append(("start", member, str(speaks), tuple(topics)))

    def kill(self, member):
        self.names.remove(member)
        self.calls.append(("kill", member))

    def stop(self, member):
        self.names.remove(member)
        self.calls.append(("stop", member))

    def subscribe(self, members, topics):
        self.calls.append(("subscribe", tuple(members), tuple(topics)))

    def create(self, topic, partitions):
        self.calls.append(("create", topic, partitions))

    def grow(self, topic, partitions):
        self.calls.append(("grow", topic, partitions))

    def leader(self):
        return min(self.names)

    def noticed(self, members):
        self.calls.append(("noticed", len(members)))

    def settled(self, members):
        self.calls.append(("settled", len(members)))

    def wait(self, ms):
        self.calls.append(("wait", ms))

    def tell(self, client, what, fields):
        self.calls.append(("tell", what, fields.get("step", "")))

    def rows(self):
        return []


def done(name: str, protocol: Protocol = DESIGN, **sizes: Any) -> list[tuple[Any, ...]]:
    """Return the requests between the scenario's start and end, without marks."""
    stage = Recorder()
    play(scenario(name), Sizes(**({"members": 3} | sizes)), protocol, stage)
    told = [call[1] for call in stage.calls if call[0] == "tell"]
    assert (told.count("begin"), told[-1]) == (1, "end")
    begin = next(place for place, call in enumerate(stage.calls) if call[:2] == ("tell", "begin"))
    return [call for call in stage.calls[begin:] if call[0] != "tell"]


def started(member: str, speaks: str = "target") -> tuple[Any, ...]:
    return ("start", member, speaks, ("orders",))


def test_the_group_settles_before_it_is_measured() -> None:
    stage = Recorder()
    play(scenario("scale-up"), Sizes(members=2), DESIGN, stage)
    begin = next(place for place, call in enumerate(stage.calls) if call[:2] == ("tell", "begin"))
    before = [call for call in stage.calls[:begin] if call[0] != "tell"]
    assert before == [("create", "orders", 12), started("m0001"), started("m0002"), ("settled", 2), ("wait", 1000)]


@for_each(
    ("name", "expected"),
    [
        ("death-at-once", [("kill", "m0002"), started("m0002"), ("settled", 3)]),
        ("death-in-time", [("kill", "m0002"), ("noticed", 2), ("wait", 2000), started("m0002"), ("settled", 3)]),
        ("death-too-late", [("kill", "m0002"), ("settled", 2), started("m0002"), ("settled", 3)]),
        ("scale-up", [started("m0004"), ("settled", 4)]),
        ("scale-down", [("stop", "m0003"), ("settled", 2)]),
        ("leader-exit", [("kill", "m0002"), ("noticed", 2), ("wait", 2000), ("stop", "m0001"), ("settled", 1)]),
        (
            "second-loss",
            [("kill", "m0002"), ("noticed", 2), ("wait", 1600), ("kill", "m0003"), ("noticed", 1), started("m0002"), ("settled", 2)],
        ),
        ("partition-growth", [("grow", "orders", 24), ("settled", 3)]),
        (
            "new-subscription",
            [("create", "returns", 12), ("subscribe", ("m0001", "m0002", "m0003"), ("orders", "returns")), ("settled", 3)],
        ),
    ],
)
def test_the_steps_of(name: str, expected: list[tuple[Any, ...]]) -> None:
    assert done(name, delay_ms=8000) == expected


def test_a_rolling_bounce_takes_everybody_in_turn_and_waits_for_rest() -> None:
    calls = done("rolling-bounce", members=2, absence_ms=70)
    assert calls == [
        step for member in ("m0001", "m0002") for step in (("stop", member), ("noticed", 1), ("wait", 70), started(member), ("settled", 2))
    ]


def test_scaling_takes_as_many_as_the_sizes_say() -> None:
    assert [call[1] for call in done("scale-up", members=4, change=2) if call[0] == "start"] == ["m0005", "m0006"]
    assert [call[1] for call in done("scale-down", members=4, change=2) if call[0] == "stop"] == ["m0003", "m0004"]


def test_an_upgrade_bounces_everybody_as_often_as_the_protocol_needs() -> None:
    twice = [call[1:3] for call in done("mixed-upgrade", members=2) if call[0] == "start"]
    once = [call[1:3] for call in done("mixed-upgrade", Protocol("design-2", "aiokafka", (Speaks.BOTH,)), members=2) if call[0] == "start"]
    assert twice == [("m0001", "both"), ("m0002", "both"), ("m0001", "target"), ("m0002", "target")]
    assert once == [("m0001", "both"), ("m0002", "both")]


def test_an_upgrade_that_is_none_says_why() -> None:
    with pytest.raises(Unsupported, match="range/scripted has no rolling upgrade from range: it is range"):
        done("mixed-upgrade", protocols("virtual", "range")[0])


@for_each("name", ["leader-exit", "second-loss"])
def test_a_scenario_that_needs_more_members_says_so(name: str) -> None:
    with pytest.raises(Unsupported, match=f"{name} needs at least 3 members, not 2"):
        done(name, members=2)


def test_whoever_is_killed_is_marked_before() -> None:
    stage = Recorder()
    play(scenario("scale-down"), Sizes(members=2), DESIGN, stage)
    stop = stage.calls.index(("stop", "m0002"))
    assert stage.calls[stop - 1] == ("tell", "step", "stop")


@for_each(
    ("sizes", "said"),
    [
        ({"members": 1}, "members is 1: at least 2"),
        ({"change": 4}, "change is 4: below members, which is 4"),
        ({"heartbeat_ms": 3000}, "heartbeat_ms is 3000: below session_ms, which is 3000"),
        ({"delay_ms": 0}, "delay_ms is 0: at least 1"),
        ({"rate": -1.0}, "rate is -1: at least 0"),
    ],
)
def test_sizes_that_make_no_sense_are_refused(sizes: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Sizes(**sizes)


def test_the_catalogue_names_everything_once_and_finds_it() -> None:
    assert len({each.name for each in SCENARIOS}) == len(SCENARIOS)
    assert len(set(map(str, LIVE))) == len(LIVE) and len(set(map(str, VIRTUAL))) == len(VIRTUAL)
    with pytest.raises(LookupError, match="no scenario 'death': there are death-at-once, "):
        scenario("death")
    with pytest.raises(LookupError, match="no protocol 'design-4' on the live stage: there are range/aiokafka, "):
        protocols("live", "design-4")


def test_a_name_stands_for_every_client_of_it() -> None:
    assert [str(each) for each in protocols("live", "range")] == ["range/aiokafka", "range/kafka-python"]
    assert [str(each) for each in protocols("live", "range/aiokafka")] == ["range/aiokafka"]


def test_every_live_protocol_but_connect_has_a_scripted_twin() -> None:
    for each in LIVE:
        if each.name == "connect":
            with pytest.raises(Unsupported, match="no scripted members"):
                virtual_twin(each)
        else:
            assert virtual_twin(each).twin == each.twin
            assert virtual_twin(each).bounces == each.bounces


def test_connect_plays_process_deaths_alone() -> None:
    connect = protocols("live", "connect")[0]
    assert [each.name for each in SCENARIOS if plays(each, connect)] == ["death-at-once", "death-in-time", "death-too-late"]
