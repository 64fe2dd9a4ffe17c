"""Transactional ids can be listed and steered over HTTP, in process and on the command line."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from log_world import batch, produce_request
from transaction_asks import adds, comes, opens
from transaction_world import TRANSACTIONAL

from groupmock import Broker
from groupmock.cli import main
from groupmock.core.steering import CannotSteer
from groupmock.rig.wire import AsyncClient, Client


async def test_a_transaction_is_seen_and_steered_over_http(open_api: Any) -> None:
    async with open_api(nodes=1) as api:
        assert await api.get("/v1/transactions") == []
        client = await AsyncClient.connect("127.0.0.1", api.control.running.ports[0])
        await client.ask(24, 3, adds("a/b", await client.ask(22, 4, comes("a/b")), 0, 1))
        (row,) = await api.get("/v1/transactions")
        assert (row["transactional_id"], row["state"], row["epoch"], row["coordinator"], row["partitions"]) == ("a/b", "Ongoing", 0, 1, 2)
        status, answer = await api.ask("POST", "/v1/transactions/a%2Fb/expire")
        assert (status, answer["error"]) == (409, "transactional id 'a/b' is Ongoing: it can expire once its transaction is over")
        await api.post("/v1/transactions/a%2Fb/hold")
        await api.post("/v1/transactions/a%2Fb/abort")
        shown = await api.get("/v1/transactions/a%2Fb")
        assert (shown["transaction"]["state"], shown["transaction"]["held"], shown["partitions"]) == (
            "PrepareAbort",
            True,
            {"orders": [0, 1]},
        )
        assert any("ordered by the test: abort_transaction" in line for line in shown["story"]), shown["story"]
        assert (await api.get("/v1/transactions/a%2Fb", story="false"))["story"] == []
        await api.post("/v1/transactions/a%2Fb/release")
        await api.post("/v1/transactions/a%2Fb/fence")
        assert (await api.get("/v1/transactions/a%2Fb"))["transaction"]["epoch"] == 2
        await api.post("/v1/transactions/a%2Fb/expire")
        assert (await api.ask("GET", "/v1/transactions/a%2Fb"))[0] == 404
        client.close()


def test_the_same_in_process_and_by_verbs(capsys: pytest.CaptureFixture[str]) -> None:
    with Broker(topics={"orders": 2}, control=0) as broker:
        with Client("127.0.0.1", int(broker.bootstrap.rpartition(":")[2])) as client:
            opens(client, "a/b", 0, 1)
        assert {name: row.state for name, row in broker.transactions.items()} == {"a/b": "Ongoing"}
        with broker.hold_markers("a/b"):
            broker.abort_transaction("a/b")
            assert broker.transaction("a/b").partitions == {"orders": [0, 1]}
        assert broker.transaction("a/b").transaction.state == "CompleteAbort"
        assert broker.control is not None
        assert main(["transaction", "fence", "a/b", "--control", broker.control]) == 0
        capsys.readouterr()
        assert main(["transaction", "show", "a/b", "--control", broker.control]) == 0
        assert json.loads(capsys.readouterr().out)["transaction"]["state"] == "Empty"
        broker.expire_transactional_id("a/b")
        with pytest.raises(CannotSteer, match="no transactional id 'a/b': there are none"):
            broker.transaction("a/b")


async def test_metrics_tell_of_transactions(open_api: Any) -> None:
    async with open_api(nodes=1) as api:
        client = await AsyncClient.connect("127.0.0.1", api.control.running.ports[0])
        given = {name: await client.ask(22, 4, comes(name)) for name in ("open", "held", "left", "idle")}
        for name in ("open", "held", "left"):
            await client.ask(24, 3, adds(name, given[name], 0, 1))
        writes = {"producer_id": given["open"].producer_id, "producer_epoch": 0, "base_sequence": 0, "attributes": TRANSACTIONAL}
        await client.ask(0, 10, produce_request(batch(b"a", b"b", **writes), topic="orders", partition=1, transactional_id="open"))
        for word in ("held/hold", "held/abort", "left/fence"):
            await api.post(f"/v1/transactions/{word}")
        told = dict(line.rsplit(" ", 1) for line in (await api.get("/metrics")).splitlines() if not line.startswith("#"))
        client.close()
    ours = {name.removeprefix("groupmock_"): float(value) for name, value in told.items() if re.search("transact|marker|unstable", name)}
    assert ours.pop("oldest_transaction_seconds") > 0
    assert ours == {
        'transactional_ids{state="Empty"}': 2,
        'transactional_ids{state="Ongoing"}': 1,
        'transactional_ids{state="PrepareAbort"}': 1,
        "markers_waiting": 2,
        'transactions_ended_total{cause="abort_ordered"}': 1,
        'transactions_ended_total{cause="fence_ordered"}': 1,
        'unstable_offsets{partition="1",topic="orders"}': 3,
    }
