"""`groupmock watch` requests and shows the right data, tested with textual's pilot and a control API that answers from a table."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from textual.widgets import DataTable, Input, RichLog, Static

from groupmock.control.client import NobodyAnswers, Refused
from groupmock.watch.terminal.app import WatchApp
from groupmock.watch.terminal.plain import aligned, told, width
from groupmock.watch.terminal.poll import Poll
from groupmock.watch.terminal.shown_tables import Table, faults_table, members_table

HOSTILE = "[red]x\x1b[31m\n"


def member(name: str, **more: Any) -> dict[str, Any]:
    return {"member_id": f"{name}-1", "group_instance_id": None, "client_id": name, "client_host": "/10.0.0.7", "session_timeout_ms": 6000,
            "assignment": {"orders": [0, 1]}, **more}  # fmt: skip


def note(seq: int, what: str) -> dict[str, Any]:
    return {"kind": "note", "seq": seq, "t": seq * 1_000_000, "what": what}


TRANSACTIONS = (
    ("idle", "Empty", None, False),
    ("till", "Ongoing", 2500, False),
    (HOSTILE.replace("red", "blue"), "PrepareAbort", 45_000, True),
)


class Api:
    """A control API that answers from a table; `rows` are those of the journal."""

    def __init__(self) -> None:
        group = {"state": "Stable", "generation": 3, "protocol": "range", "members": 1, "leader": "anna-1", "coordinator": 1, "held": None}
        self.rows = [note(1, "first"), note(2, "second"), {"kind": "new in 2030", "seq": 3, "t": 3}]
        self.asked: list[str] = []
        self.down: Exception | None = None
        self.answers: dict[str, Any] = {
            "/v1/health": {"version": "1", "bootstrap": "b:1", "profile": "kafka-4.3", "seed": 5, "t": 9_000_000, "seq": 3,
                           "topics": {"orders": 2}, "nodes": [{"state": "running"}]},
            "/v1/groups": [{"group_id": "billing", **group}, {"group_id": HOSTILE, **group}],
            "/v1/transactions": [
                {"transactional_id": name, "state": state, "producer_id": place, "epoch": 2, "coordinator": 1, "timeout_ms": 60_000,
                 "partitions": 3, "open_ms": open_ms, "held": held}
                for place, (name, state, open_ms, held) in enumerate(TRANSACTIONS)],
            "/v1/faults": [{"name": "lost", "fired": 0, "matched": 0, "holding": 0, "spent": False, "rule": {"do": {"kind": "drop"}},
                            "near_miss": {"t": 5, "call": "JoinGroup v5 of anna", "failed": ["group is a, wanted b"]}}],
            "/v1/audit/clients": Refused(409, "nobody is audited"),
        }  # fmt: skip
        for name, people in (("billing", [member("anna"), member("ben", assignment={})]), ("%5Bred%5Dx%1B%5B31m%0A", [member(HOSTILE)])):
            group = {"members": people, "leader": "anna-1"}
            self.answers[f"/v1/groups/{name}"] = {"group": group, "frozen": [], "silent_ms": {"anna-1": 3500}}
            behind = [{"member_id": "anna-1", "lag": 5}, {"member_id": None, "lag": 7}]
            self.answers[f"/v1/groups/{name}/lag"] = {"lag": 12, "partitions": behind}

    def ask(self, method: str, address: str, data: bytes | None = None, load: Callable[[bytes], Any] = json.loads) -> Any:
        assert method == "GET"
        self.asked.append(address)
        path, _, query = address.partition("?")
        if self.down is not None:
            raise self.down
        if path == "/v1/journal/find":
            since = int(query.partition("since=")[2].partition("&")[0])
            return load(json.dumps({"count": 0, "dropped": 0, "rows": [row for row in self.rows if row["seq"] > since]}).encode())
        answer = self.answers[path]
        if isinstance(answer, Exception):
            raise answer
        return load(json.dumps(answer).encode())


def tail(app: WatchApp) -> str:
    return "\n".join(strip.text for strip in app.query_one("#tail", RichLog).lines)


async def looked(app: WatchApp, pilot: Any) -> None:
    """Wait until the app has asked once more and shown the result."""
    app.look()
    await app.workers.wait_for_complete()
    await pilot.pause()


def opened(api: Api, **how: Any) -> WatchApp:
    """Return an app that polls only on command."""
    return WatchApp(Poll(api), "http://here", interval=3600.0, **how)


def test_a_snapshot_as_plain_text():
    poll = Poll(Api())
    snapshot = poll.look(everything=True)
    lines = list(told(snapshot, list(poll.lines)))
    assert all(line.isprintable() for line in lines)
    assert lines[0] == "groupmock 1 at b:1 · kafka-4.3 · seed 5 · 1 node (1 running) · 1 topic · 0.009 s"
    assert [" ".join(line.split()) for line in lines[2:4]] == ["GROUP STATE GEN PROTOCOL MEMBERS LAG NODE", "billing Stable 3 range 1 12 1"]
    assert lines[2].index("STATE") == lines[3].index("Stable") == lines[4].index("Stable")
    assert "anna#1 *  anna    10.0.0.7  5    3.5 s ago of 6 s  orders/0-1" in lines
    assert [line.split()[-1] for line in lines if line.startswith("ben#1")] == ["nothing"]
    assert lines[-2:] == ["    0.001 s info    first", "    0.002 s info    second"]
    assert "clients are not audited (serve --audit)" in lines


def test_a_lag_that_is_unknown_is_a_dash():
    api = Api()
    behind = [{"member_id": "anna-1", "lag": 5}, {"member_id": "anna-1", "lag": None}]
    api.answers["/v1/groups/billing/lag"] = {"lag": None, "partitions": behind}
    lines = [" ".join(line.split()) for line in told(Poll(api).look(everything=True), [])]
    assert lines[3] == "billing Stable 3 range 1 - 1"
    assert "anna#1 * anna 10.0.0.7 - 3.5 s ago of 6 s orders/0-1" in lines


def test_transactions_that_go_on_come_first():
    lines = [" ".join(line.split()) for line in told(Poll(Api()).look(), [])]
    at = lines.index("TRANSACTIONAL ID STATE PRODUCER EPOCH PARTITIONS OPEN NODE")
    assert lines[at + 1 : at + 4] == [
        "till Ongoing 1 2 3 2.5 s 1",
        "[blue]x\\x1b[31m\\n PrepareAbort 2 2 3 45.0 s of 60 s 1 held",
        "idle Empty 0 2 3 - 1",
    ]


def test_one_group_alone_and_columns_of_wide_letters():
    poll = Poll(Api())
    assert not any("[red]" in line for line in told(poll.look("billing"), [], "billing"))
    assert [width(line) for line in aligned(Table(("A", "B"), [("日本", "x"), ("e\u0301", "y")]))] == [7, 7, 7]


def test_a_rule_that_never_fired_says_what_came_nearest():
    (row,) = faults_table(Poll(Api()).look()).rows
    assert row == ("lost", "drop", "0", "0", "0", "nearest: JoinGroup v5 of anna at 0.000, where group is a, wanted b")


def test_a_group_that_goes_between_two_questions_has_no_members():
    api = Api()
    api.answers["/v1/groups/billing"] = Refused(404, "no group")
    (billing, _) = Poll(api).look("billing").groups
    assert members_table(billing).rows == [] and billing.lag == api.answers["/v1/groups/billing/lag"]


def test_rows_are_asked_for_once_and_a_reset_begins_anew():
    api = Api()
    poll = Poll(api)
    poll.look()
    poll.look()
    assert [line.text for line in poll.lines] == ["first", "second"]
    api.rows, api.answers["/v1/health"] = [note(1, "other")], api.answers["/v1/health"] | {"seq": 1, "t": 1}
    poll.look()
    assert ([line.text for line in poll.lines], poll.begins) == (["other"], 1)


def test_an_answer_of_something_else_is_one_sentence():
    api = Api()
    api.answers["/v1/health"] = ["no health"]
    with pytest.raises(NobodyAnswers, match="no control API of this version"):
        Poll(api).look()


async def test_the_view_shows_groups_members_faults_and_the_tail():
    app = opened(Api(), group="billing")
    async with app.run_test(size=(140, 40)) as pilot:
        await looked(app, pilot)
        groups, members = app.query_one("#groups", DataTable), app.query_one("#members", DataTable)
        assert [str(cell) for cell in groups.get_row_at(1)][:2] == ["[red]x\\x1b[31m\\n", "Stable"]
        assert [str(cell) for cell in members.get_row_at(0)] == ["anna#1 *", "anna", "10.0.0.7", "5", "3.5 s ago of 6 s", "orders/0-1"]
        assert app.query_one("#faults", DataTable).row_count == 1 and app.query_one("#findings").has_class("gone")
        assert "second" in tail(app)
        await pilot.press("n")
        await looked(app, pilot)
        assert app.group == HOSTILE and "red" in str(app.query_one("#about", Static).render())


async def test_the_keys_filter_pause_and_ask_for_every_row():
    api = Api()
    app = opened(api)
    async with app.run_test(size=(70, 20)) as pilot:
        await looked(app, pilot)
        assert app.query_one("#groups", DataTable).get_row_at(0)[1].plain == "Stable"
        assert len(app.query_one("#members", DataTable).columns) == 4  # The terminal is narrow, so four of six columns are shown.
        await pilot.press("slash", *"SECOND", "enter")
        assert "second" in tail(app) and "first" not in tail(app)
        await pilot.press("slash", "escape")
        assert "first" in tail(app) and app.query_one("#filter", Input).has_class("gone")
        await pilot.press("p")
        asked = len(api.asked)
        await looked(app, pilot)
        assert len(api.asked) == asked and "paused" in str(app.query_one("#state", Static).render())
        await pilot.press("p", "a")
        await looked(app, pilot)
        await looked(app, pilot)
        assert any("log=" not in address for address in api.asked if "/journal/find" in address)
        await pilot.press("question_mark")
        assert len(app.screen_stack) == 2
        await pilot.press("x", "q")
    assert app.return_code == 0


async def test_lines_of_the_tail_are_broken_at_a_new_width():
    api = Api()
    api.rows[0] = note(1, "a long line " * 6)
    app = opened(api)
    async with app.run_test(size=(140, 20)) as pilot:
        await looked(app, pilot)
        await pilot.resize_terminal(60, 20)
        await pilot.pause()
        await pilot.pause()
        log = app.query_one("#tail", RichLog)
        lines = [each.text.rstrip() for each in log.lines]
        assert len(lines) > 2
        assert max(map(len, lines)) <= log.scrollable_content_region.width


async def test_a_server_that_goes_away_is_told_and_asked_again():
    api = Api()
    app = opened(api)
    async with app.run_test(size=(120, 30)) as pilot:
        await looked(app, pilot)
        api.down = NobodyAnswers("no control API at http://here: Connection refused")
        await looked(app, pilot)
        assert "Connection refused: trying again" in str(app.query_one("#state", Static).render())
        api.down = None
        await looked(app, pilot)
        assert app.trouble is None and "live from" in str(app.query_one("#state", Static).render())
