"""The requests of `groupmock watch` return the group without its story, when each member was last heard, the log's rows and the cluster."""

from __future__ import annotations

import asyncio

from groupmock.control.client import ControlClient
from groupmock.watch.terminal.plain import told
from groupmock.watch.terminal.poll import Poll


async def test_a_group_says_when_its_members_were_heard_and_is_had_without_its_story(api) -> None:
    await api.stable()
    whole, short = await api.get("/v1/groups/g"), await api.get("/v1/groups/g", story="false")
    assert whole["story"] and short["story"] == []
    (member,) = short["group"]["members"]
    assert 0 <= short["silent_ms"][member["member_id"]] < member["session_timeout_ms"]
    assert [(each["group_id"], each["protocol"]) for each in await api.get("/v1/groups")] == [("g", "range")]


async def test_a_member_that_waits_for_its_first_answer_was_not_heard_yet(api) -> None:
    await api.post("/v1/groups/g/hold", state="PreparingRebalance")
    await api.join()
    await api.get("/v1/groups/g/wait", members=1)
    assert set((await api.get("/v1/groups/g", story="false"))["silent_ms"].values()) == {None}


async def test_rows_of_the_log_are_those_of_which_its_lines_are_made(api) -> None:
    await api.stable()
    every, of_log = await api.get("/v1/journal/find", limit=1000), await api.get("/v1/journal/find", limit=1000, log="true")
    kinds = {(row["kind"], row.get("api_name")) for row in of_log["rows"]}
    assert {("moved", None), ("request", "JoinGroup"), ("reply", "SyncGroup")} <= kinds
    assert not any(row["kind"] in ("open", "timer") for row in of_log["rows"]) and of_log["count"] < every["count"]


async def test_a_served_cluster_is_seen_whole(api) -> None:
    await api.stable(client="anna")
    poll = Poll(ControlClient(api.control.url, None, timeout=60))
    lines = list(told(await asyncio.to_thread(poll.look, None, True), list(poll.lines)))
    assert any(line.startswith("g ") and " Stable " in line for line in lines)
    assert any(line.startswith("anna#") and " * " in line for line in lines)
    assert any("anna#" in line and "-> generation 1 after" in line for line in lines), lines
