"""Waiting for a group or a fault rule over HTTP ends when the condition holds, reports what is missing, and refuses impossible
conditions."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from turns_of_loop import until

from groupmock.cli import BROKEN, OK, main
from groupmock.control import arrivals
from groupmock.journal.rows import CloseRow


async def test_who_waits_is_woken_by_what_happens(api) -> None:
    asking = asyncio.ensure_future(api.get("/v1/groups/g/wait", state="Stable", members=1, member="anna", generation=1, timeout=60))
    await until(lambda: api.control.context.arrivals.waiting == 1)
    await api.stable(client="anna")
    view = await asking
    assert (view["state"], view["generation"], view["members"][0]["client_id"]) == ("Stable", 1, "anna")
    assert api.control.context.arrivals.waiting == 0


async def test_a_group_that_is_not_as_wanted_in_time_is_told(api) -> None:
    await api.stable(client="anna")
    status, answer = await api.ask("GET", "/v1/groups/g/wait?members=2&assignment=orders&timeout=0")
    assert status == 408
    assert answer["error"].startswith(
        "group 'g' did not reach members 2, all of orders assigned within 0 s: it is Stable with 1 members in"
    )
    assert "missing: members 2: it has 1; orders/0-1 assigned to nobody; its story says what its clients did" in answer["error"]


async def test_a_held_group_says_that_it_is(api) -> None:
    await api.post("/v1/groups/g/hold", state="PreparingRebalance")
    await api.join()
    await until(lambda: "g" in {each.group_id for each in api.control.running.cluster.groups.all()})
    status, answer = await api.ask("GET", "/v1/groups/g/wait?state=Stable&timeout=0")
    assert status == 408 and "it is held in PreparingRebalance" in answer["error"]


async def test_who_is_awaited_is_told_over_http(api) -> None:
    await api.stable(client="anna")
    await api.join(client="ben")
    await until(lambda: api.control.running.cluster.groups.find("g").state == "PreparingRebalance")
    status, answer = await api.ask("GET", "/v1/groups/g/wait?members=3&timeout=0")
    assert status == 408
    assert "; awaited: JoinGroup of anna#" in answer["error"] and "its session of 30000 ms ends in 2" in answer["error"]


async def test_clients_that_were_never_served_are_told_over_http(api) -> None:
    port = api.control.running.ports[0]
    _, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"\x16\x03\x01\x02\x00\x01")
    await until(lambda: any(isinstance(row, CloseRow) for row in api.control.running.ring.rows))
    writer.close()
    status, answer = await api.ask("GET", "/v1/groups/g/wait?members=1&timeout=0")
    assert status == 408
    assert "set security.protocol=PLAINTEXT in the client" in answer["error"] and "; groups there are: none" in answer["error"]


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("state=Stabel", "no state 'Stabel' of a group (did you mean Stable?): there are Empty, PreparingRebalance"),
        ("state=Empty&members=1", "members in state Empty can never hold"),
        ("offsets=orders", "offsets: 'orders' is no offset: write orders/0=17,orders/1=3"),
        ("assignment={", "assignment is not JSON"),
        ("lag=-1", "lag is 0 or more, not -1"),
        ("stat=Stable", "query: "),
    ],
)
async def test_what_can_never_hold_is_refused(api, query: str, text: str) -> None:
    status, answer = await api.ask("GET", f"/v1/groups/g/wait?{query}")
    assert status == 400 and text in answer["error"]


async def test_a_reset_ends_the_wait(api) -> None:
    asking = asyncio.ensure_future(api.ask("GET", "/v1/groups/g/wait?state=Stable&timeout=60"))
    await until(lambda: api.control.context.arrivals.waiting == 1)
    await api.post("/v1/reset")
    status, answer = await asking
    assert status == 408 and "the cluster was reset or stopped while group 'g' was waited for" in answer["error"]


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_a_rule_is_waited_for(api, method: str) -> None:
    await api.post("/v1/faults", name="seen", when={"api": "JoinGroup"}, do={"kind": "delay", "seconds": 0.001})
    asking = asyncio.ensure_future(api.ask(method, "/v1/faults/seen/wait?hits=2&timeout=60"))
    await until(lambda: api.control.context.arrivals.waiting == 1)
    await api.join(client="a")
    await api.join(client="b")
    status, rule = await asking
    assert (status, rule["fired"]) == (200, 2)


async def test_a_rule_that_does_not_fire_tells_what_came_nearest(api) -> None:
    await api.post("/v1/faults", name="seen", when={"api": "JoinGroup", "client_id": "ben"}, do={"kind": "drop"}, times=1)
    await api.stable(client="anna")
    status, answer = await api.ask("GET", "/v1/faults/seen/wait?timeout=0")
    assert status == 408 and "where client_id is anna, wanted ben; 1 times were waited for, 0 s" in answer["error"]
    assert await api.ask("GET", "/v1/faults/nope/wait") == (404, {"error": "no rule 'nope': there are seen"})
    assert (await api.ask("GET", "/v1/faults/seen/wait?hits=2"))[0] == 400


async def test_a_rule_that_is_removed_ends_the_wait(api) -> None:
    await api.post("/v1/faults", name="seen", when={"api": "JoinGroup"}, do={"kind": "drop"})
    asking = asyncio.ensure_future(api.ask("GET", "/v1/faults/seen/wait?timeout=60"))
    await until(lambda: api.control.context.arrivals.waiting == 1)
    await api.ask("DELETE", "/v1/faults/seen")
    status, answer = await asking
    assert status == 408 and "was removed while it was waited for" in answer["error"]


async def test_who_waits_for_groups_is_counted_with_the_others(api, monkeypatch) -> None:
    monkeypatch.setattr(arrivals, "MAX_WAITS", 1)
    asking = asyncio.ensure_future(api.ask("GET", "/v1/groups/g/wait?timeout=60"))
    await until(lambda: api.control.context.arrivals.waiting == 1)
    assert (await api.ask("GET", "/v1/journal/wait?kind=moved"))[0] == 503
    asking.cancel()


def verb(api: Any, *words: str) -> int:
    return main([*words, "--control", api.control.url])


async def test_the_verbs_do_the_same(api, capfd: pytest.CaptureFixture[str]) -> None:
    await api.stable(client="anna")
    assert await asyncio.to_thread(verb, api, "group", "wait", "g", "--state", "Stable", "--members", "1") == OK
    assert '"client_id": "anna"' in capfd.readouterr().out
    assert await asyncio.to_thread(verb, api, "group", "wait", "g", "--members", "2", "--timeout", "0") == BROKEN
    assert "missing: members 2: it has 1" in capfd.readouterr().err
    await api.post("/v1/faults", name="seen", when={"api": "JoinGroup"}, do={"kind": "drop"})
    assert await asyncio.to_thread(verb, api, "faults", "wait", "seen", "--hits", "1", "--timeout", "0") == BROKEN
    assert 'rule "seen" never fired' in capfd.readouterr().err
