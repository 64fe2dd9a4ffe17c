"""The fixture `groupmock_rig` works in a user's test suite."""

from __future__ import annotations

import pytest

SETTLES = """
import pytest

@pytest.fixture(scope="session")
def groupmock_config():
    return {"topics": {"orders": 6}, "journal": "not the rig's"}

@pytest.mark.groupmock(seed=7, settings={"group.initial.rebalance.delay.ms": 100})
def test_settles(groupmock_rig):
    member = groupmock_rig.member("m", topics=["orders"])
    member.join()
    groupmock_rig.sleep(100)
    member.sync()
    assert groupmock_rig.group("g").state == "Stable" and len(member.assignment) == 6

def test_each_test_has_its_own(groupmock_rig):
    assert groupmock_rig.now == 0 and groupmock_rig.effects == []
    with pytest.raises(LookupError):
        groupmock_rig.group("g")
"""


def test_a_rig_is_made_of_marker_and_config(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(SETTLES)
    pytester.runpytest_subprocess("--strict-markers").assert_outcomes(passed=2)


def test_what_a_rig_has_not_is_named(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.groupmock(plan={"rules": []})
        def test_faults(groupmock_rig): ...
        """
    )
    found = pytester.runpytest_subprocess()
    found.assert_outcomes(errors=1)
    found.stdout.fnmatch_lines(["*groupmock_rig has no plan: of the marker it takes seed, topics, nodes, profile, settings*"])
