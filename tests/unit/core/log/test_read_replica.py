"""Fetch from follower (KIP-392) and lagging replicas work as on running brokers (docs/kafka/differences.md#fetch-from-follower)."""

from __future__ import annotations

from typing import Any

import pytest
from cases import for_each
from log_world import LogWorld, batch, fetch_request

from groupmock.core.log.read_replica import LEADER_ONLY, RACK_AWARE
from groupmock.core.settings import Quirks
from groupmock.core.steering import NotNow
from groupmock_codec.error_codes import NOT_LEADER_OR_FOLLOWER, OFFSET_OUT_OF_RANGE, UNKNOWN_LEADER_EPOCH
from groupmock_codec.messages.k03_metadata import MetadataRequest, MetadataRequestTopic


def world_of(selector: str = RACK_AWARE, quirks: Quirks | None = None) -> LogWorld:
    """Return nodes 1 to 3 in racks r1 to r3 with the topic t, led by node 1, whose three records are on every node."""
    world = LogWorld(nodes=3, quirks=quirks, replica_selector_class=selector)
    identity = world.environment.identity
    world.environment.known_as(identity._replace(nodes=tuple(node._replace(rack=f"r{node.node_id}") for node in identity.nodes)))
    world.environment.up = world.environment.identity.nodes
    world.topics.add(world.turn(), "t", [[1, 2, 3]], {})
    world.append(batch(b"1", b"2", b"3"))
    return world


def told(row: Any) -> tuple[int, int, int, bool]:
    """Return error, preferred replica, high watermark, and whether the answer has records."""
    return row.error_code, row.preferred_read_replica, row.high_watermark, bool(row.records)


@for_each(
    ("offset", "how", "wanted"),
    [
        (0, {}, (0, -1, 3, True)),
        (0, {"rack_id": "r2"}, (0, 2, 3, False)),
        (0, {"rack_id": "r1"}, (0, -1, 3, True)),
        (0, {"rack_id": "nowhere"}, (0, -1, 3, True)),
        (0, {"rack_id": "r2", "version": 10}, (0, -1, 3, True)),
        (3, {"rack_id": "r2", "max_wait_ms": 2000}, (0, 2, 3, False)),
        (9, {"rack_id": "r2"}, (OFFSET_OUT_OF_RANGE, -1, -1, False)),
        (0, {"rack_id": "r2", "partition": {"current_leader_epoch": 7}}, (UNKNOWN_LEADER_EPOCH, -1, -1, False)),
        (0, {"node": 2}, (0, -1, 3, True)),
        (0, {"node": 2, "rack_id": "r1"}, (0, -1, 3, True)),
        (4, {"node": 2}, (OFFSET_OUT_OF_RANGE, -1, -1, False)),
        (0, {"node": 2, "version": 10}, (NOT_LEADER_OR_FOLLOWER, -1, -1, False)),
        (0, {"node": 2, "version": 10, "partition": {"current_leader_epoch": 7}}, (UNKNOWN_LEADER_EPOCH, -1, -1, False)),
    ],
)
def test_who_is_sent_where(offset: int, how: dict[str, Any], wanted: tuple[int, int, int, bool]) -> None:
    row = world_of().fetch(offset, **how)
    assert told(row) == wanted
    assert row.aborted_transactions is None


@for_each("selector", ["", LEADER_ONLY])
def test_nobody_is_sent_away_unless_the_brokers_are_told_to(selector: str) -> None:
    assert told(world_of(selector).fetch(rack_id="r2")) == (0, -1, 3, True)


def test_fetch_that_is_sent_to_another_replica_does_not_wait() -> None:
    world = world_of()
    ticket = world.send(1, 11, fetch_request(("t", 0, 3), world=world, rack_id="r2", max_wait_ms=1000, min_bytes=1))
    assert world.outcome(ticket) == "answered"
    assert world.answers[ticket].responses[0].partitions[0].preferred_read_replica == 2


def test_an_incremental_session_is_told_each_time() -> None:
    world = world_of()
    session = world.ask(1, 11, fetch_request(("t", 0, 3), world=world, session_epoch=0))
    for epoch, rack, rows in ((1, "r2", 1), (2, "r2", 1), (3, "", 0)):
        asked = fetch_request(world=world, session_id=session.session_id, session_epoch=epoch, rack_id=rack)
        assert len(world.ask(1, 11, asked).responses) == rows, f"epoch {epoch}"


def test_a_replica_that_lags_serves_what_it_has() -> None:
    world = world_of()
    world.command("lag_replica", topic="t", partition=0, node=2)
    world.append(batch(b"4", b"5"))
    assert told(world.fetch(0, node=2)) == (0, -1, 3, True)
    assert told(world.fetch(3, node=2)) == (0, -1, 3, False)
    assert told(world.fetch(4, node=2)) == (OFFSET_OUT_OF_RANGE, -1, -1, False)
    assert told(world.fetch(0, rack_id="r2")) == (0, 2, 5, False), "it has that offset"
    assert told(world.fetch(4, rack_id="r2")) == (0, -1, 5, True), "it has not: the leader serves"
    world.command("catch_up_replica", topic="t", partition=0, node=2)
    assert told(world.fetch(4, node=2)) == (0, -1, 5, True)


def test_a_fetch_that_waits_at_a_lagging_replica_is_answered_when_it_has_caught_up() -> None:
    world = world_of()
    world.command("lag_replica", topic="t", partition=0, node=2)
    ticket = world.send(1, 11, fetch_request(("t", 0, 3), world=world, max_wait_ms=60_000, min_bytes=1), node=2)
    world.append(batch(b"4"))
    assert world.outcome(ticket) == "parked"
    world.command("catch_up_replica", topic="t", partition=0, node=2)
    assert told(world.answers[ticket].responses[0].partitions[0]) == (0, -1, 4, True)


def test_a_lagging_replica_is_not_in_sync_and_not_elected() -> None:
    world = world_of()
    world.command("lag_replica", topic="t", partition=0, node=2)
    row = world.show(3, 9, MetadataRequest(topics=[MetadataRequestTopic(name="t")]))["topics"][0]["partitions"][0]
    assert (row["replica_nodes"], row["isr_nodes"]) == ([1, 2, 3], [1, 3])
    world.command("stop_node", node=1)
    assert world.topics.leader_of("t", 0) == 3
    world.command("stop_node", node=3)
    assert world.topics.leader_of("t", 0) == -1
    with pytest.raises(NotNow, match="nobody leads"):
        world.command("catch_up_replica", topic="t", partition=0, node=2)
    world.command("start_node", node=3)
    assert world.topics.leader_of("t", 0) == 3


def test_what_cannot_lag_is_said() -> None:
    world = world_of()
    with pytest.raises(NotNow, match="node 1 leads partition 0 of topic 't': move the leader first"):
        world.command("lag_replica", topic="t", partition=0, node=1)
    world.topics.add(world.turn(), "alone", [[1]], {})
    with pytest.raises(NotNow, match="node 2 has no replica of partition 0 of topic 'alone': those have one: 1"):
        world.command("lag_replica", topic="alone", partition=0, node=2)


def test_a_lagging_replica_that_is_made_leader_has_everything() -> None:
    world = world_of()
    world.command("lag_replica", topic="t", partition=0, node=2)
    world.append(batch(b"4"))
    world.command("move_leader", topic="t", partition=0, node=2)
    assert told(world.fetch(3, node=2)) == (0, -1, 4, True)
