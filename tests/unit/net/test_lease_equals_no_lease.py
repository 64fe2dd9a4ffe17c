"""Property: with the heartbeat lease on, clients get the same bytes and a journal file the same lines as with it off."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from random import Random

import msgspec
from hypothesis import example, given, settings
from hypothesis import strategies as st

from groupmock.clock import VirtualClock
from groupmock.core.cluster import ApiRange, Cluster, Identity, Node
from groupmock.core.settings import Settings
from groupmock.journal.file import FileSink
from groupmock.journal.journal import Journal
from groupmock.journal.rows import Header
from groupmock.net.connection import Connection
from groupmock.net.driver import Driver
from groupmock.net.limits import Limits
from groupmock_codec import APIS
from groupmock_codec.headers import RequestHeader, encode_request_header
from groupmock_codec.messages.k11_join_group import JoinGroupRequestProtocol

IDENTITY = Identity("lease", (Node(1, "127.0.0.1", 1),), tuple(ApiRange(key, *APIS[key].versions) for key in (11, 12, 13, 14, 18)))


MEMBERS = 2
ASKING = MEMBERS


class Tape:
    """A transport that keeps what is written."""

    def __init__(self) -> None:
        self.written: list[bytes] = []

    def write(self, data: bytes) -> None:
        self.written.append(data)

    def set_write_buffer_limits(self, high: int) -> None: ...


class Side:
    """A driver with a journal file on a virtual clock, and connections without sockets."""

    def __init__(self, path: Path, leases: bool) -> None:
        self.clock = VirtualClock()
        header = Header(v=1, run="x", product="x", seed=1, epoch_ns=0, profile="x", config={}, complete=False)
        self.sink = FileSink(str(path), self.failed)
        self.path = path
        cluster = Cluster(Settings(group_initial_rebalance_delay_ms=0), IDENTITY, Random(1), 0)
        self.driver = Driver(cluster, self.clock, Journal(header, [self.sink]), Limits())
        self.driver.journal.begin()
        self.driver.leases = leases
        self.tapes = [Tape() for _ in range(MEMBERS + 1)]
        self.connections = [Connection(self.driver, number, 1, "/127.0.0.1", 5) for number in range(MEMBERS + 1)]
        for connection, tape in zip(self.connections, self.tapes, strict=True):
            connection.connection_made(tape)
        self.members = [("", 0)] * MEMBERS

    def failed(self, reason: str) -> None:
        raise AssertionError(reason)

    def ask(self, key: int, version: int, **fields: object):
        """Over a connection of its own, so that the members' connections keep what they remember."""
        self.connections[ASKING].data_received(frame(key, version, 1, **fields))
        self.clock.advance(0)
        data = self.tapes[ASKING].written[-1]
        return APIS[key].response.decode(version, data[8:])

    def join(self, place: int) -> None:
        protocols = [JoinGroupRequestProtocol(name="p")]
        fields = {"session_timeout_ms": 1000, "rebalance_timeout_ms": 1000, "protocol_type": "x", "protocols": protocols}
        refused = self.ask(11, 4, group_id=f"g{place}", **fields)
        joined = self.ask(11, 4, group_id=f"g{place}", member_id=refused.member_id, **fields)
        self.ask(14, 1, group_id=f"g{place}", generation_id=joined.generation_id, member_id=joined.member_id)
        self.members[place] = joined.member_id, joined.generation_id

    def leave(self, place: int) -> None:
        self.ask(13, 1, group_id=f"g{place}", member_id=self.members[place][0])

    def beat(self, place: int, correlation: int, version: int, oddity: str) -> bytes:
        member, generation = self.members[place]
        client = "other" if oddity == "client" else "c%d"
        member = member[::-1] if oddity == "ghost" else member  # as long as the real one
        data = frame(12, version, correlation, client, group_id=f"g{place}", generation_id=generation, member_id=member)
        return (len(data) - 4 + 3).to_bytes(4, "big") + data[4:] + b"%dx" if oddity == "trailing" else data

    def lines(self) -> bytes:
        self.sink.close()
        return self.path.read_bytes()


def frame(key: int, version: int, correlation: int, client: str = "c%d", **fields: object) -> bytes:
    payload = encode_request_header(RequestHeader(key, version, correlation, client))
    payload += APIS[key].request.encode(version, APIS[key].request.message(**fields))
    return len(payload).to_bytes(4, "big") + payload


correlations = st.one_of(st.integers(-(2**31), 2**31 - 1), st.integers(0, 3))
oddities = st.sampled_from(["", "", "", "", "", "", "ghost", "client", "trailing"])
places = st.integers(0, MEMBERS - 1)
steps = st.one_of(
    st.tuples(st.just("beats"), places, st.lists(correlations, min_size=1, max_size=5)),
    st.tuples(st.just("beats"), places, st.lists(correlations, min_size=1, max_size=1)),
    st.tuples(
        st.just("mixed"),
        places,
        st.lists(st.tuples(correlations, st.sampled_from([4, 4, 4, 0]), oddities), min_size=1, max_size=5),
        st.one_of(st.just(0), st.integers(1, 400)),  # where the bytes are cut in two
    ),
    st.tuples(st.just("wait"), st.sampled_from([1, 600, 600, 1001])),
    st.tuples(st.just("leave"), places),
    st.tuples(st.just("join"), places),
)


def play(side: Side, script: list) -> None:
    for place in range(MEMBERS):
        side.join(place)
    for kind, *arguments in script:
        if kind == "wait":
            side.clock.advance(*arguments)
        elif kind == "leave":
            side.leave(*arguments)
        elif kind == "join":
            side.leave(*arguments)
            side.join(*arguments)
        else:
            beat(side, *arguments)


def beat(side: Side, place: int, sent: list, cut: int = 0) -> None:
    data = b"".join(side.beat(place, *(one if isinstance(one, tuple) else (one, 4, ""))) for one in sent)
    for piece in (data[:cut], data[cut:]):
        if piece:
            side.connections[place].data_received(piece)


@example([("beats", 0, [1]), ("mixed", 0, [(2, 4, "ghost")], 0)])
@example([("beats", 0, [1]), ("mixed", 0, [(2, 4, ""), (3, 4, ""), (4, 4, "ghost"), (5, 4, "")], 0)])
@example([("beats", 0, [1]), ("mixed", 0, [(2, 4, ""), (3, 4, ""), (4, 4, "trailing"), (5, 4, "")], 0)])
@settings(max_examples=200, deadline=None)
@given(st.lists(steps, min_size=2, max_size=14))
def test_lease_on_equals_lease_off_byte_for_byte(script):
    async def both() -> None:
        with tempfile.TemporaryDirectory() as folder:
            sides = [Side(Path(folder, f"{leases}.jsonl"), leases) for leases in (True, False)]
            for side in sides:
                play(side, script)
            leased, plain = sides
            for one, other in zip(leased.tapes, plain.tapes, strict=True):
                assert b"".join(one.written) == b"".join(other.written)
            assert leased.lines().splitlines() == plain.lines().splitlines()
            assert leased.driver.cluster.deadline() is not None or plain.driver.cluster.deadline() is None
            assert not leased.driver.counters.internal_errors

    asyncio.run(both())


def test_the_lease_is_used_at_all(tmp_path):
    async def one() -> None:
        side = Side(tmp_path / "j", True)
        side.join(0)
        for correlation in range(10):
            beat(side, 0, [correlation])
        beat(side, 0, list(range(90)))
        assert side.driver.counters.repeated_heartbeats == 99
        rows = [msgspec.json.decode(line) for line in side.lines().splitlines()[1:]]
        assert [row["seq"] for row in rows] == list(range(1, len(rows) + 1))
        assert len([row for row in rows if row["kind"] == "reply" and row["api_key"] == 12]) == 100

    asyncio.run(one())
