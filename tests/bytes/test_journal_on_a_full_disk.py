"""If a journal can no longer be written, the server prints one line and exits with code 3, and the file shows where it stops."""

from __future__ import annotations

import json
import resource
import socket
import subprocess
import sys

import pytest

from groupmock.journal.read import read
from groupmock.rig.wire import request
from groupmock_codec import APIS

LIMIT = 60_000


def limit_files() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, LIMIT))


@pytest.fixture
def serving(tmp_path):
    command = [sys.executable, "-m", "groupmock", "serve", "--port", "0", "--log", "off", "--journal", str(tmp_path / "j")]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=limit_files)
    yield server
    server.kill()
    server.communicate()


def test_ends_with_one_line_and_exit_code_3(serving, tmp_path):
    ready = json.loads(serving.stdout.readline())
    frame = request(18, 0)
    answers = 0
    with socket.create_connection(("127.0.0.1", ready["nodes"][0]["port"]), timeout=60) as peer:
        try:
            while peer.send(frame) and peer.recv(65536):
                answers += 1
        except OSError:
            pass
    _, error = serving.communicate(timeout=60)
    assert serving.returncode == 3
    assert error.decode().count("\n") == 1 and "could not be written" in error.decode() and "File too large" in error.decode()
    journal, rows = read(tmp_path / "j")
    assert not journal.ended, "its last row is not the end"
    assert len(rows) > 10 and answers > 10
    assert APIS[18].name in {row.api_name for row in rows if hasattr(row, "api_name")}
