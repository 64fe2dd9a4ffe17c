"""The proxy uses TLS to the upstream, verifies the given CA, and presents a client certificate if the node wants one; clients use plain
text. The tests use `tests/data/record/node.pem`, a key and certificate for 127.0.0.1 until 2126, and its CA `ca.pem`."""

from __future__ import annotations

import argparse
import socket
import ssl
from pathlib import Path
from typing import cast

import pytest
from recordings import Recording, of_kind, recording, where
from scripted_upstream import ScriptedUpstream, echoes

from groupmock.cli.record import add_arguments
from groupmock.record.settings import settings_of
from groupmock.rig.wire import Client
from groupmock.server.running import CannotStart
from groupmock_codec.messages.k12_heartbeat import HeartbeatRequest

DATA = Path(__file__).resolve().parents[1] / "data" / "record"
CA, NODE = str(DATA / "ca.pem"), str(DATA / "node.pem")


class TlsUpstream(ScriptedUpstream):
    """The scripted upstream node with TLS. With `wants_certificate` its clients need a certificate signed by the same CA."""

    wants_certificate = False

    def _serve(self, link: socket.socket) -> None:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(NODE)
        if self.wants_certificate:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(CA)
        try:
            wrapped = context.wrap_socket(link, server_side=True)
        except OSError:
            return
        self.connections.append(wrapped)
        super()._serve(wrapped)


class Strict(TlsUpstream):
    wants_certificate = True


def context(*flags: str) -> ssl.SSLContext | None:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    return settings_of(parser.parse_args(["--upstream", "h:1", "--journal", "j", *flags])).tls


@pytest.mark.parametrize(("node", "flags"), [(TlsUpstream, ("--tls-ca", CA)), (Strict, ("--tls-ca", CA, "--tls-cert", NODE))])
def test_what_clients_say_in_plain_text_goes_on_by_tls(node: type[TlsUpstream], flags: tuple[str, ...], tmp_path: Path) -> None:
    made = node(echoes)
    try:
        with recording(made.address, tmp_path / "j", tls=context(*flags)) as proxy:
            address = where(proxy.bootstrap)
            with Client(address.host, address.port, seconds=60) as client:
                client.send(12, 4, HeartbeatRequest(group_id="g", generation_id=1, member_id="m"))
                assert client.receive() == (1).to_bytes(4, "big")
            rows = proxy.close()
    finally:
        made.close()
    assert [row["message"]["member_id"] for row in of_kind(rows, "request")] == ["m"]


def test_a_node_that_ends_tls_ends_its_client(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """TLS has no half-closed connections, so the proxy cannot go on writing to a node that has closed its side."""
    made = TlsUpstream(lambda link, frame: cast(ssl.SSLSocket, link).unwrap())
    try:
        with recording(made.address, tmp_path / "j", tls=context("--tls-ca", CA)) as proxy:
            address = where(proxy.bootstrap)
            with Client(address.host, address.port, seconds=60) as client:
                client.send(12, 4, HeartbeatRequest(group_id="g", generation_id=1, member_id="m"))
                assert client.socket.recv(1) == b""
            rows = proxy.close()
    finally:
        made.close()
    (row,) = of_kind(rows, "close")
    assert (row["by"], row["reason"]) == ("server", f"the upstream {made.address} closed the connection, with a request unanswered")
    assert not caplog.records


def test_a_certificate_that_is_not_trusted_is_told_with_the_remedy(tmp_path: Path) -> None:
    made = TlsUpstream(echoes)
    try:
        with pytest.raises(CannotStart, match=r"shows a certificate that is not trusted: .*: name its CA with --tls-ca FILE"):
            Recording(made.address, tmp_path / "j", tls=context("--tls"))
    finally:
        made.close()


def test_plain_text_is_the_default() -> None:
    assert context() is None
