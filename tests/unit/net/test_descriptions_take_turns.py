"""A large group of any type is described in steps, between which other connections are served, and nothing happens to the group."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
from rig_journal import never
from streams_world import PLAIN
from turned_loop import Loop

from groupmock.journal.file import FileSink
from groupmock.net.slices import Slices
from groupmock.rig import WireRig
from groupmock.rig.replay import replay
from groupmock.rig.wire import read_response, request
from groupmock_codec.declare import Message
from groupmock_codec.error_codes import UNKNOWN_MEMBER_ID
from groupmock_codec.messages import k11_join_group as k11
from groupmock_codec.messages import k12_heartbeat as k12
from groupmock_codec.messages import k15_describe_groups as k15
from groupmock_codec.messages import k68_consumer_group_heartbeat as k68
from groupmock_codec.messages import k69_consumer_group_describe as k69
from groupmock_codec.messages import k76_share_group_heartbeat as k76
from groupmock_codec.messages import k77_share_group_describe as k77
from groupmock_codec.messages import k88_streams_group_heartbeat as k88
from groupmock_codec.messages import k89_streams_group_describe as k89

MEMBERS: Final = 300
STEPS_OF_A_SLICE: Final = 5
LEAST_TURNS: Final = 3
SESSION_MS: Final = 30_000


class Kind(NamedTuple):
    """The requests of a group type, each with its API key and version: to join as a member, to be heard as a stranger, to describe."""

    join: tuple[int, int, Callable[[str], Message]]
    beat: tuple[int, int, Message]
    describe: tuple[int, int, Message]


def joined_classic(member: str) -> Message:
    protocols = [k11.JoinGroupRequestProtocol(name="range", metadata=b"")]
    return k11.JoinGroupRequest(
        group_id="g", session_timeout_ms=SESSION_MS, rebalance_timeout_ms=SESSION_MS, protocol_type="consumer", protocols=protocols,
        group_instance_id=member,
    )  # fmt: skip


KINDS: Final = {
    "classic": Kind((11, 5, joined_classic), (12, 3, k12.HeartbeatRequest("g", 1, "x")), (15, 5, k15.DescribeGroupsRequest(["g"]))),
    "consumer": Kind(
        (68, 1, lambda member: k68.ConsumerGroupHeartbeatRequest(
            group_id="g", member_id=member, member_epoch=0, rebalance_timeout_ms=SESSION_MS, subscribed_topic_names=["t"],
            topic_partitions=[],
        )),
        (68, 1, k68.ConsumerGroupHeartbeatRequest(group_id="g", member_id="x", member_epoch=1)),
        (69, 1, k69.ConsumerGroupDescribeRequest(["g"])),
    ),
    "share": Kind(
        (76, 1, lambda member: k76.ShareGroupHeartbeatRequest(
            group_id="g", member_id=member, member_epoch=0, subscribed_topic_names=["t"]
        )),
        (76, 1, k76.ShareGroupHeartbeatRequest(group_id="g", member_id="x", member_epoch=1)),
        (77, 1, k77.ShareGroupDescribeRequest(["g"])),
    ),
    "streams": Kind(
        (88, 1, lambda member: k88.StreamsGroupHeartbeatRequest(
            group_id="g", member_id=member, member_epoch=0, rebalance_timeout_ms=SESSION_MS, topology=PLAIN, active_tasks=[],
            standby_tasks=[], warmup_tasks=[], process_id=member, client_tags=[],
        )),
        (88, 1, k88.StreamsGroupHeartbeatRequest(group_id="g", member_id="x", member_epoch=1)),
        (89, 1, k89.StreamsGroupDescribeRequest(["g"])),
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_description_takes_turns_and_the_group_waits_for_its_end(kind: Kind, tmp_path: Path) -> None:
    path, loop, ticks = tmp_path / "described.jsonl", Loop(), count(0)
    slices = Slices(STEPS_OF_A_SLICE, lambda: next(ticks) * 1000, loop.soon)
    settings = {"group.share.max.size": MEMBERS + 1}
    rig = WireRig.make(topics={"t": MEMBERS}, settings=settings, seed=5, sinks=[FileSink(str(path), never)], slices=slices)

    for number in range(MEMBERS):
        rig.connect().send(request(*kind.join[:2], kind.join[2](f"m{number}")))
        while loop.ordered:
            loop.turn()
    asker, member, other = rig.connect(), rig.connect(), rig.connect()
    asker.send(request(*kind.describe))
    member.send(request(*kind.beat))
    assert (asker.data, member.data) == (b"", b"")
    assert other.ask(18, 0).api_keys
    order: list[str] = []
    taken = 0
    while loop.ordered:
        loop.turn()
        taken += 1
        order += [name for name, wire in (("described", asker), ("answered", member)) if wire.data and name not in order]
    assert (order, taken >= LEAST_TURNS) == (["described", "answered"], True)
    answer: Any = read_response(*kind.describe[:2], asker.take()[0])[1]
    assert [len(group.members) for group in answer.groups] == [MEMBERS]
    late: Any = read_response(*kind.beat[:2], member.take()[0])[1]
    assert late.error_code == UNKNOWN_MEMBER_ID
    rig.close()
    assert rig.driver.counters.internal_errors == 0
    assert replay(path).difference is None
