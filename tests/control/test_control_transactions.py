"""Transactional ids over HTTP, in process and on the command line."""

from __future__ import annotations

import json
from typing import Any

import pytest

from groupmock import Broker
from groupmock.cli import main
from groupmock.core.steering import CannotSteer
from groupmock.rig.wire import AsyncClient, Client
from groupmock_codec.messages.k22_init_producer_id import InitProducerIdRequest
from groupmock_codec.messages.k24_add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic

COMES = InitProducerIdRequest(transactional_id="a/b", transaction_timeout_ms=60_000)


def adds(given: Any) -> AddPartitionsToTxnRequest:
    """Both partitions of `orders`."""
    return AddPartitionsToTxnRequest(
        v3_and_below_transactional_id="a/b",
        v3_and_below_producer_id=given.producer_id,
        v3_and_below_producer_epoch=given.producer_epoch,
        v3_and_below_topics=[AddPartitionsToTxnTopic(name="orders", partitions=[0, 1])],
    )


async def test_a_transaction_is_seen_and_steered_over_http(open_api: Any) -> None:
    async with open_api(nodes=1) as api:
        assert await api.get("/v1/transactions") == []
        client = await AsyncClient.connect("127.0.0.1", api.control.running.ports[0])
        await client.ask(24, 3, adds(await client.ask(22, 4, COMES)))
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
        await api.post("/v1/transactions/a%2Fb/release")
        await api.post("/v1/transactions/a%2Fb/fence")
        assert (await api.get("/v1/transactions/a%2Fb"))["transaction"]["epoch"] == 2
        await api.post("/v1/transactions/a%2Fb/expire")
        assert (await api.ask("GET", "/v1/transactions/a%2Fb"))[0] == 404
        client.close()


def test_the_same_in_process_and_by_verbs(capsys: pytest.CaptureFixture[str]) -> None:
    with Broker(topics={"orders": 2}, control=0) as broker:
        with Client("127.0.0.1", int(broker.bootstrap.rpartition(":")[2])) as client:
            client.ask(24, 3, adds(client.ask(22, 4, COMES)))
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
