"""Ten thousand TLS handshakes that go no further cost little memory, and neither disturb a group nor keep new clients out."""

from __future__ import annotations

import json
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from groupmock.rig.classic_member import ClassicMember
from groupmock.rig.wire import Client
from groupmock_codec.error_codes import MEMBER_ID_REQUIRED
from groupmock_codec.messages.k11_join_group import JoinGroupResponse

STALLED: Final = 10_000
BATCH: Final = 500
MOST_KB: Final = 130_000
"""Measured on 2026-11-29: 91 MB. A first message costs 50 kB in OpenSSL, so that a third of the clients would have 165 MB without a limit
of handshakes under way, and as much again if a part of a record began one."""
MOST_LINES: Final = 12


class Served:
    """A broker in a process of its own, with a TLS and a plain listener. `log` is the file of its log."""

    def __init__(self, folder: Path) -> None:
        self.log = folder / "log"
        words = ["serve", "--listener", "OUT=SSL://127.0.0.1:0", "--listener", "PLAIN=PLAINTEXT://127.0.0.1:0", "--tls-dir", str(folder)]
        with self.log.open("w") as log:
            self.process = subprocess.Popen([sys.executable, "-m", "groupmock", *words], stdout=subprocess.PIPE, stderr=log, text=True)
        assert self.process.stdout is not None
        ready = json.loads(self.process.stdout.readline())
        self.ca = ready["tls"]["ca"]
        self.ports = {name: int(each["bootstrap"].rpartition(":")[2]) for name, each in ready["listeners"].items()}

    @property
    def memory_kb(self) -> int:
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1])


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    made = Served(tmp_path)
    yield made
    made.process.terminate()
    made.process.communicate()


def hello(context: ssl.SSLContext) -> bytes:
    """Return the first message of a handshake."""
    outgoing = ssl.MemoryBIO()
    with pytest.raises(ssl.SSLWantReadError):
        context.wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname="localhost").do_handshake()
    return outgoing.read()


def joined(client: Client) -> ClassicMember:
    """Let a client join a group as its only member."""
    member = ClassicMember("kitchen")
    for code in (MEMBER_ID_REQUIRED, 0):
        answer: Any = client.ask(11, 5, member.join_request())
        assert isinstance(answer, JoinGroupResponse) and member.joined(answer) == code
    assert client.ask(14, 3, member.sync_request({member.member_id: b"all"})).error_code == 0
    return member


def test_stalled_handshakes_beside_a_group(served: Served) -> None:
    trusting = ssl.create_default_context(cafile=served.ca)
    whole = hello(trusting)
    beginnings = (b"", whole[: len(whole) // 2], whole)
    stalled: list[socket.socket] = []
    with Client("127.0.0.1", served.ports["PLAIN"]) as cook:
        member, before = joined(cook), served.memory_kb
        for number in range(STALLED):
            stalled.append(socket.create_connection(("127.0.0.1", served.ports["OUT"])))
            stalled[-1].sendall(beginnings[number % len(beginnings)])
            if number % BATCH == 0:
                assert cook.ask(12, 4, member.heartbeat_request()).error_code == 0
                with socket.create_connection(("127.0.0.1", served.ports["OUT"])) as plain:
                    with trusting.wrap_socket(plain, server_hostname="localhost") as client:
                        assert client.version() == "TLSv1.3"
        assert cook.ask(12, 4, member.heartbeat_request()).error_code == 0
        assert served.memory_kb - before < MOST_KB
        for each in stalled:
            each.close()
        assert cook.ask(12, 4, member.heartbeat_request()).error_code == 0, "it is still the member of the first generation"
    told = [line for line in served.log.read_text().splitlines() if "TLS" in line]
    assert 0 < len(told) <= MOST_LINES and "too many TLS handshakes" in told[0], told
