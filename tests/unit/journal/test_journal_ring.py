"""The ring keeps a bounded number of rows, and a group's story can be told from them."""

from __future__ import annotations

from cases import for_each

from groupmock.journal.ring import Ring
from groupmock.journal.rows import AbandonedRow, MemberRow, MovedRow, NoteRow, ReplyRow, RequestRow, TimerRow

PLACE = {"connection": 1, "correlation_id": 1, "api_key": 11, "api_name": "JoinGroup", "api_version": 5}


def request(ticket: int, group: str, size: int = 50) -> RequestRow:
    message = {"group_id": group, "member_id": "m"}
    return RequestRow(t=ticket, ticket=ticket, received=0, handled=0, size=size, message=message, **PLACE)


def reply(ticket: int, size: int = 50) -> ReplyRow:
    return ReplyRow(t=ticket, ticket=ticket, size=size, error="UNKNOWN_MEMBER_ID", message={"generation_id": 4}, **PLACE)


def test_bounded_by_rows():
    ring = Ring(max_rows=3)
    for number in range(10):
        ring.take(NoteRow(t=number, what="x"))
    assert [row.t for row in ring.rows] == [7, 8, 9]
    assert ring.dropped == 7


@for_each("length", [1, 1000, 5_000])
def test_bounded_by_bytes(length):
    """The ring keeps as many of the newest rows as fit."""
    ring = Ring(max_bytes=50_000)
    for number in range(992):
        ring.take(request(number, f"{number:0{length}}", length))
    each = ring.bytes // len(ring.rows)
    assert length < each < length + 1500
    assert 50_000 - each < ring.bytes <= 50_000
    assert [row.t for row in ring.rows] == list(range(ring.dropped, 992))


def test_the_rows_of_one_group_only():
    ring = Ring()
    mine = [
        request(1, "mine"),
        MovedRow(t=1, group="mine", before="Empty", after="PreparingRebalance", generation=0, reason="a joined"),
        MemberRow(t=1, group="mine", member_id="a", what="added", reason="it joined"),
        TimerRow(t=1, timer="session", subject=("mine", "a")),
        reply(1),
        AbandonedRow(t=1, ticket=1, reason="replaced", **PLACE),
    ]
    others = [
        request(2, "other"),
        MovedRow(t=1, group="other", before="Empty", after="Dead", generation=0, reason="x"),
        reply(2),
        TimerRow(t=1, timer="session", subject=("other", "a")),
        NoteRow(t=1, what="end"),
    ]
    for row in [*mine, *others]:
        ring.take(row)
    assert ring.of_group("mine") == mine
    assert ring.of_group("nobody") == []
