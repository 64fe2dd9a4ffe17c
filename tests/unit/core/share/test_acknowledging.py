"""Tests of acknowledgements: they are taken, refused or undone (docs/kafka/share-groups.md, SG-200 to SG-213, SG-240 to SG-247)."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from share_rig import LOCK_MS, ShareRig

from groupmock.core.share import acknowledging
from groupmock.rig.share_session import ShareSession
from groupmock_codec import error_codes
from groupmock_codec.acknowledge_types import ACCEPT, GAP, REJECT, RELEASE, RENEW

P0 = ("orders", 0)
INVALID, INVALID_STATE = error_codes.INVALID_REQUEST, error_codes.INVALID_RECORD_STATE


@pytest.fixture
def alice(share: ShareRig) -> ShareSession:
    """A member that holds the records 0 to 5, which were produced in two batches."""
    share.produce(4, 2)
    alice = share.session("alice")
    assert alice.take(P0, max_records=1) == [(0, 3, 1)]
    assert alice.take(max_records=1) == [(4, 5, 1)]
    return alice


def test_types_decide_what_becomes_of_records(share: ShareRig, alice: ShareSession) -> None:
    assert alice.acknowledge({P0: [(0, 5, [ACCEPT, RELEASE, REJECT, GAP, ACCEPT, RELEASE])]}) == {P0: (0, None)}
    assert alice.take() == [(1, 1, 2), (5, 5, 2)]
    assert [note["rejected"] for note in share.notes("records_acknowledged")] == [[[2, 2, 1]]]


@pytest.mark.parametrize(
    ("first", "last", "kinds", "refusal"),
    [
        (0, 9, ACCEPT, (INVALID, acknowledging.LAST_IS_PAST)),
        (7, 9, ACCEPT, (INVALID, acknowledging.FIRST_IS_PAST)),
        (3, 2, ACCEPT, (INVALID, None)),
        (0, 3, [], (INVALID, None)),
        (0, 3, [ACCEPT, ACCEPT], (INVALID, None)),
        (0, 3, 5, (INVALID, None)),
        (0, 3, -1, (INVALID, None)),
        (0, 3, RENEW, (INVALID, None)),
    ],
)
def test_acknowledgements_that_fit_nothing_are_refused(
    alice: ShareSession, first: int, last: int, kinds: int | list[int], refusal: tuple[int, str | None]
) -> None:
    assert alice.acknowledge({P0: [(first, last, kinds)]}) == {P0: refusal}


def test_acknowledgements_below_the_start_are_taken_any_number_of_times(share: ShareRig, alice: ShareSession) -> None:
    for kind in ACCEPT, ACCEPT, RELEASE, REJECT:
        assert alice.acknowledge({P0: [(0, 3, kind)]}) == {P0: (0, None)}
    assert alice.acknowledge({P0: [(2, 5, ACCEPT)]}) == {P0: (0, None)}  # The part below the start is ignored.
    assert alice.acknowledge({P0: [(9, 9, ACCEPT)]}) == {P0: (INVALID_STATE, acknowledging.NOT_FOUND)}


def test_records_above_the_start_are_acknowledged_once(alice: ShareSession) -> None:
    assert alice.acknowledge({P0: [(4, 5, ACCEPT)]}) == {P0: (0, None)}
    assert alice.acknowledge({P0: [(4, 5, ACCEPT)]}) == {P0: (INVALID_STATE, acknowledging.BATCH_NOT_ACQUIRED)}
    assert alice.acknowledge({P0: [(1, 1, ACCEPT)]}) == {P0: (0, None)}
    assert alice.acknowledge({P0: [(1, 1, ACCEPT)]}) == {P0: (INVALID_STATE, acknowledging.OFFSET_NOT_ACQUIRED)}


def test_a_member_acknowledges_its_own_records_only(share: ShareRig, alice: ShareSession) -> None:
    bob = share.session("bob")
    bob.fetch(P0)
    assert bob.acknowledge({P0: [(0, 3, ACCEPT)]}) == {P0: (INVALID_STATE, acknowledging.BATCH_OF_ANOTHER)}
    alice.acknowledge({P0: [(1, 1, RELEASE)]})
    assert bob.take() == [(1, 1, 2)]
    assert bob.acknowledge({P0: [(0, 1, ACCEPT)]}) == {P0: (INVALID_STATE, acknowledging.OFFSET_OF_ANOTHER)}
    assert alice.acknowledge({P0: [(0, 5, ACCEPT)]}) == {P0: (INVALID_STATE, acknowledging.OFFSET_OF_ANOTHER)}
    assert alice.acknowledge({P0: [(0, 0, ACCEPT), (2, 5, ACCEPT)]}) == {P0: (0, None)}


def test_one_bad_batch_undoes_the_partition_but_no_other(share: ShareRig, alice: ShareSession) -> None:
    share.produce(2, partition=1)
    other = ("orders", 1)
    alice.fetch(other)
    assert alice.acknowledge({P0: [(0, 3, ACCEPT), (9, 9, ACCEPT)], other: [(0, 1, ACCEPT)]}) == {
        P0: (INVALID, acknowledging.FIRST_IS_PAST),
        other: (0, None),
    }
    assert share.start() == -1
    assert alice.acknowledge({P0: [(0, 1, ACCEPT), (1, 2, ACCEPT)]}) == {P0: (INVALID_STATE, acknowledging.OFFSET_NOT_ACQUIRED)}
    assert alice.acknowledge({P0: [(0, 5, ACCEPT)]}) == {P0: (0, None)}


def test_batches_out_of_order_are_refused(alice: ShareSession) -> None:
    assert alice.acknowledge({P0: [(4, 5, ACCEPT), (0, 3, ACCEPT)]}) == {P0: (INVALID, None)}
    assert alice.acknowledge({P0: [(0, 0, ACCEPT), (2, 2, ACCEPT), (5, 5, ACCEPT)]}) == {P0: (0, None)}


def test_partitions_that_no_member_has_fetched_are_not_hosted(share: ShareRig, alice: ShareSession) -> None:
    text = "This server does not host this topic-partition."
    assert alice.acknowledge({("orders", 1): [(0, 0, ACCEPT)]}) == {("orders", 1): (3, text)}
    assert alice.acknowledge({("orders", 7): [(0, 0, ACCEPT)]}) == {("orders", 7): (3, None)}
    assert alice.acknowledge({("nowhere", 0): [(0, 0, ACCEPT)]}) == {("", 0): (100, None)}


def test_a_lock_ends_after_its_time_for_what_was_not_acknowledged(share: ShareRig, alice: ShareSession) -> None:
    share.rig.sleep(5_000)
    alice.acknowledge({P0: [(0, 0, ACCEPT)]})
    share.rig.sleep(LOCK_MS - 5_000)
    assert alice.acknowledge({P0: [(1, 3, ACCEPT)]}) == {P0: (INVALID_STATE, acknowledging.OFFSET_NOT_ACQUIRED)}
    assert alice.acknowledge({P0: [(4, 5, ACCEPT)]}) == {P0: (INVALID_STATE, acknowledging.BATCH_NOT_ACQUIRED)}
    assert share.session("bob").take(P0) == [(1, 3, 2), (4, 5, 2)]
    assert {note["cause"] for note in share.notes("records_released")} == {"lock_ended"}


def test_a_renewed_lock_begins_anew(share: ShareRig, alice: ShareSession) -> None:
    share.rig.sleep(10_000)
    assert alice.acknowledge({P0: [(0, 3, [RENEW, ACCEPT, RENEW, RELEASE])]}, renew=True) == {P0: (0, None)}
    share.rig.sleep(10_000)
    bob = share.session("bob")
    assert bob.take(P0) == [(3, 3, 2), (4, 5, 2)]
    assert alice.acknowledge({P0: [(0, 0, ACCEPT), (2, 2, ACCEPT)]}) == {P0: (0, None)}


def test_a_lock_is_renewed_although_another_batch_is_refused(share: ShareRig, alice: ShareSession) -> None:
    share.rig.sleep(LOCK_MS - 1)
    assert alice.acknowledge({P0: [(1, 1, RENEW), (9, 9, RENEW)]}, renew=True) == {P0: (INVALID, acknowledging.FIRST_IS_PAST)}
    share.rig.sleep(1)
    assert alice.take() == [(0, 0, 2), (2, 3, 2), (4, 5, 2)]


def test_a_fetch_that_renews_fetches_nothing(share: ShareRig, alice: ShareSession) -> None:
    share.produce(3)
    answer = alice.fetch(acknowledge={P0: [(0, 3, RENEW)]}, renew=True)
    row = answer.responses[0].partitions[0]
    assert (row.acknowledge_error_code, row.acquired_records) == (0, [])


def test_renewing_may_be_forbidden(make_share: Callable[..., ShareRig]) -> None:
    share = make_share(share__renew__acknowledge__enable="false")
    share.produce(3)
    alice = share.session("alice")
    alice.fetch(P0)
    assert alice.acknowledge({P0: [(0, 2, RENEW)]}, renew=True) == {P0: (INVALID_STATE, acknowledging.NO_RENEWAL)}


def test_acknowledgements_in_a_fetch_are_taken_before_it(share: ShareRig, alice: ShareSession) -> None:
    share.produce(1)
    answer = alice.fetch(acknowledge={P0: [(0, 3, ACCEPT), (9, 9, ACCEPT)]})
    row = answer.responses[0].partitions[0]
    assert (row.acknowledge_error_code, row.acknowledge_error_message) == (INVALID, acknowledging.FIRST_IS_PAST)
    assert alice.acquired(answer) == {P0: [(6, 6, 1)]}
    answer = alice.fetch(acknowledge={P0: [(0, 6, ACCEPT)]}, max_wait_ms=100)
    assert [(row.error_code, row.acknowledge_error_code) for row in answer.responses[0].partitions] == [(0, 0)]
    assert share.start() == 0
    assert share.lag() == 0


def test_the_stored_start_is_one_write_behind_and_the_lag_is_not(share: ShareRig, alice: ShareSession) -> None:
    assert (share.start(), share.lag()) == (-1, -1)
    alice.acknowledge({P0: [(2, 3, ACCEPT)]})
    assert (share.start(), share.lag()) == (0, 4)
    alice.acknowledge({P0: [(0, 1, ACCEPT)]})
    assert (share.start(), share.lag()) == (0, 2)
    alice.acknowledge({P0: [(4, 4, RELEASE)]})
    assert (share.start(), share.lag()) == (4, 2)


def test_records_beyond_the_limit_of_deliveries_are_archived(make_share: Callable[..., ShareRig]) -> None:
    share = make_share(share__delivery__count__limit="2")
    share.produce(1)
    alice = share.session("alice")
    assert alice.take(P0) == [(0, 0, 1)]
    share.rig.sleep(LOCK_MS)
    assert alice.take() == [(0, 0, 2)]
    share.rig.sleep(LOCK_MS)
    assert alice.take() == []
    assert (share.lag(), share.notes("records_released")[-1]["archived"]) == (0, [[0, 0, 2]])
    share.produce(1)
    assert alice.take() == [(1, 1, 1)]


def test_a_lowered_limit_of_deliveries_holds_at_once(share: ShareRig, alice: ShareSession) -> None:
    alice.acknowledge({P0: [(0, 5, RELEASE)]})
    assert alice.take() == [(0, 3, 2), (4, 5, 2)]
    share.configure({"share.delivery.count.limit": "2"})
    alice.acknowledge({P0: [(0, 5, RELEASE)]})
    assert alice.take() == []
