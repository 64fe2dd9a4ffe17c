"""Runs `groupmock probe` as a user does: against another process, with reports on disk, and against brokers that lie or are missing."""

from __future__ import annotations

import json
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as XML

import pytest

from groupmock_codec import APIS
from groupmock_codec.messages.k03_metadata import MetadataResponse, MetadataResponseBroker
from groupmock_codec.messages.k12_heartbeat import HeartbeatResponse
from groupmock_codec.messages.k18_api_versions import ApiVersion, ApiVersionsResponse

PROBE = [sys.executable, "-m", "groupmock", "probe"]
SECONDS = 120


@contextmanager
def served(*flags: str) -> Iterator[str]:
    """Start `groupmock serve` and yield its bootstrap address."""
    command = [sys.executable, "-m", "groupmock", "serve", "--port", "0", "--log", "off", *flags]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        try:
            yield json.loads(server.stdout.readline())["bootstrap"].split(",")[0]
        finally:
            server.terminate()


def probe(address: str, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*PROBE, address, "--patience", "20", *words], capture_output=True, text=True, timeout=SECONDS, check=False)


@pytest.fixture(scope="module")
def as_delivered() -> Iterator[str]:
    """Start a broker with Kafka's defaults: 3 s initial rebalance delay and sessions of at least 6 s."""
    with served("--profile", "kafka-4.3") as address:
        yield address


def test_the_release_is_found_out() -> None:
    with served("--profile", "kafka-3.9") as address:
        done = probe(address, "--only", "SERVER-04", "--quick")
    assert done.returncode == 0, done.stdout
    assert "judged as Kafka 3.9 (certain: all 12 ranges of the group APIs are 3.9's)" in done.stdout


def test_several_nodes_are_probed_on_one_of_them() -> None:
    with served("--nodes", "3") as address:
        done = probe(address, "--only", "SERVER-04", "--only", "SERVER-47", "--quick")
    assert done.returncode == 0, done.stdout
    assert ", 3 nodes, judged as" in done.stdout


@pytest.mark.parametrize("form", ["text", "json", "junit", "html"])
def test_every_report_goes_to_stdout_too(as_delivered: str, form: str) -> None:
    done = probe(as_delivered, "--only", "H1", "--report", form)
    assert done.returncode == 0, done.stderr
    readers: dict[str, Callable[[str], Any]] = {"json": json.loads, "junit": XML.fromstring}
    readers.get(form, str)(done.stdout)
    assert "H1" in done.stdout and "\033[" not in done.stdout


# ---- brokers that are none --------------------------------------------------------------------------------------------------------

OFFERED = [ApiVersion(api_key=key, min_version=0, max_version=2) for key in (3, 8, 9, 10, 11, 12, 13, 14, 18)]


def honest(key: int) -> bytes:
    """Return the body of a correct answer (version 2, ApiVersions 0) from a broker with one node and no groups."""
    if key == 18:
        return APIS[18].response.encode(0, ApiVersionsResponse(api_keys=OFFERED))
    if key == 3:
        return APIS[3].response.encode(2, MetadataResponse(brokers=[MetadataResponseBroker(node_id=1, host="127.0.0.1", port=1)]))
    if key == 12:
        return APIS[12].response.encode(2, HeartbeatResponse(error_code=25))
    return APIS[key].response.encode(2, APIS[key].response.message())


@contextmanager
def impostor(answer: Callable[[int, bytes], bytes | None]) -> Iterator[str]:
    """Start a TCP server; `answer(key, correlation)` returns a whole frame, or None to hang up."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve(link: socket.socket) -> None:
            with link, suppress(OSError, struct.error):
                while True:
                    (size,) = struct.unpack(">i", link.recv(4, socket.MSG_WAITALL))
                    request = link.recv(size, socket.MSG_WAITALL)
                    frame = answer(struct.unpack_from(">h", request)[0], request[4:8])
                    if frame is None:
                        return
                    link.sendall(frame)

        def accept() -> None:
            with suppress(OSError):
                while True:
                    threading.Thread(target=serve, args=(listening.accept()[0],), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        yield f"127.0.0.1:{listening.getsockname()[1]}"
        listening.shutdown(socket.SHUT_RDWR)


def framed(data: bytes) -> bytes:
    return struct.pack(">i", len(data)) + data


def with_heartbeats(lie: Callable[[bytes], bytes | None]) -> Callable[[int, bytes], bytes | None]:
    """Return the answers of a broker that is correct except for Heartbeat."""
    return lambda key, correlation: lie(correlation) if key == 12 else framed(correlation + honest(key))


LIES: dict[str, tuple[Callable[[bytes], bytes | None], str]] = {
    "another correlation id": (lambda _: framed(b"\0\0\0\x7f" + honest(12)), "an answer with correlation id 127 where"),
    "bytes too many": (lambda correlation: framed(correlation + honest(12) + b"x"), "cannot be read as Heartbeat v2"),
    "bytes too few": (lambda correlation: framed(correlation + b"\0"), "cannot be read as Heartbeat v2"),
    "no header": (lambda _: framed(b"\0"), "a frame of 1 bytes"),
    "a negative length": (lambda _: b"\xff\xff\xff\xff", "a frame of -1 bytes"),
    "two answers": (lambda correlation: framed(correlation + honest(12)) * 2, "that nothing was asked for"),
    "another error": (lambda correlation: framed(correlation + b"\0\0\0\0\0\x19"[:4] + b"\0\0"), "error 25 expected, 0 seen"),
    "no answer": (lambda _: None, "the broker closed the connection"),
}


@pytest.mark.parametrize("what", LIES)
def test_a_broker_that_lies_is_broken_and_told_what_it_said(what: str, tmp_path: Path) -> None:
    lie, said = LIES[what]
    (tmp_path / "x.exchange").write_text(
        'exchange x "t"\nrows: R\nA: Heartbeat member_id=m generation_id=1 -> 25\nA: Heartbeat member_id=m generation_id=1 -> 25\n'
    )
    with impostor(with_heartbeats(lie)) as address:
        done = probe(address, "--exchanges", str(tmp_path), "--release", "4.3", "--retries", "0")
    assert done.returncode == 1, done.stdout + done.stderr
    assert said in " ".join(done.stdout.split())


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (lambda key, correlation: b"HTTP/1.1 400 Bad Request\r\n\r\n", "this is no Kafka broker"),
        (lambda key, correlation: None, "it closed the connection"),
        (lambda key, correlation: framed(correlation + b"\0\x23\0\0\0\0"), "ApiVersions is answered with error 35 and 0 rows"),
    ],
)
def test_what_is_no_broker_is_exit_code_3_and_one_line(answer: Callable[[int, bytes], bytes | None], said: str) -> None:
    with impostor(answer) as address:
        done = probe(address)
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith(f"groupmock probe: {address}: ") and said in done.stderr and done.stderr.count("\n") == 1
