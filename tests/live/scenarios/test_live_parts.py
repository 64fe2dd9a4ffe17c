"""Tests the parts of the live stage: fork server, messages of a member, journal follower, and offsets of the producer."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from waiting import until

from groupmock import Broker
from groupmock_clients.scenarios.live.forked_members import Child, ForkServer, close_all, forkserver_of
from groupmock_clients.scenarios.live.journal_thread import JournalThread
from groupmock_clients.scenarios.live.member_spec import RANGE, MemberSpec
from groupmock_clients.scenarios.live.members.channel import pairs, spans
from groupmock_clients.scenarios.live.process import MemberProcess
from groupmock_clients.scenarios.live.producer import Producer
from groupmock_clients.scenarios.play import Missed


def spec(bootstrap: str, **more: Any) -> MemberSpec:
    fields = {"library": "aiokafka", "name": "m0001", "group": "g", "topics": ("T",), "assignors": (RANGE,)}
    return MemberSpec(bootstrap=bootstrap, **{**fields, **more})


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker(topics={"T": 2}, group_initial_rebalance_delay_ms=0, group_min_session_timeout_ms=100) as running:
        yield running


@pytest.fixture(scope="module")
def forkserver() -> Iterator[ForkServer]:
    made = ForkServer("aiokafka")
    yield made
    made.close()


def ended(forkserver: ForkServer, child: Child) -> int:
    """Return the exit status of a member and close its pipes."""
    found: list[int] = []

    def over() -> bool:
        status = forkserver.status(child)
        found.extend([] if status is None else [status])
        return bool(found)

    until("its end", over, lambda: found)
    child.events.close()
    child.orders.close()
    return found[0]


def test_a_member_ends_when_nobody_gives_it_orders_any_more(forkserver: ForkServer, broker: Broker, tmp_path: Path) -> None:
    """A member never outlives its stage, however the stage ended."""
    child = forkserver.spawn(spec(broker.bootstrap), tmp_path / "log")
    assert child.events.readline() == '{"event": "ready", "library": "aiokafka 0.14.0"}\n'
    child.orders.close()
    assert child.events.read().count('"left"') == 0
    assert ended(forkserver, child) == 0


def test_members_of_one_forkserver_do_not_hold_each_others_pipes(forkserver: ForkServer, broker: Broker, tmp_path: Path) -> None:
    first, second = (forkserver.spawn(spec(broker.bootstrap, name=name), tmp_path / name) for name in "AB")
    first.orders.close()
    first.events.read()  # This call returns, because the second member does not hold the pipe of the first member open.
    assert ended(forkserver, first) == 0
    forkserver.signal(second, signal.SIGKILL)
    second.events.read()
    assert ended(forkserver, second) == -signal.SIGKILL


def test_a_forkserver_that_is_gone_is_told_and_the_next_member_has_another() -> None:
    gone = forkserver_of("aiokafka")
    gone._process.kill()
    with pytest.raises(Missed, match="starts members of aiokafka ended with status -9"):
        gone.status(Child(1, None, None))  # type: ignore[arg-type]  # it never comes to that
    until("its end", lambda: not gone.lives, lambda: gone)
    another = forkserver_of("aiokafka")
    assert another is not gone
    assert another is forkserver_of("aiokafka")
    gone.close()
    close_all()


def test_a_process_says_what_happens_to_it_and_leaves_in_good_order(broker: Broker, tmp_path: Path) -> None:
    heard: list[tuple[str, str, dict[str, Any]]] = []
    member = MemberProcess(spec(broker.bootstrap), tmp_path / "log", lambda *what: heard.append(what))
    broker.wait_for("g", state="Stable", members=1)
    broker.produce("T", b"x", partition=1)
    delivered = ("m0001", "delivered", {"topic": "T", "partition": 1, "first": 0, "last": 0})
    until("the record", lambda: delivered in heard, lambda: heard)
    member.check()
    member.leave()
    assert broker.wait_for("g", state="Empty").offsets["T"][1] == 1
    assert [what for _, what, _ in heard if what in ("ready", "assigned", "holds", "left")] == ["ready", "assigned", "holds", "left"]
    close_all()


def test_a_killed_process_stays_in_the_group_until_its_session_ends(broker: Broker, tmp_path: Path) -> None:
    member = MemberProcess(spec(broker.bootstrap, session_ms=400, heartbeat_ms=100), tmp_path / "log", lambda *_: None)
    broker.wait_for("g", state="Stable", members=1)
    member.kill()
    member.kill()
    assert len(broker.groups["g"].members) == 1
    broker.wait_for("g", members=0)
    with pytest.raises(Missed, match="m0001 ended by itself with status -9"):
        member.check()
    close_all()


def test_a_process_whose_forkserver_is_gone_cannot_leave_and_lets_go_of_it(broker: Broker, tmp_path: Path) -> None:
    member = MemberProcess(spec(broker.bootstrap), tmp_path / "log", lambda *_: None)
    broker.wait_for("g", state="Stable", members=1)
    forkserver_of("aiokafka")._process.kill()
    with pytest.raises(Missed, match="the process that starts members of aiokafka ended"):
        member.leave()
    assert (member._child.orders.closed, member._child.events.closed) == (True, True)
    close_all()


def test_a_process_whose_forkserver_is_gone_ends_all_the_same(broker: Broker, tmp_path: Path) -> None:
    """A member whose last order was interrupted must not mistake the answer for that of the next order."""
    heard: list[str] = []
    member = MemberProcess(spec(broker.bootstrap), tmp_path / "log", lambda _, what, __: heard.append(what))
    until("a member", lambda: "ready" in heard, lambda: heard)
    forkserver_of("aiokafka")._process.kill()
    member.kill()
    assert not member._listening.is_alive()
    close_all()


class Place(NamedTuple):
    """Imitates the TopicPartition of a library."""

    topic: str
    partition: int


def test_what_members_say_is_in_order_and_in_ranges_without_gaps() -> None:
    assert pairs({Place("b", 0), Place("a", 2), Place("a", 1)}) == [("a", 1), ("a", 2), ("b", 0)]
    assert list(spans([3, 4, 5, 8, 10, 11])) == [(3, 5), (8, 8), (10, 11)]
    assert list(spans([])) == []


def test_a_journal_is_followed_though_its_lines_come_in_halves(tmp_path: Path) -> None:
    file, seen = tmp_path / "journal.jsonl", []
    rows = [
        b'{"kind":"open","seq":1,"t":1,"connection":7,"client_host":"/127.0.0.1","client_port":4711}\n',
        *(
            b'{"kind":"request","seq":%d,"t":2,"received":2,"handled":2,"size":9,"connection":7,"ticket":%d,"correlation_id":1,'
            b'"api_key":1,"api_name":"Fetch","api_version":16,"client_id":"A","message":{}}\n' % (seq, seq)
            for seq in (2, 3)
        ),
    ]
    text = b'{"v":1}\n' + b"".join(rows)
    file.write_bytes(b"")
    follower = JournalThread(file, "g", lambda *what: seen.append(what))
    with file.open("ab", buffering=0) as out:
        for place, cut in enumerate((5, 20, 100, len(text))):
            out.write(text[(0, 5, 20, 100)[place] : cut])
            threading.Event().wait(0.06)  # The follower has to see only half of the line, so it gets time to read during this pause.
    until("three rows", lambda: len(follower.rows) == 3, lambda: follower.rows)
    follower.close()
    assert [row["seq"] for row in follower.rows] == [1, 2, 3]
    assert seen == [("A", 4711, "data")], "once a connection"


def test_the_producer_feeds_every_partition_and_tells_what_was_acknowledged(broker: Broker) -> None:
    told: list[tuple[str, int, int, int]] = []
    producer = Producer(broker, 50.0, lambda *what: told.append(what))
    producer.add("T", 1)
    until("two records", lambda: len(told) >= 2, lambda: told)
    producer.add("T", 2)
    producer.between_two()
    until("a record of the other", lambda: ("T", 1, 0, 0) in told, lambda: told)
    producer.stop()
    producer.stop()
    assert told[0] == ("T", 0, 0, 0)
    assert producer.ends == {("T", number): len(broker.records("T", number)) for number in (0, 1)}
    assert sorted(told) == [("T", number, at, at) for number in (0, 1) for at in range(producer.ends["T", number])]


def test_without_a_rate_nothing_is_produced(broker: Broker) -> None:
    producer = Producer(broker, 0.0, lambda *_: None)
    producer.add("T", 2)
    producer.between_two()
    producer.stop()
    assert broker.records("T") == []
