"""The last line of a waiting group's story names the members, the request and the time for which it still waits."""

from __future__ import annotations

from typing import Any

from kitchen_of_two import TwoMembers

from groupmock.story.telling import obstacles, tell
from groupmock_codec.messages.k09_offset_fetch import OffsetFetchRequest
from groupmock_codec.messages.k11_join_group import JoinGroupRequest, JoinGroupRequestProtocol
from groupmock_codec.units import NS_PER_S
from tools.mistakes.stage import Stage


def last_line(stage: Stage, **known: Any) -> str:
    return list(tell(stage.ring.rows, now=stage.rig.clock.now(), **known))[-1].lstrip()


def awaited(stage: Stage, **known: Any) -> str:
    return last_line(stage, **known).partition("; awaited: ")[2]


def test_join_phase_awaits_a_member_whose_connection_ended() -> None:
    stage = TwoMembers()
    stage.ben.hang_up()
    stage.sleep(1000)
    stage.consumer("cleo").join()
    stage.anna.join()
    stage.sleep(500)
    assert last_line(stage) == (
        "7.500  its rebalance is under way for 0.500 s, PreparingRebalance since 7.000; awaited: JoinGroup of ben#b604 "
        "(its connection ended at 6.000 and it has not left; its session of 45000 ms ends in at most 43.500 s)"
    )
    exact = {"kitchen": {stage.ben.member_id: 40 * NS_PER_S}}
    assert awaited(stage, sessions=exact).endswith("; its session of 45000 ms ends in 32.500 s)")


def test_join_phase_awaits_a_member_that_heartbeats_until_a_timeout_is_over() -> None:
    stage = TwoMembers()
    stage.consumer("cleo").join()
    stage.ben.join()
    stage.sleep(1000)
    stage.anna.beat()
    stage.sleep(2000)
    assert awaited(stage) == (
        "JoinGroup of anna#017f (last heard of at 7.000; its session of 45000 ms ends in at most 43.000 s unless it is heard of again; "
        "the rebalance timeout of 300000 ms is over in 297.000 s)"
    )


def test_rebalance_timeout_of_a_member_that_came_later_does_not_count() -> None:
    stage = TwoMembers()
    stage.consumer("cleo").join()
    stage.sleep(1000)
    stage.consumer("dora", rebalance_ms=900_000).join()
    assert "900000" not in awaited(stage) and "the rebalance timeout of 300000 ms is over in 299.000 s" in awaited(stage)


def test_join_phase_awaits_an_earlier_member_of_the_same_client() -> None:
    stage = TwoMembers()
    stage.ben.hang_up()
    again = stage.consumer("ben")
    again.join()
    stage.anna.join()
    assert awaited(stage).startswith(f"JoinGroup of ben#b604, an earlier member of the same client id as ben#{again.member_id[4:8]} (its")


def test_join_phase_awaits_an_id_that_was_reserved() -> None:
    stage = TwoMembers()
    stage.consumer("cleo").join()
    protocols = [JoinGroupRequestProtocol(name="range", metadata=b"")]
    join = JoinGroupRequest(group_id="kitchen", session_timeout_ms=45_000, protocol_type="consumer", protocols=protocols)
    stage.send(11, 5, join, connection="dora", client_id="dora")
    stage.anna.join()
    stage.ben.join()
    assert awaited(stage).endswith("which was told at 6.000 to come back with this id (KIP-394)") and "dora#" in awaited(stage)


def test_a_new_group_awaits_the_end_of_the_initial_delay() -> None:
    stage = Stage({"orders": 4})
    stage.consumer("anna").join()
    assert awaited(stage) == "the end of the initial delay (group.initial.rebalance.delay.ms)"


def completing() -> TwoMembers:
    """Return a group in CompletingRebalance whose leader does not send the assignments."""
    stage = TwoMembers()
    stage.consumer("cleo").join()
    stage.ben.join()
    stage.anna.join()
    stage.sleep(0)
    stage.ben.sync()
    return stage


def test_sync_phase_awaits_the_leader() -> None:
    stage = completing()
    stage.sleep(800)
    sessions = {"kitchen": {stage.anna.member_id: 51 * NS_PER_S}}
    assert awaited(stage, sessions=sessions) == (
        "SyncGroup of the leader anna#017f, with the assignments (its session of 45000 ms ends in 44.200 s unless it is heard of again; "
        "the rebalance timeout of 300000 ms is over in 299.200 s)"
    )


def test_sync_phase_says_what_its_leader_waits_for_itself() -> None:
    stage = completing()
    stage.rig.command(
        "add_faults", rules=[{"name": "late", "when": {"api": "OffsetFetch"}, "do": {"kind": "delay", "seconds": 60}}], origin="the test"
    )
    stage.send(9, 7, OffsetFetchRequest(group_id="kitchen", topics=[]), connection="anna", client_id="anna")
    stage.sleep(1000)
    assert "(fault rule late keeps its OffsetFetch since 6.000; its session" in awaited(stage)


def test_a_request_that_a_fault_rule_keeps_is_awaited_by_the_name_of_the_rule() -> None:
    stage = TwoMembers()
    when = {"api": "JoinGroup", "client_id": "anna"}
    stage.rig.command("add_faults", rules=[{"name": "slow", "when": when, "stage": "request", "do": {"kind": "hold"}}], origin="the test")
    stage.consumer("cleo").join()
    stage.ben.join()
    stage.anna.join()
    stage.sleep(1000)
    assert awaited(stage).startswith("JoinGroup of anna#017f (last heard of at 6.000; fault rule slow keeps its JoinGroup since 6.000; its")


def test_a_group_that_is_held_awaits_its_release() -> None:
    stage = TwoMembers()
    stage.rig.command("hold_group", group="kitchen", state="Stable")
    assert last_line(stage) == "6.000  awaited: its release from Stable (hold_group)"
    stage.rig.command("release_group", group="kitchen")
    assert "awaited" not in last_line(stage)


def test_a_sync_phase_that_ends_without_assignments_is_told() -> None:
    stage = completing()
    stage.sleep(45_000)
    told = "\n".join(tell(stage.ring.rows))
    undealt = "anna#017f, which led generation 3, had not brought the assignments (SyncGroup) after 45000 ms"
    assert f"-> rebalance; {undealt}" in told
    kept = obstacles(stage.ring.rows, "kitchen", now=stage.rig.clock.now(), sessions={}, dropped=0)
    assert kept[-1] == f"1 sync phase in a row ended without assignments, the last at 51.000: {undealt}"


def test_a_stable_group_awaits_a_member_that_has_not_asked_for_its_assignment() -> None:
    stage = TwoMembers()
    cleo = stage.consumer("cleo")
    cleo.join()
    for member in (stage.ben, stage.anna):
        member.join()
    stage.sleep(0)
    stage.anna.sync()
    stage.ben.sync()
    stage.sleep(1000)
    end = "which has not asked for its assignment (the rebalance timeout of 300000 ms is over in 299.000 s)"
    assert last_line(stage) == f"7.000  awaited: SyncGroup of cleo#38f1, {end}"


def test_a_group_at_rest_awaits_nothing() -> None:
    assert "awaited" not in "\n".join(tell(TwoMembers().ring.rows, now=99 * NS_PER_S))
