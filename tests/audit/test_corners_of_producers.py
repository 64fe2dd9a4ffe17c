"""Where the rule about fenced producers (CLIENT-70) could blame somebody who kept it, or miss somebody who did not."""

from __future__ import annotations

from typing import Final

import pytest
from audit_examples import exchange_named, rows_of

from groupmock.audit.auditor import audit
from groupmock.audit.verdicts import BROKEN, KEPT, NOT_EXERCISED

WHO: Final = "producer_id=$pid producer_epoch=$epoch"
BEGUN: Final = """topics: t1:1
T: InitProducerId v3 transactional_id="till" transaction_timeout_ms=60000 -> 0 producer_id=?pid producer_epoch=?epoch eventually
!fence_transaction transactional_id="till"
"""
OF_ONE: Final = (
    'v3_and_below_transactional_id="till" v3_and_below_producer_id=$pid v3_and_below_producer_epoch=$epoch '
    'v3_and_below_topics=[{name: "$t1", partitions: [0]}]'
)
OF_MANY: Final = (
    'transactions=[{transactional_id: "till", producer_id: $pid, producer_epoch: $epoch, topics: [{name: "$t1", partitions: [0]}]}]'
)
OFFSETS: Final = f'T: AddOffsetsToTxn v2 transactional_id="till" {WHO} group_id="g" -> 90\n'
CORNERS: Final = {
    "by AddPartitionsToTxn of an old version": (BROKEN, f"T: AddPartitionsToTxn v0 {OF_ONE} -> any\npause 300\n{OFFSETS}"),
    "by one that lists transactions": (BROKEN, f"T: AddPartitionsToTxn v4 {OF_MANY} -> any\npause 300\n{OFFSETS}"),
    "AddPartitionsToTxn again": (BROKEN, f"{OFFSETS}pause 300\nT: AddPartitionsToTxn v3 {OF_ONE} -> any\n"),
    "it crossed the answer": (NOT_EXERCISED, OFFSETS + OFFSETS),
    "it asks who it is": (KEPT, f"""{OFFSETS}pause 300
T: InitProducerId v3 transactional_id="till" transaction_timeout_ms=60000 {WHO} -> any
T drops
"""),
    "it goes on in a newer epoch": (KEPT, f"""{OFFSETS}pause 300
T: InitProducerId v3 transactional_id="till" transaction_timeout_ms=60000 -> 0 producer_id=?next producer_epoch=?later
T: AddOffsetsToTxn v2 transactional_id="till" producer_id=$next producer_epoch=$later group_id="g" -> 0
T drops
"""),
}  # fmt: skip


@pytest.mark.parametrize(("verdict", "body"), CORNERS.values(), ids=CORNERS)
def test_a_corner_of_producers(verdict: str, body: str) -> None:
    assert audit(rows_of(exchange_named("CLIENT-70.corner", BEGUN + body)), ["CLIENT-70"]).rules["CLIENT-70"].verdict == verdict
