"""Runs small pytest suites with the plug-in, each in a process of its own."""

from __future__ import annotations

import json
import re
from base64 import b64decode
from html import unescape
from pathlib import Path

import pytest

PRODUCES = """
from __future__ import annotations

def test_produces(groupmock):
    groupmock.create_topic("orders", 2)
    assert groupmock.produce("orders", b"v", key=b"k", partition=1, headers=[("h", b"x")]) == 0
    (record,) = groupmock.records("orders")
    assert (record.partition, record.offset, record.key, record.value, record.headers) == (1, 0, b"k", b"v", [("h", b"x")])
"""


def test_the_typed_suite_passes(pytester: pytest.Pytester) -> None:
    """`make types` checks the same file with mypy --strict."""
    pytester.makepyfile((Path(__file__).parent / "users_suite.py").read_text())
    pytester.runpytest_subprocess("--strict-markers").assert_outcomes(passed=5)


def test_function_fixture_serves(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(PRODUCES)
    pytester.runpytest_subprocess().assert_outcomes(passed=1)


def test_each_test_has_a_cluster_of_its_own(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.parametrize("turn", [1, 2])
        def test_nothing_is_left(groupmock, turn):
            groupmock.create_topic("orders", 2)
        """
    )
    pytester.runpytest_subprocess().assert_outcomes(passed=2)


def test_config_fixture_and_marker_choose_what_is_started(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest

        @pytest.fixture(scope="session")
        def groupmock_config():
            return {"topics": {"orders": 12}, "nodes": 2}

        def test_config(groupmock):
            assert len(groupmock.bootstrap.split(",")) == 2

        @pytest.mark.groupmock(seed=7, nodes=1)
        def test_marker(groupmock):
            assert groupmock.seed == 7
            assert len(groupmock.bootstrap.split(",")) == 1
        """
    )
    pytester.runpytest_subprocess("--strict-markers").assert_outcomes(passed=2)


def test_unknown_marker_argument_is_named(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.groupmock(seeed=7)
        def test_marker(groupmock):
            pass
        """
    )
    result = pytester.runpytest_subprocess()
    result.assert_outcomes(errors=1)
    takes = "plan, must_fire, audit, audit_waivers, seed, seed_data, topics, nodes, first_node_id, profile, settings, clear"
    result.stdout.fnmatch_lines([f"*@pytest.mark.groupmock takes {takes} by name, not seeed*"])


SHARED = """
import asyncio
import pytest

SEEN = []

@pytest.fixture(scope="session")
def groupmock_config():
    return {"topics": {"orders": 2}}

def test_first(groupmock_server):
    groupmock_server.produce("orders", "left")
    groupmock_server.produce("more", "left")
    groupmock_server.add_fault({"api": "Heartbeat"}, "drop")
    SEEN.append(groupmock_server.bootstrap)

def test_that_does_not_use_it():
    pass

def test_second_finds_what_the_start_made(groupmock_server):
    assert groupmock_server.bootstrap == SEEN[0]
    assert (groupmock_server.records("orders"), groupmock_server.faults) == ([], [])
    with pytest.raises(LookupError):
        groupmock_server.records("more")
    groupmock_server.produce("orders", "left")

@pytest.mark.groupmock(clear=False)
def test_third_goes_on(groupmock_server_async):
    async def main():
        assert [record.value for record in await groupmock_server_async.records("orders")] == [b"left"]
        await groupmock_server_async.clear()
        assert await groupmock_server_async.records("orders") == []
        assert groupmock_server_async.bootstrap == SEEN[0]
    asyncio.run(main())
"""


def test_the_shared_cluster_is_cleared_between_tests_unless_the_marker_says_no(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(SHARED)
    pytester.runpytest_subprocess("--strict-markers").assert_outcomes(passed=4)


def test_the_configuration_keeps_the_shared_cluster_as_it_is(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\ngroupmock_server_clear = false\n")
    pytester.makepyfile(SHARED)
    result = pytester.runpytest_subprocess()
    result.assert_outcomes(passed=3, failed=1)
    result.stdout.fnmatch_lines(["FAILED *test_second_finds_what_the_start_made*"])


SHARED_FAILS = """
import pytest

from groupmock.rig.wire import Client
from groupmock_codec.messages.k11_join_group import JoinGroupRequest, JoinGroupRequestProtocol

@pytest.fixture
def late(groupmock_server):
    yield
    assert groupmock_server.groups == {}, "somebody is left"

def join(server):
    host, port = server.bootstrap.split(":")
    with Client(host, int(port), "anna") as client:
        join = JoinGroupRequest(
            group_id="kitchen", session_timeout_ms=6000, rebalance_timeout_ms=6000, protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name="range", metadata=b"")],
        )
        assert client.ask(11, 5, join).error_code == 79

def test_good(groupmock_server):
    groupmock_server.create_topic("orders")

def test_bad(groupmock_server):
    join(groupmock_server)
    assert 1 == 2

def test_good_again(groupmock_server):
    groupmock_server.create_topic("orders")

def test_bad_late(late, groupmock_server):
    join(groupmock_server)

def test_good_last(groupmock_server):
    assert groupmock_server.groups == {}
"""


def test_a_failed_test_of_the_shared_cluster_shows_its_story_and_keeps_its_journal(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(SHARED_FAILS)
    result = pytester.runpytest_subprocess("--groupmock-journal", "kept/here", "-W", "ignore")
    result.assert_outcomes(passed=4, failed=1, errors=1)
    result.stdout.fnmatch_lines(
        ["kitchen*", "*anna*", "seed * · journal: kept/here/*test_bad_late*.jsonl *", 'repeat with "seed": * in groupmock_config']
    )
    result.stdout.fnmatch_lines(["kitchen*", "*anna*", "seed * · journal: kept/here/*test_bad.*jsonl *"])
    kept = sorted(Path(pytester.path, "kept", "here").iterdir())
    # pytest-xdist adds the worker's name before the suffix, so compare only the part up to the first dot.
    assert [file.name.rpartition("test_")[2].partition(".")[0] for file in kept] == ["bad", "bad_late"]
    for file in kept:
        assert file.read_text().count('"what":"reserved"') == 1


def test_a_journal_that_the_settings_name_is_nobody_elses(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest

        @pytest.fixture(scope="session")
        def groupmock_config():
            return {"journal": "mine.jsonl"}

        def test_shared(groupmock_server):
            groupmock_server.create_topic("orders")

        def test_shared_again(groupmock_server):
            groupmock_server.create_topic("orders")
        """
    )
    pytester.runpytest_subprocess("--groupmock-journal", "kept").assert_outcomes(passed=2)
    assert sorted(file.name for file in pytester.path.glob("mine*")) == ["mine.jsonl", "mine.jsonl.1"]


def test_a_client_of_the_shared_cluster_that_breaks_a_rule_fails_that_test_alone(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        WRONG_CLIENT
        + """
@pytest.fixture(scope="session")
def groupmock_config():
    return {"settings": {"group.initial.rebalance.delay.ms": 0}, "audit": True}

def test_wrong(groupmock_server):
    wrong(groupmock_server.bootstrap)

@pytest.mark.groupmock(clear=False)
def test_right(groupmock_server):
    groupmock_server.create_topic("orders")

def test_right_too(groupmock_server):
    groupmock_server.create_topic("orders")
"""
    )
    result = pytester.runpytest_subprocess()
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["*BROKEN CLIENT-05: wrong-app#* joined generation 1 and sent a SyncGroup for generation 7"])


ASYNC = """
import asyncio

def test_async(groupmock_async):
    async def main():
        await groupmock_async.create_topic("orders", 1)
        assert await groupmock_async.produce("orders", b"v") == 0
        assert [record.value for record in await groupmock_async.records("orders")] == [b"v"]
    asyncio.run(main())
"""


def test_async_fixture_needs_no_pytest_asyncio(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(ASYNC)
    pytester.runpytest_subprocess("-p", "no:asyncio", "-p", "no:pytest_asyncio").assert_outcomes(passed=1)


def test_failure_shows_the_seed_and_the_story(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        def test_fails(groupmock):
            groupmock.create_topic("orders", 2)
            from kafka import KafkaConsumer
            consumer = KafkaConsumer("orders", group_id="billing", bootstrap_servers=groupmock.bootstrap)
            try:
                consumer.poll(timeout_ms=5000)
                groupmock.wait_for("billing", state="Stable", members=2, timeout=0.2)
            finally:
                consumer.close()
        """
    )
    result = pytester.runpytest_subprocess("-W", "ignore")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "*GroupTimeout: group 'billing' did not reach state Stable, members 2 within 0.2 s: it is *",
            "*- groupmock -*",
            "billing: Empty, generation 2, *",
            "*gets orders/0-1 (new)*",
            "*repeat with @pytest.mark.groupmock(seed=*",
        ]
    )
    result.stdout.fnmatch_lines([">*groupmock.wait_for(*", "E*GroupTimeout*", "test_failure_shows_the_seed_and_the_story.py:*"])
    for ours in ("*inprocess/*.py*", "*concurrent/futures*"):
        result.stdout.no_fnmatch_line(ours)


def test_only_journals_of_failed_tests_are_kept(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        def test_good(groupmock):
            groupmock.create_topic("orders", 1)

        def test_bad(groupmock):
            groupmock.create_topic("orders", 1)
            assert False
        """
    )
    pytester.runpytest_subprocess("--groupmock-journal", "kept").assert_outcomes(passed=1, failed=1)
    (kept,) = Path(pytester.path, "kept").iterdir()
    assert "test_bad" in kept.name
    assert json.loads(kept.read_text().splitlines()[0])["v"] == 1


TWO = """
import pytest

def test_one(groupmock):
    assert groupmock.seed == 7 and len(groupmock.bootstrap.split(",")) == 2

@pytest.mark.groupmock(seed=8)
def test_two(groupmock):
    assert groupmock.seed == 8
"""


@pytest.mark.parametrize(
    ("journal", "options", "names"),
    [
        ("runs/", (), ["7.jsonl", "8.jsonl"]),
        ("runs/one.jsonl", (), ["one.jsonl", "one.jsonl.1"]),
        ("runs/one.jsonl", ("-n", "1"), ["one.gw0.jsonl", "one.gw0.jsonl.1"]),
        ("ignored.jsonl", ("--groupmock-journal", "runs"), []),
    ],
)
def test_the_fixtures_obey_the_environment(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, journal: str, options: tuple[str, ...], names: list[str]
) -> None:
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)  # Remove the variable that the pytest-xdist run around this test has set.
    monkeypatch.setenv("GROUPMOCK_JOURNAL", journal)
    monkeypatch.setenv("GROUPMOCK_SEED", "7")
    monkeypatch.setenv("GROUPMOCK_NODES", "2")
    pytester.makepyfile(TWO)
    pytester.runpytest_subprocess(*options).assert_outcomes(passed=2)
    folder = Path(pytester.path, "runs")
    assert sorted(file.name for file in folder.iterdir()) == names
    assert {json.loads(file.read_text().partition("\n")[0])["seed"] for file in folder.iterdir()} == ({7, 8} if names else set())


AUDITED = """
def test_audited(groupmock):
    assert groupmock.audited
"""


def test_the_environment_goes_before_the_configuration_file(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    pytester.makepyfile(AUDITED)
    pytester.makeini("[pytest]\ngroupmock_audit = true\ngroupmock_waivers = none.toml\n")
    Path(pytester.path, "none.toml").write_text("")
    pytester.runpytest_subprocess().assert_outcomes(passed=1)
    monkeypatch.setenv("GROUPMOCK_AUDIT", "false")
    pytester.runpytest_subprocess().assert_outcomes(failed=1)


def test_every_xdist_worker_has_a_server(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.parametrize("turn", range(4))
        def test_worker(groupmock_server, turn):
            groupmock_server.create_topic(f"orders-{turn}", 1)
        """
    )
    pytester.runpytest_subprocess("-n", "2", "--groupmock-journal", "kept").assert_outcomes(passed=4)


def test_suites_that_do_not_use_it_never_load_the_product(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import sys

        def test_nothing_loaded():
            assert not [name for name in sys.modules if name.split(".")[0] in ("groupmock", "groupmock_codec", "uvloop", "msgspec")]
        """
    )
    pytester.runpytest_subprocess().assert_outcomes(passed=1)


def test_a_fault_for_a_block_must_fire(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        from kafka import KafkaConsumer
        from groupmock import FaultNeverFired
        import pytest

        WHEN = {"api": "SyncGroup", "group": "kitchen"}

        def test_it_fires(groupmock):
            groupmock.create_topic("orders")
            groupmock.produce("orders", b"x")
            with groupmock.fault(WHEN, {"kind": "error", "code": "REBALANCE_IN_PROGRESS"}, times=1) as fault:
                cook = KafkaConsumer("orders", bootstrap_servers=groupmock.bootstrap, group_id="kitchen", auto_offset_reset="earliest")
                assert next(cook).value == b"x"
                assert fault.fired == 1
            cook.close()
            assert groupmock.faults == []

        def test_it_does_not(groupmock):
            with groupmock.fault(WHEN, "drop", name="lost"):
                pass

        def test_it_need_not(groupmock):
            with groupmock.fault(WHEN, "drop", must_fire=False):
                pass

        def test_another_failure_is_not_hidden(groupmock):
            with pytest.raises(ZeroDivisionError):
                with groupmock.fault(WHEN, "drop"):
                    1 / 0

        @pytest.mark.asyncio
        async def test_asyncio_too(groupmock_async):
            with pytest.raises(FaultNeverFired):
                async with groupmock_async.fault(WHEN, "drop"):
                    pass
        """
    )
    result = pytester.runpytest_subprocess("-W", "ignore::ResourceWarning")
    result.assert_outcomes(passed=4, failed=1)
    result.stdout.fnmatch_lines(['*FaultNeverFired: rule "lost" never fired: no call came at its stage'])


WAITS_IN_VAIN = """
from groupmock import Broker

def test_own_cluster(groupmock):
    groupmock.hold("kitchen", "Empty")
    groupmock.wait_for("kitchen", state="Stable", timeout=0)

def test_another_cluster(groupmock):
    with Broker() as broker:
        broker.hold("kitchen", "Empty")
        broker.wait_for("kitchen", state="Stable", timeout=0)

def test_causes_in_a_circle(groupmock):
    one, two = ValueError("one"), ValueError("two")
    two.__cause__ = one
    raise one from two
"""


def test_the_story_of_a_group_timeout_is_told_once(pytester: pytest.Pytester) -> None:
    """The report prints the story of a fixture's cluster in its own section, and for other clusters only the exception contains the
    story."""
    pytester.makepyfile(WAITS_IN_VAIN)
    result = pytester.runpytest_subprocess()
    result.assert_outcomes(failed=3)
    # pytest does not shorten exception texts when the variable CI is set, so search only the part before the summary.
    failures = result.stdout.str().partition("= short test summary info =")[0]
    own, another = failures.partition("_ test_another_cluster _")[::2]
    ordered = "ordered by the test: hold_group state=Empty"
    assert own.count(ordered) == 1
    assert another.count(ordered) == 1 and "did not reach state Stable" in own


STOPS = """
import pytest

def test_fails(groupmock):
    groupmock.stop()
    assert 0

def test_passes(groupmock):
    groupmock.stop()

def test_skips(groupmock):
    groupmock.stop()
    pytest.skip("enough")
"""


def test_a_test_may_stop_its_cluster(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(STOPS)
    result = pytester.runpytest_subprocess()
    result.assert_outcomes(failed=1, passed=1, skipped=1)
    result.stdout.fnmatch_lines(["*- groupmock -*", "the test stopped this cluster, and its story went with it"])


FAILS_IN_FOUR_WAYS = """
import pytest

def test_fails(groupmock):
    print("captured output")
    assert groupmock.bootstrap is None

def test_fails_without_traceback(groupmock):
    print("captured output")
    pytest.fail("the cook is late", pytrace=False)

@pytest.mark.xfail(strict=True, reason="it cannot pass")
def test_passes_against_expectation(groupmock):
    print("captured output")

@pytest.fixture
def fails_too(groupmock):
    assert groupmock.bootstrap is None

def test_is_not_reached(fails_too):
    pass
"""


@pytest.mark.parametrize("options", [["--tb=long"], ["--tb=short", "--show-capture=no"], ["--tb=native", "-n1"]])
def test_the_story_stands_directly_below_the_failure(pytester: pytest.Pytester, options: list[str]) -> None:
    pytester.makepyfile(FAILS_IN_FOUR_WAYS)
    result = pytester.runpytest_subprocess(*options)
    result.assert_outcomes(failed=3, errors=1)
    names = "test_fails|test_fails_without_traceback|test_passes_against_expectation|ERROR at setup of test_is_not_reached"
    parts = re.split(rf"^_+ (?:{names}) _+$", result.stdout.str(), flags=re.MULTILINE)
    assert len(parts) == 5
    for part in parts[1:]:
        assert re.search(r"^-+ groupmock -+\nno client has connected\nseed \d+$", part, flags=re.MULTILINE), part
        assert "captured output" not in part.partition("- groupmock -")[0].replace('print("captured output")', ""), part


def test_the_tests_of_the_page_pass(pytester: pytest.Pytester) -> None:
    """The test files on docs/how-to/faults.md run unchanged."""
    page = (Path(__file__).resolve().parents[2] / "docs" / "how-to" / "faults.md").read_text()
    blocks = [each.partition("```")[0] for each in page.split("```python\n")[1:]]
    for block in blocks:
        pytester.path.joinpath(block.partition("\n")[0].removeprefix("# ")).write_text(block)
    tests = sum(block.count("\ndef test_") for block in blocks)
    assert tests > 2
    pytester.runpytest_subprocess("-W", "ignore::ResourceWarning", "--strict-markers").assert_outcomes(passed=tests)


def test_a_plan_of_the_marker_must_fire(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.groupmock(plan="lost-sync", seed=3)
        def test_nobody_comes(groupmock):
            assert groupmock.seed == 3
            assert [report.name for report in groupmock.faults] == ["lost-sync"]

        @pytest.mark.groupmock(plan="lost-sync", must_fire=False)
        def test_nobody_needs_to(groupmock):
            pass

        @pytest.mark.groupmock(plan={"seed": 9, "rule": [{"do": {"kind": "refuse"}}]}, must_fire=False)
        def test_a_plan_as_data_with_a_seed(groupmock):
            assert groupmock.seed == 9

        @pytest.mark.groupmock(plan="no-such-plan")
        def test_never_starts(groupmock):
            pass
        """
    )
    result = pytester.runpytest_subprocess()
    result.assert_outcomes(passed=2, failed=1, errors=1)
    result.stdout.fnmatch_lines(['rule "lost-sync" never fired: no call came at its stage (must_fire=False in the marker allows it)'])
    result.stdout.fnmatch_lines(["*BadPlan: cannot read the plan no-such-plan: No such file or directory (ready plans: *lost-sync*"])


STEERS = """
from __future__ import annotations

import asyncio
import pytest
from kafka import KafkaConsumer


def test_blocking(groupmock):
    groupmock.create_topic("orders", 2)
    with groupmock.hold("kitchen", "Empty"):
        assert groupmock.groups == {}
    cook = KafkaConsumer("orders", bootstrap_servers=groupmock.bootstrap, group_id="kitchen", client_id="anna")
    cook.poll(timeout_ms=5000)
    before = groupmock.wait_for("kitchen", state="Stable", members=1)
    groupmock.expire("kitchen", "anna")
    assert groupmock.groups["kitchen"].members == []
    groupmock.step(1)
    while groupmock.groups["kitchen"].state != "Stable":
        cook.poll(timeout_ms=100)
    assert groupmock.groups["kitchen"].generation > before.generation
    cook.close()


def test_coroutines(groupmock_async):
    async def main():
        async with await groupmock_async.hold("kitchen", "Stable"), await groupmock_async.stall_node(1):
            await groupmock_async.step(45)
        with pytest.raises(ValueError, match="no group 'kitchen'"):
            await groupmock_async.expire("kitchen", "anna")

    asyncio.run(main())
"""


def test_fixtures_steer(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(STEERS)
    pytester.runpytest_subprocess().assert_outcomes(passed=2)


WRONG_CLIENT = """
import pytest

from groupmock.rig.wire import Client
from groupmock_codec.messages.k11_join_group import JoinGroupRequest, JoinGroupRequestProtocol
from groupmock_codec.messages.k14_sync_group import SyncGroupRequest, SyncGroupRequestAssignment


def wrong(bootstrap, group="billing"):
    host, port = bootstrap.split(":")
    with Client(host, int(port), "wrong-app") as client:
        join = JoinGroupRequest(
            group_id=group, session_timeout_ms=6000, rebalance_timeout_ms=6000, protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name="range", metadata=bytes(10))],
        )
        join.member_id = client.ask(11, 5, join).member_id
        member = client.ask(11, 5, join)
        told = [SyncGroupRequestAssignment(member_id=member.member_id, assignment=b"")]
        sync = SyncGroupRequest(group_id=group, generation_id=7, member_id=member.member_id, assignments=told)
        assert client.ask(14, 3, sync).error_code == 22
"""
WAIVERS = """
[[waiver]]
rule = "CLIENT-05"
reason = "TEAM-412"
until = 2999-12-31
"""


def test_a_client_that_breaks_a_rule_fails_the_test(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        WRONG_CLIENT
        + """
SETTINGS = {"group.initial.rebalance.delay.ms": 0}

@pytest.mark.groupmock(audit=True, settings=SETTINGS)
def test_audited(groupmock):
    wrong(groupmock.bootstrap)
    assert groupmock.audit().rules["CLIENT-05"].broken == 1

@pytest.mark.groupmock(settings=SETTINGS)
def test_not_audited(groupmock):
    wrong(groupmock.bootstrap)

@pytest.mark.groupmock(audit=True, settings=SETTINGS)
def test_fails_by_itself(groupmock):
    wrong(groupmock.bootstrap)
    assert 1 == 2
"""
    )
    result = pytester.runpytest_subprocess("--groupmock-journal", "kept")
    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(
        [
            "*a client broke a rule of the group protocol (audit=False in the marker allows it)",
            "*BROKEN CLIENT-05: wrong-app#* joined generation 1 and sent a SyncGroup for generation 7",
            "*right: a SyncGroup with generation_id 1 and the member id of the JoinGroup answer",
            "*client: an unknown client library, once: wrong-app#*",
            "*where: group billing, *, row * of kept/*test_audited*.jsonl",
        ]
    )
    result.stdout.fnmatch_lines(["*assert 1 == 2", "*groupmock audit*", "*BROKEN CLIENT-05: *"])


def test_a_shared_cluster_fails_only_the_test_whose_clients_broke_the_rule(pytester: pytest.Pytester) -> None:
    """A test of a cluster that is not cleared fails for what was found since the test before it."""
    pytester.makepyfile(
        WRONG_CLIENT
        + """
@pytest.fixture(scope="session")
def groupmock_config():
    return {"settings": {"group.initial.rebalance.delay.ms": 0}, "audit": True}

def test_wrong(groupmock_server):
    wrong(groupmock_server.bootstrap)

@pytest.mark.groupmock(clear=False)
def test_right(groupmock_server):
    pass

@pytest.mark.groupmock(clear=False)
def test_wrong_again(groupmock_server):
    wrong(groupmock_server.bootstrap, "shipping")
    wrong(groupmock_server.bootstrap, "stock")
"""
    )
    result = pytester.runpytest_subprocess("--groupmock-journal", "kept")
    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(["*client: an unknown client library, once: *", "*_ test_wrong_again _*"])
    result.stdout.fnmatch_lines(["*client: an unknown client library, 2 times from *", "*where: group stock, *"])


def test_the_configuration_file_audits_every_test_but_for_what_is_waived(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        WRONG_CLIENT
        + """
@pytest.fixture(scope="session")
def groupmock_config():
    return {"settings": {"group.initial.rebalance.delay.ms": 0}}

def test_audited(groupmock):
    wrong(groupmock.bootstrap)

@pytest.mark.groupmock(audit=False)
def test_not_this_one(groupmock):
    wrong(groupmock.bootstrap)
"""
    )
    pytester.makeini("[pytest]\ngroupmock_audit = true\n")
    pytester.runpytest_subprocess().assert_outcomes(passed=1, failed=1)
    pytester.makefile(".toml", waivers=WAIVERS)
    pytester.makeini("[pytest]\ngroupmock_audit = true\ngroupmock_waivers = waivers.toml\n")
    pytester.runpytest_subprocess().assert_outcomes(passed=2)


def test_the_marker_and_the_configuration_bring_seed_data(pytester: pytest.Pytester) -> None:
    pytester.makefile(".jsonl", seed='{"topic": "orders", "value": "from a file"}')
    pytester.makepyfile(
        """
        import pytest

        @pytest.fixture(scope="session")
        def groupmock_config():
            return {"seed_data": "seed.jsonl"}

        def test_of_a_file(groupmock):
            assert [each.value for each in groupmock.records("orders")] == [b"from a file"]

        LINES = [{"topic": "orders", "value": b"\\xff"}, {"group": "g", "topic": "orders", "partition": 0, "offset": 0}]

        @pytest.mark.groupmock(seed_data=LINES)
        def test_of_lines(groupmock):
            assert [each.value for each in groupmock.records("orders")] == [b"\\xff"]
            assert groupmock.lag("g").lag == 1

        @pytest.mark.groupmock(seed_data=[{"topic": "orders", "valu": 1}])
        def test_of_wrong_lines(groupmock):
            pass
        """
    )
    result = pytester.runpytest_subprocess()
    result.assert_outcomes(passed=2, errors=1)
    result.stdout.fnmatch_lines(["*BadSeedData: seed_data: line 1: Object contains unknown field `valu` (did you mean value?*"])


def test_the_report_of_a_failed_test_says_what_happened_and_why(pytester: pytest.Pytester) -> None:
    """The headline and the likely cause follow the first line of the story, and the GroupTimeout names the cause as well."""
    pytester.makepyfile(
        """
        from kafka import KafkaConsumer

        def test_late(groupmock):
            groupmock.create_topic("orders", 1)
            groupmock.produce("orders", b"x")
            how = {"client_id": "anna", "group_id": "billing", "fetch_max_wait_ms": 50}
            anna = KafkaConsumer("orders", bootstrap_servers=groupmock.bootstrap, **how)
            try:
                while "skips up to" not in groupmock.story("billing"):
                    anna.poll(timeout_ms=100)
                groupmock.wait_for("billing", offsets={"orders/0": 1}, timeout=0.1)
            finally:
                anna.close()
        """
    )
    told = pytester.runpytest_subprocess("-W", "ignore").outlines
    likely = r"Likely: anna#\w+ began at the end of orders/0 at [\d.]+ and skipped up to 1 record: .* auto.offset.reset is latest"
    assert any(re.fullmatch(rf"E +{likely}", line) for line in told)
    head = next(place for place, line in enumerate(told) if line.startswith("billing: "))
    begun = r"  The first join and 1 rebalance in [\d.]+ s"
    assert re.fullmatch(begun + r", no partition moved: anna joined, anna left\. Nothing was unread.*\.", told[head + 1])
    assert re.fullmatch(rf"  {likely}", told[head + 2])


FAILS = """
def test_of_a_mistake(groupmock):
    groupmock.create_topic("orders", partitions=2)
    assert False
"""


def test_a_failed_test_says_where_its_picture_is(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(FAILS)
    told = pytester.runpytest_subprocess("-p", "no:cacheprovider", "--basetemp=kept")
    (named,) = [line.removeprefix("timeline: ") for line in told.outlines if line.startswith("timeline: ")]
    assert Path(named).is_relative_to(pytester.path / "kept")
    assert Path(named).read_text().startswith("<!DOCTYPE html>")


def test_pictures_go_where_the_option_says_and_into_the_report_of_pytest_html(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(FAILS)
    pytester.runpytest_subprocess("-p", "no:cacheprovider", "--groupmock-timeline=pictures", "--html=report.html", "--self-contained-html")
    page, still = sorted((pytester.path / "pictures").iterdir(), key=lambda each: each.suffix)
    assert (page.suffix, still.suffix) == (".html", ".svg")
    (shown,) = _extras(pytester.path / "report.html")
    link, picture = shown
    assert (link["name"], link["content"]) == ("groupmock timeline", page.as_uri())
    before, _, data = picture["content"].partition('src="data:image/svg+xml;base64,')
    assert picture["format_type"] == "html"
    assert "width: 100%" in before
    assert b64decode(data.partition('"')[0]).decode() == still.read_text(encoding="utf-8")


def _extras(report: Path) -> list[list[dict[str, str]]]:
    """Return the extras of each failed test, which the pytest-html page has as JSON in an attribute."""
    (data,) = re.findall(r'data-jsonblob="([^"]*)"', report.read_text(encoding="utf-8"))
    tests = json.loads(unescape(data))["tests"]
    return [run["extras"] for runs in tests.values() for run in runs if run["result"] == "Failed"]
