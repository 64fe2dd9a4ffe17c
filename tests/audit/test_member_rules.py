"""Cases in which rules about members could blame wrongly or miss: crossed answers, lost connections, other processes and stalled nodes."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from audit_pen import AuditPen, Line

from groupmock.audit.auditor import Auditor
from groupmock.audit.verdicts import NOT_JUDGED
from groupmock.journal.rows import NoteRow
from groupmock_codec.api_keys import FETCH, FIND_COORDINATOR, HEARTBEAT, LEAVE_GROUP, METADATA, OFFSET_COMMIT, SYNC_GROUP

Told = Callable[[AuditPen, Line], None]
SESSION = 1000
"""Session timeout and rebalance timeout of the members of these tests, in milliseconds."""


def findings(code: str, *told: Told, joined: bool = True) -> list[str]:
    """Return the sentences of the findings of one rule about a member m1 of generation 1, after `told` has written more rows."""
    auditor = Auditor([code])
    pen = AuditPen(auditor.feed)
    line = pen.connect()
    if joined:
        line.enters("m1", session_ms=SESSION)
    for each in told:
        each(pen, line)
    pen.pause(10_000).connect("nobody")
    found = auditor.close()
    assert found.rules[code].crashed is None
    return [each.sentence for each in found.findings]


def beat(generation: int = 1, error: int = 0, member: str = "m1", delivered: bool = True) -> Told:
    return lambda pen, line: line.beats(member, generation, error, delivered=delivered)


def join(member: str = "m1", generation: int = 2, error: int = 0, sent_ms_ago: float = 0) -> Told:
    """Send a JoinGroup that is answered at once."""

    def told(pen: AuditPen, line: Line) -> None:
        line.joined(line.join(member, session_ms=SESSION, sent_ms_ago=sent_ms_ago), member or "m2", generation, error)

    return told


def sync(generation: int = 2) -> Told:
    return lambda pen, line: line.syncs("m1", generation)


def commit(generation: int = 1, error: int = 0, member: str = "m1") -> Told:
    return lambda pen, line: line.commits(member, generation, error)


def leave(*members: str) -> Told:
    return lambda pen, line: line.leaves(*members)


def pause(ms: float) -> Told:
    def told(pen: AuditPen, line: Line) -> None:
        pen.pause(ms)

    return told


def says(key: int) -> Told:
    return lambda pen, line: line.told(line.asks(key, topics=[]), error_code=0, topics=[], api_keys=[])


def sent(key: int, sent_ms_ago: float, generation: int = 1) -> Told:
    """Write a request row that was sent `sent_ms_ago` earlier, and its answer."""

    def told(pen: AuditPen, line: Line) -> None:
        of = {"generation_id": generation, "generation_id_or_member_epoch": generation}
        place = line.asks(key, sent_ms_ago, group_id="g", member_id="m1", topics=[], assignments=[], **of)
        line.told(place, error_code=0, topics=[], assignment="")

    return told


def elsewhere(*told: Told) -> Told:
    """Let `told` write its rows for a second connection of the same process, which stays open."""

    def there(pen: AuditPen, line: Line) -> None:
        other = pen.connect()
        for each in told:
            each(pen, other)

    return there


def again(*told: Told, by: str = "client") -> Told:
    """Close the connection and let `told` write its rows for a new one."""

    def there(pen: AuditPen, line: Line) -> None:
        line.closes(by)
        elsewhere(*told)(pen, line)

    return there


def parked(*meanwhile: Told, answer_after: float = 0, delivered: bool = True) -> Told:
    """Send a JoinGroup that stays parked while `meanwhile` writes other rows."""

    def told(pen: AuditPen, line: Line) -> None:
        place = line.join("m1", session_ms=SESSION)
        for each in meanwhile:
            each(pen, line)
        pen.pause(answer_after)
        line.joined(place, "m1", 2, delivered=delivered)

    return told


def unanswered(key: int) -> Told:
    def told(pen: AuditPen, line: Line) -> None:
        line.asks(key, group_id="g", member_id="m1", generation_id=1, topics=[], members=[])

    return told


def joins(member: str, group: str = "g", instance: str | None = None, session_ms: int = SESSION) -> Told:
    """Send a JoinGroup that is never answered."""

    def told(pen: AuditPen, line: Line) -> None:
        line.join(member, group, instance, session_ms)

    return told


def closes_late(ms: float) -> Told:
    """Send a JoinGroup, and after `ms` another one on a second connection. Then the end of the first connection is noticed."""

    def told(pen: AuditPen, line: Line) -> None:
        line.join("m1")
        pen.pause(ms)
        elsewhere(join())(pen, line)
        pen.pause(5)
        line.closes()

    return told


def superseded(ms: float, by: str | None = "client", closed_after: float = 0, answered_at_once: bool = False) -> Told:
    """Park a JoinGroup that the broker abandons after `ms`, because the member joins again on another connection."""

    def told(pen: AuditPen, line: Line) -> None:
        place = line.join("m1", session_ms=SESSION)
        pen.pause(ms)
        other = pen.connect()
        again = other.join("m1", session_ms=SESSION)
        line.abandoned(place)
        if answered_at_once:
            other.joined(again, "m1", 2)
        pen.pause(closed_after)
        if by is not None:
            line.closes(by)

    return told


def reserved(delivered: bool = True, group: str = "g") -> Told:
    return lambda pen, line: line.joined(line.join("", group), "m1", error=79, delivered=delivered)


def lapsing(error: int = 0) -> tuple[Told, ...]:
    """Send a heartbeat and then none for one and a half session timeouts, although the process sends other requests on the connection
    that it opened before."""

    def told(pen: AuditPen, line: Line) -> None:
        other, ask = pen.connect(), says(METADATA)
        ask(pen, other)
        beat(error=error)(pen, line)
        for ms in (700, 200):
            pen.pause(ms)
            ask(pen, other)
        pen.pause(600)

    return (told,)


BLAMED: list[tuple[str, tuple[Told, ...]]] = [
    ("CLIENT-02", (pause(300), join(""))),
    ("CLIENT-02", (beat(error=27), pause(300), join(""))),
    ("CLIENT-02", (pause(300), beat(member="invented", error=25))),
    ("CLIENT-03", (commit(error=25), pause(300), join(error=25))),
    ("CLIENT-03", (join(error=25), pause(300), join(error=25))),
    ("CLIENT-04", (beat(error=22), pause(300), commit(error=22))),
    ("CLIENT-06", (join(), pause(300), join(generation=3))),
    ("CLIENT-06", (join(), pause(700), says(METADATA), pause(700))),
    ("CLIENT-12", (join(), pause(300), beat(generation=1, error=22))),
    ("CLIENT-12", (leave("m1"), pause(300), beat(error=25))),
    ("CLIENT-13", (*lapsing(), beat(error=25))),
    ("CLIENT-13", (*lapsing(), commit(error=25))),
    ("CLIENT-13", (*lapsing(), again())),
    # A recording writes an unanswered heartbeat before its answer arrives, so the second heartbeat must not be blamed for the order.
    ("CLIENT-15", (unanswered(HEARTBEAT), pause(100), unanswered(HEARTBEAT))),
    ("CLIENT-16", (sync(1), commit(error=27), pause(700), says(METADATA), pause(700))),
    ("CLIENT-17", (*lapsing(error=27), join(error=25))),
    ("CLIENT-18", (parked(elsewhere(unanswered(METADATA), join(generation=2)), answer_after=400),)),
    ("CLIENT-18", (parked(pause(400), again(join(generation=2))),)),
    ("CLIENT-18", (closes_late(400),)),  # In a recording the end of a connection with a parked request may be seen late.
    ("CLIENT-18", (superseded(400),)),  # Kafka may notice the end of a connection with a parked request only when the member joins again.
    ("CLIENT-18", (superseded(400, answered_at_once=True),)),
    ("CLIENT-18", (superseded(400, by=None),)),
    ("CLIENT-18", (superseded(400, closed_after=300),)),
    ("CLIENT-25", (lambda pen, line: line.enters("a-1", instance="a"), beat(error=82, member="a-1"), pause(300),
                   joins("", instance="a"))),
    ("CLIENT-65", (parked(pause(300), unanswered(OFFSET_COMMIT), answer_after=400),)),
    ("CLIENT-65", (parked(pause(300), pause(400)), sent(OFFSET_COMMIT, 400))),
]  # fmt: skip


@pytest.mark.parametrize(("code", "told"), BLAMED, ids=[f"{number}-{code}" for number, (code, _) in enumerate(BLAMED)])
def test_member_that_breaks_a_rule_is_blamed_once(code: str, told: tuple[Told, ...]) -> None:
    assert len(findings(code, *told)) == 1


def refused_metadata(pen: AuditPen, line: Line) -> None:
    line.told(line.asks(METADATA, topics=[]), topics=[{"name": "t", "error_code": 5, "partitions": []}])


LEFT_ALONE: list[tuple[str, str, tuple[Told, ...]]] = [
    ("CLIENT-02", "whose session has passed without a good answer begins anew", (pause(950), beat(error=27), pause(100), join(""))),
    ("CLIENT-02", "after 22 some begin anew", (beat(error=22), pause(300), join(""))),
    ("CLIENT-02", "an answer was lost", (beat(delivered=False), pause(300), join(""))),
    ("CLIENT-02", "it had left", (leave("m1"), pause(300), join(""))),
    ("CLIENT-02", "it may not have heard", (join("", sent_ms_ago=1),)),
    ("CLIENT-02", "an admin on its own connection", (pause(300), leave("somebody", "else"))),
    ("CLIENT-03", "under way when it was told", (elsewhere(says(METADATA)), beat(error=25), pause(100), join(error=25, sent_ms_ago=50))),
    ("CLIENT-03", "it may not have heard", (beat(error=25, delivered=False), pause(300), join())),
    ("CLIENT-03", "another id", (beat(error=25), pause(300), join("m9"))),
    ("CLIENT-04", "of an older generation it is no news", (join(), sync(), beat(1, error=22), pause(300), beat(2), beat(2))),
    ("CLIENT-04", "it has joined since", (beat(error=22), pause(300), join(), sync(), beat(2))),
    ("CLIENT-04", "under way on another connection", (beat(error=22), pause(200), elsewhere(beat(error=22)))),
    ("CLIENT-06", "a process that is silent", (join(), pause(1500))),
    ("CLIENT-06", "its connection was lost", (join(), pause(300), again(join(generation=3)))),
    ("CLIENT-02", "it had not read a refusal when it joined", (beat(error=25), pause(50), join(), pause(300), join(""))),
    ("CLIENT-06", "it had not read a refusal when it joined", (beat(error=22), pause(50), join(), pause(150), join(generation=3), sync(3))),
    ("CLIENT-06", "it leaves", (join(), pause(300), leave("m1"), pause(300), says(METADATA), pause(900))),
    ("CLIENT-06", "it was told of something", (join(), pause(300), beat(2, error=16), pause(300), join(generation=3), sync(3))),
    ("CLIENT-06", "its leader was refused Metadata", (join(), pause(300), refused_metadata, pause(300), join(generation=3))),
    ("CLIENT-06", "its leader was told of other partitions", (join(), pause(300), says(METADATA), join(generation=3))),
    ("CLIENT-12", "a thread was a little late", (elsewhere(says(METADATA)), leave("m1"), pause(100), beat(error=25))),
    ("CLIENT-12", "under way when JoinGroup was answered", (elsewhere(says(METADATA)), join(), pause(100), beat(generation=1, error=22))),
    ("CLIENT-12", "two connections share the id", (elsewhere(join()), pause(300), beat(generation=1, error=22))),
    ("CLIENT-13", "all of it was silent", (beat(), pause(1500), beat(error=25))),
    ("CLIENT-13", "it waits for an answer",
     (beat(), pause(100), unanswered(HEARTBEAT), pause(700), elsewhere(says(METADATA)), pause(700))),
    ("CLIENT-13", "it asks for its coordinator", (beat(), pause(700), elsewhere(says(FIND_COORDINATOR)), pause(700), beat(error=25))),
    ("CLIENT-13", "an error kept it busy", (*lapsing(error=16), beat(error=25))),
    ("CLIENT-13", "its connection was lost", (beat(), pause(100), again(says(METADATA), pause(700), says(METADATA), pause(700), beat()))),
    ("CLIENT-13", "what it sent was held up", (*lapsing(), sent(HEARTBEAT, 600))),
    ("CLIENT-13", "after 27 it is another rule's", (*lapsing(error=27), join(error=25))),
    ("CLIENT-13", "a static member may just go", (lambda pen, line: line.enters("a-1", instance="a", session_ms=SESSION),
                                                    beat(member="a-1"), *lapsing()[1:], again())),
    ("CLIENT-15", "a session has passed", (unanswered(HEARTBEAT), pause(1100), unanswered(HEARTBEAT))),
    ("CLIENT-15", "the answer was lost", (beat(delivered=False), sent(HEARTBEAT, 5))),
    ("CLIENT-15", "another connection", (unanswered(HEARTBEAT), pause(50), again(unanswered(HEARTBEAT)))),
    ("CLIENT-16", "a commit between JoinGroup and SyncGroup",
     (join(), commit(2, error=27), pause(700), sync(), beat(2), pause(700), beat(2))),
    ("CLIENT-16", "the rebalance was called off", (beat(error=27), pause(500), beat(), pause(700), beat())),
    ("CLIENT-16", "it leaves", (beat(error=27), pause(500), leave("m1"), pause(300), says(METADATA), pause(900))),
    ("CLIENT-16", "all of it was silent", (beat(error=27), pause(1500))),
    ("CLIENT-17", "all of it was silent", (beat(error=27), pause(1500), join(error=25))),
    ("CLIENT-18", "one after the other", (parked(pause(400)), join(generation=3))),
    ("CLIENT-18", "the end of the old connection is seen late",
     (closes_late(0),)),
    ("CLIENT-18", "the broker hung up", (parked(pause(400), again(join(), by="server")),)),
    ("CLIENT-18", "it had waited long enough", (parked(pause(1100), again(join())),)),
    ("CLIENT-18", "the broker abandoned it, and had hung up", (superseded(400, by="server"),)),
    ("CLIENT-18", "abandoned at once, and closed", (superseded(100),)),
    ("CLIENT-18", "abandoned when it had waited long enough", (superseded(1100),)),
    ("CLIENT-18", "abandoned when it had waited long enough, and still open", (superseded(1100, by=None),)),
    ("CLIENT-65", "for no time at all", (parked(pause(300), pause(100)), sent(OFFSET_COMMIT, 50))),
    ("CLIENT-65", "whoever leaves has no time", (parked(pause(300), unanswered(LEAVE_GROUP), answer_after=400),)),
    ("CLIENT-65", "the answer is there", (parked(pause(300)), sent(SYNC_GROUP, 0))),
    ("CLIENT-65", "another connection", (parked(elsewhere(says(FETCH)), answer_after=400),)),
    ("CLIENT-25", "a commit as it closes", (beat(error=82), pause(300), commit(error=82), again())),
    ("CLIENT-73", "each time by a new connection", (elsewhere(beat()),) * 6),
    ("CLIENT-73", "what was under way on the old connection is read late", (beat(), elsewhere(beat(), beat()), beat(), again(beat()))),
    ("CLIENT-48", "two in a row are no storm", (join(), sync(), join(generation=3), sync(3))),
    ("CLIENT-48", "it was told to",
     (join(), beat(2, error=27), join(generation=3), beat(3, error=27), join(generation=4), beat(4, error=27),
                                     join(generation=5))),
]  # fmt: skip


@pytest.mark.parametrize(("code", "why", "told"), LEFT_ALONE, ids=[f"{code}: {why}" for code, why, _ in LEFT_ALONE])
def test_nobody_is_blamed_for(code: str, why: str, told: tuple[Told, ...]) -> None:
    assert findings(code, *told) == []


IDS: list[tuple[int, tuple[Told, ...]]] = [
    (1, (reserved(), pause(300), join(""))),
    (1, (reserved(), pause(300), join("m9", error=25))),
    (0, (reserved(), pause(300), join("m1", 1))),
    (0, (reserved(), join("", sent_ms_ago=1))),
    (0, (reserved(delivered=False), pause(300), join("", error=79))),
    (0, (reserved(group="other"), pause(300), join("", error=79))),
    (0, (reserved(), pause(300), elsewhere(join("", error=79)))),
]


@pytest.mark.parametrize(("count", "told"), IDS)
def test_who_is_given_an_id_joins_with_it(count: int, told: tuple[Told, ...]) -> None:
    assert len(findings("CLIENT-01", *told, joined=False)) == count


EARLY: list[tuple[int, tuple[Told, ...]]] = [
    (1, (reserved(), pause(300), beat(-1, error=25))),
    (0, (beat(7),)),
    (0, (parked(elsewhere(beat(7))),)),
    (1, (reserved(), parked(elsewhere(beat(-1, error=22))))),
]


@pytest.mark.parametrize(("count", "told"), EARLY)
def test_heartbeats_begin_when_a_join_has_succeeded(count: int, told: tuple[Told, ...]) -> None:
    assert len(findings("CLIENT-12", *told, joined=False)) == count


def test_a_refused_session_timeout_between_others_that_were_taken_is_the_brokers_affair() -> None:
    def asks(ms: int, error: int) -> Told:
        return lambda pen, line: line.joined(line.join("", session_ms=ms), "m", error=error)

    assert findings("CLIENT-31", asks(5000, 79), asks(30_000, 79), asks(10_000, 26), joined=False) == []
    assert len(findings("CLIENT-31", asks(5000, 79), asks(30_000, 79), asks(60_000, 26), joined=False)) == 1


def test_what_a_member_says_of_itself_is_compared_across_connections() -> None:
    assert findings("CLIENT-30", again(join())) == []
    other = findings("CLIENT-30", again(joins("m1", session_ms=7000)))
    assert [each.split(" joined with ")[1] for each in other] == [
        "session_timeout_ms 1000 and then 7000, rebalance_timeout_ms 1000 and then 7000"
    ]
    assert findings("CLIENT-30", joins("", "another group", session_ms=7000)) == []


def test_a_heartbeat_interval_is_said_once_and_one_late_heartbeat_is_none() -> None:
    assert len(findings("CLIENT-14", *[each for _ in range(9) for each in (beat(), pause(600))])) == 1
    assert findings("CLIENT-14", *[each for ms in (300, 600, 600, 300, 700, 300) for each in (beat(), pause(ms))]) == []


@pytest.mark.parametrize("is_stalled", [True, False])
def test_what_a_stalled_node_has_answered_is_heard_when_it_goes_on(is_stalled: bool) -> None:
    def told(pen: AuditPen, line: Line) -> None:
        place = line.join("m1", session_ms=SESSION)
        if is_stalled:
            pen.write(NoteRow(t=pen.t, what="node_stalled", fields={"node": 1}))
        line.joined(place, "m1", 2)
        pen.pause(500)
        if is_stalled:
            pen.write(NoteRow(t=pen.t, what="node_resumed", fields={"node": 1}))
        join(generation=3)(pen, line)

    assert len(findings("CLIENT-06", told)) == (not is_stalled)


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("CLIENT-13", (pause(1500), beat(error=25))),
        ("CLIENT-16", (beat(error=27), pause(1500), join(error=25))),
        ("CLIENT-17", (beat(error=27), pause(1500), join(error=25))),
    ],
)
def test_a_process_that_was_silent_for_a_session_has_kept_nothing(code: str, told: tuple[Told, ...]) -> None:
    auditor = Auditor([code])
    pen = AuditPen(auditor.feed)
    line = pen.connect()
    line.enters("m1", session_ms=SESSION)
    for each in told:
        each(pen, line)
    assert auditor.close().rules[code].verdict == NOT_JUDGED
