"""The cost of hostile members is bounded, and is forgotten when their connections end."""

from __future__ import annotations

import pytest
from share_rig import GROUP, LOCK_MS, ShareRig

from groupmock.core.share import rules, sessions, shares
from groupmock.core.share.acknowledging import AcknowledgedBatch, Acknowledgement, Acknowledging
from groupmock.core.share.acquiring import Acquiring, Produced
from groupmock.core.share.rules import RecordRules
from groupmock.core.share.states import RecordStates, RunCount
from groupmock.rig.ask import CLOSED
from groupmock_codec.acknowledge_types import ACCEPT, RELEASE

P0 = ("orders", 0)
HUGE = 2**31


def test_a_batch_of_two_billion_records_is_a_handful_of_runs() -> None:
    total = RunCount()
    states, delivery = RecordStates(0, total), RecordRules(LOCK_MS, 5, 2000, "earliest", False, True)
    acquired = Acquiring(states, delivery, "alice", 1, 500, 500, False).acquire(0, [Produced(0, HUGE - 1)])
    assert [(each.first, each.last) for each in acquired] == [(0, HUGE - 1)]
    parts = [(0, 9, ACCEPT), (10, HUGE // 2, RELEASE), (HUGE // 2 + 1, HUGE - 1, ACCEPT)]
    for first, last, kind in parts:
        Acknowledging(states, delivery, "alice", 1).take([AcknowledgedBatch(first, last, [Acknowledgement(first, last, kind)], False)])
    assert states.move_start()
    assert (states.start, total.runs) == (10, 3)


@pytest.mark.parametrize("last", [2**31, 2**62, 2**63 - 1])
def test_acknowledging_a_huge_range_costs_nothing_and_is_refused(share: ShareRig, last: int) -> None:
    share.produce(5)
    alice = share.session("alice")
    alice.fetch(P0)
    ((code, _),) = alice.acknowledge({P0: [(0, last, ACCEPT)]}).values()
    assert code == 42
    assert share.shares.partitions[GROUP, share.topic_id, 0].states.runs == 1


def test_a_request_with_a_million_types_is_too_expensive(share: ShareRig) -> None:
    alice = share.session("alice")
    alice.fetch(P0, max_wait_ms=0)
    ask = alice.send(acknowledge={P0: [(0, 999_999, [ACCEPT] * 1_000_000)]})
    assert ask.status == CLOSED


def test_locks_are_limited_in_the_cluster_and_forgotten(share: ShareRig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shares, "MOST_RUNS", 40)
    share.produce(100)
    alice = share.session("alice")
    alice.fetch(P0)
    alternating = [ACCEPT, RELEASE] * 9
    assert alice.acknowledge({P0: [(0, 17, alternating)]}) == {P0: (0, None)}
    ask = alice.send(acknowledge={P0: [(20, 37, alternating)]})
    assert ask.status == CLOSED, "36 more runs could exceed the limit"
    share.rig.sleep(LOCK_MS)
    alice.hang_up()
    assert share.shares._count.runs == 0
    share.shares.invariants()


def test_sessions_that_nobody_closes_are_limited_and_end_with_their_connections(share: ShareRig) -> None:
    there = share.shares.sessions(1)
    there.most = 50
    members = [share.session(f"member-{number}") for number in range(60)]
    codes = [member.fetch(P0, max_wait_ms=0).error_code for member in members]
    assert (codes.count(0), codes.count(133), len(there)) == (50, 10, 50)
    for member in members:
        member.hang_up()
    assert (len(there), there._sessions, there._opened, there._latest) == (0, {}, {}, {})


def test_long_names_of_groups_are_limited_and_not_kept(share: ShareRig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "MOST_NAME_BYTES", 10_000)
    members = [share.session("m", group=f"{number}" * 4000, connection=f"c{number}") for number in range(5)]
    codes = [member.fetch(P0, max_wait_ms=0).error_code for member in members]
    assert codes == [0, 0, 0, 133, 133]
    assert all(len(name) <= rules.LONGEST_KEPT for name in share.shares.rules_of.__self__._kept)
    for member in members:
        member.hang_up()
    assert members[0].fetch(P0, epoch=0, max_wait_ms=0).error_code == 0


def test_partitions_of_sessions_are_limited_on_a_node_and_forgotten(share: ShareRig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "MOST_SLOTS", 100)
    there = share.shares.sessions(1)
    alice, bob, carl = (share.session(name) for name in ("alice", "bob", "carl"))
    for first in range(0, 60, 10):
        alice.fetch(*[("orders", index) for index in range(first, first + 10)], max_wait_ms=0)
    assert there.slot_count == 60
    assert bob.send(*[("orders", index) for index in range(50)]).status == CLOSED
    alice.fetch(forget=[("orders", index) for index in range(20)], max_wait_ms=0)
    assert there.slot_count == 40
    carl.fetch(*[("orders", index) for index in range(50)], max_wait_ms=0)
    assert there.slot_count == 90
    for member in alice, carl:
        member.hang_up()
    assert there.slot_count == 0
