"""Every route does what it says on a running cluster with members on real connections."""

from __future__ import annotations

import asyncio
import tomllib
from typing import Any
from urllib.parse import quote

import pytest
from rights import STANDARD
from turns_of_loop import until
from yarl import URL

from groupmock.control.routes import COMMANDS, ROUTES
from groupmock.rig.wire import request
from groupmock.text.printable import printable
from groupmock_codec.messages.k08_offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic

RULE = {"name": "slow", "when": {"api": "Heartbeat"}, "do": {"kind": "delay", "seconds": 0.01}}
PLAN = """
[[rule]]
name = "lost"
when = { api = "SyncGroup" }
do = { kind = "drop" }

[[rule]]
name = "held"
when = { api = "JoinGroup" }
do = { kind = "hold" }
"""


async def test_health_says_what_there_is(api) -> None:
    health = await api.get("/v1/health")
    assert (health["ok"], health["seed"], health["topics"], health["bootstrap"]) == (True, 1, {"orders": 2}, api.control.running.bootstrap)
    assert [(node["id"], node["state"], node["coordinates"]) for node in health["nodes"]] == [(1, "running", 25), (2, "running", 25)]


async def test_groups_in_short_and_in_full(api) -> None:
    assert await api.get("/v1/groups") == []
    await api.stable(client="anna")
    (row,) = await api.get("/v1/groups")
    assert (row["group_id"], row["state"], row["members"], row["held"]) == ("g", "Stable", 1, None)
    shown = await api.get("/v1/groups/g")
    assert shown["group"]["members"][0]["client_id"] == "anna"
    assert shown["story"][0].startswith("g: Stable, generation 1, range, 1 member (anna#")
    assert any("generation 1 after" in line and "gets nothing" in line for line in shown["story"])


async def test_group_ids_with_all_sorts_of_characters(api) -> None:
    await api.stable("a/b c?d")
    assert (await api.get("/v1/groups/a%2Fb%20c%3Fd"))["group"]["group_id"] == "a/b c?d"
    await api.post("/v1/groups/a%2Fb%20c%3Fd/rebalance")


async def test_a_member_expires(api) -> None:
    await api.stable(client="anna")
    done = await api.post("/v1/groups/g/expire", member="anna")
    found = await api.get("/v1/journal/find", since=done["seq"], kind="moved")
    assert [row["after"] for row in found["rows"]] == ["PreparingRebalance", "Empty"]


async def test_an_instance_is_fenced(api) -> None:
    await api.stable(instance="i1")
    before = (await api.get("/v1/groups/g"))["group"]["members"][0]["member_id"]
    await api.post("/v1/groups/g/fence", instance="i1")
    assert (await api.get("/v1/groups/g"))["group"]["members"][0]["member_id"] != before


async def test_a_group_is_held_and_released(api) -> None:
    await api.post("/v1/groups/g/hold", state="Empty")
    wire = await api.join()
    await api.get("/v1/journal/wait", kind="request", group="g")
    assert await api.get("/v1/groups") == []
    await api.post("/v1/groups/g/release")
    assert len(await wire.receive()) > 4


async def test_the_hold_of_a_group_is_shown_with_what_waits(api) -> None:
    await api.stable()
    await api.post("/v1/groups/g/hold", state="Stable")
    seq = (await api.get("/v1/health"))["seq"]
    await api.join(client="b")
    await api.get("/v1/journal/wait", kind="request", group="g", since=seq)
    shown = await api.get("/v1/groups/g")
    assert (shown["held"], shown["waiting"]) == ("Stable", 1)


async def test_rebalance_leader_complete_order_freeze_and_thaw(api) -> None:
    await api.stable(client="anna")
    await api.post("/v1/groups/g/freeze", member="anna", ms=60_000)
    assert len((await api.get("/v1/groups/g"))["frozen"]) == 1
    await api.post("/v1/groups/g/thaw", member="anna")
    assert (await api.get("/v1/groups/g"))["frozen"] == []
    await api.post("/v1/groups/g/leader", member="ben")
    await api.post("/v1/groups/g/order", names=["ben"])
    await api.post("/v1/groups/g/rebalance", reason="a test")
    wire = await api.join(client="ben")
    await api.get("/v1/journal/wait", kind="member", group="g", client_id="ben", what="added")
    await api.post("/v1/groups/g/complete")
    await wire.receive()
    group = (await api.get("/v1/groups/g"))["group"]
    assert [(member["client_id"], member["member_id"] == group["leader"]) for member in group["members"]] == [("ben", True)]


async def test_nodes_stop_start_and_stall(api) -> None:
    for word, state in (("stop", "stopped"), ("start", "running"), ("stall", "stalled"), ("start", "running")):
        await api.post(f"/v1/nodes/2/{word}")
        assert (await api.get("/v1/health"))["nodes"][1]["state"] == state


async def test_coordinators_and_leaders_move(api) -> None:
    await api.stable()
    before = (await api.get("/v1/groups/g"))["coordinator"]
    await api.post("/v1/coordinators/move", group="g")
    assert (await api.get("/v1/groups/g"))["coordinator"] == 3 - before
    await api.post("/v1/coordinators/unload", group="g")
    assert await api.get("/v1/groups") == []
    await api.post("/v1/coordinators/move", group="g", node=before)
    assert (await api.get("/v1/groups/g"))["group"]["state"] == "Stable"
    seq = (await api.post("/v1/topics/orders/leader", partition=0, node=1))["seq"]
    (row,) = (await api.get("/v1/journal/find", since=seq, what="leader_moved"))["rows"]
    assert row["fields"]["leader"] == 1


async def test_topics_are_created_grown_and_deleted(api) -> None:
    seq = (await api.post("/v1/topics", name="payments", partitions=2))["seq"]
    await api.post("/v1/topics", name="refunds")
    await api.post("/v1/topics/payments/grow", partitions=3)
    assert (await api.get("/v1/health"))["topics"] == {"orders": 2, "payments": 3, "refunds": 1}
    assert (await api.ask("DELETE", "/v1/topics/payments"))[0] == 200
    assert (await api.get("/v1/health"))["topics"] == {"orders": 2, "refunds": 1}
    rows = (await api.get("/v1/journal/find", kind="command", since=seq - 1))["rows"]
    assert [(row["name"], row["arguments"]) for row in rows] == [
        ("create_topic", {"name": "payments", "partitions": 2}),
        ("create_topic", {"name": "refunds"}),
        ("grow_topic", {"name": "payments", "partitions": 3}),
        ("delete_topic", {"name": "payments"}),
    ]


async def test_the_clock_steps_and_timers_jump(api) -> None:
    await api.stable(client="anna")
    before = (await api.get("/v1/health"))["t"]
    await api.post("/v1/clock/step", ms=20_000)
    assert 20_000_000_000 <= (await api.get("/v1/health"))["t"] - before < 60_000_000_000
    member = (await api.get("/v1/groups/g"))["group"]["members"][0]["member_id"]
    await api.post("/v1/clock/jump", timer="session", subject=["g", member])
    assert (await api.get("/v1/groups/g"))["group"]["state"] == "Empty"


async def test_rules_come_and_go(api) -> None:
    assert await api.post("/v1/faults", **RULE) == {"names": ["slow"]}
    (rule,) = await api.get("/v1/faults", never_fired="true")
    assert (rule["name"], rule["fired"], rule["sentence"]) == ("slow", 0, 'rule "slow" never fired: no call came at its stage')
    assert (await api.get("/v1/faults/slow"))["rule"]["do"] == {"kind": "delay", "seconds": 0.01}
    await api.post("/v1/faults/slow/release")
    assert (await api.ask("DELETE", "/v1/faults/slow"))[0] == 200
    await api.post("/v1/faults", **RULE)
    assert (await api.ask("DELETE", "/v1/faults"))[0] == 200
    assert await api.get("/v1/faults") == []


async def test_a_rule_that_fired_no_more_counts_as_never_fired_and_near_misses_say_why(api) -> None:
    await api.post("/v1/faults", name="other", when={"api": "JoinGroup", "group": "h"}, do={"kind": "drop"})
    refused = {"kind": "error", "code": "COORDINATOR_NOT_AVAILABLE"}
    await api.post("/v1/faults", name="mine", when={"api": "JoinGroup", "group": "g"}, do=refused)
    wire = await api.join()
    await wire.receive()
    assert [rule["name"] for rule in await api.get("/v1/faults", never_fired="true")] == ["other"]
    miss = (await api.get("/v1/faults/other"))["near_miss"]
    assert len(miss["failed"]) == 1
    assert "group" in miss["failed"][0]
    assert (await api.get("/v1/journal/count", kind="fault", rule="mine"))["count"] == 1


@pytest.mark.parametrize("form", ["toml", "json", "form"])
async def test_a_plan_as_toml_as_json_and_as_curl_sends_it(api, form: str) -> None:
    body: Any = tomllib.loads(PLAN) if form == "json" else PLAN.encode()
    more = {"headers": {"Content-Type": "application/x-www-form-urlencoded"}} if form == "form" else {}
    assert await api.ask("POST", "/v1/plan", body, **more) == (200, {"names": ["lost", "held"]})


async def test_every_ready_plan_can_be_loaded_by_name(open_api) -> None:
    settings = [("authorizer.class.name", STANDARD)]
    async with open_api(settings, port=None, listener=("A=SASL_SSL://127.0.0.1:0",), user=("alice:secret",)) as api:
        plans = await api.get("/v1/plans")
        assert len(plans) >= 5
        for plan in plans:
            status, added = await api.ask("POST", "/v1/plan", params={"ready": plan["name"]})
            assert (status, added) == (200, {"names": plan["rules"]})
            assert plan["about"]


async def test_journal_queries_count_find_and_wait(api) -> None:
    waiting = asyncio.ensure_future(api.get("/v1/journal/wait", kind="moved", group="g", after="Stable", timeout=10))
    await api.stable(client="anna")
    (row,) = (await waiting)["rows"]
    assert (row["before"], row["generation"]) == ("CompletingRebalance", 1)
    assert (await api.get("/v1/journal/count", api="JoinGroup", group="g"))["count"] == 2, "request and reply"
    assert (await api.get("/v1/journal/count", api="JoinGroup", kind="request", client_id="anna"))["count"] == 1
    assert (await api.get("/v1/journal/count", kind="reply", group="g", error="none"))["count"] == 2
    found = await api.get("/v1/journal/find", limit=2)
    assert (len(found["rows"]), found["count"] > 2) == (2, True)
    assert [row["seq"] for row in found["rows"]] == [found["rows"][0]["seq"], found["rows"][0]["seq"] + 1]
    (command,) = (await api.get("/v1/journal/find", kind="command", name="create_topic"))["rows"]
    assert command["arguments"] == {"name": "orders", "partitions": 2}


async def test_a_wait_in_vain_says_what_was_there(api) -> None:
    status, answer = await api.ask("GET", "/v1/journal/wait", params={"kind": "moved", "group": "g", "count": 2, "timeout": "0.05"})
    assert (status, answer["error"]) == (408, "0 of 2 rows (kind moved, group g) within 0.05 s")


async def test_reset_gives_a_new_cluster_on_the_same_addresses(api) -> None:
    wire = await api.stable()
    await api.post("/v1/faults", **RULE)
    await api.post("/v1/nodes/2/stop")
    before = await api.get("/v1/health")
    after = await api.post("/v1/reset")
    assert (after["bootstrap"], after["topics"], [node["state"] for node in after["nodes"]]) == (
        before["bootstrap"], {"orders": 2}, ["running", "running"],
    )  # fmt: skip
    assert (await api.get("/v1/groups"), await api.get("/v1/faults")) == ([], [])
    await wire.ended()
    await api.stable()


async def test_who_waits_for_rows_is_told_of_a_reset(api) -> None:
    waiting = asyncio.ensure_future(api.ask("GET", "/v1/journal/wait", params={"kind": "moved", "timeout": "30"}))
    await until(lambda: api.control.context.arrivals.waiting)
    await api.post("/v1/reset")
    assert await waiting == (408, {"error": "the cluster was reset while 1 rows (kind moved) were waited for"})


async def test_the_seed_decides_the_ids_from_then_on(api) -> None:
    ids = []
    for group in ("g", "h"):
        await api.post("/v1/seed", seed=42)
        await api.stable(group)
        ids.append((await api.get(f"/v1/groups/{group}"))["group"]["leader"])
    assert ids[0] == ids[1]


async def test_metrics_are_what_prometheus_reads(api) -> None:
    from prometheus_client.parser import text_string_to_metric_families

    wire = await api.stable()
    lines = [OffsetCommitRequestPartition(partition_index=number) for number in range(2)]
    topics = [OffsetCommitRequestTopic(name="orders", partitions=lines)]
    wire.write(request(8, 7, OffsetCommitRequest(group_id="g", generation_id_or_member_epoch=1, member_id="nobody", topics=topics)))
    await wire.receive()
    families = {family.name: family for family in text_string_to_metric_families(await api.get("/metrics"))}
    requests = {sample.labels["api"]: sample.value for sample in families["groupmock_requests"].samples}
    assert requests == {"JoinGroup": 1.0, "OffsetCommit": 1.0, "SyncGroup": 1.0}
    assert [(sample.labels, sample.value) for sample in families["groupmock_groups"].samples] == [({"state": "Stable"}, 1.0)]
    assert families["groupmock_connections"].samples[0].value == 1.0
    errors = {(sample.labels["api"], sample.labels["error"]): sample.value for sample in families["groupmock_errors"].samples}
    assert errors == {("OffsetCommit", "UNKNOWN_MEMBER_ID"): 1.0}, "once for an answer, however many partitions say it"
    found = await api.get("/v1/journal/find", error="UNKNOWN_MEMBER_ID")
    assert [[each["path"] for each in row["errors"]] for row in found["rows"]] == [
        ["topics[0].partitions[0].error_code", "topics[0].partitions[1].error_code"]
    ]


async def test_names_of_groups_steer_no_terminal(api) -> None:
    """A group id may contain control characters, and curl writes an answer to the terminal unchanged."""
    name = "g\x1b[2J\x9b\u202e\\水"
    await api.stable(name)
    told = printable(name).replace("\\", "\\\\")
    assert f'groupmock_group_members{{group="{told}"}} 1.0' in await api.get("/metrics")
    for path in ("/metrics", "/v1/groups", "/v1/journal/find", f"/v1/groups/{quote(name)}"):
        async with api.session.get(URL(api.control.url + path, encoded=True)) as answer:
            text = await answer.text()
        assert answer.status == 200 and all(line.isprintable() for line in text.splitlines()), path


def test_every_command_has_a_route() -> None:
    """`append` and `produce` take bytes that producers send, `load_coordinator` is covered by `move_coordinator`, and the other
    exceptions have routes with arguments of their own."""
    routed = {route.about for route in ROUTES}
    without = {name for name, command in COMMANDS.items() if " ".join((command.arguments.__doc__ or "").split()) not in routed}
    assert without == {"append", "produce", "load_coordinator", "add_faults", "add_node", "reseed", "seed_faults"}


def test_every_route_of_the_issue_is_there() -> None:
    have = {f"{route.method} {route.full_path}" for route in ROUTES}
    wanted = """
        GET /v1/health; GET /v1/groups; GET /v1/groups/{group}; POST /v1/groups/{group}/expire; POST /v1/groups/{group}/fence;
        POST /v1/groups/{group}/hold; POST /v1/groups/{group}/release; POST /v1/groups/{group}/rebalance; POST /v1/groups/{group}/leader;
        GET /v1/faults; POST /v1/faults; DELETE /v1/faults/{name}; POST /v1/faults/{name}/release; POST /v1/plan; POST /v1/clock/step;
        POST /v1/nodes/{node}/stop; POST /v1/nodes/{node}/start; POST /v1/nodes/{node}/stall; POST /v1/coordinators/move;
        GET /v1/journal/count; GET /v1/journal/find; GET /v1/journal/wait; POST /v1/reset; POST /v1/seed; GET /metrics; GET /openapi.json
    """
    assert {" ".join(each.split()) for each in wanted.split(";")} - have == set()
