"""Java's clients of 4.4.0 send the same requests to `groupmock serve --profile kafka-4.4` as to Apache Kafka 4.4.0.

Both clusters are recorded by `groupmock record`. It needs java, mvn and the shared folder.
"""

from __future__ import annotations

import secrets
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from itertools import takewhile
from pathlib import Path
from typing import Final

import pytest
from recording_proxy import proxy
from tests.interop.judges import building, catalogue, stages
from tests.interop.judges.desk import Desk
from tests.interop.judges.member import Member
from tests.interop.judges.telling import wait

from groupmock.journal.read import read
from groupmock.journal.rows import RequestRow
from tools.oracle import kafka

RELEASE: Final = "4.4.0"
SETTINGS: Final = {"group.initial.rebalance.delay.ms": "0"}
PARTITIONS: Final = 2
RECORDS: Final = 6
LEFT_OUT: Final = "Heartbeat"
"""The request whose number and place depend on how long a program takes."""
ONCE: Final = ("ConsumerGroupHeartbeat", "Metadata")
"""Requests that a client repeats after a time. Only the first of a connection is compared."""

Steps = Callable[[Member], None]
Requests = tuple[str, ...]


def consume(member: Member) -> None:
    """Read everything, commit and leave."""
    wait("all partitions", lambda: len(member.held()) == PARTITIONS, member.trouble)
    wait("all records", lambda: len(member.records()) == RECORDS, member.trouble)
    member.commit()
    member.leave()


def transact(member: Member) -> None:
    """Commit one transaction, abort another, read its records again and leave."""
    for ending in ("commit", "abort", "commit"):
        member.order(f"begin {RECORDS // 2}", "begun")
        member.order(ending, "ended")
        assert member.last("ended", "error", "") is None
    member.leave()


PLAYS: Final[dict[str, tuple[str, dict[str, object], Steps]]] = {
    "classic": ("Member", {"assignor": "range", "session_ms": 10_000, "heartbeat_ms": 300}, consume),
    "consumer": ("Member", {"assignor": "uniform", "protocol": "consumer"}, consume),
    "transactional": ("Ordered", {"session_ms": 10_000, "timeout_ms": 60_000}, transact),
}
"""The Java program, its configuration and the steps of each play."""


def play(kind: str, bootstrap: str, folder: Path) -> str:
    """Run a program against a cluster and return its client id."""
    program, wish, steps = PLAYS[kind]
    desk, name = Desk(bootstrap), f"{kind}-{secrets.token_hex(4)}"
    for topic in (name, f"{name}-done"):
        desk.create_topic(topic, PARTITIONS)
    desk.produce(name, {each: [f"order-{each}-{number}" for number in range(RECORDS // PARTITIONS)] for each in range(PARTITIONS)})
    own = {"bootstrap": bootstrap, "group": name, "topic": name, "name": name, "transactional": name}
    where = building.built(catalogue.java_program(RELEASE))
    member = Member(building.java(where, f"groupmock.interop.{program}"), {**own, **wish}, folder / f"{name}.log")
    try:
        steps(member)
    finally:
        member.kill()
    return name


def until_fetch(requests: Iterable[RequestRow]) -> Requests:
    """Return the requests of a connection up to its first Fetch, without those that a client repeats after a time.

    Neighbouring Produce requests count as one, because their number depends on how quickly the program fills its batches.
    """
    seen: list[str] = []
    for each in takewhile(lambda row: row.api_name != "Fetch", requests):
        asked = f"{each.api_name} {each.api_version}"
        batches_on = each.api_name == "Produce" and seen[-1:] == [asked]
        if not batches_on and each.api_name != LEFT_OUT and (each.api_name not in ONCE or asked not in seen):
            seen.append(asked)
    return tuple(seen)


def sent(journal: Path, client_id: str) -> Counter[Requests]:
    """Return the requests that a client sent, one entry per connection."""
    connections: defaultdict[int, list[RequestRow]] = defaultdict(list)
    for row in read(journal)[1]:
        if isinstance(row, RequestRow) and row.client_id == client_id:
            connections[row.connection].append(row)
    return Counter(map(until_fetch, connections.values()))


@pytest.mark.parametrize("kind", PLAYS)
def test_java_sends_the_same_requests_as_to_kafka(kind: str, tmp_path: Path) -> None:
    """Each play runs twice, and the second one is compared, because Kafka makes its internal topics during the first."""
    clusters = {"kafka": kafka(RELEASE, SETTINGS), "groupmock": stages.groupmock("kafka-4.4", settings=SETTINGS)}
    names = {}
    for cluster, started in clusters.items():
        with ExitStack() as ends:
            bootstrap = ends.enter_context(proxy(ends.enter_context(started), tmp_path / cluster))
            play(kind, bootstrap, tmp_path)
            names[cluster] = play(kind, bootstrap, tmp_path)
    to_kafka, to_groupmock = (sent(tmp_path / cluster, name) for cluster, name in names.items())
    assert to_kafka.total() > 1
    assert sorted(to_groupmock.elements()) == sorted(to_kafka.elements())
