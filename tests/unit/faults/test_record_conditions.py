"""Rules select calls of share sessions by the records, delivery counts and types of acknowledgements in them."""

from __future__ import annotations

from typing import Any

import pytest

from groupmock.faults.decide import TESTS
from groupmock.faults.facts import Facts, tells
from groupmock_codec.acknowledge_types import ACCEPT, RELEASE
from groupmock_codec.messages import k78_share_fetch as k78
from groupmock_codec.messages import k79_share_acknowledge as k79

BATCH = k78.AcknowledgementBatch(first_offset=5, last_offset=7, acknowledge_types=[ACCEPT, RELEASE, ACCEPT])
ACKNOWLEDGE = k79.ShareAcknowledgeRequest(
    topics=[k79.AcknowledgeTopic(partitions=[k79.AcknowledgePartition(partition_index=0, acknowledgement_batches=[BATCH])])]
)
DELIVERED = k78.ShareFetchResponse(
    responses=[
        k78.ShareFetchableTopicResponse(
            partitions=[
                k78.PartitionData(
                    partition_index=0, acquired_records=[k78.AcquiredRecords(first_offset=9, last_offset=9, delivery_count=3)]
                )
            ]
        )
    ]
)


def _facts(request: Any, response: Any = None) -> Facts:
    return Facts("request" if response is None else "reply", 0, 1, 1, "ShareFetch", 2, "c", request, response)


@pytest.mark.parametrize(
    ("condition", "fits", "differs"),
    [("acknowledgement", "release", "reject"), ("acknowledgement", ["gap", "acc*"], "renew"), ("record", 6, 8), ("record", [1, 5], [1, 2])],
)
def test_acknowledged_records_are_selected(condition: str, fits: Any, differs: Any) -> None:
    assert TESTS[condition](fits)(_facts(ACKNOWLEDGE))
    assert not TESTS[condition](differs)(_facts(ACKNOWLEDGE))


def test_delivered_records_are_selected_in_the_answer() -> None:
    facts = _facts(k78.ShareFetchRequest(), DELIVERED)
    assert TESTS["delivery"](3)(facts) and TESTS["record"](9)(facts)
    assert not TESTS["delivery"](2)(facts) and not TESTS["record"](8)(facts)


def test_only_share_sessions_have_records() -> None:
    assert tells("ShareAcknowledge", 1, "acknowledgement") and tells("ShareFetch", 2, "delivery", "reply")
    assert not tells("Fetch", 13, "record") and not tells("ShareAcknowledge", 2, "delivery")
