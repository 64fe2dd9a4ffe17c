"""The audit judges members of streams groups (KIP-1071), and blames nothing that stock Kafka Streams does."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any, Final

import pytest
from audit_examples import exchange_named
from audit_pen import AuditPen
from cases import for_each
from wire_stage import WireStage

from groupmock.audit.auditor import audit
from groupmock.audit.streams_example import DEALT, FENCED, HEADER, JOINED, JOINS, NOTHING
from groupmock.audit.verdicts import BROKEN, KEPT, NOT_EXERCISED
from groupmock_clients.probe.verdicts.runner import play
from groupmock_codec.api_keys import STREAMS_GROUP_HEARTBEAT
from groupmock_codec.units import NS_PER_S

SESSIONS: Final[dict[str, list[dict[str, Any]]]] = json.loads(
    gzip.decompress((Path(__file__).resolve().parents[1] / "data" / "streams_sessions.json.gz").read_bytes())
)["sessions"]
LOOKED_AT: Final = {
    "at_least_once": {"CLIENT-44", "CLIENT-51", "CLIENT-52", "CLIENT-56", "CLIENT-57"},
    "exactly_once_v2": {"CLIENT-44", "CLIENT-51", "CLIENT-52", "CLIENT-56", "CLIENT-57"},
    "static_endpoints_errors": {"CLIENT-44", "CLIENT-51", "CLIENT-52"},
}
"""Maps a session to the rules about members with epochs that had something to judge. Static members may leave with either epoch."""
BEAT: Final = "A: StreamsGroupHeartbeat v0 member_id=a member_epoch"
HELD: Final = 'active_tasks=[{subtopology_id: "0", partitions: [0]}] standby_tasks=[] warmup_tasks=[]'
AT_ONCE: Final = JOINED.replace("pause 300", "") + f"{BEAT}=$epoch -> 0\n"
OWNS: Final = f"{BEAT}=$epoch {NOTHING} -> 0 member_epoch=?epoch\n"
COMMITS: Final = "A: OffsetCommit v%d member_id=a generation_id_or_member_epoch=%s topics=[t($t1, o(0, 5))] -> %d\n"
CORNERS: Final = {
    "51 it goes back": ("CLIENT-51", BROKEN,
        f"{JOINED}pause 3000\n{BEAT}=$epoch -> 0 member_epoch=?now\npause 300\n{BEAT}=$now -> 0\n{BEAT}=$epoch -> any\n"),
    "52 it says at once what it owns": ("CLIENT-52", NOT_EXERCISED, f"{AT_ONCE.replace('=$epoch', f'=$epoch {NOTHING}')}"),
    "52 it says twice what it owns": ("CLIENT-52", NOT_EXERCISED, f"{JOINED}{OWNS}pause 100\n{OWNS}"),
    "52 it repeats itself": ("CLIENT-52", BROKEN, f"{AT_ONCE}{BEAT}=$epoch -> 0\n"),
    "55 it joins with what it had": ("CLIENT-55", BROKEN, f"{JOINED}{FENCED}{JOINS.replace(NOTHING, HELD)} -> 42\n"),
    "55 it joins without lists": ("CLIENT-55", BROKEN, f"{JOINED}{FENCED}{JOINS.replace(NOTHING, '')} -> 42\n"),
    "57 it commits without its epoch's version": ("CLIENT-57", BROKEN, JOINED + COMMITS % (8, "$epoch", 35)),
    "67 it commits before it has a task": ("CLIENT-67", BROKEN, JOINED + COMMITS % (9, "$epoch", 0)),
    "67 it commits for a task that it has": ("CLIENT-67", KEPT, DEALT + COMMITS % (9, "$now", 0)),
    "67 it commits in another epoch": ("CLIENT-67", NOT_EXERCISED, DEALT + COMMITS % (9, 99, 113)),
    "56 it leaves": ("CLIENT-56", KEPT, f"{JOINED}{BEAT}=-1 -> 0\n"),
}  # fmt: skip


@for_each("corner", CORNERS)
def test_corners_of_streams_groups(corner: str) -> None:
    code, verdict, body = CORNERS[corner]
    exchange = exchange_named(f"{code}.corner", HEADER + body)
    stage = WireStage(exchange.wanted_settings)
    outcome = play(next(exchange.variants()), stage)
    stage.rig.close()
    assert outcome.verdict == "kept", outcome
    assert audit(stage.kept.rows, [code]).rules[code].verdict == verdict


def recorded(session: str, epoch: int = 0) -> AuditPen:
    """Write the journal of a recorded session. `epoch` is added to the epoch of each heartbeat that says what its member owns, except of
    joins."""
    pen, lines = AuditPen(), {}
    for each in SESSIONS[session]:
        pen.t = max(pen.t, int(each["t"] * NS_PER_S))
        asked = dict(each["request"])
        joins = each["key"] == STREAMS_GROUP_HEARTBEAT and asked["member_epoch"] == 0
        if each["who"] not in lines or joins:  # A member that joins is a new process.
            lines[each["who"]] = pen.connect(each["who"])
        if each["key"] == STREAMS_GROUP_HEARTBEAT and asked["member_epoch"] > 0 and asked["active_tasks"] is not None:
            asked["member_epoch"] += epoch
        lines[each["who"]].told(lines[each["who"]].asks(each["key"], **asked), **each["answer"])
    return pen


@pytest.mark.parametrize("session", SESSIONS)
def test_stock_kafka_streams_is_not_blamed(session: str) -> None:
    found = audit(recorded(session).rows)
    assert [str(finding) for finding in found.findings] == []
    assert {tally.crashed for tally in found.rules.values()} == {None}
    kept = {code for code, tally in found.rules.items() if tally.verdict == KEPT}
    assert kept & {"CLIENT-44", "CLIENT-67", *(f"CLIENT-{number}" for number in range(49, 58))} == LOOKED_AT[session]


@pytest.mark.parametrize("session", SESSIONS)
def test_the_same_session_with_wrong_epochs_is_blamed(session: str) -> None:
    assert audit(recorded(session, epoch=1).rows).rules["CLIENT-51"].verdict == BROKEN
