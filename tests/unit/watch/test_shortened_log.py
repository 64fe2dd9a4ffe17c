"""The shortened log has a line per rebalance, each id in full once, unfinished rebalances, and only printable text."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from kitchen_of_two import TwoMembers

from groupmock.journal.read import JournalReader
from groupmock.journal.rows import CloseRow, MemberRow, MovedRow, RequestRow, Row
from groupmock.rig.kept_rows import KeptRows
from groupmock.rig.wire import request
from groupmock.rig.wire_rig import WireRig
from groupmock.watch.log import LogSink
from groupmock.watch.log_lines import EveryRow
from groupmock.watch.shortened import PATIENCE, Shortened
from groupmock_codec.messages.k03_metadata import MetadataRequest
from groupmock_codec.messages.k11_join_group import JoinGroupRequest

JOURNALS = Path(__file__).parents[2] / "data" / "journals"


def told(rows: list[Row], ended: bool = False) -> list[str]:
    """Return the lines about the group `kitchen` without that name."""
    maker = Shortened()
    lines = [line for row in rows for line in maker.tell(row)] + (list(maker.rest()) if ended else [])
    return [line.text.removeprefix("group kitchen: ") for line in lines]


def test_a_rebalance_is_one_line_and_an_id_is_told_once():
    lines = told(list(TwoMembers().ring.rows))
    of_ben = [line for line in lines if "ben" in line]
    assert len([line for line in of_ben if "-> generation" in line]) == 1
    assert [line.partition("#")[0] for line in of_ben if "ben-" in line] == ["ben"]  # The full member id appears in only one line.
    assert lines[-1].startswith("ben#b604 joins -> generation 2 after ")
    assert lines[-1].endswith("anna#017f leads, range; anna#017f keeps orders/0,2, loses orders/1,3; ben#b604 gets orders/1,3 (new)")
    assert "the group is new -> generation 1 after" in lines[-3]


def test_an_expiry_has_a_line_of_its_own_and_a_leave_has_not():
    stage = TwoMembers()
    before = len(told(list(stage.ring.rows)))
    stage.rig.command("expire_member", group="kitchen", member=stage.ben.member_id)
    stage.together(stage.anna)
    gone = told(list(stage.ring.rows))[before:]
    assert [line.partition(":")[0] for line in gone] == [
        "command expire_member group=kitchen member=ben#b604",
        "ben#b604 is gone",
        "session of ben#b604 expired after 45000 ms -> generation 3 after 3000 ms",
    ]
    before += len(gone)
    stage.anna.leave()
    stage.sleep(0)
    assert told(list(stage.ring.rows))[before:] == ["anna#017f left -> the group is empty, generation 4"]


def test_a_group_whose_coordinator_moves_is_still_known():
    stage = TwoMembers()
    stage.rig.command("move_coordinator", group="kitchen")
    stage.rig.command("force_rebalance", group="kitchen")
    stage.together(stage.anna, stage.ben)
    assert told(list(stage.ring.rows))[-1].endswith("anna#017f keeps orders/0,2; ben#b604 keeps orders/1,3")


def test_a_rebalance_that_lasts_is_told_after_a_while_and_at_the_end():
    stage = TwoMembers()
    stage.consumer("cleo").join()
    rows = list(stage.ring.rows)
    began, nothing = rows[-1].t, {"group": "x", "member_id": "x", "what": "led", "reason": ""}
    later = [MemberRow(seq=rows[-1].seq + more, t=began + more * PATIENCE, **nothing) for more in (1, 2, 3)]
    assert len(told([*rows, *later[:1]])) == len(told(rows)) + 1
    under_way = told([*rows, *later])[len(told(rows)) :]
    assert [line.partition(" s, ")[0] for line in under_way] == [f"its rebalance is under way for {at}.000" for at in (10, 30)]
    (last,) = told(rows, ended=True)[len(told(rows)) :]
    assert last.startswith("the run ends and its rebalance is under way") and "awaited" in last


def test_names_of_peers_are_printable_and_make_no_lines():
    name = "a\x1b[31m\nb\u202e"
    rows: list[Row] = [
        MemberRow(seq=1, t=0, group=name, member_id=f"{name}-id", what="added", reason="", client_id=name, client_host=f"/{name}"),
        MovedRow(seq=2, t=0, group=name, before="Empty", after="PreparingRebalance", generation=0, reason=name, cause="forced"),
        MovedRow(seq=3, t=5, group=name, before="PreparingRebalance", after="Stable", generation=1, reason=name, leader=name),
    ]
    lines = told(rows, ended=True)
    assert len(lines) == 2
    assert all(line.isprintable() and "\u202e" not in line for line in lines), lines


def test_rows_of_somebody_else_end_nothing():
    place = {"connection": 1, "ticket": 1, "correlation_id": 1, "api_key": 14, "api_name": "SyncGroup", "api_version": 3}
    odd = RequestRow(t=0, received=0, handled=0, size=1, message={"group_id": 5, "assignments": "?"}, **place)
    assert told([odd], ended=True) == []


def test_a_group_that_is_gone_is_remembered_by_nothing():
    rows = list(TwoMembers().ring.rows)
    maker = Shortened()
    gone = MovedRow(t=rows[-1].t, group="kitchen", before="Empty", after="Dead", generation=3, reason="deleted")
    for row in (*rows, gone):
        list(maker.tell(row))
    assert not maker._groups and not maker._rebalances.groups and not len(maker._rebalances._connections)
    # A member of the deleted group had used the closed connection.
    list(maker.tell(CloseRow(t=gone.t, connection=1, by="client", reason="the client closed")))


def test_recorded_clients_take_half_of_the_lines():
    with gzip.open(JOURNALS / "aiokafka.jsonl.gz") as packed:
        rows = [row for row in JournalReader(packed) if isinstance(row, Row)]
    every = EveryRow()
    assert 2 * len(told(rows, ended=True)) <= sum(1 for row in rows for _ in every.tell(row))


def test_as_json_a_rebalance_has_its_members_by_id(capfd):
    sink = LogSink("json")
    for row in TwoMembers().ring.rows:
        sink.take(row)
    last = json.loads(capfd.readouterr().err.splitlines()[-1])
    assert (last["kind"], last["group"], last["generation"], last["number"], last["state"]) == ("rebalance", "kitchen", 2, 2, "Stable")
    assert sorted(last["assignment"].values(), key=str) == [{"orders": [0, 2]}, {"orders": [1, 3]}]
    assert last["leader"] in last["assignment"] and len(last["came"]) == 1


def test_rows_has_a_line_for_each_as_ever(capfd):
    rows = TwoMembers().ring.rows
    sink = LogSink("rows")
    for row in rows:
        sink.take(row)
    lines = capfd.readouterr().err.splitlines()
    assert sum(" -> " in line for line in lines) == sum(isinstance(row, MovedRow) for row in rows)


class Few(KeptRows):
    """Keeps rows like the log, which takes only those requests from which rebalances are computed."""

    routine = False
    apis = LogSink("text").apis


def test_a_log_alone_makes_no_rows_of_other_requests():
    few = Few()
    rig = WireRig.make(topics={"orders": 4}, sinks=[few])
    wire = rig.connect()
    wire.send(request(3, 7, MetadataRequest(topics=None, allow_auto_topic_creation=False), 1, "anna"))
    wire.send(request(11, 3, JoinGroupRequest(group_id="g", session_timeout_ms=6000, rebalance_timeout_ms=6000, member_id="",
                                              protocol_type="consumer", protocols=[]), 2, "anna"))  # fmt: skip
    assert [row.api_name for row in few.rows if isinstance(row, RequestRow)] == ["JoinGroup"]
    assert LogSink("rows").apis == frozenset()
