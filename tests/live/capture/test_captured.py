"""What tcpdump sees of stock consumers gives the rows that the server wrote itself."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import capture_pen
import pytest
from same_rows import by_client
from stock_team import Team, delivered, partitions, produce, settled
from waiting import until

from groupmock import Broker
from groupmock.journal.read import read
from groupmock.journal.rows import CloseRow, OpenRow

TOPIC = "orders"


@contextmanager
def captured(file: Path, interface: str, *ports: int) -> Iterator[None]:
    """tcpdump from its first word on. Its buffer has room for what comes while nobody gives it time."""
    filters = " or ".join(f"tcp port {port}" for port in ports)
    words = ["tcpdump", "-i", interface, "-U", "--immediate-mode", "-Z", "root", "-s", "0", "-B", "65536", "-w", str(file), filters]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as tcpdump:
        assert tcpdump.stderr is not None
        try:
            said = []
            while "listening on" not in (line := tcpdump.stderr.readline()):
                said.append(line)
                assert line, said
            yield
        finally:
            tcpdump.send_signal(signal.SIGINT)
            tcpdump.communicate()


def rows_of(file: Path, *ports: int) -> tuple[list[Any], Any]:
    return capture_pen.rows_of(file.read_bytes(), *ports)


def ends(rows: list[Any]) -> tuple[int, int]:
    """Connections that were opened and closed."""
    return sum(isinstance(row, OpenRow) for row in rows), sum(isinstance(row, CloseRow) for row in rows)


@pytest.mark.parametrize("interface", ["lo", "any"])
@pytest.mark.parametrize("library", ["kafka-python", "aiokafka"])
def test_a_capture_of_a_group_gives_the_rows_of_the_servers_own_journal(library: str, interface: str, tmp_path: Path) -> None:
    journal, capture = tmp_path / "own.jsonl", tmp_path / "lo.pcap"
    with Broker(nodes=3, topics={TOPIC: 6}, journal=str(journal)) as broker:
        ports = [int(node.rpartition(":")[2]) for node in broker.bootstrap.split(",")]
        with captured(capture, interface, *ports):
            team = Team(broker.bootstrap, "group", (TOPIC,))
            try:
                first = team.join(library)
                settled([first], partitions(TOPIC, 6))
                second = team.join(library)
                settled([first, second], partitions(TOPIC, 6), sizes=(3, 3))
                delivered([first, second], produce(broker, TOPIC, "shared"))
            finally:
                team.close()
            until("everybody to hang up", lambda: len(set(ends(read(journal)[1]))) == 1, lambda: ends(read(journal)[1]))
            opened = ends(read(journal)[1])
            until("the capture to have it", lambda: ends(rows_of(capture, *ports)[0]) == opened, lambda: ends(rows_of(capture, *ports)[0]))
    rows, report = rows_of(capture, *ports)
    assert (report.sentences, report.incomplete) == ([], False)
    # In how the end looks the two differ by nature: one sees sockets, one packets.
    own, seen = by_client(read(journal)[1], "reason"), by_client(rows, "reason")
    assert seen.keys() == own.keys()
    for port, expected in own.items():
        assert seen[port] == expected, port
    guessed = by_client(rows_of(capture)[0], "reason")
    assert guessed == {port: told for port, told in seen.items() if any(row["kind"] == "request" for row in told)}
