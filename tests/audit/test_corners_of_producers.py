"""Corner cases in which the audit rules about producers could blame a correct client or miss a wrong one."""

from __future__ import annotations

from typing import Final

import pytest
from audit_examples import exchange_named, rows_of

from groupmock.audit.auditor import audit
from groupmock.audit.rules.client_45_member_of_transactional_commit import BEGUN as MEMBER
from groupmock.audit.rules.client_45_member_of_transactional_commit import COMMIT
from groupmock.audit.verdicts import BROKEN, KEPT, NOT_EXERCISED

SILENT: Final = NOT_EXERCISED
WHO: Final = "producer_id=$pid producer_epoch=$epoch"
FENCED: Final = """topics: t1:1
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
COMES: Final = 'T: InitProducerId v3 transactional_id="till" transaction_timeout_ms=60000'
NAMELESS: Final = COMMIT + ' member_id="" generation_id=-1 -> 0\n'
CORNERS: Final = {
    "45 a version that has no words for it": ("CLIENT-45", BROKEN, MEMBER + "pause 300\n" + COMMIT.replace(" v3 ", " v0 ") + " -> 0\n"),
    "45 by a connection of its own": ("CLIENT-45", BROKEN, MEMBER + "pause 300\n" + NAMELESS.replace("A:", "T:").replace(
        "TxnOffsetCommit v3", "TxnOffsetCommit v3 client_id=A")),
    "45 of another process": ("CLIENT-45", SILENT, MEMBER + "pause 300\n" + NAMELESS.replace("A:", "T:")),
    "45 of another group": ("CLIENT-45", SILENT, MEMBER + 'A: AddOffsetsToTxn v2 transactional_id="till" ' + WHO + ' group_id="h" -> 0\n'
        + "pause 300\n" + NAMELESS.replace("group_id=$group", 'group_id="h"')),
    "45 after it has left": ("CLIENT-45", SILENT, MEMBER + "A: LeaveGroup -> 0\npause 300\n" + NAMELESS),
    "45 after its session": ("CLIENT-45", SILENT, MEMBER + "pause 10500\n" + NAMELESS),
    "45 after its session, without words for it": ("CLIENT-45", BROKEN, MEMBER + "pause 10500\n"
        + COMMIT.replace(" v3 ", " v0 ") + " -> 0\n"),
    "45 it crossed the answer": ("CLIENT-45", SILENT, MEMBER + NAMELESS),
    "70 by AddPartitionsToTxn of an old version": ("CLIENT-70", BROKEN,
        f"{FENCED}T: AddPartitionsToTxn v0 {OF_ONE} -> any\npause 300\n{OFFSETS}"),
    "70 by one that lists transactions": ("CLIENT-70", BROKEN, f"{FENCED}T: AddPartitionsToTxn v4 {OF_MANY} -> any\npause 300\n{OFFSETS}"),
    "70 AddPartitionsToTxn again": ("CLIENT-70", BROKEN, f"{FENCED}{OFFSETS}pause 300\nT: AddPartitionsToTxn v3 {OF_ONE} -> any\n"),
    "70 it crossed the answer": ("CLIENT-70", SILENT, FENCED + OFFSETS + OFFSETS),
    "70 it asks who it is": ("CLIENT-70", KEPT, f"{FENCED}{OFFSETS}pause 300\n{COMES} {WHO} -> any\nT drops\n"),
    "70 it goes on in a newer epoch": ("CLIENT-70", KEPT, f"""{FENCED}{OFFSETS}pause 300
{COMES} -> 0 producer_id=?next producer_epoch=?later
T: AddOffsetsToTxn v2 transactional_id="till" producer_id=$next producer_epoch=$later group_id="g" -> 0
T drops
"""),
}  # fmt: skip


@pytest.mark.parametrize(("code", "verdict", "body"), CORNERS.values(), ids=CORNERS)
def test_a_corner_of_producers(code: str, verdict: str, body: str) -> None:
    found = audit(rows_of(exchange_named(f"{code}.corner", body)), [code])
    assert found.rules[code].verdict == verdict, [each.sentence for each in found.findings]
