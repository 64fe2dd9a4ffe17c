"""The proxy passes megabytes of fetched records unchanged and replaces only the addresses of nodes."""

from __future__ import annotations

import socket
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from recordings import Recording, of_kind, recording
from scripted_upstream import upstream

from groupmock.record.wire_codec import WireCodec
from groupmock.rig.wire import Client
from groupmock_codec.api_keys import FETCH
from groupmock_codec.messages.k01_fetch import FetchableTopicResponse, FetchRequest, FetchResponse, NodeEndpoint, PartitionData

RECORDS = [bytes([place]) * 400_000 for place in range(3)]


def answer() -> FetchResponse:
    """Return a Fetch answer with three partitions that have records and an empty one after them."""
    partitions = [PartitionData(partition_index=place, records=data) for place, data in enumerate([*RECORDS, b""])]
    return FetchResponse(responses=[FetchableTopicResponse(topic_id=bytes(16), partitions=partitions)])


def fetched(proxy: Recording, version: int) -> Any:
    host, _, port = proxy.bootstrap.rpartition(":")
    with Client(host, int(port), seconds=60) as client:
        return client.ask(FETCH, version, FetchRequest())


def node(version: int, message: FetchResponse) -> Any:
    def answers(link: socket.socket, frame: bytes) -> None:
        link.sendall(WireCodec(FETCH, version).answer(frame[4:8], message))

    return upstream(answers)


def reply(proxy: Recording) -> dict[str, Any]:
    found: dict[str, Any] = of_kind(proxy.rows(), "reply")[-1]
    return found


@pytest.mark.parametrize("version", [12, 17], ids=["v12", "v17"])
def test_the_client_gets_what_the_node_sent_and_the_row_tells_it(version: int, tmp_path: Path) -> None:
    sent = answer()
    with node(version, sent) as kafka, recording(kafka.address, tmp_path / "journal.jsonl") as proxy:
        assert [each.records for each in fetched(proxy, version).responses[0].partitions] == [*RECORDS, b""]
        proxy.close()
        row = reply(proxy)
        assert row["size"] == len(WireCodec(FETCH, version).answer(b"\0\0\0\1", sent)) - 4
        assert [(each["length"], each["digest"]) for each in row["payloads"]] == [(len(data), sha256(data).hexdigest()) for data in RECORDS]
        assert [each["partition_index"] for each in row["message"]["responses"][0]["partitions"]] == [0, 1, 2, 3]


def test_a_node_that_it_names_has_our_address(tmp_path: Path) -> None:
    sent = answer()
    with node(17, sent) as kafka, recording(kafka.address, tmp_path / "journal.jsonl") as proxy:
        host, port = kafka.where
        sent.node_endpoints = [NodeEndpoint(node_id=1, host=host, port=port, rack=None)]
        got = fetched(proxy, 17)
        assert [f"{each.host}:{each.port}" for each in got.node_endpoints] == [proxy.bootstrap]
        assert [each.records for each in got.responses[0].partitions] == [*RECORDS, b""]
        proxy.close()
        assert reply(proxy)["message"]["node_endpoints"][0]["port"] == int(proxy.bootstrap.rpartition(":")[2])


def test_one_that_cannot_be_read_passes_with_a_note(tmp_path: Path) -> None:
    # The last byte of the answer announces one tagged field, which is missing.
    broken = WireCodec(FETCH, 17).answer(b"\0\0\0\0", answer())[8:-1] + b"\7"

    def answers(link: socket.socket, frame: bytes) -> None:
        link.sendall((len(broken) + 4).to_bytes(4, "big") + frame[4:8] + broken)

    with upstream(answers) as kafka, recording(kafka.address, tmp_path / "journal.jsonl") as proxy:
        host, _, port = proxy.bootstrap.rpartition(":")
        with Client(host, int(port), seconds=60) as client:
            client.send(FETCH, 17, FetchRequest())
            assert client.receive()[4:] == broken
        proxy.close()
        assert any(each["what"] == "an answer could not be read" for each in of_kind(proxy.rows(), "note"))
