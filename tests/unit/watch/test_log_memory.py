"""The folds that follow a server's rows do not grow with refused requests or with groups and topics that are gone."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from cases import for_each

from groupmock.audit import auditor
from groupmock.audit.auditor import Auditor
from groupmock.audit.rules import client_27_leave_once
from groupmock.journal.rows import Row
from groupmock.rig import KeptRows, WireRig
from groupmock.rig.wire import read_response, request
from groupmock.rounds import Rebalances, group_fold
from groupmock.story import evidence, headline, people, tally, teller
from groupmock.story.teller import StoryTeller
from groupmock.timeline import growing
from groupmock.timeline.growing import Growing
from groupmock.watch.levels import of_log
from groupmock.watch.shortened import Shortened
from groupmock_codec import APIS
from groupmock_codec.messages.k11_join_group import JoinGroupRequest, JoinGroupRequestProtocol
from groupmock_codec.messages.k13_leave_group import LeaveGroupRequest
from groupmock_codec.messages.k14_sync_group import SyncGroupRequest
from groupmock_codec.messages.k42_delete_groups import DeleteGroupsRequest
from groupmock_codec.messages.k68_consumer_group_heartbeat import ConsumerGroupHeartbeatRequest

ROUNDS = 20
ROOM = 20 * 1024
"""Bytes by which a fold may grow in as many further rounds, a tenth of what one group id per round would need."""
GROUPS = 200
OF_A_GROUP = 2_500
"""Bytes that the log may keep for a stable consumer group with one member."""
LONG = 10_000
"""Length of a group id or topic name, so that a kept name is noticed at once."""


class Churn:
    """Refused requests, and groups, members, topics and connections that come and go, all with unique names."""

    def __init__(self) -> None:
        settings = {"group.initial.rebalance.delay.ms": 0, "group.min.session.timeout.ms": 0, "offsets.retention.minutes": 1}
        self.sink = KeptRows()
        self.rig = WireRig.make(topics={"orders": 3}, settings=settings, sinks=[self.sink])
        self.wire = self.rig.connect()
        self.number = 0

    def rows(self, rounds: int) -> list[Row]:
        for _ in range(rounds):
            self.number += 1
            name = f"n{self.number}-".ljust(LONG, "x")
            self._refused(name)
            self.rig.command("create_topic", name=name[:249], partitions=5)
            self.rig.command("delete_topic", name=name[:249])
            self._lives(f"g{name}")
            self._lives("steady")
            self.rig.sleep(120_000)
        found, self.sink.rows = self.sink.rows, []
        return found

    def _refused(self, name: str) -> None:
        for key, version, fields in (
            (11, 5, {"group_id": f"j{name}", "session_timeout_ms": 1, "member_id": name, "protocols": [RANGE]} | CONSUMER),
            (14, 3, {"group_id": f"s{name}", "generation_id": 1, "member_id": name}),
            (12, 3, {"group_id": f"h{name}", "generation_id": 1, "member_id": name}),
            (8, 7, {"group_id": f"c{name}", "generation_id_or_member_epoch": 3, "member_id": name}),
            (68, 0, {"group_id": f"b{name}", "member_id": name, "member_epoch": 5, "rebalance_timeout_ms": 1000}),
            (68, 0, {"group_id": f"a{name}", "member_epoch": 0, "rebalance_timeout_ms": 1000, "server_assignor": "none"}),
            (13, 1, {"group_id": f"l{name}", "member_id": name}),
        ):  # fmt: skip
            self.wire.send(request(key, version, APIS[key].request.message(**fields), 1, self._client()))
            self.wire.take()

    def _lives(self, group: str) -> None:
        """Let a member join on its own connection and leave, and delete the group if possible."""
        wire = self.rig.connect()
        joining = JoinGroupRequest(
            group_id=group, session_timeout_ms=10_000, rebalance_timeout_ms=10_000, protocol_type="consumer", protocols=[RANGE]
        )
        wire.send(request(11, 3, joining, 1, self._client()))
        self.rig.sleep(1)
        joined: Any = read_response(11, 3, wire.take()[0], 1)[1]
        ids = {"group_id": group, "member_id": joined.member_id}
        wire.ask(14, 3, SyncGroupRequest(generation_id=joined.generation_id, **ids))
        wire.ask(13, 1, LeaveGroupRequest(**ids))
        wire.ask(42, 1, DeleteGroupsRequest(groups_names=[group] if group != "steady" else []))
        wire.hang_up()

    def _client(self) -> str:
        return f"client-{self.number}"


CONSUMER = {"protocol_type": "consumer"}
RANGE = JoinGroupRequestProtocol(name="range", metadata=b"")


def shortened() -> Callable[[Row], object]:
    lines = Shortened()
    return lambda row: list(lines.tell(row))


def pictured() -> Callable[[Row], object]:
    picture = [Growing("steady", None)]

    def feed(row: Row) -> None:
        """Feed a row like `control.pictures`, which forgets old parts and restarts a worn timeline."""
        if picture[0].worn:
            picture[0] = Growing("steady", None)
        picture[0].feed(row)
        picture[0].forget(row.t)

    return feed


FOLLOWERS: dict[str, Callable[[], Callable[[Row], object]]] = {
    "log": shortened,
    "audit": lambda: Auditor().take,
    "story of one group": lambda: StoryTeller("steady", most=20).feed,
    "picture": pictured,
}


@pytest.fixture(scope="module")
def churned() -> tuple[list[Row], list[Row], list[Row]]:
    churn = Churn()
    return churn.rows(ROUNDS), churn.rows(ROUNDS), churn.rows(ROUNDS)


def held(feed: Callable[[Row], object], rows: Iterable[Row]) -> int:
    for row in rows:
        feed(row)
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


def test_rebalances_keep_no_group_that_was_refused_and_no_topic_that_is_gone(churned: tuple[list[Row], list[Row], list[Row]]) -> None:
    fold = Rebalances()
    for row in churned[0]:
        fold.feed(row)
    assert {name[0] for name in fold.groups} == {"g", "s"} and len(fold.groups) == ROUNDS + 1, "those that there were"
    assert not fold._strangers and not fold._asked and not len(fold._connections)
    there = ["orders", "__consumer_offsets"]
    assert list(fold.counts) == list(fold._names.values()) == list(fold._ids) == there
    assert {topic for topic, _ in fold.created} == set(there)


@for_each("follower", list(FOLLOWERS))
def test_follower_forgets_what_was_refused_and_what_is_gone(
    churned: tuple[list[Row], list[Row], list[Row]], follower: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The memory for members, clients and refusals is reduced from a thousand so that a few fill it."""
    bounds = [(people, "GONE"), (tally, "KEYS"), (teller, "CLIENTS"), (growing, "MORE_LANES"), (group_fold, "REMEMBERED")]
    bounds += [(evidence, "KEPT"), (headline, "KEPT")]
    for module, name in (*bounds, (auditor, "RETURNING"), (client_27_leave_once, "REMEMBERED")):
        monkeypatch.setattr(module, name, 20)
    first, second, third = churned
    feed = FOLLOWERS[follower]()
    for row in first:
        feed(row)
    tracemalloc.start()
    try:
        before = held(feed, second)
        assert held(feed, third) - before < ROOM
    finally:
        tracemalloc.stop()


def test_log_keeps_little_of_a_group_at_rest() -> None:
    sink = KeptRows()
    rig = WireRig.make(topics={"orders": 1}, sinks=[sink])
    wire = rig.connect()

    def rows_of(groups: range) -> list[Row]:
        for number in groups:
            joining = ConsumerGroupHeartbeatRequest(
                group_id=f"g{number}",
                member_id=f"m{number}",
                rebalance_timeout_ms=1000,
                subscribed_topic_names=["orders"],
                topic_partitions=[],
            )
            wire.send(request(68, 1, joining, 1, "anna"))
            wire.take()
        found, sink.rows = sink.rows, []
        return [row for row in found if of_log(row)]

    feed, rows = shortened(), rows_of(range(GROUPS))
    # The first group also creates objects that belong to no group, so it is fed before the measurement.
    for row in rows_of(range(GROUPS, GROUPS + 1)):
        feed(row)
    tracemalloc.start()
    try:
        assert held(feed, rows) < GROUPS * OF_A_GROUP
    finally:
        tracemalloc.stop()
