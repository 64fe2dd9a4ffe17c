"""The audit's model of connections, processes, groups and members is right after each row and forgets what has ended."""

from __future__ import annotations

import gc
from typing import Any

import pytest
from audit_pen import AuditPen, Line

from groupmock.audit.auditor import Auditor
from groupmock.audit.known_world import World
from groupmock.audit.rule import registered
from groupmock.audit.subjects import Member
from groupmock_codec.api_keys import FETCH, HEARTBEAT, METADATA


class Watched(AuditPen):
    """Writes journal rows by hand, which an auditor also reads (by default one without rules)."""

    def __init__(self, codes: list[str] | None = None) -> None:
        self.auditor = Auditor([] if codes is None else codes)
        super().__init__(self.auditor.feed)

    @property
    def world(self) -> World:
        return self.auditor._world

    def member(self, member_id: str, group: str = "g") -> Member:
        return self.world.groups[group].members[member_id]

    def members(self, group: str = "g") -> set[str]:
        found = self.world.groups.get(group)
        return set() if found is None else set(found.members)


def of(pen: Watched, line: Line) -> Member | None:
    """Return the only member to which a fetch on this connection can belong."""
    return pen.world.processes.sole_member(pen.world.links[line.number])


# -- coming and going


def test_a_group_whose_joins_are_refused_is_counted_once() -> None:
    """A group without members is forgotten after each refusal, and the next JoinGroup begins it again."""
    pen = Watched(list(registered()))
    line = pen.connect()
    for _ in range(15):
        line.joined(line.join(""), "", error=24)
        pen.pause(1_000)
    assert pen.world.groups == {}
    line.enters("m2", group="other")
    assert pen.auditor.so_far().groups == 2
    assert pen.auditor.close().groups == 2


def test_a_member_that_reconnects_is_the_same() -> None:
    pen = Watched()
    first = pen.connect()
    first.enters("m1", 3)
    first.closes()
    second = pen.connect()
    second.beats("m1", 3)
    member = pen.member("m1")
    assert (member.generation, member.link.number, member.before, member.ended) == (3, second.number, None, None)
    assert of(pen, second) is member


@pytest.mark.parametrize("error", [25, 82])
def test_forgotten_member_that_returns_is_a_new_member(error: int) -> None:
    """The member that returns on its old connection is linked to the forgotten member, even if the group was removed with the member."""
    pen = Watched()
    line = pen.connect()
    line.enters("m1")
    line.beats("m1", error=error)
    assert pen.members() == set()
    assert pen.world.groups == {}
    line.enters("m2")
    before = pen.member("m2").before
    assert before is not None
    assert (before.id, before.gone, before.ended is not None and before.ended.error) == ("m1", True, error)


def test_one_step_back_is_remembered_and_no_more() -> None:
    pen = Watched()
    line = pen.connect()
    for number in range(5):
        line.enters(f"m{number}")
        line.beats(f"m{number}", error=25)
    assert pen.world.groups == {}
    last = pen.world.links[line.number].last
    assert last is not None
    assert last.before is not None
    assert (last.id, last.before.id, last.before.before) == ("m4", "m3", None)


def test_member_id_refused_and_then_confirmed_starts_over() -> None:
    pen = Watched()
    line, other = pen.connect(), pen.connect()
    line.enters("m1")
    place = line.join("m1")
    other.beats("m1", error=25)
    line.joined(place, "m1", 2)
    member = pen.member("m1")
    assert (member.generation, member.gone, member.ended) == (2, False, None)
    line.syncs("m1", 2)
    assert pen.member("m1") is member


def test_a_connection_that_is_given_another_id_is_that_member_alone() -> None:
    pen = Watched()
    line = pen.connect()
    line.enters("m1")
    line.enters("m2", 2)
    assert pen.members() == {"m2"}
    before = pen.member("m2").before
    assert before is not None
    assert (before.id, before.ended is not None) == ("m1", True)


def test_a_static_member_that_was_replaced_does_not_know_it_until_it_is_told() -> None:
    pen = Watched()
    old, new = pen.connect(), pen.connect()
    old.enters("a-1", instance="a")
    new.enters("a-2", instance="a")
    assert pen.members() == {"a-1", "a-2"}
    assert (pen.member("a-1").ended, pen.member("a-2").before) == (None, None)
    old.beats("a-1", error=82)
    assert pen.members() == {"a-2"}
    assert pen.member("a-2").instance_id == "a"


def test_the_twin_of_a_process_has_its_name_and_neither_is_blamed_for_the_other() -> None:
    pen = Watched()
    one, two = pen.connect(), pen.connect()
    one.enters("m1")
    assert of(pen, two) is None
    two.asks(METADATA, topics=[])
    assert of(pen, two) is pen.member("m1")
    two.enters("m2")
    assert of(pen, one) is of(pen, two) is None
    two.leaves("m2")
    assert of(pen, one) is pen.member("m1")


# -- who leaves


def test_member_is_leaving_from_its_request_on() -> None:
    pen = Watched()
    line = pen.connect()
    line.enters("m1")
    line.leaves("m1", delivered=False)
    member = pen.member("m1")
    assert (member.leaving is not None, member.ended) == (True, None)
    line.join("m1")
    assert pen.member("m1").leaving is None


@pytest.mark.parametrize("named", [("m1",), ("m1", "m2")])
def test_member_removed_by_an_admin_does_not_know(named: tuple[str, ...]) -> None:
    pen = Watched()
    line, other, admin = pen.connect(), pen.connect("other"), pen.connect("admin")
    line.enters("m1")
    other.enters("m2")
    admin.leaves(*named)
    assert pen.members() == {"m1", "m2"}
    assert (pen.member("m1").leaving, pen.member("m1").link.number) == (None, line.number)
    assert pen.world.links[admin.number].last is None
    line.beats("m1", error=25)
    assert pen.members() == {"m2"}


def test_a_batch_of_ones_own_ends_oneself() -> None:
    pen = Watched()
    line = pen.connect()
    line.enters("m1")
    line.leaves("m1", "nobody")
    assert pen.members() == set()


# -- answers that were not heard


@pytest.mark.parametrize("end", ["not delivered", "abandoned", "closed"])
def test_an_answer_that_was_not_heard_changes_nothing(end: str) -> None:
    pen = Watched()
    line, other = pen.connect(), pen.connect("other")
    other.enters("m2")
    line.enters("m1", 1)
    place = line.join("m1")
    assert pen.member("m1").joining is not None
    if end == "not delivered":
        line.joined(place, "m1", 2, delivered=False)
    elif end == "abandoned":
        line.abandoned(place)
    else:
        line.closes()
    member = pen.member("m1")
    assert (member.generation, member.joining, member.ended) == (1, None, None)


def test_an_id_that_was_not_heard_is_nobody() -> None:
    pen = Watched()
    line = pen.connect()
    line.joined(line.join(""), "m1", error=79, delivered=False)
    assert pen.world.groups == {}
    line.enters("m2")
    assert pen.members() == {"m2"}


def test_a_refusal_that_was_not_heard_ends_nobody() -> None:
    pen = Watched()
    line = pen.connect()
    line.enters("m1")
    line.beats("m1", error=25, delivered=False)
    assert pen.member("m1").ended is None


# -- where rows are missing


def test_a_journal_that_begins_in_the_middle() -> None:
    pen = Watched()
    old = pen.connect(seen=False)
    old.told({"connection": old.number, "ticket": 77, "correlation_id": 1, "api_key": 12, "api_name": "Heartbeat", "api_version": 4})
    old.beats("m1", 7)
    member = pen.member("m1")
    assert (member.generation, member.joined, member.link.host) == (-1, None, "")
    old.joined(old.join("m1"), "m1", 8)
    assert member.generation == 8


def test_connection_older_than_the_journal_has_no_known_host() -> None:
    """The connection may belong to a member of this process or of a process on another host, so the audit attributes the fetch to no
    member."""
    pen = Watched()
    old, new = pen.connect(seen=False), pen.connect()
    new.enters("m1")
    assert of(pen, new) is pen.member("m1")
    old.beats("m2", 7)
    assert of(pen, new) is None


def test_a_hole_leaves_nothing_of_what_was_open() -> None:
    pen = Watched()
    line = pen.connect()
    line.enters("m1")
    place = line.asks(HEARTBEAT, group_id="g", member_id="m1", generation_id=1)
    pen.seq += 3
    line.told(place, error_code=25)
    assert (pen.world.groups, len(pen.world.links), pen.auditor.holes) == ({}, 0, ["rows 9 to 11 are missing"])
    line.beats("m1")
    assert (pen.member("m1").joined, pen.member("m1").ended) == (None, None)


# -- sessions that lapse


def lapsed(spoken: list[tuple[float, int]], *, heard: int = 0, lost: bool = False, closed: bool = False, node: int = 1) -> Any:
    """Return when the session of a member lapsed that sent no heartbeat for 1500 ms, with a session timeout of 1000 ms. `spoken` lists
    at which time (ms) the process sent which other request to `node`."""
    pen = Watched()
    line, other = pen.connect(), pen.connect(node=node)
    line.enters("m1", session_ms=1000)
    line.beats("m1", error=heard, delivered=not lost)
    passed = 0.0
    for at, key in spoken:
        pen.pause(at - passed)
        passed = at
        other.asks(key, topics=[])
    if closed:
        line.closes()
    pen.pause(1500 - passed)
    pen.connect()
    return pen.member("m1").lapsed


def test_session_lapses_for_a_process_that_sends_other_requests() -> None:
    assert lapsed([(200, FETCH), (700, FETCH)]) == 0
    assert lapsed([(700, METADATA)]) == 0
    assert lapsed([(700, METADATA)], heard=27) == 0


def test_whoever_is_silent_altogether_or_has_a_reason_is_not_blamed() -> None:
    assert lapsed([]) is None
    assert lapsed([(200, FETCH)]) is None
    assert lapsed([(700, FETCH)], heard=16) is None
    assert lapsed([(700, FETCH)], lost=True) is None
    assert lapsed([(700, FETCH)], closed=True) is None
    assert lapsed([(700, FETCH)], node=2) is None


def test_a_session_does_not_lapse_while_a_join_waits_nor_with_commits() -> None:
    pen = Watched()
    line = pen.connect()
    line.enters("m1", session_ms=1000)
    for _ in range(3):
        pen.pause(800)
        line.commits("m1")
        line.asks(METADATA, topics=[])
    assert pen.member("m1").lapsed is None
    place = line.join("m1", session_ms=1000)
    for _ in range(3):
        pen.pause(800).connect().asks(METADATA, topics=[])
    line.joined(place, "m1", 2)
    pen.pause(900).connect()
    assert pen.member("m1").lapsed is None


# -- memory

IDS = 10_000


def alive(kind: type) -> int:
    gc.collect()
    return sum(1 for each in gc.get_objects() if isinstance(each, kind))


def left_behind(pen: Watched) -> dict[str, int]:
    """Count the objects that the audit still holds two hours after the last row."""
    pen.pause(7_300_000).connect()
    world = pen.world
    return {
        "groups": len(world.groups), "processes": len(world.processes), "appointments": len(world.agenda._heap),
        "tallies": len(pen.auditor._open), "members": sum(len(group.members) for group in world.groups.values()),
    }  # fmt: skip


def test_new_ids_without_end_on_one_connection() -> None:
    before = alive(Member)
    pen = Watched(["CLIENT-01", "CLIENT-02", "CLIENT-03", "CLIENT-18", "CLIENT-48"])
    line = pen.connect()
    for number in range(IDS):
        line.joined(line.join(""), f"m{number}", error=79)
        pen.pause(0.1)
    assert alive(Member) - before <= 3
    assert len(pen.world.agenda._heap) <= 2000
    line.closes()
    assert left_behind(pen) == {"groups": 0, "processes": 0, "appointments": 0, "tallies": 0, "members": 0}
    assert alive(Member) - before == 0


def test_new_ids_without_end_on_many_connections() -> None:
    before = alive(Member)
    pen = Watched(["CLIENT-01", "CLIENT-02", "CLIENT-06", "CLIENT-12"])
    for number in range(IDS):
        line = pen.connect(f"client-{number}")
        line.joined(line.join("", f"group-{number % 7}"), f"m{number}", error=79)
        line.closes()
    assert (alive(Member) - before, pen.world.groups, pen.world.links) == (0, {}, {})
    assert left_behind(pen) == {"groups": 0, "processes": 0, "appointments": 0, "tallies": 0, "members": 0}


def test_members_that_crash_are_forgotten_when_their_sessions_are_long_over() -> None:
    before = alive(Member)
    pen = Watched(["CLIENT-06", "CLIENT-13", "CLIENT-16"])
    for number in range(1000):
        line = pen.connect(f"client-{number}")
        line.enters(f"m{number}")
        line.closes()
    assert len(pen.members()) == 1000
    assert left_behind(pen) == {"groups": 0, "processes": 0, "appointments": 0, "tallies": 0, "members": 0}
    assert alive(Member) - before == 0


@pytest.mark.parametrize("answer", ["refused", "lost", "none"])
def test_invented_ids_and_client_ids_without_end(answer: str) -> None:
    before = alive(Member)
    pen = Watched(["CLIENT-04", "CLIENT-12", "CLIENT-15"])
    line = pen.connect()
    for number in range(IDS // 10):
        line.client_id = f"client-{number}"
        if answer == "none":
            line.abandoned(line.asks(HEARTBEAT, group_id=f"group-{number}", member_id=f"m{number}", generation_id=1))
        else:
            line.beats(f"m{number}", error=25, group=f"group-{number}", delivered=answer == "refused")
        pen.pause(1000)
    assert alive(Member) - before <= (2 if answer == "refused" else 70)
    line.closes()
    assert left_behind(pen) == {"groups": 0, "processes": 0, "appointments": 0, "tallies": 0, "members": 0}
    assert alive(Member) - before == 0
