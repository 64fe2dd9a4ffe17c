"""Corner cases in which the audit rules about commits, leaving, names and retries could blame a correct client or miss a wrong one. `#
stop A` in an exchange stands for the row that says that A's process was asked to stop."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from audit_examples import GIVEN_AWAY, exchange_of
from wire_stage import WireStage

from groupmock.audit.auditor import audit
from groupmock.audit.commit_example import ALONE, GIVEN, HEADER
from groupmock.audit.rule import Rule
from groupmock.audit.verdicts import BROKEN, KEPT, NOT_EXERCISED, NOT_JUDGED
from groupmock.journal.rows import ASKED_TO_STOP, Row
from groupmock_clients.probe.verdicts.runner import play

SILENT = NOT_EXERCISED
COOPERATIVE = HEADER.replace('p("range", sub("$t1"))', 'p("cooperative-sticky", subscribed(3, ["$t1"]))')
LOADING = "!move_coordinator partition=hash($group, 50) loading_ms=20000\n"
SLOW = "!add_faults rules=[{when: {api: OffsetFetch}, do: {kind: delay, seconds: 1}}]\n"
FETCH = "A: OffsetFetch v7 require_stable=true topics=[want($t1, 0)] -> "
UNSTABLE = "!add_faults rules=[{when: {api: OffsetFetch}, do: {kind: error, code: UNSTABLE_OFFSET_COMMIT}}]\n"

CORNERS = {
    "19 a commit that crossed the answer": ("CLIENT-19", NOT_JUDGED, ALONE + """
A: OffsetCommit topics=[t($t1, o(0, 5))] -> 0
B: JoinGroup -> 79
B: JoinGroup -> sent
A: JoinGroup -> 0 generation_id=2 eventually
A: OffsetCommit generation_id_or_member_epoch=1 topics=[t($t1, o(0, 5))] -> 22
"""),
    "19 a generation that nobody was told": ("CLIENT-19", BROKEN, ALONE + """
pause 300
A: OffsetCommit generation_id_or_member_epoch=9 topics=[t($t1, o(0, 5))] -> 22
"""),
    "19 the answer waits at a node that is stalled": ("CLIENT-19", NOT_JUDGED, ALONE + """
!stall_node node=1 ms=1000
A: JoinGroup
A -> 0 generation_id=2 eventually
A: OffsetCommit generation_id_or_member_epoch=1 topics=[t($t1, o(0, 5))] -> 22
"""),
    "20 after a SyncGroup that failed": ("CLIENT-20", SILENT, HEADER + """
do completing1(A)
A: SyncGroup generation_id=0 -> 22
A: SyncGroup generation_id=1 protocol_name=roundrobin assignments=[] -> 23
pause 300
A: OffsetCommit topics=[t($t1, o(0, 5))] -> 27
"""),
    "21 after LeaveGroup it is nobody's": ("CLIENT-21", KEPT, ALONE + """
A: LeaveGroup -> 0
pause 300
A: OffsetCommit generation_id_or_member_epoch=-1 member_id="" topics=[t($t1, o(0, 5))] -> 0
"""),
    "21 expelled, and commits as nobody": ("CLIENT-21", BROKEN, "member A: session_timeout_ms=1000" + ALONE + """
pause 1500
A: Heartbeat -> 25
A: OffsetCommit generation_id_or_member_epoch=-1 member_id="" topics=[t($t1, o(0, 5))] -> 0
"""),
    "21 a generation without a member": ("CLIENT-21", BROKEN, ALONE + """
A: OffsetCommit member_id="" topics=[t($t1, o(0, 5))] -> 25
"""),
    "22 another offset": ("CLIENT-22", SILENT, ALONE + """
A: OffsetCommit generation_id_or_member_epoch=0 topics=[t($t1, o(0, 5))] -> 22
pause 300
A: OffsetCommit generation_id_or_member_epoch=0 topics=[t($t1, o(0, 6))] -> 22
"""),
    "23 twice at once is no loop": ("CLIENT-23", SILENT, ALONE + LOADING + 2 * f"{FETCH}14\n"),
    "23 several requests that wait are no retries": ("CLIENT-23", SILENT, ALONE + SLOW + LOADING
        + 6 * f"{FETCH.split(' ->')[0]}\n" + 6 * "A -> 14 eventually\n"),
    "24 by another connection of the process": ("CLIENT-24", KEPT, """
do stable1(A)
!unload_coordinator partition=hash($group, 50)
A: Heartbeat -> 16
pause 300
B: FindCoordinator client_id=A -> 15
A: Heartbeat -> 16
"""),
    "24 it has a connection that swallows what it asks": ("CLIENT-24", NOT_JUDGED, """
do stable1(A)
!unload_coordinator partition=hash($group, 50)
!add_faults rules=[{when: {api: FindCoordinator}, do: {kind: drop}}]
B: FindCoordinator client_id=A
A: FindCoordinator client_id=A
pause 100
A drops
A: Heartbeat -> 16
pause 300
A: Heartbeat -> 16
"""),
    "24 it had asked already when the answer came": ("CLIENT-24", KEPT, """
do stable1(A)
!unload_coordinator partition=hash($group, 50)
!add_faults rules=[{when: {api: Heartbeat}, do: {kind: delay, seconds: 1}, times: 1}]
A: Heartbeat
B: FindCoordinator client_id=A -> 15
A -> 16 eventually
pause 300
A: Heartbeat -> 16
"""),
    "27 asked to stop, and just went": ("CLIENT-27", BROKEN, "do stable1(A)\npause 1 # stop A\nA drops\npause 1"),
    "27 asked to stop, and left": ("CLIENT-27", KEPT, "do stable1(A)\npause 1 # stop A\nA: LeaveGroup -> 0\nA drops"),
    "27 went, nobody says that it was asked to": ("CLIENT-27", SILENT, "do stable1(A)\nA drops"),
    "27 another one was asked": ("CLIENT-27", SILENT, "do stable1(A)\npause 1 # stop B\nA drops"),
    "27 its coordinator is gone": ("CLIENT-27", SILENT, """
do stable1(A)
!unload_coordinator partition=hash($group, 50)
A: Heartbeat -> 16
pause 1 # stop A
A drops
"""),
    "27 its request waits behind another one": ("CLIENT-27", SILENT, "do preparing2(A, B)\npause 1 # stop B\nB: LeaveGroup\nB drops"),
    "27 two processes with that name": ("CLIENT-27", SILENT, """
member *: client_id=twin
do stable2(A, B)
pause 1 # stop twin
A drops
"""),
    "27 a static member": ("CLIENT-27", SILENT, "member A: group_instance_id=a\ndo static_stable1(A)\npause 1 # stop A\nA drops"),
    "28 an administrator removes it": ("CLIENT-28", SILENT, """
member A: group_instance_id=a
do static_stable1(A)
O: LeaveGroup members=[who("", a)] -> 0
"""),
    "29 a version without room for it": ("CLIENT-29", NOT_JUDGED, """
member A: group_instance_id=a
do static_stable1(A)
pause 300
A: Heartbeat v2 -> 0
"""),
    "44 an administrator looks": ("CLIENT-44", SILENT, ALONE + "O: OffsetFetch v7 topics=[want($t1, 0)] -> 0"),
    "44 unstable, again and again at once": ("CLIENT-44", BROKEN, ALONE + UNSTABLE + 4 * f"{FETCH}88\n"),
    "44 unstable, with a pause": ("CLIENT-44", KEPT, ALONE + UNSTABLE + 4 * f"{FETCH}88\npause 100\n"),
    "63 it never asked": ("CLIENT-63", SILENT, 'A: frame i16(10) i16(99) i32(7) str("x") -> closed'),
    "63 ApiVersions is tried from the top": ("CLIENT-63", SILENT, 'A: frame i16(18) i16(99) i32(7) str("x") i8(0) -> any'),
    "64 255 characters": ("CLIENT-64", KEPT, f'A: JoinGroup reason="{"x" * 255}" -> 79'),
    "64 one more": ("CLIENT-64", BROKEN, f'A: JoinGroup reason="{"x" * 256}" -> 79'),
    "67 taken away by this assignment, cooperative": ("CLIENT-67", KEPT, COOPERATIVE + "do completing1(A)" + GIVEN + """
A: JoinGroup protocols=[p("cooperative-sticky", subscribed(3, ["$t1"], 1, held("$t1", 0)))] -> 0 generation_id=2 eventually
A: SyncGroup assignments=[for($A.member_id, told())] -> 0
pause 300
A: OffsetCommit topics=[t($t1, o(0, 5))] -> 0
"""),
    "67 taken away by this assignment, eager": ("CLIENT-67", BROKEN, ALONE + """
A: JoinGroup -> 0 generation_id=2 eventually
A: SyncGroup assignments=[for($A.member_id, told())] -> 0
pause 300
A: OffsetCommit topics=[t($t1, o(0, 5))] -> 0
"""),
    "67 taken away, kept perhaps in the data of an unknown assignor": ("CLIENT-67", KEPT,
        ALONE.replace('p("range", sub("$t1"))', 'p("my-own", join(i16(0), i32(1), str("$t1"), i32(1), i8(7)))') + """
A: JoinGroup -> 0 generation_id=2 eventually
A: SyncGroup assignments=[for($A.member_id, told())] -> 0
pause 300
A: OffsetCommit topics=[t($t1, o(0, 5))] -> 0
"""),
    "67 given to another member, by an assignor that nobody knows": ("CLIENT-67", BROKEN, GIVEN_AWAY.format(pause="pause 300")),
    "67 given to another member, and it may not have heard so": ("CLIENT-67", NOT_JUDGED, GIVEN_AWAY.format(pause="")),
    "67 an assignment that cannot be read": ("CLIENT-67", SILENT, HEADER + """
do completing1(A)
A: SyncGroup assignments=[for($A.member_id, b"x")] -> 0
pause 300
A: OffsetCommit topics=[t($t1, o(0, 5))] -> 0
"""),
    "68 errors that do not pass": ("CLIENT-68", SILENT, "do stable1(A)\n" + 5 * "A: Heartbeat generation_id=9 -> 22\n"),
}  # fmt: skip


class Stopping(WireStage):
    stops: Iterator[str]

    def pause(self, ms: float) -> None:
        super().pause(ms)
        name = next(self.stops)
        if name:
            self.rig.driver.record.client(name, ASKED_TO_STOP, {}, self.rig.clock.now())


def rows_of(text: str) -> list[Row]:
    example = type("Corner", (Rule,), {"code": "CORNER-1", "title": "a corner", "kept": text, "broken": text})
    exchange = exchange_of(example, "kept")
    stage = Stopping(exchange.wanted_settings)
    stage.stops = iter([line.partition("# stop ")[2] for line in text.splitlines() if line.startswith("pause")])
    outcome = play(next(exchange.variants()), stage)
    assert outcome.verdict == "kept", str(outcome)
    stage.rig.close()
    return stage.kept.rows


@pytest.mark.parametrize(("code", "verdict", "text"), CORNERS.values(), ids=CORNERS)
def test_corner(code: str, verdict: str, text: str) -> None:
    found = audit(rows_of(text), [code])
    assert found.rules[code].verdict == verdict, [each.sentence for each in found.findings]
