"""A recording stores nothing about refused groups and fetch sessions, and a bounded amount about the others."""

from __future__ import annotations

from typing import Any

import pytest

from groupmock.journal.journal import Journal
from groupmock.record import asked_join, fetch_sessions, heard_groups
from groupmock.record.dialogue import Dialogue, Line, header
from groupmock.record.fetch_sessions import HeardSessions
from groupmock.rig.wire import request
from groupmock_codec import APIS
from groupmock_codec.api_keys import HEARTBEAT, JOIN_GROUP
from groupmock_codec.declare import Message
from groupmock_codec.group_states import EMPTY
from groupmock_codec.messages.k01_fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from groupmock_codec.messages.k11_join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from groupmock_codec.messages.k12_heartbeat import HeartbeatRequest, HeartbeatResponse

SESSION_MS = 10_000


@pytest.fixture
def dialogue() -> Dialogue:
    journal = Journal(header("test", 0, {}, {"nodes": []}))
    journal.begin()
    return Dialogue(journal)


@pytest.fixture
def line(dialogue: Dialogue) -> Line:
    return dialogue.opened(1, 1, "127.0.0.1", 1, 0)


def say(dialogue: Dialogue, line: Line, key: int, version: int, asked: Message, answer: Message | None, now: int = 1) -> None:
    dialogue.asked(line, request(key, version, asked)[4:], now)
    if answer is not None:
        dialogue.answered(line, (1).to_bytes(4, "big") + APIS[key].response.encode(version, answer), now)


def join(group: str, member: str = "", metadata: bytes = b"") -> JoinGroupRequest:
    return JoinGroupRequest(
        group_id=group,
        session_timeout_ms=SESSION_MS,
        rebalance_timeout_ms=SESSION_MS,
        member_id=member,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="range", metadata=metadata)],
    )


def given(member: str) -> JoinGroupResponse:
    return JoinGroupResponse(error_code=79, member_id=member)


@pytest.mark.parametrize(
    ("key", "version", "asked", "answer"),
    [
        (JOIN_GROUP, 5, join("refused", "m"), JoinGroupResponse(error_code=25)),
        (JOIN_GROUP, 3, join("refused"), JoinGroupResponse(error_code=30)),
        (HEARTBEAT, 4, HeartbeatRequest(group_id="refused", generation_id=1, member_id="m"), HeartbeatResponse(error_code=16)),
    ],
)
def test_recording_keeps_no_group_that_was_refused(
    dialogue: Dialogue, line: Line, key: int, version: int, asked: Message, answer: Message
) -> None:
    say(dialogue, line, key, version, asked, answer)
    assert not dialogue.overheard.groups and not dialogue.overheard.settle()


def test_recording_follows_so_many_groups(dialogue: Dialogue, line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heard_groups, "MOST_GROUPS", 3)
    for number in range(5):
        say(dialogue, line, JOIN_GROUP, 5, join(f"g{number}"), given("m"))
    assert list(dialogue.overheard.groups) == ["g2", "g3", "g4"]


def test_recording_keeps_so_many_members_of_all_groups(dialogue: Dialogue, line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heard_groups, "MOST_IDS", 3)
    monkeypatch.setattr(heard_groups, "COUNT_EVERY", 1)
    for number in range(4):
        for member in ("a", "b"):
            say(dialogue, line, JOIN_GROUP, 5, join(f"g{number}"), given(member))
    assert list(dialogue.overheard.groups) == ["g2", "g3"]


def test_recording_forgets_reserved_ids_whose_time_is_over(dialogue: Dialogue, line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heard_groups, "COUNT_EVERY", 1)
    say(dialogue, line, JOIN_GROUP, 5, join("g"), given("early"), 1)
    say(dialogue, line, JOIN_GROUP, 5, join("g"), given("late"), 1 + SESSION_MS * 1_000_000)
    group = dialogue.overheard.groups["g"]
    assert list(group.reserved) == ["late"] and group.state == EMPTY


def test_recording_keeps_a_digest_of_a_long_subscription(dialogue: Dialogue, line: Line) -> None:
    say(dialogue, line, JOIN_GROUP, 3, join("g", metadata=bytes(100_000)), None)
    (member,) = dialogue.overheard.groups["g"].members.values()
    ((_, metadata),) = member.protocols
    assert len(metadata) <= asked_join.LONG


def test_unanswered_requests_are_remembered_up_to_a_number(dialogue: Dialogue, line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asked_join, "MOST_UNANSWERED", 2)
    say(dialogue, line, JOIN_GROUP, 5, join("g"), given("m"))
    for number in range(5):
        other = dialogue.opened(2 + number, 1, "127.0.0.1", 1, 0)
        say(dialogue, other, JOIN_GROUP, 5, join("g", f"unknown-{number}"), None)
    assert len(dialogue.overheard.groups["g"].waiting) == 2


def test_fetch_sessions_have_so_many_partitions_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch_sessions, "MOST_PARTITIONS", 5)
    sessions = HeardSessions(lambda topic_id: None)

    def partitions(count: int) -> list[FetchTopic]:
        return [FetchTopic(topic="t", partitions=[FetchPartition(partition=place) for place in range(count)])]

    def kept(session: int) -> list[Any]:
        return [partition for _, _, partition in sessions.partitions(1, session)]

    for number in (1, 2, 3):
        sessions.answered(1, FetchRequest(session_epoch=0, topics=partitions(2)), FetchResponse(session_id=number))
    assert [kept(number) for number in (1, 2, 3)] == [[], [0, 1], [0, 1]]
    sessions.asked(1, FetchRequest(session_id=3, session_epoch=1, topics=partitions(4)))
    assert [kept(number) for number in (2, 3)] == [[], [0, 1, 2, 3]]
    sessions.asked(1, FetchRequest(session_id=3, session_epoch=-1))
    sessions.answered(1, FetchRequest(session_epoch=0, topics=partitions(5)), FetchResponse(session_id=4))
    assert (kept(3), kept(4)) == ([], [0, 1, 2, 3, 4])
