"""Runs `groupmock serve` and `groupmock run` as processes: ready line, signals, and failures at the start and at the end."""

from __future__ import annotations

import json
import os
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from groupmock import __version__

GROUPMOCK = [sys.executable, "-m", "groupmock"]
API_VERSIONS_V0 = struct.pack(">ihhih", 10, 18, 0, 7, -1)
PATIENCE = 60


class Served:
    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, f"no ready line: {process.stderr.read() if process.stderr else ''}"
        self.ready: dict[str, Any] = json.loads(line)

    def end(self, number: int = signal.SIGTERM) -> tuple[int, str, str]:
        """Send a signal and return exit code, rest of stdout and stderr."""
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, out, err


@contextmanager
def serve(*words: str, **environment: str) -> Iterator[Served]:
    with subprocess.Popen(
        [*GROUPMOCK, "serve", "--port", "0", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | environment,
    ) as process:
        try:
            yield Served(process)
        finally:
            if process.poll() is None:
                process.kill()


def outcome(*words: str, **environment: str) -> tuple[int, str, str]:
    done = subprocess.run([*GROUPMOCK, *words], capture_output=True, text=True, timeout=PATIENCE, env=os.environ | environment, check=False)
    return done.returncode, done.stdout, done.stderr


def free_run(count: int) -> int:
    """Return the first of `count` consecutive free ports below the kernel's range of ephemeral ports."""
    for first in range(12_000 + os.getpid() % 8_000, 30_000, count):
        with ExitStack() as held:
            try:
                for port in range(first, first + count):
                    held.enter_context(socket.socket()).bind(("127.0.0.1", port))
            except OSError:
                continue
            return first
    raise AssertionError("no free ports in a row")


def ask_api_versions(address: str) -> bytes:
    """Return the answer to ApiVersions v0 without its length."""
    host, port = address.rsplit(":", 1)
    with socket.create_connection((host, int(port)), PATIENCE) as link:
        link.sendall(API_VERSIONS_V0)
        length = struct.unpack(">i", link.recv(4, socket.MSG_WAITALL))[0]
        return link.recv(length, socket.MSG_WAITALL)


def test_ready_line_says_all_and_the_port_answers() -> None:
    with serve("--seed", "5") as served:
        ready = served.ready
        assert set(ready) == {"ready", "bootstrap", "nodes", "control", "journal", "seed", "pid", "version"}
        assert (ready["ready"], ready["control"], ready["journal"], ready["seed"]) == (True, None, None, 5)
        assert (ready["pid"], ready["version"]) == (served.process.pid, __version__)
        assert ready["nodes"] == [{"id": 1, "host": "127.0.0.1", "port": int(ready["bootstrap"].rsplit(":", 1)[1])}]
        assert ask_api_versions(ready["bootstrap"])[:6] == struct.pack(">ih", 7, 0)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_end_it_cleanly(number: int) -> None:
    with serve("--log", "off") as served:
        assert served.end(number) == (0, "", "")


def test_signals_end_it_while_a_client_is_connected(tmp_path: Path) -> None:
    journal = tmp_path / "run.jsonl"
    with serve("--journal", str(journal)) as served:
        host, port = served.ready["bootstrap"].rsplit(":", 1)
        with socket.create_connection((host, int(port)), PATIENCE) as link:
            link.sendall(API_VERSIONS_V0)
            assert link.recv(4)
            assert served.end()[0] == 0
    rows = [json.loads(line) for line in journal.read_text().splitlines()]
    assert (rows[0]["v"], rows[0]["seed"]) == (1, served.ready["seed"])
    assert [row["kind"] for row in rows[1:]][:3] == ["open", "request", "reply"]
    assert [row["seq"] for row in rows[1:]] == sorted({row["seq"] for row in rows[1:]})


def test_nodes_listen_on_following_ports() -> None:
    first = free_run(3)
    with serve("--nodes", "3", "--port", str(first)) as served:
        assert [node["id"] for node in served.ready["nodes"]] == [1, 2, 3]
        assert [node["port"] for node in served.ready["nodes"]] == [first, first + 1, first + 2]
        for address in served.ready["bootstrap"].split(","):
            assert ask_api_versions(address)


def test_nodes_on_port_zero_each_get_a_free_one() -> None:
    with serve("--nodes", "3") as served:
        ports = {node["port"] for node in served.ready["nodes"]}
        assert len(ports) == 3
        assert 0 not in ports


def test_advertised_address_is_what_the_ready_line_names() -> None:
    with serve("--host", "0.0.0.0", "--advertise", "127.0.0.2") as served:
        assert served.ready["bootstrap"].startswith("127.0.0.2:")
        assert ask_api_versions(served.ready["bootstrap"])


def test_advertised_port_counts_up_with_the_nodes() -> None:
    with serve("--nodes", "2", "--advertise", "kafka.test:19092") as served:
        assert served.ready["bootstrap"] == "kafka.test:19092,kafka.test:19093"


def test_plain_asyncio_serves_too() -> None:
    with serve(GROUPMOCK_LOOP="asyncio") as served:
        assert ask_api_versions(served.ready["bootstrap"])
        assert served.end()[0] == 0


def test_taken_port_is_named_with_a_remedy() -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        held.listen()
        port = held.getsockname()[1]
        code, out, err = outcome("serve", "--port", str(port))
    assert (code, out) == (3, "")
    assert err.startswith(f"groupmock serve: cannot listen on 127.0.0.1:{port}")
    assert "--port 0" in err
    assert err.count("\n") == 1


def test_address_that_is_not_ours_is_named() -> None:
    code, _, err = outcome("serve", "--port", "0", "--host", "192.0.2.1")
    assert code == 3
    assert err.startswith("groupmock serve: cannot listen on 192.0.2.1")
    assert err.count("\n") == 1


def test_unwritable_journal_is_refused_before_serving(tmp_path: Path) -> None:
    (tmp_path / "taken").touch()
    code, out, err = outcome("serve", "--port", "0", "--journal", str(tmp_path / "taken" / "run.jsonl"))
    assert (code, out) == (3, "")
    assert "run.jsonl" in err
    assert err.count("\n") == 1


def test_full_disk_at_the_start_is_refused_before_serving() -> None:
    """Every write to /dev/full fails as on a full disk, and the journal header is written before the server accepts connections."""
    code, out, err = outcome("serve", "--port", "0", "--journal", "/dev/full")
    assert (code, out) == (3, "")
    assert err == "groupmock serve: cannot write the journal /dev/full: No space left on device\n"


def test_disk_that_fills_up_ends_the_run_with_one_line(tmp_path: Path) -> None:
    """The test limits the file size to 32 KiB. The server prints one line and exits with its own code for a full disk."""
    journal = tmp_path / "run.jsonl"
    limited = ["sh", "-c", 'ulimit -f 32; exec "$@"', "sh", *GROUPMOCK, "serve", "--port", "0", "--log", "off", "--journal", str(journal)]
    with subprocess.Popen(limited, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        served = Served(process)
        host, port = served.ready["bootstrap"].rsplit(":", 1)
        with socket.create_connection((host, int(port)), PATIENCE) as link:
            try:
                while process.poll() is None:
                    link.sendall(API_VERSIONS_V0)
                    link.recv(65536)
            except OSError:
                pass
        out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out) == (3, "")
    assert err.startswith(f"groupmock serve: the journal {journal} could not be written: File too large")
    assert err.count("\n") == 1
    last = journal.read_text().splitlines()[-1]
    assert '"what":"end"' not in last, "a cut journal must not look whole"


def test_run_hands_the_bootstrap_to_the_command() -> None:
    script = "import os; print([os.environ[n] for n in ('GROUPMOCK_BOOTSTRAP', 'KAFKA_BOOTSTRAP', 'KAFKA_BOOTSTRAP_SERVERS')])"
    code, out, _ = outcome("run", "--log", "off", "--", sys.executable, "-c", script)
    addresses = json.loads(out.replace("'", '"'))
    assert code == 0
    assert len(set(addresses)) == 1
    assert addresses[0].startswith("127.0.0.1:")


@pytest.mark.parametrize(
    ("script", "status"), [("raise SystemExit(0)", 0), ("raise SystemExit(7)", 7), ("import os; os.kill(os.getpid(), 9)", 137)]
)
def test_run_passes_the_status_on(script: str, status: int) -> None:
    assert outcome("run", "--log", "off", "--", sys.executable, "-c", script)[0] == status


def test_run_leaves_the_dashes_of_the_command_alone() -> None:
    code, out, _ = outcome("run", "--log", "off", "--", sys.executable, "-c", "import sys; print(sys.argv[1:])", "--set", "--", "x")
    assert (code, out) == (0, "['--set', '--', 'x']\n")


@pytest.mark.parametrize(("command", "why"), [("/no/such/command", "No such file or directory"), (__file__, "Permission denied")])
def test_run_names_a_command_that_cannot_be_started_and_fails_itself(command: str, why: str) -> None:
    """The exit code is 125, because a COMMAND that did start may end with the 127 and 126 of a shell."""
    code, _, err = outcome("run", "--log", "off", "--", command)
    assert (code, err) == (125, f"groupmock run: cannot run {command}: {why}\n")


def test_run_cannot_start_is_125(tmp_path: Path) -> None:
    (tmp_path / "taken").touch()
    code, _, err = outcome("run", "--journal", str(tmp_path / "taken" / "x"), "--", "true")
    assert code == 125
    assert err.startswith("groupmock run: ")


def test_topics_of_the_command_line_are_there() -> None:
    script = (
        "import os; from kafka import KafkaConsumer;"
        "c = KafkaConsumer(bootstrap_servers=os.environ['KAFKA_BOOTSTRAP']);"
        "print(sorted(c.partitions_for_topic('orders')), sorted(c.partitions_for_topic('audit'))); c.close()"
    )
    code, out, err = outcome("run", "--log", "off", "--topic", "orders:3", "--topic", "audit", "--", sys.executable, "-c", script)
    assert (code, out) == (0, "[0, 1, 2] [0]\n"), err
