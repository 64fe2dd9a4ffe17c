"""The HTTP routes and the CLI verbs for topics, records, configs and offsets do what they say."""

from __future__ import annotations

import asyncio
import json
from io import BytesIO
from typing import Any

LINES = """
{"key": "a", "value": "v", "partition": 0, "timestamp": 1000}
{"key": "b", "value": {"n": 1.50}, "partition": 1, "headers": {"h": "x"}}
{"value": null, "partition": 1}
"""


async def test_records_are_written_and_read_page_by_page(api) -> None:
    status, done = await api.ask("POST", "/v1/topics/orders/records", LINES)
    assert (status, done["records"]) == (200, 3)
    assert done["partitions"] == [{"partition": 0, "first_offset": 0, "records": 1}, {"partition": 1, "first_offset": 0, "records": 2}]
    page = await api.get("/v1/topics/orders/records", limit=2, value_as="json")
    first, second = page["records"]
    assert first == {"partition": 0, "offset": 0, "timestamp": 1000, "key": "a", "value": "v"}
    assert (second["value"], second["value_as"], second["headers"]) == ({"n": 1.5}, "json", [{"key": "h", "value": "x"}])
    assert (page["more"], page["next"], page["unread"]) == (True, "0:1,1:1", [])
    rest = await api.get("/v1/topics/orders/records", next=page["next"])
    assert ([row["value"] for row in rest["records"]], rest["more"]) == ([None], False)


async def test_what_was_read_is_written_again(api) -> None:
    await api.ask("POST", "/v1/topics/orders/records", LINES)
    page = await api.get("/v1/topics/orders/records")
    await api.post("/v1/topics", name="copy", partitions=2)
    status, _ = await api.ask("POST", "/v1/topics/copy/records", "\n".join(json.dumps(row) for row in page["records"]))
    assert (status, (await api.get("/v1/topics/copy/records"))["records"]) == (200, page["records"])


async def test_one_row_of_the_journal_for_what_is_written_at_once(api) -> None:
    await api.ask("POST", "/v1/topics/orders/records", LINES)
    found = await api.get("/v1/journal/find", kind="command", name="produce")
    assert [row["arguments"]["partitions"] for row in found["rows"]] == [[0, 1]]


async def test_topics_and_their_partitions(api) -> None:
    await api.post("/v1/topics", name="t", partitions=2, replication_factor=2, configs={"retention.ms": "-1"})
    await api.ask("POST", "/v1/topics/t/records", '{"value": "v", "partition": 1, "timestamp": 1000}')
    row = next(row for row in await api.get("/v1/topics") if row["name"] == "t")
    assert (row["partitions"], row["replication_factor"], row["records"], row["internal"]) == (2, 2, 1, False)
    shown = await api.get("/v1/topics/t")
    one = shown["partitions"][1]
    assert (shown["configs"], len(shown["topic_id"])) == ({"retention.ms": "-1"}, 22)
    assert (one["start_offset"], one["end_offset"], one["leader_epoch"], one["epochs"]) == (0, 1, 0, {"0": 0})
    assert (one["isr"], sorted(one["replicas"]), one["offline"]) == (one["replicas"], [1, 2], [])
    assert one["segments"] == [{"base_offset": 0, "size": one["size"], "newest_ms": 1000}]
    await api.post("/v1/topics/t/leader", partition=1, node=3 - one["leader"])
    await api.post(f"/v1/nodes/{one['leader']}/stop")
    moved = (await api.get("/v1/topics/t"))["partitions"][1]
    assert (moved["leader"], moved["leader_epoch"], moved["offline"]) == (3 - one["leader"], 1, [one["leader"]])
    assert moved["isr"] == [moved["leader"]]


async def test_configs_of_topics_and_nodes(api) -> None:
    await api.post("/v1/topics/orders/configs", set={"retention.ms": "5"})
    configs = await api.get("/v1/topics/orders/configs")
    assert configs["retention.ms"] == {"value": "5", "source": "topic", "read_only": False}
    assert configs["cleanup.policy"] == {"value": "delete", "source": "default", "read_only": False}
    await api.post("/v1/topics/orders/configs", unset=["retention.ms"])
    assert (await api.get("/v1/topics/orders/configs"))["retention.ms"]["source"] == "default"
    await api.post("/v1/nodes/2/configs", set={"message.max.bytes": "3000"})
    await api.post("/v1/nodes/0/configs", set={"log.retention.ms": "7"})
    node = await api.get("/v1/nodes/2/configs")
    assert [(node[name]["value"], node[name]["source"]) for name in ("message.max.bytes", "log.retention.ms")] == [
        ("3000", "node"), ("7", "all nodes"),
    ]  # fmt: skip
    assert (await api.get("/v1/nodes/0/configs")).keys() >= {"log.retention.ms"}


async def test_offsets_are_committed_reset_and_behind(api) -> None:
    await api.ask("POST", "/v1/topics/orders/records", LINES)
    await api.post("/v1/groups/kitchen/commit", offsets=[{"topic": "orders", "partition": 1, "offset": 1}])
    lag = await api.get("/v1/groups/kitchen/lag")
    assert (lag["state"], lag["lag"]) == ("Empty", 1)
    assert [(row["committed"], row["end_offset"], row["lag"], row["member_id"]) for row in lag["partitions"]] == [(1, 2, 1, None)]
    moves = [{"topic": "orders", "partition": 0, "before": None, "after": 1}, {"topic": "orders", "partition": 1, "before": 1, "after": 2}]
    status, dry = await api.ask("POST", "/v1/groups/kitchen/reset?dry_run=true", {"topic": "orders", "to": "latest"})
    assert (status, dry) == (200, {"seq": None, "offsets": moves})
    assert (await api.get("/v1/groups/kitchen/lag"))["lag"] == 1
    done = await api.post("/v1/groups/kitchen/reset", topic="orders", to="latest")
    assert (done["offsets"], isinstance(done["seq"], int)) == (moves, True)
    assert (await api.get("/v1/groups/kitchen/lag"))["lag"] == 0


async def test_a_group_with_members_keeps_its_offsets(api) -> None:
    await api.stable()
    offset = {"topic": "orders", "partition": 0, "offset": 1}
    for path, body in (("commit", {"offsets": [offset]}), ("reset", {"to": "latest", "topic": "orders"})):
        status, answer = await api.ask("POST", f"/v1/groups/g/{path}", body)
        assert status == 409 and "Stable" in answer["error"] and "stop its members (a)" in answer["error"]


async def test_seed_data_over_http(api) -> None:
    text = '{"topic": "t", "partitions": 2}\n{"topic": "t", "value": 1}\n{"group": "g", "topic": "t", "partition": 0, "offset": 1}'
    assert (await api.ask("POST", "/v1/seed-data", text)) == (200, {"topics": 1, "records": 1, "commits": 1, "nodes": 0})
    status, answer = await api.ask("POST", "/v1/seed-data", text)
    assert (status, answer["error"]) == (400, "body: line 1: topic: 't' is there already: leave the line out, or choose another name")


async def test_a_reset_brings_the_seed_data_of_the_start_back(open_api, tmp_path) -> None:
    file = tmp_path / "seed.jsonl"
    file.write_text('{"topic": "t", "value": "v"}\n{"group": "g", "topic": "t", "partition": 0, "offset": 0}')
    async with open_api(**{"seed-data": str(file)}) as api:
        file.unlink()
        await api.ask("POST", "/v1/topics/t/records", '{"value": "w"}')
        assert (await api.get("/v1/groups/g/lag"))["lag"] == 2
        await api.post("/v1/reset")
        assert [row["value"] for row in (await api.get("/v1/topics/t/records"))["records"]] == ["v"]
        assert (await api.get("/v1/groups/g/lag"))["lag"] == 1


TOO_LARGE = b"x" * (4 * 2**20 + 1)
REFUSED: dict[str, tuple[str, str, Any, int, str]] = {
    "a wrong line": ("POST", "/v1/topics/orders/records", '{"value": 1}\n{"vlaue": 1}', 400, "line 2: Object contains unknown field `vl"),
    "a line of part of a file": ("POST", "/v1/topics/orders/records?first_line=41", '{"value": 1}\nx', 400, "line 42: not JSON"),
    "no topic": ("POST", "/v1/topics/nope/records", '{"value": 1}', 404, "no topic 'nope': there are orders"),
    "no partition": ("POST", "/v1/topics/orders/records", '{"value": 1, "partition": 2}', 400, "line 1: partition: 2: topic 'ord"),
    "too much": ("POST", "/v1/topics/orders/records", TOO_LARGE, 413, "body: more than 4194304 bytes"),
    "read of no topic": ("GET", "/v1/topics/nope/records", None, 404, "no topic 'nope': there are orders"),
    "read of no partition": ("GET", "/v1/topics/orders/records?partition=9", None, 404, "no partition 9 of topic 'orders'"),
    "read of too much": ("GET", "/v1/topics/orders/records?limit=10001", None, 400, "query: Expected `int` <= 10000 - at `$.limit`"),
    "read from nowhere": ("GET", "/v1/topics/orders/records?next=x", None, 400, "next: 'x' is not what an answer had as `next`"),
    "show no topic": ("GET", "/v1/topics/nope", None, 404, "no topic 'nope': there are orders"),
    "configs of no node": ("GET", "/v1/nodes/7/configs", None, 404, "no node 7: there are 1 to 2"),
    "lag of no group": ("GET", "/v1/groups/nope/lag", None, 404, "no group 'nope': there are none"),
    "reset to nowhere": ("POST", "/v1/groups/g/reset", {"topic": "orders"}, 400, "say where by exactly one of to, offset"),
}  # fmt: skip


async def test_what_is_refused_says_why_and_writes_nothing(api) -> None:
    wrong = []
    for name, (method, path, body, status, text) in REFUSED.items():
        got, answer = await api.ask(method, path, BytesIO(TOO_LARGE) if body is TOO_LARGE else body)
        if got != status or text not in answer["error"]:
            wrong.append((name, got, answer))
    assert wrong == []
    assert (await api.get("/v1/topics/orders/records"))["records"] == []


async def test_clients_are_served_while_many_records_are_read_and_written(api) -> None:
    """The server reads and writes many records in slices and answers a health request between two slices."""
    body = "\n".join(json.dumps({"value": "v" * 50, "partition": number % 2}) for number in range(20_000))
    order: list[str] = []

    async def health() -> None:
        await api.get("/v1/health")
        order.append("health")

    async def write() -> None:
        status, _ = await api.ask("POST", "/v1/topics/orders/records", BytesIO(body.encode()))
        order.append(f"written {status}")

    await asyncio.gather(write(), health())
    assert order == ["health", "written 200"]
