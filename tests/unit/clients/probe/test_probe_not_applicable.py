"""Rules are not applicable if a broker lacks an optional version or API, and broken if the API is required."""

from __future__ import annotations

from pathlib import Path

from cases import for_each

from groupmock_clients.probe.language.exchange import Variant
from groupmock_clients.probe.language.exchange_suite import load_suite
from groupmock_clients.probe.language.messages import KEYS
from groupmock_clients.probe.language.parser import load
from groupmock_clients.probe.stages.release import offered_by
from groupmock_clients.probe.verdicts.not_applicable import not_offered, reasons
from groupmock_codec.declare import Versions

SUITE = load_suite()


def variant(tmp_path: Path, steps: str) -> Variant:
    file = tmp_path / "one.exchange"
    file.write_text('exchange X "t"\nrows: R\n' + steps)
    return next(iter(load([file])[0].variants()))


@for_each(
    ("steps", "missing", "expected"),
    [
        ("A: Heartbeat -> 0\n", {}, None),
        ("A: Heartbeat v4 -> 0\n", {12: Versions(0, 3)}, ("Heartbeat v4 is not advertised (0-3 is: clients use what both sides", True)),
        ("A: JoinGroup v9 -> 0\n", {}, None),
        ("A: JoinGroup v10 -> 0\n", {}, ("JoinGroup v10: 4.3 has 0-9", True)),
        ("A: Heartbeat -> 0\n", {12: None}, ("Heartbeat is not advertised", False)),
        ("A: DeleteGroups -> 0\n", {42: None}, ("DeleteGroups is not advertised (an administrator's tool", True)),
        # DescribeGroups is only an optional look at the group, so the dialogue goes on without it.
        ("A: DescribeGroups -> group_state=Dead\n", {15: None}, None),
        ("A: DescribeGroups v5 -> group_state=Dead\n", {15: None}, ("DescribeGroups is not advertised (only looks on", True)),
    ],
)
def test_what_a_dialogue_lacks(tmp_path: Path, steps: str, missing: dict[int, Versions | None], expected: tuple[str, bool] | None) -> None:
    offered = {**offered_by("4.3"), **missing}
    found = not_offered(variant(tmp_path, steps), "4.3", offered.get)
    if expected is None:
        assert found is None
    else:
        assert found is not None and found[0].startswith(expected[0]) and found[1] is expected[1]


def test_the_list_names_apis_that_exist_and_says_why() -> None:
    apis = reasons()["apis"]
    assert set(apis) <= set(KEYS)
    assert all(len(reason) > 20 for reason in apis.values())


@for_each("api", ["JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup", "OffsetCommit", "OffsetFetch", "FindCoordinator", "Metadata"])
def test_what_members_live_on_may_not_be_missing(api: str) -> None:
    assert api not in reasons()["apis"]


def test_every_row_says_what_why_and_where_from() -> None:
    assert [row.name for row in SUITE.rows.values() if not (row.says and row.why and row.kip and row.place)] == []


def test_all_server_assertions_are_rows() -> None:
    assert [f"SERVER-{number:02}" for number in range(1, 77) if f"SERVER-{number:02}" not in SUITE.rows] == []
