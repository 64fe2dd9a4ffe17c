"""The address of the broker under comparison is read from command-line options and environment variables, and a missing broker is
explained."""

from __future__ import annotations

import socket

import pytest
from cases import for_each

from groupmock_clients.probe.stages.tcp_broker import NoBroker
from tools.fidelity.guided.peer import parse_address
from tools.fidelity.guided.raw_bytes import over_tcp


@for_each(("text", "address"), [("h:1", ("h", 1)), ("a:9092,b:9093", ("a", 9092)), ("::1:9092", ("::1", 9092))])
def test_an_address_is_a_host_and_a_port(text: str, address: tuple[str, int]) -> None:
    assert parse_address(text) == address


@for_each("text", ["", "h", "h:", ":1", "h:x", "h:0", "h:65536", "h:-1", "h:1²"])
def test_another_text_is_an_error_that_names_it(text: str) -> None:
    with pytest.raises(ValueError, match=r"HOST:PORT expected, not '"):
        parse_address(text)


def test_nobody_there_is_no_broker() -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        port = nobody.getsockname()[1]
        with pytest.raises(NoBroker, match=f"cannot connect to 127.0.0.1:{port}"):
            over_tcp("127.0.0.1", port, [b""], None)
