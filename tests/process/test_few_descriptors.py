"""A server without free file descriptors still answers an API that is asked for the first time."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from groupmock.rig.wire import Client
from groupmock_codec import APIS
from groupmock_codec.messages.k00_produce import ProduceRequest
from groupmock_codec.messages.k09_offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from groupmock_codec.messages.k18_api_versions import ApiVersionsRequest
from groupmock_codec.messages.k24_add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTransaction
from groupmock_codec.messages.k29_describe_acls import DescribeAclsRequest

SERVER = Path(__file__).parents[1] / "support" / "few_descriptors.py"
SPECIAL = {
    0: ProduceRequest(acks=1),
    9: OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id="g", topics=None)]),
    24: AddPartitionsToTxnRequest(transactions=[AddPartitionsToTxnTransaction(transactional_id="x")]),
    29: DescribeAclsRequest(resource_type_filter=1, operation=1, permission_type=1),
}
"""API key -> a request for APIs that do not answer an empty request: Produce with acks=0, AddPartitionsToTxn without transactions,
OffsetFetch without groups (3.9), and an ACL filter without a type."""
CROWD = 200
"""Number of connections, larger than the server's limit of file descriptors."""


@contextmanager
def server(*words: str) -> Iterator[tuple[int, subprocess.Popen[str]]]:
    """Start a server and yield its port and process."""
    with subprocess.Popen([sys.executable, str(SERVER), *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline()), process
        finally:
            process.kill()


def asked(client: Client) -> list[int]:
    """Ask every advertised API in its newest version, with an empty request where that is answered, and return their keys."""
    ranges = {row.api_key: row.max_version for row in client.ask(18, 0, ApiVersionsRequest()).api_keys}
    for key, version in ranges.items():
        client.ask(key, version, SPECIAL.get(key) or APIS[key].request.message())
    return list(ranges)


@pytest.mark.parametrize("profile", ["groupmock", "kafka-3.9"])
def test_every_api_answers_with_no_descriptor_left_once_the_server_was_idle(profile: str) -> None:
    with server("warm", profile) as (port, process), Client("127.0.0.1", port) as client:
        assert process.stdout is not None and process.stdout.readline() == "exhausted\n"
        assert len(asked(client)) > 20


@pytest.mark.parametrize("profile", ["groupmock", "kafka-3.9"])
def test_connections_leave_descriptors_for_the_first_request_of_each_api(profile: str) -> None:
    with server("cold", profile) as (port, _), Client("127.0.0.1", port) as client, ExitStack() as crowd:
        client.ask(18, 0, ApiVersionsRequest())
        for _ in range(CROWD):
            crowd.enter_context(socket.create_connection(("127.0.0.1", port)))
        assert len(asked(client)) > 20
