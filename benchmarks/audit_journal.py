"""Writes journals for the audit: one episode of groups that come and go, repeated under other names and at later times.

`python -m benchmarks.audit_journal FILE ROWS`. The episode runs on the whole driver with virtual time. It has GROUPS groups, which begin
one after the other. Three members join each group, heartbeat, commit and rebalance; one leaves, one vanishes, and the last one leaves. The
journal repeats the rows of the episode with other numbers, names and times until it has ROWS rows.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Iterator
from heapq import heappop, heappush
from itertools import count
from pathlib import Path
from typing import Any, Final

import msgspec

from groupmock.journal.rows import END, CloseRow, FramePlace, NoteRow, OpenRow, RequestRow, Row
from groupmock.net.clock import VirtualClock
from groupmock.rig.kept_rows import KeptRows
from groupmock.rig.wire import read_response, request
from groupmock.rig.wire_rig import WireRig, rig_header
from groupmock_codec.embedded import consumer
from groupmock_codec.embedded.consumer import Assignment, Subscription, TopicPartitions
from groupmock_codec.messages.k08_offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic
from groupmock_codec.messages.k10_find_coordinator import FindCoordinatorRequest
from groupmock_codec.messages.k11_join_group import JoinGroupRequest, JoinGroupRequestProtocol
from groupmock_codec.messages.k12_heartbeat import HeartbeatRequest
from groupmock_codec.messages.k13_leave_group import LeaveGroupRequest, MemberIdentity
from groupmock_codec.messages.k14_sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from groupmock_codec.messages.k18_api_versions import ApiVersionsRequest

GROUPS: Final = 40
APART_MS: Final = 3_000
BEATS: Final = 12
PARTITIONS: Final = 6
TOPIC: Final = "orders"
MARK: Final = "~~~~~~"
"""The placeholder with which names in the template begin, as long as the number that replaces it."""
JOIN, SYNC, BEAT, LEAVE, COMMIT, FIND, VERSIONS = (11, 7), (14, 5), (12, 4), (13, 4), (8, 8), (10, 4), (18, 3)
Steps = Iterator[float]
"""The actions of a client as an iterator, which yields the milliseconds that the client waits between them."""


class Client:
    """One group member that behaves as a client library does: it sends one request at a time."""

    def __init__(self, rig: WireRig, group: str, name: str) -> None:
        self.rig, self.wire = rig, rig.connect()
        self.group, self.name = group, name
        self.id, self.generation = "", -1
        self.partitions: list[int] = []
        self._waits: tuple[int, int, int] = (0, 0, 0)
        self._numbers = count(1)

    def send(self, api: tuple[int, int], message: Any) -> None:
        """Send a request; `answer` reads its response later."""
        self._waits = *api, next(self._numbers)
        self.wire.send(request(*api, message, self._waits[2], self.name))

    def answer(self) -> Any:
        """Return the response to the last request, waiting a moment if it has not arrived yet."""
        frames = self.wire.take()
        if not frames:
            self.rig.sleep(1)
            frames = self.wire.take()
        (frame,) = frames
        return read_response(*self._waits[:2], frame, self._waits[2])[1]

    def ask(self, api: tuple[int, int], message: Any) -> Any:
        self.send(api, message)
        return self.answer()

    def begin(self) -> None:
        """Send the requests with which a library connects and join."""
        self.ask(VERSIONS, ApiVersionsRequest(client_software_name="scripted", client_software_version="1.0"))
        self.ask(FIND, FindCoordinatorRequest(key_type=0, coordinator_keys=[self.group]))
        self.id = self.ask(JOIN, self.joining()).member_id

    def joining(self) -> JoinGroupRequest:
        metadata = consumer.encode_subscription(Subscription(1, [TOPIC], b"", []))
        return JoinGroupRequest(
            group_id=self.group, session_timeout_ms=6_000, rebalance_timeout_ms=10_000, member_id=self.id, protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name="range", metadata=metadata)],
        )  # fmt: skip

    def beat(self) -> int:
        beat = HeartbeatRequest(group_id=self.group, generation_id=self.generation, member_id=self.id)
        return int(self.ask(BEAT, beat).error_code)

    def commit(self, offset: int) -> None:
        """Commit this offset for all partitions that the member holds."""
        rows = [OffsetCommitRequestPartition(partition_index=number, committed_offset=offset) for number in self.partitions]
        said: dict[str, Any] = {"generation_id_or_member_epoch": self.generation, "member_id": self.id}
        topics = [OffsetCommitRequestTopic(name=TOPIC, partitions=rows)]
        self.ask(COMMIT, OffsetCommitRequest(group_id=self.group, **said, topics=topics))

    def leave(self) -> None:
        self.ask(LEAVE, LeaveGroupRequest(group_id=self.group, members=[MemberIdentity(member_id=self.id)]))
        self.wire.hang_up()


def rebalance(members: list[Client]) -> None:
    """Run one rebalance: the last member asks to join, the other members learn of that, all join, the leader assigns the partitions, all
    sync."""
    for each in reversed(members):
        if each.generation >= 0:
            each.beat()
        each.send(JOIN, each.joining())
    answers = [each.answer() for each in members]
    shares = {each.id: list(range(place, PARTITIONS, len(members))) for place, each in enumerate(members)}
    for each, answer in zip(members, answers, strict=True):
        each.generation = answer.generation_id
        plan = [SyncGroupRequestAssignment(member_id=name, assignment=assignment(share)) for name, share in shares.items()]
        each.send(
            SYNC,
            SyncGroupRequest(
                group_id=each.group, generation_id=each.generation, member_id=each.id, protocol_type="consumer", protocol_name="range",
                assignments=plan if answer.leader == each.id else [],
            ),
        )  # fmt: skip
    for each in members:
        each.partitions = list(consumer.decode_assignment(each.answer().assignment).assigned_partitions[0].partitions)


def assignment(share: list[int]) -> bytes:
    return consumer.encode_assignment(Assignment(1, [TopicPartitions(TOPIC, share)], b""))


def live(members: list[Client]) -> Steps:
    """Let members that have joined rebalance once together. Then they heartbeat every second and commit with every fourth heartbeat."""
    rebalance(members)
    for number in range(BEATS):
        yield 1_000
        for each in members:
            if each.beat():
                raise AssertionError(f"{each.name} is disturbed")
            if number % 4 == 3:
                each.commit(number)


def group_life(rig: WireRig, group: str) -> Steps:
    """Let three members join one after the other, one of them leave, one vanish, and the last one leave."""
    members: list[Client] = []
    for number in range(3):
        members.append(Client(rig, group, f"{group}-c{number}"))
        members[-1].begin()
        yield from live(members)
    members.pop().leave()
    yield from live(members)
    members.pop().wire.hang_up()
    while not members[0].beat():
        yield 1_000
    yield from live(members)
    members[0].leave()


def episode() -> list[Row]:
    """Play GROUPS groups and return their journal rows."""
    kept = KeptRows(heartbeats=True)
    rig = WireRig.make(settings={"group.initial.rebalance.delay.ms": 0}, topics={TOPIC: PARTITIONS}, sinks=[kept])
    todo = [(float(APART_MS * number), number, group_life(rig, f"{MARK}-g{number:02}")) for number in range(GROUPS)]
    while todo:
        at, number, life = heappop(todo)
        rig.sleep(max(0.0, at - rig.now_ms))
        wait = next(life, None)
        if wait is not None:
            heappush(todo, (at + wait, number, life))
    rig.sleep(100_000)
    return [row for row in kept.rows if not isinstance(row, NoteRow)]


def journal_lines(template: list[Row], rows: int) -> Iterator[bytes]:
    """Yield exactly this many lines of a journal, which repeat the rows of the template. The last one is the note that ends a journal."""
    seq = 0
    longest = max(row.t for row in template) + 1
    connections = 1 + max(row.connection for row in template if isinstance(row, OpenRow))
    tickets = 1 + max(row.ticket for row in template if isinstance(row, FramePlace))
    for number in count():
        mark, name, shift = MARK.encode(), b"%06d" % number, number * longest
        for row in template:
            seq += 1
            if seq == rows:
                yield msgspec.json.encode(NoteRow(seq=seq, t=row.t + shift, what=END)) + b"\n"
                return
            line = msgspec.json.encode(_later(row, seq, shift, number * connections, number * tickets))
            yield line.replace(mark, name) + b"\n"


def _later(row: Row, seq: int, shift: int, connections: int, tickets: int) -> Row:
    changed = copy.copy(row)
    changed.seq, changed.t = seq, row.t + shift
    if isinstance(changed, RequestRow):
        changed.received += shift
        changed.handled += shift
    if isinstance(changed, FramePlace):
        changed.ticket += tickets
    if isinstance(changed, FramePlace | OpenRow | CloseRow):
        changed.connection += connections
    return changed


def write(file: Path, rows: int) -> int:
    """Write a journal of this many rows and return its size in bytes."""
    with file.open("wb") as out:
        out.write(msgspec.json.encode(rig_header(VirtualClock())) + b"\n")
        out.writelines(journal_lines(episode(), rows))
    return file.stat().st_size


if __name__ == "__main__":
    print(write(Path(sys.argv[1]), int(sys.argv[2])))
