"""The story of `groupmock demo` is derived from journal rows, and the whole tour runs on the virtual clock."""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Mapping
from typing import Any

import pytest
from journal_pen import TOPIC as PEN_TOPIC
from journal_pen import Pen

from groupmock_clients.scenarios import virtual
from groupmock_clients.scenarios.catalogue import TOUR, TOUR_PROTOCOL, protocols
from groupmock_clients.scenarios.demo import say, sizes
from groupmock_clients.scenarios.play import GROUP, TOPIC, Missed, Protocol, play
from groupmock_clients.scenarios.tour_story import ARRIVALS, Tour
from groupmock_codec.units import NS_PER_S

UUID = "0f3c1d2e-1111-2222-3333-444455556666"
Fields = dict[str, Any]


class Tale(Pen):
    """A journal of the group `g` with ada as leader, whose members have the names of their clients."""

    def comes(self, name: str) -> int:
        """Write the rows of a new member and its JoinGroup, and return the ticket."""
        member = f"{name}-{UUID}"
        self.row("member", group="g", member_id=member, what="added", reason=f"member {member} joined")
        return self.join("g", member, 1)

    def moves(self, before: str, after: str, reason: str, members: int = 0, generation: int = 1) -> None:
        self.moved("g", before, after, generation, reason, members, f"ada-{UUID}")

    def shared_out(self, ticket: int, generation: int = 1, **plan: list[int]) -> None:
        """Write the answer to ada's JoinGroup and her assignments."""
        ids = {name: f"{name}-{UUID}" for name in plan}
        self.joined(ticket, ids["ada"], generation, ids["ada"], {member: [] for member in ids.values()})
        self.sync("g", ids["ada"], 1, generation, {ids[name]: held for name, held in plan.items()})
        self.moves("CompletingRebalance", "Stable", "leader brought the assignments", len(plan), generation)


def client(name: str, what: str, t: int = 0, **fields: Any) -> Fields:
    return {"kind": "client", "t": t, "client": name, "what": what} | ({"fields": fields} if fields else {})


def teller(group: str = "g") -> Tour:
    return Tour(group, PEN_TOPIC, sizes())


def told(by: Tour, *rows: Mapping[str, Any]) -> list[str]:
    return [line for row in rows for line in by.tell(row)]


def test_a_round_is_told_with_its_cause_its_leader_and_its_outcome() -> None:
    one, tale = teller(), Tale()
    tale.at(NS_PER_S)
    ticket = tale.comes("ada")
    tale.moves("Empty", "PreparingRebalance", f"member ada-{UUID} joined")
    tale.comes("ben")
    tale.at(2 * NS_PER_S)
    tale.moves("PreparingRebalance", "CompletingRebalance", "the initial delay is over", 2)
    tale.at(3 * NS_PER_S)
    tale.shared_out(ticket, ada=[0, 2], ben=[1])
    lines = told(one, *tale.rows)
    text = "\n".join(lines)
    for piece in (
        "1.000  ada#0f3c joins", "-> rebalance", "ben#0f3c joins",
        "3.000  generation 1 after 2000 ms, the initial delay is over: ada#0f3c leads",
        "ada#0f3c gets orders/0,2 (new); ben#0f3c gets orders/1 (new)",
    ):  # fmt: skip
        assert piece in text
    assert UUID not in text
    assert (one.owned("ada"), one.owned("ben"), one.rebalances) == ([0, 2], [1], "the first join and no rebalance")


def test_what_a_member_gained_is_marked() -> None:
    tale = Tale()
    for generation, held in ((1, [0]), (2, [0, 1])):
        ticket = tale.comes("ada")
        tale.moves("Stable", "PreparingRebalance", "x", 1, generation - 1)
        tale.moves("PreparingRebalance", "CompletingRebalance", "x", 1, generation)
        tale.shared_out(ticket, generation, ada=held)
    assert told(teller(), *tale.rows)[-1].endswith("ada#0f3c keeps orders/0, gets orders/1 (new)")


def test_a_plan_that_did_not_come_makes_another_round_of_the_same_rebalance() -> None:
    tale = Tale()
    tale.comes("ada")
    tale.moves("Empty", "PreparingRebalance", "x", 1, 0)
    tale.at(NS_PER_S)
    tale.moves("PreparingRebalance", "CompletingRebalance", "x", 1)
    tale.at(5 * NS_PER_S)
    tale.moves("CompletingRebalance", "PreparingRebalance", "it sent no SyncGroup", 1)
    tale.at(7 * NS_PER_S)
    tale.moves("PreparingRebalance", "CompletingRebalance", "x", 1, 2)
    tale.shared_out(tale.comes("ada"), 2, ada=[0])
    one = teller()
    lines = [line.strip() for line in told(one, *tale.rows)]
    dealt_late = "ada#0f3c, which led generation 1, had not brought the assignments (SyncGroup) after 4000 ms"
    assert f"5.000  rebalance: it sent no SyncGroup; {dealt_late}" in lines
    assert any(line.startswith("7.000  generation 2 after 7000 ms") for line in lines)
    assert one.rebalances == "1 rebalance"


def test_other_groups_are_not_told() -> None:
    tale = Tale()
    tale.comes("ada")
    tale.moves("Empty", "PreparingRebalance", "x")
    assert told(teller("other"), *tale.rows) == []


def delivered(name: str, first: int, last: int) -> Fields:
    return client(name, "delivered", topic="t", partition=0, first=first, last=last)


def test_records_that_came_twice_are_counted_with_why() -> None:
    one = teller()
    produced = client("producer", "produced", topic="t", partition=0, first=0, last=9)
    told(one, produced, delivered("ben", 0, 5), client("ben", "killed"), delivered("ada", 4, 9), delivered("cleo", 9, 9))
    assert list(one.reckoning()) == [
        "",
        "10 records were produced and every one was read, in no rebalance.",
        "Read twice: 2 records that ben had read but not yet committed when it was killed;",
        "whoever got its partitions began again at its last commit.",
        "Read twice: 1 record because a round came between reading and committing.",
    ]


def test_a_record_that_nobody_read_fails_the_demo() -> None:
    one = teller()
    told(one, client("producer", "produced", topic="t", partition=0, first=0, last=9), delivered("ben", 0, 5))
    with pytest.raises(Missed, match="4 of 10 records were never read"):
        list(one.reckoning())


def test_the_tour_is_told_to_its_end() -> None:
    """On the virtual clock all members use range, and the tour shows every act, a crash and a leave, and loses no record."""
    one = Tour(GROUP, TOPIC, sizes())
    (protocol,) = protocols("virtual", "range")
    with virtual.open_stage(sizes(), protocol) as stage:
        lines = told(one, *play(TOUR, sizes(), protocol, stage).rows)
    text = "\n".join([*lines, *one.reckoning()])
    titles = [f"--- {each[0]} ---" for each in ARRIVALS.values()]
    for piece in (*titles, "--- ben crashes (kill -9) ---", "--- cleo leaves in good order ---", "in the first join and 3 rebalances"):
        assert text.count(piece) == 1, text
    for piece in ("Until ben's session ends, 3 s after", "  kill -9 ben", "its session expired, nothing was heard of it for 3000 ms"):
        assert piece in text
    assert re.search(r"cleo#\w{4} is gone: it left", text)
    assert {name for name in TOUR.cast if one.owned(name)} == {"ada", "dana", "eli"}


def test_the_tour_folds_the_commits_between_which_records_are_read() -> None:
    tale = Tale()
    ticket = tale.comes("ada")
    tale.moves("Empty", "PreparingRebalance", "x", 1, 0)
    tale.moves("PreparingRebalance", "CompletingRebalance", "x", 1)
    tale.shared_out(ticket, ada=[0])
    before = len(tale.rows)
    for offset in (10, 20, 30):
        tale.at(offset * NS_PER_S)
        partition = {"partition_index": 0, "committed_offset": offset}
        topics = [{"name": PEN_TOPIC, "partitions": [partition]}]
        commit = {"group_id": "g", "generation_id_or_member_epoch": 1, "member_id": f"ada-{UUID}", "topics": topics}
        asked = tale.request((8, "OffsetCommit"), 1, commit)
        tale.reply(asked, {"topics": [{"name": PEN_TOPIC, "partitions": [{"partition_index": 0, "error_code": 0}]}]})
        tale.rows.append(delivered("ada", offset, offset + 9))
    one = teller()
    told(one, *tale.rows[:before])
    lines = [*told(one, *tale.rows[before:]), *one.end()]
    assert [line.strip() for line in lines if "commit" in line] == ["10.000  ada#0f3c: 3 commits until 30.000, the last orders/0 = 30"]


@pytest.mark.parametrize(("terminal", "no_colour", "coloured"), [(True, "", True), (True, "1", False), (False, "", False)])
def test_the_demo_is_coloured_on_a_terminal_that_wants_it(
    terminal: bool, no_colour: str, coloured: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = io.StringIO()
    monkeypatch.setattr(out, "isatty", lambda: terminal)
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", no_colour)
    say("--- ben crashes (kill -9) ---")
    say("    2.000  generation 2 after 406 ms: ada leads, 5 members")
    say("    3.000  ada says: \x1b[31mhello")
    title, generation, said = out.getvalue().splitlines()
    assert (title.startswith("\x1b[1m"), generation.startswith("\x1b[32m")) == (coloured, coloured)
    assert "\x1b" not in said


def test_the_tours_protocol_names_members_of_the_cast() -> None:
    assert {name for name, _ in TOUR_PROTOCOL.others} < set(TOUR.cast)
    assert ARRIVALS.keys() == {TOUR.cast[0], TOUR.cast[sizes().members]}
    assert len(TOUR.cast) == sizes().members + sizes().change


def test_the_tours_protocol_is_not_one_of_those_that_are_measured() -> None:
    for stage in ("live", "virtual"):
        assert Protocol(TOUR_PROTOCOL.name, TOUR_PROTOCOL.client) not in protocols(stage)
